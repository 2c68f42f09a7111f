//! What happens around the body of a function: arity, conversion, nulls, unknowns and marks.

use fleet_syntax::tree::Call;
use fleet_syntax::{Diagnostic, Span};

use super::{Evaluator, failed, unknown_from, unknown_result};
use crate::convert::convert;
use crate::functions::{Body, CallError, Function, Param, Returns, function, suggestion};
use crate::{Kind, Marks, Type, Value};

/// An argument with the text to blame for it.
struct Argument {
    value: Value,
    span: Span,
}

impl Evaluator<'_> {
    pub(super) fn call(&mut self, call: &Call, span: Span) -> Value {
        let Some(function) = function(&call.name.name) else {
            // The arguments are evaluated for their own problems only.
            for arg in &call.args {
                self.value(arg);
            }
            return self.report(unknown_function(call));
        };
        match function.body {
            Body::Pure(body) => self.call_with(function, call, span, |_, args| body(args)),
            Body::Outside(body) => {
                self.call_with(function, call, span, |evaluator, args| body(evaluator.outside, args))
            }
            Body::Special(body) => body(self, function, call, span),
        }
    }

    /// Does what happens around every body: evaluates the arguments, converts them, passes unknowns by, carries marks
    /// over and reports what the body refuses.
    pub(crate) fn call_with(
        &mut self,
        function: &Function,
        call: &Call,
        span: Span,
        body: impl FnOnce(&mut Self, &[Value]) -> Result<Value, CallError>,
    ) -> Value {
        match self.arguments(call) {
            Ok(arguments) => self.apply(function, call, arguments, span, body),
            Err(unknown) => unknown,
        }
    }

    /// Evaluates the arguments of a call and spreads the last one if it is followed by `...`. An unknown instead if one
    /// of them fails or it is not known how many there are.
    fn arguments(&mut self, call: &Call) -> Result<Vec<Argument>, Value> {
        let findings = self.findings();
        let mut arguments: Vec<Argument> =
            call.args.iter().map(|arg| Argument { value: self.value(arg), span: arg.span }).collect();
        if self.findings() > findings {
            return Err(failed());
        }
        if call.expand_last
            && let Some(last) = arguments.pop()
        {
            self.expand(last, &mut arguments)?;
        }
        Ok(arguments)
    }

    fn expand(&mut self, last: Argument, arguments: &mut Vec<Argument>) -> Result<(), Value> {
        let Argument { value, span } = last;
        let marks = value.marks;
        if let Some(items) = value.items() {
            if !self.make(items.len(), span) {
                return Err(failed());
            }
            arguments.extend(items.iter().map(|item| Argument { value: item.clone().mark(marks), span }));
            return Ok(());
        }
        let ty = value.ty();
        if !value.is_known() && matches!(ty, Type::Any | Type::List(_) | Type::Set(_) | Type::Tuple(_)) {
            return Err(unknown_from(Type::Any, [&value]).mark(marks));
        }
        let found = if value.is_null() { "null".into() } else { format!("{ty}") };
        let detail =
            format!("What `...` spreads into arguments must be a list, set or tuple, but is {found}.");
        Err(self.report(Diagnostic::error(span, "cannot spread the last argument", detail)))
    }

    fn apply(
        &mut self,
        function: &Function,
        call: &Call,
        mut arguments: Vec<Argument>,
        span: Span,
        body: impl FnOnce(&mut Self, &[Value]) -> Result<Value, CallError>,
    ) -> Value {
        if let Err(diagnostic) = check_arity(function, call, &arguments) {
            return self.report(*diagnostic);
        }
        let findings = self.findings();
        let mut marks = Marks::NONE;
        for (index, argument) in arguments.iter_mut().enumerate() {
            if let Some(param) = param(function, index) {
                self.prepare(function, param, argument, &mut marks);
            }
        }
        if self.findings() > findings {
            return failed();
        }
        let (args, spans): (Vec<Value>, Vec<Span>) =
            arguments.into_iter().map(|argument| (argument.value, argument.span)).unzip();
        match self.run(function, &args, body) {
            Ok(value) => value.mark(marks),
            Err(error) => {
                let blamed = error.arg.and_then(|index| spans.get(index)).copied().unwrap_or(span);
                let name = error.arg.and_then(|index| param(function, index)).map(|param| param.name);
                self.report(call_failed(function, name, &error, marks | marks_of(&args), blamed))
            }
        }
    }

    /// Converts an argument and takes its marks off, unless the parameter wants it as it is.
    fn prepare(&mut self, function: &Function, param: &Param, argument: &mut Argument, marks: &mut Marks) {
        let value = std::mem::replace(&mut argument.value, Value::null());
        let value = if param.marked {
            value
        } else {
            let (value, taken) = value.unmark_deep();
            *marks |= taken;
            value
        };
        if value.is_null() && !param.null {
            let detail = format!("The argument `{}` of `{}` must not be null.", param.name, function.name);
            self.report(Diagnostic::error(argument.span, "null argument", detail));
            return;
        }
        match convert(&value, &param.ty.to_type()) {
            Ok(value) => argument.value = value,
            Err(mut error) => {
                // The keys on the way to the culprit may themselves be secrets.
                if (*marks | value.marks_deep()).contains(Marks::SENSITIVE) {
                    error.path.clear();
                }
                let detail =
                    format!("The argument `{}` of `{}` is unsuitable: {error}.", param.name, function.name);
                self.report(Diagnostic::error(argument.span, "unsuitable argument", detail));
            }
        }
    }

    /// Runs the body, or passes it by if an argument is not known that it wants to know.
    fn run(
        &mut self,
        function: &Function,
        args: &[Value],
        body: impl FnOnce(&mut Self, &[Value]) -> Result<Value, CallError>,
    ) -> Result<Value, CallError> {
        let with_params = || args.iter().enumerate().filter_map(|(i, arg)| Some((arg, param(function, i)?)));
        if with_params().any(|(arg, param)| !param.untyped && is_untyped(arg)) {
            return Ok(unknown_from(Type::Any, args).mark(marks_of(args)));
        }
        if with_params().any(|(arg, param)| is_missing(arg, param)) {
            let unknown = match function.returns {
                Returns::Always(ty) => unknown_result(ty.to_type(), args),
                Returns::Depends(ty) => unknown_from(ty(args)?, args),
            };
            return Ok(unknown.mark(marks_of(args)));
        }
        body(self, args)
    }
}

/// The parameter that an argument is for.
fn param(function: &Function, index: usize) -> Option<&Param> {
    function.params.get(index).or(function.variadic.as_ref())
}

/// Whether not even the type of an argument is known: a failed or dynamic value, or a bare `null`.
fn is_untyped(arg: &Value) -> bool {
    match &arg.kind {
        Kind::Unknown(unknown) => unknown.ty == Type::Any,
        Kind::Null(ty) => *ty == Type::Any,
        _ => false,
    }
}

/// Whether the body cannot run because of an argument.
fn is_missing(arg: &Value, param: &Param) -> bool {
    (!param.unknown && !arg.is_known()) || (param.wholly_known && !arg.is_wholly_known())
}

/// The marks of arguments whose body does not get to see them.
fn marks_of(args: &[Value]) -> Marks {
    args.iter().fold(Marks::NONE, |marks, arg| marks | arg.marks_deep())
}

fn unknown_function(call: &Call) -> Diagnostic {
    let name = &call.name.name;
    let detail = format!("There is no function `{name}`.");
    let diagnostic = Diagnostic::error(call.name.span, "unknown function", detail);
    match suggestion(name) {
        Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")),
        None => diagnostic,
    }
}

fn check_arity(function: &Function, call: &Call, arguments: &[Argument]) -> Result<(), Box<Diagnostic>> {
    let (given, wanted) = (arguments.len(), function.params.len());
    let name = function.name;
    let least = if function.variadic.is_some() { "at least " } else { "" };
    let plural = if wanted == 1 { "" } else { "s" };
    let takes = format!("`{name}` takes {least}{wanted} argument{plural}");
    if let Some(missing) = function.params.get(given) {
        let detail = format!("{takes}, but `{}` is missing.", missing.name);
        return Err(Box::new(Diagnostic::error(call.close, "not enough arguments", detail)));
    }
    if function.variadic.is_none() && given > wanted {
        let span = arguments[wanted].span.to(arguments[given - 1].span);
        let detail = format!("{takes}, but gets {given}.");
        return Err(Box::new(Diagnostic::error(span, "too many arguments", detail)));
    }
    Ok(())
}

fn call_failed(
    function: &Function,
    param: Option<&str>,
    error: &CallError,
    marks: Marks,
    span: Span,
) -> Diagnostic {
    let what = match param {
        Some(param) => format!("The argument `{param}` of `{}`", function.name),
        None => format!("`{}`", function.name),
    };
    // Bodies quote their arguments freely; what they say about a sensitive one would give it away.
    let detail = if marks.contains(Marks::SENSITIVE) {
        format!("{what} failed. An argument is sensitive, so the reason is not shown.")
    } else {
        format!("{what}: {}.", error.message)
    };
    let summary = if param.is_some() { "unsuitable argument" } else { "call failed" };
    Diagnostic::error(span, summary, detail)
}

#[cfg(test)]
mod tests {
    use fleet_syntax::FileId;
    use fleet_syntax::tree::Ident;

    use super::*;
    use crate::functions::{Group, ParamType};
    use crate::outside::Memory;
    use crate::{Names, Unknown};

    /// A function that tells what reaches it: the arguments as a tuple.
    const fn echo(params: &'static [Param]) -> Function {
        Function {
            name: "echo",
            group: Group::Collection,
            doc: "",
            examples: &[],
            params,
            variadic: None,
            returns: Returns::Always(ParamType::String),
            body: Body::Pure(|args| Ok(Value::tuple(args.to_vec()))),
        }
    }

    /// Calls a function with arguments that stand one after the other, one byte each.
    fn call(function: &Function, args: &[Value]) -> Result<Value, Vec<(String, u32)>> {
        let (scope, outside) = (Names::default(), Memory::default());
        let mut evaluator = Evaluator::new(&scope, &outside);
        let span = |start| Span { file: FileId(0), start, end: start + 1 };
        let arguments =
            args.iter().zip(0..).map(|(value, at)| Argument { value: value.clone(), span: span(at) });
        let name = Ident { name: function.name.into(), span: span(90) };
        let call = Call { name, args: Vec::new(), expand_last: false, close: span(99) };
        let Body::Pure(body) = function.body else { panic!("these functions are pure") };
        let value = evaluator.apply(function, &call, arguments.collect(), span(50), |_, args| body(args));
        let said = |problem: Diagnostic| (problem.detail, problem.span.map_or(0, |span| span.start));
        let problems: Vec<_> = evaluator.into_diagnostics().into_iter().map(said).collect();
        if problems.is_empty() { Ok(value) } else { Err(problems) }
    }

    fn string() -> Value {
        Value::awaiting(Type::String, "core_value.a")
    }

    #[test]
    fn arguments_are_converted() {
        const F: Function = echo(&[Param::new("a", ParamType::Number), Param::new("b", ParamType::Any)]);
        let given = call(&F, &[Value::from("5"), Value::from("5")]);
        assert_eq!(given, Ok(Value::tuple([Value::from(5), Value::from("5")])));
        let wrong = call(&F, &[Value::from("x"), Value::null()]).expect_err("both are wrong");
        assert_eq!(wrong.iter().map(|(_, at)| *at).collect::<Vec<_>>(), [0, 1], "{wrong:?}");
    }

    #[test]
    fn the_number_of_arguments_is_checked() {
        const F: Function = echo(&[Param::new("a", ParamType::Any), Param::new("b", ParamType::Any)]);
        let [one, two, three] = [1, 2, 3].map(Value::from);
        let few = "`echo` takes 2 arguments, but `b` is missing.".to_owned();
        assert_eq!(call(&F, std::slice::from_ref(&one)), Err(vec![(few, 99)]));
        let many = "`echo` takes 2 arguments, but gets 3.".to_owned();
        assert_eq!(call(&F, &[one.clone(), two.clone(), three.clone()]), Err(vec![(many, 2)]));
        let variadic = Function { variadic: Some(Param::new("more", ParamType::String)), ..F };
        let expected = Value::tuple([one.clone(), two.clone(), Value::from("3")]);
        assert_eq!(call(&variadic, &[one.clone(), two, three]), Ok(expected));
        let least = "`echo` takes at least 2 arguments, but `b` is missing.".to_owned();
        assert_eq!(call(&variadic, &[one]), Err(vec![(least, 99)]));
    }

    #[test]
    fn null_reaches_only_those_who_take_it() {
        const WITHOUT: Function = echo(&[Param::new("a", ParamType::String)]);
        const WITH: Function = echo(&[Param::new("a", ParamType::String).null()]);
        let refused = "The argument `a` of `echo` must not be null.".to_owned();
        assert_eq!(call(&WITHOUT, &[Value::null()]), Err(vec![(refused, 0)]));
        assert_eq!(call(&WITH, &[Value::null()]), Ok(Value::tuple([Value::null_of(Type::String)])));
    }

    #[test]
    fn a_bare_null_has_no_type() {
        const TYPED: Function = echo(&[Param::new("a", ParamType::Any).null()]);
        const UNTYPED: Function = echo(&[Param::new("a", ParamType::Any).null().untyped()]);
        assert_eq!(call(&TYPED, &[Value::null()]), Ok(Value::unknown(Type::Any)));
        assert_eq!(call(&UNTYPED, &[Value::null()]), Ok(Value::tuple([Value::null()])));
    }

    #[test]
    fn unknowns_pass_the_body_by() {
        const F: Function = echo(&[Param::new("a", ParamType::Any), Param::new("b", ParamType::Any)]);
        let result = Unknown { ty: Type::String, awaits: Some("core_value.a".into()), not_null: true }.into();
        assert_eq!(call(&F, &[Value::from(1), string()]), Ok(result));
        assert_eq!(call(&F, &[Value::from(1), Value::unknown(Type::Any)]), Ok(Value::unknown(Type::Any)));
        let depends = Function { returns: Returns::Depends(|args| Ok(Type::list(args[1].ty()))), ..F };
        let expected = Value::awaiting(Type::list(Type::String), "core_value.a");
        assert_eq!(call(&depends, &[Value::from(1), string()]), Ok(expected));
        let failing = Function { returns: Returns::Depends(|_| Err(CallError::arg(1, "is odd"))), ..F };
        let wrong = "The argument `b` of `echo`: is odd.".to_owned();
        assert_eq!(call(&failing, &[Value::from(1), string()]), Err(vec![(wrong, 1)]));
    }

    #[test]
    fn unknowns_reach_those_who_take_them() {
        const TAKES: Function = echo(&[Param::new("a", ParamType::Any).unknown()]);
        assert_eq!(call(&TAKES, &[string()]), Ok(Value::tuple([string()])));
        const INSIDE: Function = echo(&[Param::new("a", ParamType::Any)]);
        let holds = Value::tuple([string()]);
        assert_eq!(call(&INSIDE, std::slice::from_ref(&holds)), Ok(Value::tuple([holds.clone()])));
        const WHOLLY: Function = echo(&[Param::new("a", ParamType::Any).wholly_known()]);
        assert!(!call(&WHOLLY, &[holds]).expect("unknown").is_known());
    }

    #[test]
    fn marks_are_put_on_the_result_unless_the_body_takes_them() {
        let secret = || Value::tuple([Value::from(1).mark(Marks::SENSITIVE)]);
        const PLAIN: Function = echo(&[Param::new("a", ParamType::Any)]);
        let expected = Value::tuple([Value::tuple([Value::from(1)])]).mark(Marks::SENSITIVE);
        assert_eq!(call(&PLAIN, &[secret()]), Ok(expected));
        const MARKED: Function = echo(&[Param::new("a", ParamType::Any).marked()]);
        assert_eq!(call(&MARKED, &[secret()]), Ok(Value::tuple([secret()])));
        let unknown = call(&MARKED, &[string().mark(Marks::SENSITIVE)]).expect("unknown");
        assert_eq!(unknown.marks, Marks::SENSITIVE);
    }

    #[test]
    fn failures_blame_the_argument_and_keep_secrets() {
        const F: Function = echo(&[Param::new("a", ParamType::Any)]);
        let failing = Function { body: Body::Pure(|_| Err(CallError::arg(0, "is hunter2"))), ..F };
        let wrong = "The argument `a` of `echo`: is hunter2.".to_owned();
        assert_eq!(call(&failing, &[Value::from(1)]), Err(vec![(wrong, 0)]));
        let whole = Function { body: Body::Pure(|_| Err(CallError::new("no luck"))), ..F };
        assert_eq!(call(&whole, &[Value::from(1)]), Err(vec![("`echo`: no luck.".into(), 50)]));
        let secret = call(&failing, &[Value::from(1).mark(Marks::SENSITIVE)]).expect_err("fails");
        assert!(!secret[0].0.contains("hunter2"), "{secret:?}");
    }
}
