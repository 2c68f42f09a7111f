//! The values of the root module's variables.
//!
//! From weak to strong: the default, the environment (`FLEET_VAR_name`), `fleet.vars.hcl`, `*.auto.vars.hcl` in name
//! order, then `--var` and `--var-file` in the order given. Only the strongest value of a variable is evaluated.
//!
//! In a values file a value is a constant expression. From the environment and from `--var` it is text as it is for a
//! variable of a primitive type or of none, and a constant expression otherwise.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fleet_lang::{Outside, Value};
use fleet_syntax::tree::{Attribute, Expr};
use fleet_syntax::{Diagnostic, Diagnostics, Sources, Span, nearest};

use super::constant::constant;
use super::load::{in_dir, plain, read_text};
use super::model::{Named, Variable};

/// What names of environment variables start with.
pub const PREFIX: &str = "FLEET_VAR_";

/// The values file that is read first.
const DEFAULT_FILE: &str = "fleet.vars.hcl";

/// What the names of the values files that are read next end in.
const AUTO_EXTENSION: &str = ".auto.vars.hcl";

/// What the user gives values with, files in the directory aside.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The environment; names that do not start with [`PREFIX`] do not matter.
    pub environment: Vec<(String, String)>,
    /// `--var` and `--var-file` in the order given.
    pub options: Vec<Setting>,
    /// Whether variables may be left without a value, and so unknown.
    pub partial: bool,
}

/// One option that gives values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// `--var name=value`, unsplit.
    Var(String),
    /// `--var-file path`
    File(PathBuf),
}

/// The value of every variable, converted and marked. One that is missing or wrong is unknown.
pub fn values(
    variables: &Named<Variable>,
    given: &Given,
    outside: &dyn Outside,
    root: &Path,
    sources: &mut Sources,
) -> (Named<Value>, Diagnostics) {
    let mut reader = Reader {
        variables,
        outside,
        sources,
        partial: given.partial,
        strongest: HashMap::new(),
        diagnostics: Vec::new(),
    };
    reader.environment(&given.environment);
    for path in files_of(outside, root) {
        reader.file(&path);
    }
    for setting in &given.options {
        match setting {
            Setting::Var(text) => reader.option(text),
            Setting::File(path) => reader.file(path),
        }
    }
    let values = variables.values().map(|variable| (variable.name.name.clone(), reader.value(variable)));
    let values = values.collect();
    (values, reader.diagnostics)
}

struct Reader<'a> {
    variables: &'a Named<Variable>,
    outside: &'a dyn Outside,
    sources: &'a mut Sources,
    partial: bool,
    /// The strongest value of each variable so far.
    strongest: HashMap<Arc<str>, Candidate>,
    diagnostics: Diagnostics,
}

/// A value that nobody has evaluated yet.
enum Candidate {
    /// From a values file.
    Expr(Box<Expr>),
    /// From the environment or an option: the text, and what people call the place it comes from.
    Text(String, String),
}

impl Reader<'_> {
    fn environment(&mut self, environment: &[(String, String)]) {
        for (name, text) in environment {
            // Settings of other configurations may be there too, so that an undeclared name is nothing to speak of.
            if let Some(variable) = name.strip_prefix(PREFIX).and_then(|name| self.variables.get(name)) {
                let name = format!("the environment variable {name}");
                self.strongest.insert(variable.name.name.clone(), Candidate::Text(text.clone(), name));
            }
        }
    }

    fn file(&mut self, path: &Path) {
        let file = match read_text(self.outside, path, self.sources) {
            Ok(file) => file,
            Err(diagnostic) => return self.diagnostics.push(diagnostic),
        };
        let (body, syntax) = fleet_syntax::parse(file, &self.sources.get(file).text);
        self.diagnostics.extend(syntax);
        for block in &body.blocks {
            let name = &block.kind.name;
            let error =
                Diagnostic::error(block.header, "block in a values file", "A values file holds values only.");
            self.diagnostics.push(if self.variables.contains_key(name) {
                error.help(format!("write an object with an equals sign: `{name} = {{ … }}`"))
            } else {
                error.help(format!("move it to a file whose name ends in `{}`", super::load::EXTENSION))
            });
        }
        for Attribute { name, value, .. } in body.attributes {
            match self.variables.get(&name.name) {
                Some(_) => {
                    self.strongest.insert(name.name, Candidate::Expr(Box::new(value)));
                }
                None => {
                    let summary = format!("value for an undeclared variable `{}`", name.name);
                    let warning =
                        Diagnostic::warning(name.span, summary, "No variable has that name; it is not used.");
                    let help = self.declare(&name.name);
                    self.diagnostics.push(warning.help(help));
                }
            }
        }
    }

    fn option(&mut self, option: &str) {
        let Some((name, text)) = option.split_once('=') else {
            let detail = format!("`--var {option}` has no equals sign between a name and a value.");
            self.diagnostics.push(plain("not a name with a value", detail, "write `--var name=value`"));
            return;
        };
        if let Some(variable) = self.variables.get(name) {
            let place = format!("--var {name}");
            self.strongest.insert(variable.name.name.clone(), Candidate::Text(text.to_owned(), place));
            return;
        }
        let summary = format!("value for an undeclared variable `{name}`");
        let trimmed = name.trim();
        let help = if trimmed != name && self.variables.contains_key(trimmed) {
            format!("write `--var {trimmed}=…`, without spaces around the name")
        } else {
            self.declare(name)
        };
        self.diagnostics.push(plain(
            summary,
            "`--var` gives a value to a variable that does not exist.",
            help,
        ));
    }

    /// What to do about a name that is not declared.
    fn declare(&self, name: &str) -> String {
        match nearest(name, self.variables.keys().map(|name| &**name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("declare it with `variable \"{name}\" {{ }}`, or remove the value"),
        }
    }

    fn value(&mut self, variable: &Variable) -> Value {
        let value = match self.strongest.remove(&variable.name.name) {
            Some(candidate) => self.evaluate(variable, candidate),
            None => match &variable.default {
                Some(default) => Ok(default.clone()),
                None if self.partial => Ok(variable.unknown()),
                None => Err(vec![missing(variable, "It has no default, and nothing gives it a value.")]),
            },
        };
        let value = value.unwrap_or_else(|diagnostics| {
            self.diagnostics.extend(diagnostics);
            variable.unknown()
        });
        value.mark(variable.marks())
    }

    fn evaluate(&mut self, variable: &Variable, candidate: Candidate) -> Result<Value, Diagnostics> {
        let (value, place) = match candidate {
            Candidate::Expr(expr) => {
                (constant(&expr), Place { span: expr.span, name: self.position(expr.span) })
            }
            Candidate::Text(text, name) => {
                let file = self.sources.add(format!("<{name}>"), text);
                let text = self.sources.get(file).text.clone();
                let place = Place { span: Span { file, start: 0, end: text.len() as u32 }, name };
                if is_plain(variable) {
                    (Ok(Value::from(&*text)), place)
                } else {
                    let (expr, syntax) = fleet_syntax::parse_expression(file, &text);
                    (if syntax.is_empty() { constant(&expr) } else { Err(syntax) }, place)
                }
            }
        };
        let value = value.map_err(|diagnostics| {
            if variable.marks().is_empty() {
                return diagnostics;
            }
            // The findings would show the text.
            let summary = format!("unsuitable value for `var.{}`", variable.name.name);
            vec![place.complain(variable, summary, "It is not a constant expression.")]
        })?;
        let value = match &variable.constraint {
            Some(constraint) => constraint.apply(&value).map_err(|error| {
                let summary = format!("unsuitable value for `var.{}`", variable.name.name);
                let detail = format!("A value of type {} is needed", constraint.ty);
                let detail = if variable.marks().is_empty() {
                    format!("{detail}: {error}.")
                } else {
                    format!("{detail}.")
                };
                vec![place.complain(variable, summary, detail)]
            })?,
            None => value,
        };
        if !value.is_null() || variable.nullable {
            return Ok(value);
        }
        let missing =
            || vec![missing(variable, "It was given null, which it does not take, and it has no default.")];
        variable.default.clone().ok_or_else(missing)
    }

    fn position(&self, span: Span) -> String {
        let source = self.sources.get(span.file);
        let position = source.position(span.start);
        format!("{}:{}:{}", source.name, position.line, position.column)
    }
}

/// Where a value comes from.
struct Place {
    span: Span,
    /// What people call it.
    name: String,
}

impl Place {
    /// Blames the value, or, where it must not be shown, the variable.
    fn complain(&self, variable: &Variable, summary: String, detail: impl Into<String>) -> Diagnostic {
        let detail = detail.into();
        if variable.marks().is_empty() {
            return Diagnostic::error(self.span, summary, detail).related(variable.header, "declared here");
        }
        Diagnostic::error(variable.header, summary, format!("{detail} The value comes from {}.", self.name))
    }
}

fn missing(variable: &Variable, detail: &str) -> Diagnostic {
    let name = &variable.name.name;
    let help =
        format!("write `--var {name}=…`, set `{PREFIX}{name}`, or add `{name} = …` to `{DEFAULT_FILE}`");
    Diagnostic::error(variable.header, format!("no value for `var.{name}`"), detail).help(help)
}

/// Whether text for the variable is taken as it is.
fn is_plain(variable: &Variable) -> bool {
    variable.constraint.as_ref().is_none_or(|constraint| constraint.ty.is_primitive())
}

/// The values files that are read without being asked for, in order.
fn files_of(outside: &dyn Outside, root: &Path) -> Vec<PathBuf> {
    // A directory that cannot be listed has been reported when it was loaded.
    let mut names = outside.list(root).unwrap_or_default();
    names.retain(|name| name == DEFAULT_FILE || name.ends_with(AUTO_EXTENSION));
    names.sort_unstable_by(|a, b| (a != DEFAULT_FILE, a).cmp(&(b != DEFAULT_FILE, b)));
    names.into_iter().map(|name| in_dir(root, &name)).collect()
}
