//! Number ↔ a text for machines, which loses nothing: `53:-3p-1` is -3 × 2^-1, computed with 53 bits.

use num_bigint::BigUint;

use super::float::{Float, MAX_EXPONENT};
use super::{Number, Repr};

/// No operation makes a mantissa longer than this; a text that says otherwise was not written by us.
const MAX_PRECISION: u32 = 1 << 20;

impl Number {
    /// The text that [`Number::from_exact_text`] reads back as the same number with the same precision.
    #[must_use]
    pub fn to_exact_text(&self) -> String {
        let sign = if self.is_negative() { "-" } else { "" };
        match self.float() {
            Some(float) => format!("{}:{sign}{:x}p{}", self.precision, float.mantissa, float.exponent),
            None => format!("{}:{sign}inf", self.precision),
        }
    }

    /// Reads what [`Number::to_exact_text`] wrote.
    #[must_use]
    pub fn from_exact_text(text: &str) -> Option<Number> {
        let (precision, rest) = text.split_once(':')?;
        let precision = precision.parse().ok().filter(|bits| (1..=MAX_PRECISION).contains(bits))?;
        let (negative, rest) = rest.strip_prefix('-').map_or((false, rest), |rest| (true, rest));
        if rest == "inf" {
            return Some(Number { repr: Repr::Infinity { negative }, precision });
        }
        let (mantissa, exponent) = rest.split_once('p')?;
        let mantissa = BigUint::parse_bytes(mantissa.as_bytes(), 16)?;
        let exponent: i64 = exponent.parse().ok()?;
        let in_range = exponent.unsigned_abs() <= MAX_EXPONENT.unsigned_abs() + u64::from(MAX_PRECISION);
        in_range.then(|| Number::rounded(Float { negative, mantissa, exponent }, precision))
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn a_number_comes_back_as_it_was() {
        let parse = |text| Number::parse(text).unwrap();
        let third = Number::from(1).div(&parse("3")).unwrap();
        let long = third.mul(&third).unwrap();
        let numbers = [
            parse("0"),
            parse("-0"),
            parse("-7"),
            parse("0.1"),
            parse("1e200"),
            parse("1e-300"),
            parse("Inf"),
            parse("-Inf"),
            Number::from_f64(0.1).unwrap(),
            third,
            long,
        ];
        for number in numbers {
            let text = number.to_exact_text();
            let back = Number::from_exact_text(&text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(back, number, "{text}");
            assert_eq!(back.to_string(), number.to_string(), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in
            ["", "1", "53:", "53:p", "53:1p", "0:1p0", "53:gp0", "x:1p0", "53:1p99999999999", "99999999:1p0"]
        {
            assert_eq!(Number::from_exact_text(text), None, "{text}");
        }
    }
}
