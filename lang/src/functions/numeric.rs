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
        returns: Returns::Depends(|args| digits(&args[0]).map(|_| Type::Number)),
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
    real(libm::log(double(args, 0)?) / libm::log(double(args, 1)?))
}

fn pow(args: &[Value]) -> Result<Value, CallError> {
    real(power(double(args, 0)?, double(args, 1)?))
}

/// A `number` argument as an `f64`, which must have room for it.
fn double(args: &[Value], index: usize) -> Result<f64, CallError> {
    let number = args::number(args, index);
    let double = number.to_f64();
    if double.is_infinite() && !number.is_infinite() {
        return Err(CallError::arg(index, "is too large to be computed with"));
    }
    Ok(double)
}

/// `base` to the power of `exponent`, bit by bit as Terraform computes it: the standard library's result is nearer to
/// the truth, but a difference in the last digit would show in every plan.
fn power(base: f64, exponent: f64) -> f64 {
    let is_ordinary = base.is_finite() && base != 0.0 && exponent.abs() < 9.2e18;
    if !is_ordinary {
        return base.powf(exponent);
    } else if exponent == 0.5 {
        return base.sqrt();
    } else if exponent == -0.5 {
        return 1.0 / base.sqrt();
    }
    let (mut whole, mut fraction) = (exponent.abs().trunc(), exponent.abs().fract());
    // The product is kept as a mantissa near 1 and a power of two, so that it neither overflows nor loses bits.
    let (mut product, mut scale) = (1.0, 0_i64);
    if fraction != 0.0 {
        if fraction > 0.5 {
            fraction -= 1.0;
            whole += 1.0;
        }
        product = libm::exp(fraction * libm::log(base));
    }
    let (mut square, square_scale) = libm::frexp(base);
    let mut square_scale = i64::from(square_scale);
    let mut bits = whole as i64;
    while bits != 0 {
        if square_scale.abs() > 1 << 12 {
            // Whatever follows, the result is zero or infinite.
            scale += square_scale;
            break;
        }
        if bits & 1 == 1 {
            product *= square;
            scale += square_scale;
        }
        square *= square;
        square_scale *= 2;
        if square < 0.5 {
            square += square;
            square_scale -= 1;
        }
        bits >>= 1;
    }
    if exponent < 0.0 {
        product = 1.0 / product;
        scale = -scale;
    }
    libm::ldexp(product, i32::try_from(scale).unwrap_or(if scale < 0 { i32::MIN } else { i32::MAX }))
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
    let text = digits(&args[0])?.unwrap_or_default();
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

/// The text of `parseint`'s first argument, if it is known. A number is refused: its digits are in base 10 already.
fn digits(text: &Value) -> Result<Option<&str>, CallError> {
    match text.ty() {
        Type::String => Ok(text.as_str()),
        ty => Err(CallError::arg(0, format!("must be a string, not {ty}"))),
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
