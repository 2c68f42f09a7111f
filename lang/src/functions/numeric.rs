//! Functions over numbers.

use num_bigint::{BigInt, Sign};

use super::{Body, CallError, Function, Group, Param, ParamType, Returns, args};
use crate::{Kind, Number, Type, Value, convert};

/// The largest base of `parseint`: ten digits and twice 26 letters.
const MAX_BASE: u32 = 62;

/// The most digits `parseint` reads.
const MAX_DIGITS: usize = 10_000;

const NUMBER: Param = Param::new("number", ParamType::Number);

pub(super) const TABLE: &[Function] = &[
    Function {
        name: "abs",
        group: Group::Numeric,
        doc: "The absolute value of a number.",
        examples: &[("abs(-12.4)", "12.4"), ("abs(23)", "23")],
        params: &[NUMBER],
        variadic: None,
        returns: Returns::Always(ParamType::Number),
        body: Body::Pure(|args| Ok(args::number(args, 0).abs().into())),
    },
    Function {
        name: "ceil",
        group: Group::Numeric,
        doc: "The smallest whole number that is not below a number.",
        examples: &[("ceil(5.1)", "6"), ("ceil(-5.1)", "-5")],
        params: &[NUMBER],
        variadic: None,
        returns: Returns::Always(ParamType::Number),
        body: Body::Pure(|args| Ok(args::number(args, 0).ceil().into())),
    },
    Function {
        name: "floor",
        group: Group::Numeric,
        doc: "The largest whole number that is not above a number.",
        examples: &[("floor(4.9)", "4"), ("floor(-4.9)", "-5")],
        params: &[NUMBER],
        variadic: None,
        returns: Returns::Always(ParamType::Number),
        body: Body::Pure(|args| Ok(args::number(args, 0).floor().into())),
    },
    Function {
        name: "log",
        group: Group::Numeric,
        doc: "The logarithm of a number to a base. It is computed with 53 bits, so that `log(1000, 10)` is a little \
              less than 3.",
        examples: &[("log(16, 2)", "4"), ("log(50, 10)", "1.6989700043360185")],
        params: &[NUMBER, Param::new("base", ParamType::Number)],
        variadic: None,
        returns: Returns::Always(ParamType::Number),
        body: Body::Pure(log),
    },
    Function {
        name: "max",
        group: Group::Numeric,
        doc: "The largest of some numbers. Use `max(list...)` for the largest element of a list.",
        examples: &[("max(12, 54, 3)", "54"), ("max([1, 2, 3]...)", "3")],
        params: &[],
        variadic: Some(Param::new("numbers", ParamType::Number)),
        returns: Returns::Always(ParamType::Number),
        body: Body::Pure(|args| extreme(args, |number, best| number > best)),
    },
    Function {
        name: "min",
        group: Group::Numeric,
        doc: "The smallest of some numbers. Use `min(list...)` for the smallest element of a list.",
        examples: &[("min(12, 54, 3)", "3"), ("min([1, 2, 3]...)", "1")],
        params: &[],
        variadic: Some(Param::new("numbers", ParamType::Number)),
        returns: Returns::Always(ParamType::Number),
        body: Body::Pure(|args| extreme(args, |number, best| number < best)),
    },
    Function {
        name: "parseint",
        group: Group::Numeric,
        doc: "The whole number that a text stands for in a base from 2 to 62. Above base 36 small letters are worth \
              less than capitals; otherwise case does not matter.",
        examples: &[
            ("parseint(\"100\", 10)", "100"),
            ("parseint(\"FF\", 16)", "255"),
            ("parseint(\"aA\", 62)", "656"),
        ],
        params: &[Param::new("text", ParamType::Any), Param::new("base", ParamType::Number)],
        variadic: None,
        returns: Returns::Always(ParamType::Number),
        body: Body::Pure(parseint),
    },
    Function {
        name: "pow",
        group: Group::Numeric,
        doc: "A number to the power of an exponent. It is computed with 53 bits, so that large powers end in zeros.",
        examples: &[("pow(3, 2)", "9"), ("pow(2, 0.5)", "1.4142135623730951")],
        params: &[NUMBER, Param::new("exponent", ParamType::Number)],
        variadic: None,
        returns: Returns::Always(ParamType::Number),
        body: Body::Pure(pow),
    },
    Function {
        name: "signum",
        group: Group::Numeric,
        doc: "The sign of a whole number: -1, 0 or 1.",
        examples: &[("signum(-13)", "-1"), ("signum(0)", "0"), ("signum(344)", "1")],
        params: &[NUMBER],
        variadic: None,
        returns: Returns::Always(ParamType::Number),
        body: Body::Pure(|args| Ok(args::whole(args, 0)?.signum().into())),
    },
    Function {
        name: "sum",
        group: Group::Numeric,
        doc: "The sum of the elements of a list, set or tuple, which must have at least one.",
        examples: &[("sum([10, 13, 6, 4.5])", "33.5")],
        params: &[Param::new("list", ParamType::Any).wholly_known()],
        variadic: None,
        returns: Returns::Always(ParamType::Number),
        body: Body::Pure(sum),
    },
];

fn log(args: &[Value]) -> Result<Value, CallError> {
    let quotient = args::number(args, 0).to_f64().ln() / args::number(args, 1).to_f64().ln();
    real(quotient)
}

fn pow(args: &[Value]) -> Result<Value, CallError> {
    real(args::number(args, 0).to_f64().powf(args::number(args, 1).to_f64()))
}

fn real(result: f64) -> Result<Value, CallError> {
    match Number::from_f64(result) {
        Some(number) => Ok(number.into()),
        None => Err(CallError::new("no real number is the result")),
    }
}

/// The first number that no other is better than.
fn extreme(args: &[Value], better: fn(&Number, &Number) -> bool) -> Result<Value, CallError> {
    let choose = |best: usize, index: usize| {
        if better(args::number(args, index), args::number(args, best)) { index } else { best }
    };
    let best =
        (0..args.len()).reduce(choose).ok_or_else(|| CallError::new("at least one number is needed"))?;
    Ok(args[best].clone())
}

fn parseint(args: &[Value]) -> Result<Value, CallError> {
    let Some(text) = args[0].as_str() else {
        return Err(CallError::arg(0, format!("must be a string, not {}", args[0].ty())));
    };
    let base = args::whole(args, 1)?;
    let Some(base) = u32::try_from(base).ok().filter(|base| (2..=MAX_BASE).contains(base)) else {
        return Err(CallError::arg(1, format!("must be from 2 to {MAX_BASE}, but is {base}")));
    };
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.len() > MAX_DIGITS {
        return Err(CallError::arg(0, format!("must have at most {MAX_DIGITS} digits")));
    }
    let values: Option<Vec<u8>> = digits.bytes().map(|byte| digit(byte, base)).collect();
    let sign = if text.starts_with('-') { Sign::Minus } else { Sign::Plus };
    match values
        .filter(|values| !values.is_empty())
        .and_then(|values| BigInt::from_radix_be(sign, &values, base))
    {
        Some(number) => Ok(Number::from_bigint(&number).into()),
        None => Err(CallError::arg(0, format!("\"{text}\" is not a whole number in base {base}"))),
    }
}

fn digit(byte: u8, base: u32) -> Option<u8> {
    let value = match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'z' => byte - b'a' + 10,
        b'A'..=b'Z' if base <= 36 => byte - b'A' + 10,
        b'A'..=b'Z' => byte - b'A' + 36,
        _ => return None,
    };
    (u32::from(value) < base).then_some(value)
}

fn sum(args: &[Value]) -> Result<Value, CallError> {
    let Some(items) = args[0].items() else {
        return Err(CallError::arg(0, format!("must be a list, set or tuple, not {}", args[0].ty())));
    };
    let number = |(position, item): (usize, &Value)| match convert(item, &Type::Number) {
        Ok(Value { kind: Kind::Number(number), .. }) => Ok(number),
        Ok(_) => Err(CallError::arg(0, format!("element {position} is null, but must be a number"))),
        Err(error) => Err(CallError::arg(0, format!("element {position}: {error}"))),
    };
    let mut numbers = items.iter().enumerate().map(number);
    let first = numbers.next().ok_or_else(|| CallError::arg(0, "must have at least one element"))??;
    let total = numbers.try_fold(first, |total, number| {
        total
            .add(&number?)
            .ok_or_else(|| CallError::arg(0, "has infinities of both signs, which have no sum"))
    })?;
    Ok(total.into())
}
