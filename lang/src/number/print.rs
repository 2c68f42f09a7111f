//! Number → text: the shortest that reads back as the same number at its precision, never with an exponent.

use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};

use num_bigint::BigUint;
use num_traits::{One, Zero};

use super::float::Float;
use super::{FULL, Number, Repr};

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.repr {
            Repr::Infinity { negative } => f.write_str(if *negative { "-Inf" } else { "+Inf" }),
            Repr::Int(value) if value.unsigned_abs().checked_ilog2().unwrap_or(0) < self.precision => {
                write!(f, "{value}")
            }
            // A whole number with bits to spare has no shorter form than its own digits.
            Repr::Float(float)
                if !float.mantissa.is_zero()
                    && float.exponent >= 0
                    && float.top() <= i64::from(self.precision) =>
            {
                write!(f, "{}", float.truncate())
            }
            Repr::Int(_) | Repr::Float(_) => {
                let float = self.float().expect("infinities have an arm of their own");
                let sign = if float.negative { "-" } else { "" };
                write!(f, "{sign}{}", shortest(&float, self.precision).plain())
            }
        }
    }
}

impl Number {
    /// A text that only equal numbers of the same sign have, whatever their precision.
    pub(crate) fn exact_text(&self) -> String {
        match &self.repr {
            Repr::Int(value) => value.to_string(),
            Repr::Float(float) => {
                let sign = if float.negative { "-" } else { "" };
                format!("{sign}{:x}p{}", float.mantissa, float.exponent)
            }
            Repr::Infinity { .. } => self.to_string(),
        }
    }

    /// The number rounded to ten digits, with an exponent where Go's `%g` has one. Sets of compound values are ordered
    /// by texts in which numbers look like this.
    pub(crate) fn ten_digits(&self) -> String {
        let Some(float) = self.float() else { return self.to_string() };
        let sign = if float.negative { "-" } else { "" };
        if float.mantissa.is_zero() {
            return format!("{sign}0");
        }
        let (digits, more) = Decimal::of(&float.mantissa, float.exponent, 12);
        format!("{sign}{}", digits.round(10, more).general(10))
    }
}

/// `0.DIGITS × 10^point`, the digits as values from 0 to 9 without zeros at the end.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    pub(super) fn zero() -> Decimal {
        Decimal { digits: vec![0], point: 1 }
    }

    /// The power of ten that the first digit stands behind.
    pub(super) fn point(&self) -> i64 {
        self.point
    }

    /// At least `count` digits of `mantissa × 2^exponent`, and whether anything was cut off.
    pub(super) fn of(mantissa: &BigUint, exponent: i64, count: usize) -> (Decimal, bool) {
        let count = i64::try_from(count).expect("a few hundred digits");
        let top = exponent + i64::try_from(mantissa.bits()).expect("no mantissa fills the memory");
        // The value has about 0.30103 decimal digits for each bit; one more digit makes up for the rounding.
        let places = count + 1 - top * 30103 / 100_000;
        let ten =
            BigUint::from(10_u32).pow(u32::try_from(places.unsigned_abs()).expect("the exponent is bounded"));
        let (mut numerator, mut denominator) = (mantissa.clone(), BigUint::from(1_u32));
        if places >= 0 {
            numerator *= ten;
        } else {
            denominator = ten;
        }
        if exponent >= 0 {
            numerator <<= exponent.unsigned_abs();
        } else {
            denominator <<= exponent.unsigned_abs();
        }
        let (quotient, remainder) = (&numerator / &denominator, &numerator % &denominator);
        let digits = quotient.to_radix_be(10);
        let point = i64::try_from(digits.len()).expect("a few hundred digits") - places;
        (Decimal { digits, point }.trim(), !remainder.is_zero())
    }

    fn trim(mut self) -> Decimal {
        let end = self.digits.iter().rposition(|digit| *digit != 0).map_or(0, |at| at + 1);
        self.digits.truncate(end);
        self
    }

    fn at(&self, index: usize) -> u8 {
        self.digits.get(index).copied().unwrap_or(0)
    }

    fn cut(mut self, count: usize) -> Decimal {
        self.digits.truncate(count);
        self.trim()
    }

    /// The first `count` digits, one unit larger.
    fn cut_up(mut self, count: usize) -> Decimal {
        self.digits.truncate(count);
        while let Some(last) = self.digits.pop() {
            if last < 9 {
                self.digits.push(last + 1);
                return self;
            }
        }
        Decimal { digits: vec![1], point: self.point + 1 }
    }

    /// The nearest decimal of `count` digits, ties to even; `more` says that something follows the last digit.
    pub(super) fn round(self, count: usize, more: bool) -> Decimal {
        if self.digits.len() <= count {
            return self;
        }
        let rest_of_half = self.digits.len() > count + 1 || more;
        let up = match self.digits[count].cmp(&5) {
            Ordering::Less => false,
            Ordering::Greater => true,
            Ordering::Equal => rest_of_half || (count > 0 && self.digits[count - 1] % 2 == 1),
        };
        if up { self.cut_up(count) } else { self.cut(count) }
    }

    /// Without an exponent.
    pub(super) fn plain(&self) -> String {
        let digit = |index: i64| match usize::try_from(index) {
            Ok(index) => char::from(b'0' + self.at(index)),
            Err(_) => '0',
        };
        let len = i64::try_from(self.digits.len()).expect("a few hundred digits");
        let mut text = String::new();
        if self.point <= 0 {
            text.push('0');
        }
        text.extend((0..self.point).map(digit));
        if len > self.point {
            text.push('.');
            text.extend((self.point..len).map(digit));
        }
        text
    }

    /// With an exponent if it is below -4 or the whole part has more than `limit` digits.
    pub(super) fn general(&self, limit: i64) -> String {
        let exponent = self.point - 1;
        let len = i64::try_from(self.digits.len()).expect("a few hundred digits");
        let limit = if limit > len && len >= self.point { len } else { limit };
        if (-4..limit).contains(&exponent) {
            return self.plain();
        }
        self.with_exponent()
    }

    /// One digit before the point, and an exponent.
    pub(super) fn with_exponent(&self) -> String {
        let exponent = self.point - 1;
        let mantissa = Decimal { point: 1, ..self.clone() }.plain();
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
    }
}

/// The fewest digits that lie nearer to the number than to its neighbours of the same precision.
pub(super) fn shortest(float: &Float, precision: u32) -> Decimal {
    if float.mantissa.is_zero() {
        return Decimal::zero();
    }
    // With two bits more than the precision, two units are half of the distance to a neighbour. Below a power of two
    // the neighbours are twice as near; Terraform overlooks that, and so does this for numbers of fewer bits, whose
    // texts are not meant to be read back: `pow(2, 64)` is 18446744073709550000 there.
    let shift = (u64::from(precision) + 2).saturating_sub(float.mantissa.bits());
    let middle = &float.mantissa << shift;
    let exponent = float.exponent - i64::try_from(shift).expect("a few hundred bits");
    let below = if float.mantissa.is_one() && precision >= FULL { 1_u32 } else { 2 };
    let count = usize::try_from(precision).expect("fits the address space") * 30103 / 100_000 + 3;
    let (number, more) = Decimal::of(&middle, exponent, count);
    let (lower, lower_more) = Decimal::of(&(&middle - below), exponent, count);
    let (upper, upper_more) = Decimal::of(&(&middle + 2_u32), exponent, count);
    // A text exactly between two numbers reads as the even one of them.
    let even = !middle.bit(2);
    for index in 0..number.digits.len() {
        let (digit, above) = (number.at(index), upper.at(index));
        let lower_ends = !lower_more && index + 1 == lower.digits.len();
        let upper_goes_on = upper_more || index + 1 < upper.digits.len();
        let down = digit != lower.at(index) || (even && lower_ends);
        let up = digit != above && (even || digit + 1 < above || upper_goes_on);
        let count = index + 1;
        match (down, up) {
            (true, true) => return number.round(count, more),
            (true, false) => return number.cut(count),
            (false, true) => return number.cut_up(count),
            (false, false) => {}
        }
    }
    number
}
