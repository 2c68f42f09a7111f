//! The operators. `None` means that the result is not a number, as in `0 / 0`.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::Zero;

use super::float::Float;
use super::{COUNTED, FULL, Number, Repr};

impl Number {
    /// `self + other`; `None` for infinities of opposite signs.
    #[must_use]
    pub fn add(&self, other: &Number) -> Option<Number> {
        let precision = self.precision.max(other.precision);
        if let (Repr::Int(a), Repr::Int(b)) = (&self.repr, &other.repr)
            && let Some(sum) = a.checked_add(*b)
            && fits(sum, precision)
        {
            return Some(Number { repr: Repr::Int(sum), precision });
        }
        match (self.float(), other.float()) {
            (Some(a), Some(b)) => Some(sum(&a, &b, precision)),
            (None, None) if self.is_negative() != other.is_negative() => None,
            (None, _) => Some(Number::infinity(self.is_negative(), precision)),
            (_, None) => Some(Number::infinity(other.is_negative(), precision)),
        }
    }

    /// `self - other`; `None` for infinities of equal signs.
    #[must_use]
    pub fn sub(&self, other: &Number) -> Option<Number> {
        self.add(&other.neg())
    }

    /// `self * other`; `None` for zero times infinity.
    #[must_use]
    pub fn mul(&self, other: &Number) -> Option<Number> {
        let precision = self.precision.max(other.precision);
        if let (Repr::Int(a), Repr::Int(b)) = (&self.repr, &other.repr)
            && let Some(product) = a.checked_mul(*b)
            && product != 0
        {
            return Some(Number { repr: Repr::Int(product), precision: precision.max(width(product)) });
        }
        let negative = self.is_negative() != other.is_negative();
        let (Some(a), Some(b)) = (self.float(), other.float()) else {
            let indefinite = self.is_zero() || other.is_zero();
            return (!indefinite).then(|| Number::infinity(negative, precision));
        };
        let exact = Float { negative, mantissa: a.mantissa * b.mantissa, exponent: a.exponent + b.exponent };
        // A product keeps all its bits up to the full precision, even if its factors had fewer.
        let mut product = Number::rounded(exact, FULL);
        let needed = product.float().map_or(0, |float| float.mantissa.bits());
        product.precision = precision.max(u32::try_from(needed).unwrap_or(FULL));
        Some(product)
    }

    /// `self / other`, where a division by zero is infinite; `None` for `0 / 0` and infinity by infinity.
    #[must_use]
    pub fn div(&self, other: &Number) -> Option<Number> {
        let precision = self.precision.max(other.precision);
        if let (Repr::Int(a), Repr::Int(b)) = (&self.repr, &other.repr)
            && *a != 0
            && a.checked_rem(*b) == Some(0)
            && let Some(quotient) = a.checked_div(*b)
            && fits(quotient, precision)
        {
            return Some(Number { repr: Repr::Int(quotient), precision });
        }
        let negative = self.is_negative() != other.is_negative();
        match (self.float(), other.float()) {
            (None, None) => None,
            (None, Some(_)) => Some(Number::infinity(negative, precision)),
            (Some(_), None) => Some(Number::signed_zero(negative, precision)),
            (Some(a), Some(b)) if b.mantissa.is_zero() => {
                (!a.mantissa.is_zero()).then(|| Number::infinity(negative, precision))
            }
            (Some(a), Some(b)) => Some(Number::rounded(quotient(&a, &b, negative, precision), precision)),
        }
    }

    /// `self % other` with the sign of `self`, where `x % 0` is `x`; otherwise `None` if either is infinite.
    ///
    /// The quotient is rounded before its fraction is cut, so that `10.5 % 0.1` is 0 although neither number has an
    /// exact binary form.
    #[must_use]
    pub fn rem(&self, other: &Number) -> Option<Number> {
        if other.is_zero() {
            return Some(self.clone());
        }
        if self.is_infinite() || other.is_infinite() {
            return None;
        }
        let precision = self.precision;
        if let (Repr::Int(a), Repr::Int(b)) = (&self.repr, &other.repr)
            && precision.max(other.precision) >= 2 * COUNTED
            && let Some(remainder) = a.checked_rem(*b)
        {
            return Some(Number { repr: Repr::Int(remainder), precision });
        }
        let whole = Number::from_bigint(&self.div(other)?.to_bigint()?).with_precision(precision)?;
        let (whole, divisor) = (whole.float()?, other.float()?);
        let product = Float {
            negative: whole.negative != divisor.negative,
            mantissa: whole.mantissa * divisor.mantissa,
            exponent: whole.exponent + divisor.exponent,
        };
        Number::rounded(product, precision).neg().add(self)?.with_precision(precision)
    }

    /// `-self`; the negative of zero is `-0`.
    #[must_use]
    pub fn neg(&self) -> Number {
        match &self.repr {
            Repr::Int(0) => Number::signed_zero(true, self.precision),
            Repr::Int(value) if *value != i64::MIN => Number { repr: Repr::Int(-value), ..*self },
            Repr::Infinity { negative } => Number::infinity(!negative, self.precision),
            Repr::Int(_) | Repr::Float(_) => {
                let float = self.float().expect("infinities have an arm of their own");
                Number::rounded(Float { negative: !float.negative, ..float }, self.precision)
            }
        }
    }

    /// The number without its sign.
    #[must_use]
    pub fn abs(&self) -> Number {
        if self.is_negative() { self.neg() } else { self.clone() }
    }

    /// The largest whole number that is not above it; infinities stay.
    #[must_use]
    pub fn floor(&self) -> Number {
        self.whole(Sign::Minus)
    }

    /// The smallest whole number that is not below it; infinities stay.
    #[must_use]
    pub fn ceil(&self) -> Number {
        self.whole(Sign::Plus)
    }

    /// The next whole number in the given direction.
    fn whole(&self, towards: Sign) -> Number {
        let Some(mut whole) = self.to_bigint() else { return self.clone() };
        if !self.is_whole() && self.is_negative() == (towards == Sign::Minus) {
            whole += BigInt::from_biguint(towards, BigUint::from(1_u32));
        }
        Number { precision: self.precision, ..Number::from_bigint(&whole) }
    }

    fn signed_zero(negative: bool, precision: u32) -> Number {
        Number::rounded(Float { negative, mantissa: BigUint::zero(), exponent: 0 }, precision)
    }

    /// The same number rounded to so many bits; `None` for infinities.
    fn with_precision(&self, precision: u32) -> Option<Number> {
        Some(Number::rounded(self.float()?, precision))
    }
}

/// How many bits a mantissa needs for a whole number.
fn width(value: i64) -> u32 {
    let magnitude = value.unsigned_abs();
    u64::BITS - magnitude.leading_zeros() - magnitude.trailing_zeros().min(u64::BITS - 1)
}

/// Whether a whole number can be held without rounding.
fn fits(value: i64, precision: u32) -> bool {
    precision >= COUNTED || value == 0 || width(value) <= precision
}

fn sum(a: &Float, b: &Float, precision: u32) -> Number {
    let (left, right, exponent) = a.align(b);
    let sum = left + right;
    // Opposite numbers add up to +0, while two zeros of the same sign keep it.
    let negative = if sum.is_zero() { a.negative && b.negative } else { sum.sign() == Sign::Minus };
    Number::rounded(Float { negative, mantissa: sum.into_parts().1, exponent }, precision)
}

/// The quotient with at least two bits more than needed, the lowest of which says whether anything was cut off: what
/// rounding needs to round only once.
fn quotient(a: &Float, b: &Float, negative: bool, precision: u32) -> Float {
    let shift = (u64::from(precision) + 2 + b.mantissa.bits()).saturating_sub(a.mantissa.bits());
    let dividend = &a.mantissa << shift;
    let (mut mantissa, remainder) = (&dividend / &b.mantissa, &dividend % &b.mantissa);
    let mut exponent = a.exponent - b.exponent - i64::try_from(shift).expect("a few hundred bits");
    if !remainder.is_zero() {
        mantissa = (mantissa << 1_u32) | BigUint::from(1_u32);
        exponent -= 1;
    }
    Float { negative, mantissa, exponent }
}

/// `± digits × 10^ten × 2^two` as the nearest number of full precision.
pub(super) fn scaled(negative: bool, digits: BigUint, ten: i64, two: i64) -> Number {
    let five = BigUint::from(5_u32).pow(u32::try_from(ten.unsigned_abs()).unwrap_or(u32::MAX));
    let exponent = ten + two;
    let exact = if ten >= 0 {
        Float { negative, mantissa: digits * five, exponent }
    } else {
        let divisor = Float { negative: false, mantissa: five, exponent: 0 };
        quotient(&Float { negative, mantissa: digits, exponent }, &divisor, negative, FULL)
    };
    Number::rounded(exact, FULL)
}
