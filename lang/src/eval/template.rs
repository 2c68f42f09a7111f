//! Templates: text with interpolations and directives.

use std::ops::ControlFlow;

use fleet_syntax::tree::{Expr, TemplateFor, TemplateIf, TemplatePart};
use fleet_syntax::{Diagnostic, Diagnostics, Span};

use super::conditional::Truth;
use super::for_expr::{Ended, Loop};
use super::{Evaluator, MAX_TEXT, failed, unknown_result};
use crate::convert::convert;
use crate::{Kind, Marks, Type, Value};

/// A template half rendered.
#[derive(Default)]
struct Rendering {
    text: String,
    marks: Marks,
    /// The first part that is not known.
    unknown: Option<Value>,
}

impl Evaluator<'_> {
    pub(super) fn template(&mut self, parts: &[TemplatePart], span: Span) -> Value {
        // `"${x}"` is x, whatever its type.
        if let [TemplatePart::Interpolation(expr)] = parts {
            return self.value(expr);
        }
        let mut rendering = Rendering::default();
        self.render(parts, span, &mut rendering);
        rendering.into_value()
    }

    fn render(&mut self, parts: &[TemplatePart], span: Span, into: &mut Rendering) {
        for part in parts {
            match part {
                TemplatePart::Literal(text) => self.append(text, span, into),
                TemplatePart::Interpolation(expr) => self.interpolate(expr, into),
                TemplatePart::If(directive) => self.render_if(directive, into),
                TemplatePart::For(directive) => self.render_for(directive, into),
            }
        }
    }

    fn append(&mut self, text: &str, span: Span, into: &mut Rendering) {
        if into.text.len() + text.len() > MAX_TEXT {
            let detail = format!("A template renders at most {} MiB.", MAX_TEXT >> 20);
            self.report(Diagnostic::error(span, "template result too long", detail));
            into.fail();
        } else if into.unknown.is_none() {
            into.text.push_str(text);
        }
    }

    fn interpolate(&mut self, expr: &Expr, into: &mut Rendering) {
        let (value, marks) = self.value(expr).unmark();
        into.marks |= marks;
        match &value.kind {
            Kind::String(text) => self.append(text, expr.span, into),
            Kind::Unknown(_) => into.unknown = into.unknown.take().or(Some(value)),
            Kind::Null(_) => {
                let detail = "The value is null, which has no place in a text.";
                self.report(
                    Diagnostic::error(expr.span, "null in a template", detail)
                        .help("give a default, for instance with `coalesce` or a conditional"),
                );
                into.fail();
            }
            _ => match convert(&value, &Type::String) {
                Ok(text) => self.append(text.as_str().unwrap_or_default(), expr.span, into),
                Err(error) => {
                    let detail = format!("The value cannot be put into a text: {error}.");
                    self.report(
                        Diagnostic::error(expr.span, "unsuitable value in a template", detail)
                            .help("turn it into text first, for instance with `join` or `jsonencode`"),
                    );
                    into.fail();
                }
            },
        }
    }

    /// As with conditionals, both branches are rendered; problems of the one not taken do not count, but its marks do.
    fn render_if(&mut self, directive: &TemplateIf, into: &mut Rendering) {
        let condition = self.condition(&directive.condition);
        let then = self.render_branch(&directive.then, directive.span);
        let otherwise = self.render_branch(&directive.otherwise, directive.span);
        into.marks |= then.0.marks | otherwise.0.marks;
        let (marks, (taken, problems)) = match condition {
            Truth::Known(true, marks) => (marks, then),
            Truth::Known(false, marks) => (marks, otherwise),
            Truth::Unknown(condition) => {
                into.marks |= condition.marks;
                into.unknown.get_or_insert(condition);
                return;
            }
        };
        self.problems.extend(problems);
        into.marks |= marks;
        self.append(&taken.text, directive.span, into);
        into.unknown = into.unknown.take().or(taken.unknown);
    }

    fn render_branch(&mut self, parts: &[TemplatePart], span: Span) -> (Rendering, Diagnostics) {
        let mut rendering = Rendering::default();
        let problems = self.attempt(|evaluator| evaluator.render(parts, span, &mut rendering)).err();
        (rendering, problems.unwrap_or_default())
    }

    fn render_for(&mut self, directive: &TemplateFor, into: &mut Rendering) {
        let turns = Loop {
            key_name: directive.key_name.as_ref(),
            value_name: &directive.value_name,
            collection: &directive.collection,
            condition: None,
        };
        let ended = self.each(&turns, directive.span, |evaluator| {
            evaluator.render(&directive.body, directive.span, into);
            ControlFlow::Continue(())
        });
        match ended {
            Ended::Done(marks) => into.marks |= marks,
            Ended::Unknown(unknown) => {
                into.marks |= unknown.marks;
                into.unknown.get_or_insert(unknown);
            }
        }
    }
}

impl Rendering {
    fn fail(&mut self) {
        self.unknown.get_or_insert_with(failed);
    }

    /// A template is never null. Joining texts may bring letters and accents together, so it normalises again.
    fn into_value(self) -> Value {
        let value = match &self.unknown {
            Some(unknown) => unknown_result(Type::String, [unknown]),
            None => Value::from(self.text.as_str()),
        };
        value.mark(self.marks)
    }
}
