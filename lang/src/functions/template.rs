//! Functions that render templates.

use fleet_syntax::tree::{Call, Expr, ExprKind};
use fleet_syntax::{Diagnostic, Diagnostics, Sources, Span, is_name, parse_template};

use super::args::string;
use super::filesystem::read_text;
use super::{Body, CallError, Function, Group, Param, ParamType, Returns};
use crate::convert::convert;
use crate::eval::Names;
use crate::{Entries, Evaluator, Type, Value};

pub(super) const TABLE: &[Function] = &[
    Function {
        name: "templatefile",
        group: Group::Filesystem,
        doc: "Reads a file and renders it as a template. The template sees the variables given and nothing else, may \
              call any function but this one and `templatestring`, and gives a string, unless it is nothing but one \
              `${…}`: then it gives that value as it is.",
        examples: &[("templatefile(\"hello.tftpl\", { name = \"mini\" })", "\"Hello, mini\"")],
        params: &[Param::new("path", ParamType::String), VARS],
        variadic: None,
        returns: Returns::Depends(|_| Ok(Type::Any)),
        body: Body::Special(templatefile),
    },
    Function {
        name: "templatestring",
        group: Group::String,
        doc: "Renders a string that comes from elsewhere as a template. The string must be given by a plain reference \
              such as `local.greeting`: a template that stands in the configuration itself needs no function.",
        examples: &[(
            "[for greeting in [\"Hello, $${name}\"] : templatestring(greeting, { name = \"mini\" })]",
            "[\n  \"Hello, mini\",\n]",
        )],
        params: &[Param::new("template", ParamType::Any).untyped(), VARS],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Special(templatestring),
    },
];

const VARS: Param = Param::new("vars", ParamType::Any);

fn templatefile(evaluator: &mut Evaluator<'_>, function: &Function, call: &Call, span: Span) -> Value {
    evaluator.call_with(function, call, span, |evaluator, args| {
        let path = string(args, 0);
        let text = read_text(evaluator.outside, path)?;
        render(evaluator, path, &text, args)
    })
}

fn templatestring(evaluator: &mut Evaluator<'_>, function: &Function, call: &Call, span: Span) -> Value {
    if let Some(template) = call.args.first()
        && !is_reference(template)
    {
        let detail = "The template must come from elsewhere by a plain reference, such as `local.greeting`.";
        return evaluator
            .report(Diagnostic::error(template.span, "template is not a reference", detail).help(
                "what stands in the configuration itself can be written as a template string directly",
            ));
    }
    evaluator.call_with(function, call, span, |evaluator, args| {
        let Some(text) = args[0].as_str() else {
            return Err(CallError::arg(0, format!("must be a string, but is {}", args[0].ty())));
        };
        let value = render(evaluator, "template", text, args)?;
        convert(&value, &Type::String)
            .map_err(|error| CallError::arg(0, format!("the template does not give a string: {error}")))
    })
}

fn is_reference(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Variable(_) => true,
        ExprKind::Path(path) => matches!(path.base.kind, ExprKind::Variable(_)),
        _ => false,
    }
}

/// The value of a template with the variables of the second argument.
fn render(evaluator: &Evaluator<'_>, name: &str, text: &str, args: &[Value]) -> Result<Value, CallError> {
    if evaluator.is_rendering() {
        return Err(CallError::new("a template cannot render another template"));
    }
    let names = Names(variables(&args[1])?);
    let mut sources = Sources::default();
    let file = sources.add(name, text);
    let (template, diagnostics) = parse_template(file, &sources.get(file).text);
    if !diagnostics.is_empty() {
        return Err(failure(&sources, diagnostics));
    }
    let mut inner = Evaluator::rendering(&names, evaluator.outside);
    let value = inner.evaluate(&template);
    let diagnostics = inner.into_diagnostics();
    if !diagnostics.is_empty() {
        return Err(failure(&sources, diagnostics));
    }
    if value.is_null() {
        return Err(CallError::arg(0, "the result of the template is null"));
    }
    Ok(value)
}

fn variables(vars: &Value) -> Result<Entries, CallError> {
    let Some(entries) = vars.entries() else {
        return Err(CallError::arg(1, format!("must be an object or map, but is {}", vars.ty())));
    };
    match entries.keys().find(|name| !is_name(name)) {
        Some(name) => Err(CallError::arg(1, format!("{name:?} cannot be the name of a variable"))),
        None => Ok(entries.clone()),
    }
}

/// What is wrong with a template, in words: its text is not among the sources that diagnostics point into.
fn failure(sources: &Sources, diagnostics: Diagnostics) -> CallError {
    let place = |diagnostic: Diagnostic| {
        let at = diagnostic.span.map(|span| {
            let source = sources.get(span.file);
            let position = source.position(span.start);
            format!("{}:{}:{}: ", source.name, position.line, position.column)
        });
        let detail = diagnostic.detail.trim_end_matches('.');
        format!("{}{}: {detail}", at.unwrap_or_default(), diagnostic.summary)
    };
    CallError::arg(0, diagnostics.into_iter().map(place).collect::<Vec<_>>().join("; "))
}
