//! Text → number.

use num_bigint::BigUint;
use num_traits::Zero;

use super::float::{Float, MAX_EXPONENT};
use super::{FULL, Number, arithmetic};

/// Digits beyond these cannot move the result, except by being there at all.
const DIGITS: usize = 2000;

impl Number {
    /// Reads a number at full precision: an optional sign, then digits with an optional point and exponent (`e` for
    /// powers of ten, `p` for powers of two), or `Inf`. No spaces, no other bases, no separators.
    ///
    /// A number too large to be held is infinite and one too small is zero, as in arithmetic; an exponent beyond 32
    /// bits is refused.
    #[must_use]
    pub fn parse(text: &str) -> Option<Number> {
        let (negative, text) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        if matches!(text, "Inf" | "inf") {
            return Some(Number::infinity(negative, FULL));
        }
        // Nearly all numbers are short and whole.
        if text.len() <= 18 && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            let value = Number { precision: FULL, ..Number::from(text.parse::<i64>().ok()?) };
            return Some(if negative { value.neg() } else { value });
        }
        let (mantissa, exponent) = match text.find(['e', 'E', 'p', 'P']) {
            Some(at) => (&text[..at], Some((&text[at..=at], &text[at + 1..]))),
            None => (text, None),
        };
        let (mut ten, mut two) = (0, 0);
        match exponent {
            Some(("e" | "E", exponent)) => ten = read_exponent(exponent)?,
            Some((_, exponent)) => two = read_exponent(exponent)?,
            None => {}
        }
        let (digits, places) = read_mantissa(mantissa)?;
        Some(read(negative, digits, ten + places, two))
    }
}

/// The digits as one whole number, and the power of ten it has to be multiplied with.
fn read_mantissa(text: &str) -> Option<(BigUint, i64)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let mut digits: Vec<u8> =
        whole.bytes().chain(fraction.bytes()).skip_while(|byte| *byte == b'0').collect();
    let mut exponent = -i64::try_from(fraction.len()).ok()?;
    if digits.len() > DIGITS {
        let rest = digits.split_off(DIGITS);
        exponent += i64::try_from(rest.len()).ok()?;
        if rest.iter().any(|byte| *byte != b'0') {
            digits.push(b'1');
            exponent -= 1;
        }
    }
    if digits.is_empty() {
        return Some((BigUint::zero(), 0));
    }
    Some((BigUint::parse_bytes(&digits, 10)?, exponent))
}

fn read_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse::<i32>().ok().map(i64::from)
}

/// `± digits × 10^ten × 2^two`
fn read(negative: bool, digits: BigUint, ten: i64, two: i64) -> Number {
    // Far outside of the range the power of ten would be a waste of time, so the logarithm is estimated first: a
    // factor of ten has about 3.32 bits.
    let bits = i64::try_from(digits.bits()).expect("at most a few thousand");
    let top = bits + two + ten * 332 / 100;
    let zero = digits.is_zero() || top < -2 * MAX_EXPONENT;
    if !zero && top > 2 * MAX_EXPONENT {
        return Number::infinity(negative, FULL);
    }
    if zero {
        return Number::rounded(Float { negative, mantissa: BigUint::zero(), exponent: 0 }, FULL);
    }
    arithmetic::scaled(negative, digits, ten, two)
}
