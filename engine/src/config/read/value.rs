//! `variable`, `output` and `provider`.

use fleet_lang::{Constraint, Reference, Type, Value, parse_constraint, references};
use fleet_syntax::Diagnostic;
use fleet_syntax::tree::{Block, Expr, ExprKind, Ident, Step};
use indexmap::map::Entry;

use super::fields::Fields;
use super::report::Report;
use super::resource::conditions;
use super::{Reader, declare, reference};
use crate::config::constant::{constant, text};
use crate::config::model::{Condition, Output, Provider, Variable};

/// Names that mean something else among the arguments of a module call.
const RESERVED: [&str; 8] =
    ["source", "version", "providers", "count", "for_each", "lifecycle", "depends_on", "locals"];

impl Reader {
    pub(super) fn variable(&mut self, mut block: Block) {
        let Some([name]) = self.report.labels(&mut block, ["name"]) else { return };
        self.report.name(&name);
        if RESERVED.contains(&&*name.name) {
            let detail = format!("`{}` has a meaning of its own among the arguments of a module.", name.name);
            let summary = format!("variable named `{}`", name.name);
            self.report.push(Diagnostic::error(name.span, summary, detail).help("choose another name"));
        }
        let mut fields = Fields::new(block, &mut self.report);
        let constraint = fields.expr("type").and_then(|expr| constraint(&expr, fields.report));
        let nullable = fields.truth("nullable").unwrap_or(true);
        let default =
            fields.expr("default").map(|expr| default(&expr, constraint.as_ref(), nullable, fields.report));
        let variable = Variable {
            name,
            constraint,
            default,
            description: fields.text("description"),
            validations: conditions(&mut fields, "validation"),
            sensitive: fields.truth("sensitive").unwrap_or(false),
            ephemeral: fields.truth("ephemeral").unwrap_or(false),
            nullable,
            header: fields.header,
        };
        for validation in &variable.validations {
            own_validation(&variable.name, validation, fields.report);
        }
        fields.finish();
        let (name, span) = (variable.name.name.clone(), variable.header);
        declare(
            &mut self.module.variables,
            &name,
            span,
            variable,
            |v| v.header,
            "variable",
            &mut self.report,
        );
    }

    pub(super) fn output(&mut self, mut block: Block) {
        let Some([name]) = self.report.labels(&mut block, ["name"]) else { return };
        self.report.name(&name);
        let mut fields = Fields::new(block, &mut self.report);
        let output = Output {
            name,
            value: fields.required("value"),
            description: fields.text("description"),
            sensitive: fields.truth("sensitive").unwrap_or(false),
            ephemeral: fields.truth("ephemeral").unwrap_or(false),
            preconditions: conditions(&mut fields, "precondition"),
            depends_on: fields
                .expr("depends_on")
                .map(|e| reference::depends_on(e, fields.report))
                .unwrap_or_default(),
            header: fields.header,
        };
        fields.finish();
        let (name, span) = (output.name.name.clone(), output.header);
        declare(&mut self.module.outputs, &name, span, output, |o| o.header, "output", &mut self.report);
    }

    pub(super) fn provider(&mut self, mut block: Block) {
        let Some([name]) = self.report.labels(&mut block, ["name"]) else { return };
        self.report.name(&name);
        let mut fields = Fields::new(block, &mut self.report);
        let header = fields.header;
        let alias = fields.expr("alias").and_then(|expr| {
            let alias = Ident { name: text(&expr, &mut fields.report.diagnostics)?, span: expr.span };
            fields.report.name(&alias);
            Some(alias)
        });
        let provider = Provider { name, alias, body: fields.rest(), header };
        let key = (provider.name.name.clone(), provider.alias.as_ref().map(|alias| alias.name.clone()));
        match self.module.providers.entry(key) {
            Entry::Occupied(first) => {
                let what = match &provider.alias {
                    Some(alias) => format!("provider `{}.{}`", provider.name.name, alias.name),
                    None => format!("provider `{}`", provider.name.name),
                };
                self.report.duplicate(&what, header, first.get().header);
            }
            Entry::Vacant(vacant) => {
                vacant.insert(provider);
            }
        }
    }
}

/// A validation that does not look at its variable would say nothing about the values it is given.
fn own_validation(name: &Ident, validation: &Condition, report: &mut Report) {
    let found = references(&validation.condition);
    let is_own = |reference: &Reference<'_>| {
        let step = reference.steps.first();
        &*reference.root.name == "var" && matches!(step, Some(Step::Attr(attr)) if attr.name == name.name)
    };
    // A condition without any reference has been reported.
    if !found.is_empty() && !found.iter().any(is_own) {
        let detail = format!("The condition does not refer to `var.{}`.", name.name);
        let error = Diagnostic::error(validation.condition.span, "validation of something else", detail);
        report.push(error.help("refer to the variable, or move the condition to a `check` block"));
    }
}

fn constraint(expr: &Expr, report: &mut Report) -> Option<Constraint> {
    if matches!(expr.kind, ExprKind::Invalid) {
        return None;
    }
    parse_constraint(expr).map_err(|error| report.push(error)).ok()
}

/// A default that does not fit is unknown, so that the variable does not seem to need a value.
fn default(expr: &Expr, constraint: Option<&Constraint>, nullable: bool, report: &mut Report) -> Value {
    let ty = || constraint.map_or(Type::Any, |constraint| constraint.ty.clone());
    let value = match constant(expr) {
        Ok(value) => value,
        Err(errors) => {
            report.diagnostics.extend(errors);
            return Value::unknown(ty());
        }
    };
    if value.is_null() && !nullable {
        let error = Diagnostic::error(expr.span, "default is null", "The variable has `nullable = false`.");
        report.push(error.help("remove the default to make a value required, or choose another one"));
        return Value::unknown(ty());
    }
    let Some(constraint) = constraint else { return value };
    constraint.apply(&value).unwrap_or_else(|error| {
        let detail = format!("The variable is of type {}: {error}.", constraint.ty);
        let error = Diagnostic::error(expr.span, "default does not fit the type", detail);
        report.push(error.help("change the default or the type"));
        Value::unknown(ty())
    })
}
