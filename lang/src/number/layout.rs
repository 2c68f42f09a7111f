//! Number → text with a given number of digits, as `format` needs it. The texts have no sign.

use num_traits::Zero;

use super::Number;
use super::print::{Decimal, shortest};

impl Number {
    /// With so many places after the point, as in `1.50`.
    pub(crate) fn fixed(&self, places: usize) -> String {
        let Some(float) = self.float() else { return "Inf".to_owned() };
        let mut decimal = Decimal::zero();
        if !float.mantissa.is_zero() {
            let places = i64::try_from(places).unwrap_or(i64::MAX / 2);
            // Enough digits for the places, although the power of ten is only estimated.
            let wanted = float.top() * 30103 / 100_000 + places + 3;
            let (digits, more) =
                Decimal::of(&float.mantissa, float.exponent, usize::try_from(wanted).unwrap_or(1));
            if let Ok(count) = usize::try_from(digits.point() + places) {
                decimal = digits.round(count, more);
            }
        }
        let text = decimal.plain();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        with_places(whole, fraction, places)
    }

    /// With one digit before the point, so many after it and an exponent, as in `1.50e+00`.
    pub(crate) fn scientific(&self, places: usize) -> String {
        let Some(float) = self.float() else { return "Inf".to_owned() };
        let mut decimal = Decimal::zero();
        if !float.mantissa.is_zero() {
            let (digits, more) = Decimal::of(&float.mantissa, float.exponent, places + 3);
            decimal = digits.round(places + 1, more);
        }
        let text = decimal.with_exponent();
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        format!("{}e{exponent}", with_places(whole, fraction, places))
    }

    /// With so many digits, or as few as tell the number from others, and an exponent only if it is large or below
    /// -4.
    pub(crate) fn general(&self, digits: Option<usize>) -> String {
        let Some(float) = self.float() else { return "Inf".to_owned() };
        if float.mantissa.is_zero() {
            return "0".to_owned();
        }
        match digits {
            None => shortest(&float, self.precision).general(6),
            Some(count) => {
                let count = count.max(1);
                let (decimal, more) = Decimal::of(&float.mantissa, float.exponent, count + 2);
                decimal.round(count, more).general(i64::try_from(count).unwrap_or(i64::MAX))
            }
        }
    }
}

/// Both parts of a number, the second one filled up with zeros. The standard library pads to 65535 at most.
fn with_places(whole: &str, fraction: &str, places: usize) -> String {
    let zeros = "0".repeat(places.saturating_sub(fraction.len()));
    if places == 0 { whole.to_owned() } else { format!("{whole}.{fraction}{zeros}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn fixed_places() {
        let check = |text, places, expected: &str| assert_eq!(number(text).fixed(places), expected, "{text}");
        check("1.5", 6, "1.500000");
        check("1.555", 2, "1.56");
        check("0.5", 0, "0");
        check("1.5", 0, "2");
        check("2.5", 0, "2");
        check("9.999", 2, "10.00");
        check("0.96", 1, "1.0");
        check("0.06", 1, "0.1");
        check("0.05", 1, "0.1");
        check("0.04", 1, "0.0");
        check("0.004", 1, "0.0");
        check("1e30", 1, "1000000000000000000000000000000.0");
        check("1e-300", 3, "0.000");
        check("123456789012345678901234567890", 0, "123456789012345678901234567890");
        check("0", 2, "0.00");
        check("0", 0, "0");
        check("1.5", 70_000, &format!("1.5{}", "0".repeat(69_999)));
    }

    #[test]
    fn scientific_notation() {
        let check =
            |text, places, expected: &str| assert_eq!(number(text).scientific(places), expected, "{text}");
        check("123456789", 6, "1.234568e+08");
        check("15", 0, "2e+01");
        check("25", 0, "2e+01");
        check("1e-10", 6, "1.000000e-10");
        check("1e100", 1, "1.0e+100");
        check("9.99", 1, "1.0e+01");
        check("0", 2, "0.00e+00");
    }

    #[test]
    fn general_notation() {
        let check =
            |text, digits, expected: &str| assert_eq!(number(text).general(digits), expected, "{text}");
        check("0.0001", None, "0.0001");
        check("0.00001", None, "1e-05");
        check("100000", None, "100000");
        check("1000000", None, "1e+06");
        check("123456789", None, "1.23456789e+08");
        check("1.5", None, "1.5");
        check("1234567", Some(3), "1.23e+06");
        check("100000", Some(5), "1e+05");
        check("1234567", Some(0), "1e+06");
        check("0.1", Some(17), "0.1");
        check("0", None, "0");
    }
}
