//! `format` and its verbs.
//!
//! A verb is `%`, flags, width, `.` and precision, `[n]` for the argument, and a letter; in this order.

use unicode_segmentation::UnicodeSegmentation;

use super::check_length;
use crate::functions::CallError;
use crate::functions::encoding::json;
use crate::{Kind, Number, Type, Value, convert};

/// The largest width and precision.
const MAX_SIZE: usize = 1_000_000;

/// Writes the arguments, wholly known and without marks, into the places that the verbs of `spec` mark. Errors count
/// arguments from 1, since the text itself is the first argument of every caller.
pub(super) fn format(spec: &str, args: &[Value]) -> Result<String, CallError> {
    let mut out = String::new();
    let (mut next, mut used) = (0, 0);
    let mut rest = spec;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        if let Some(after) = after.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let (verb, after) = Verb::parse(after).map_err(|problem| CallError::arg(0, problem))?;
        rest = after;
        let index = verb.index.unwrap_or(next);
        let Some(argument) = args.get(index) else {
            return Err(CallError::arg(
                0,
                format!("`{}` wants argument {}, but there are only {}", verb.text, index + 1, args.len()),
            ));
        };
        next = index + 1;
        used = used.max(next);
        let text = verb.write(argument);
        out.push_str(
            &text.map_err(|p| CallError::arg(index + 1, format!("does not fit `{}`: {p}", verb.text)))?,
        );
        check_length(out.len())?;
    }
    out.push_str(rest);
    if used < args.len() {
        return Err(CallError::arg(used + 1, "is left over: no verb in the text asks for it"));
    }
    Ok(out)
}

#[derive(Default)]
struct Verb<'a> {
    /// The whole verb, for messages.
    text: String,
    flags: &'a str,
    width: usize,
    precision: Option<usize>,
    /// The argument, counted from 0, if it is not simply the next one.
    index: Option<usize>,
    letter: char,
}

impl Verb<'_> {
    /// Reads what follows a `%`, and gives what follows the verb.
    fn parse(text: &str) -> Result<(Verb<'_>, &str), String> {
        let mut verb = Verb::default();
        let (flags, mut rest) = split(text, |c| matches!(c, ' ' | '+' | '-' | '#' | '0'));
        verb.flags = flags;
        let (width, after) = split(rest, |c| c.is_ascii_digit());
        verb.width = size(width)?;
        rest = after;
        if let Some(after) = rest.strip_prefix('.') {
            let (precision, after) = split(after, |c| c.is_ascii_digit());
            verb.precision = Some(size(precision)?);
            rest = after;
        }
        if let Some(after) = rest.strip_prefix('[') {
            let (index, after) = split(after, |c| c.is_ascii_digit());
            let index = index.parse::<usize>().ok().and_then(|index| index.checked_sub(1));
            match (index, after.strip_prefix(']')) {
                (Some(index), Some(after)) => {
                    verb.index = Some(index);
                    rest = after;
                }
                _ => {
                    return Err(
                        "in a verb, `[` needs the number of an argument, counted from 1, and a `]`".into()
                    );
                }
            }
        }
        let mut chars = rest.chars();
        verb.letter = chars.next().ok_or("the text ends within a verb; a percent sign is written `%%`")?;
        verb.text = format!("%{}", &text[..text.len() - chars.as_str().len()]);
        if !"vtbdoxXeEfgGsq".contains(verb.letter) {
            return Err(format!("there is no verb `{}`; a percent sign is written `%%`", verb.text));
        }
        Ok((verb, chars.as_str()))
    }

    fn flag(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    fn write(&self, value: &Value) -> Result<String, String> {
        if self.letter == 'v' {
            return Ok(self.pad(self.as_is(value)?));
        }
        if value.is_null() {
            return Err("it is null".into());
        }
        let converted = |ty: Type| convert(value, &ty).map_err(|error| error.to_string());
        let wanted = match self.letter {
            's' | 'q' => Type::String,
            't' => Type::Bool,
            _ => Type::Number,
        };
        match converted(wanted)?.kind {
            Kind::String(text) => {
                let text = match self.precision {
                    Some(count @ 1..) => text.graphemes(true).take(count).collect(),
                    _ => text.to_string(),
                };
                let mut quoted = String::new();
                json::quote(&text, &mut quoted);
                Ok(self.pad(if self.letter == 'q' { quoted } else { text }))
            }
            Kind::Bool(truth) => Ok(truth.to_string()),
            Kind::Number(number) if matches!(self.letter, 'b' | 'd' | 'o' | 'x' | 'X') => self.whole(&number),
            Kind::Number(number) => Ok(self.float(&number)),
            _ => Err("it is not known".into()),
        }
    }

    /// `%v`: strings as they are, numbers in their shortest form, everything else, and with `#` all, as JSON.
    fn as_is(&self, value: &Value) -> Result<String, String> {
        match &value.kind {
            Kind::String(text) if !self.flag('#') => Ok(text.to_string()),
            Kind::Number(number) if !self.flag('#') => {
                let sign = match (number.is_negative(), number.is_infinite()) {
                    (true, _) => "-",
                    (false, true) => "+",
                    (false, false) => "",
                };
                Ok(format!("{sign}{}", number.general(None)))
            }
            _ => {
                let mut out = String::new();
                json::encode(value, &mut out)?;
                Ok(out)
            }
        }
    }

    /// Pads a text to the width, counted in what readers see as characters.
    fn pad(&self, text: String) -> String {
        let missing = self.width.saturating_sub(text.graphemes(true).count());
        let padding = if self.flag('0') { "0" } else { " " }.repeat(missing);
        if self.flag('-') { text + &padding } else { padding + &text }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match () {
            () if negative => "-",
            () if self.flag('+') => "+",
            () if self.flag(' ') => " ",
            () => "",
        }
    }

    fn whole(&self, number: &Number) -> Result<String, String> {
        let whole = number.to_bigint().filter(|_| number.is_whole()).ok_or("it is not a whole number")?;
        let (radix, prefix) = match self.letter {
            'b' => (2, "0b"),
            'o' => (8, "0"),
            'x' => (16, "0x"),
            'X' => (16, "0X"),
            _ => (10, ""),
        };
        let prefix = if self.flag('#') { prefix } else { "" };
        let mut digits = whole.magnitude().to_str_radix(radix);
        if self.letter == 'X' {
            digits.make_ascii_uppercase();
        }
        let is_zero = digits == "0";
        if let Some(precision) = self.precision {
            // Zero with no digits wanted is no text at all.
            if is_zero && precision == 0 {
                return Ok(String::new());
            }
            digits.insert_str(0, &"0".repeat(precision.saturating_sub(digits.len())));
        }
        let head = format!("{}{prefix}", self.sign(whole.sign() == num_bigint::Sign::Minus));
        let missing = self.width.saturating_sub(head.len() + digits.len());
        Ok(if self.flag('-') {
            format!("{head}{digits}{}", " ".repeat(missing))
        } else if self.flag('0') && self.precision.is_none() {
            format!("{head}{}{digits}", "0".repeat(missing))
        } else {
            format!("{}{head}{digits}", " ".repeat(missing))
        })
    }

    fn float(&self, number: &Number) -> String {
        let infinite = number.is_infinite();
        let mut digits = match self.letter {
            _ if infinite => "Inf".to_owned(),
            'f' => number.fixed(self.precision.unwrap_or(6)),
            'e' | 'E' => number.scientific(self.precision.unwrap_or(6)),
            _ => number.general(self.precision),
        };
        if matches!(self.letter, 'E' | 'G') && !infinite {
            digits.make_ascii_uppercase();
        }
        let sign = match self.sign(number.is_negative()) {
            "" if infinite => "+",
            "+" if infinite && self.flag(' ') => " ",
            sign => sign,
        };
        let missing = self.width.saturating_sub(sign.len() + digits.len());
        if self.flag('0') && !infinite {
            format!("{sign}{}{digits}", "0".repeat(missing))
        } else if self.flag('-') {
            format!("{sign}{digits}{}", " ".repeat(missing))
        } else {
            format!("{}{sign}{digits}", " ".repeat(missing))
        }
    }
}

/// The start of a text as far as its characters are wanted, and the rest.
fn split(text: &str, wanted: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !wanted(c)).unwrap_or(text.len()))
}

/// A width or precision; nothing is zero.
fn size(digits: &str) -> Result<usize, String> {
    if digits.is_empty() {
        return Ok(0);
    }
    let size = digits.parse().ok().filter(|size| *size <= MAX_SIZE);
    size.ok_or_else(|| format!("widths and precisions go up to {MAX_SIZE}, but {digits} is wanted"))
}
