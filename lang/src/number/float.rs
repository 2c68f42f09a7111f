//! Mantissa, exponent and rounding.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{One, ToPrimitive, Zero};

/// Numbers of 2^this and more are infinite, and those below 2^-this are zero. Terraform draws the line at 2^31, where
/// printing a number takes hundreds of megabytes; this one keeps every number below a hundred kilobytes of text.
pub(super) const MAX_EXPONENT: i64 = 1 << 18;

/// `± mantissa × 2^exponent`. The mantissa is odd, or zero with exponent zero, once [`Float::round`] has seen it, so
/// that equal numbers look the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Float {
    pub(super) negative: bool,
    pub(super) mantissa: BigUint,
    pub(super) exponent: i64,
}

impl From<i64> for Float {
    fn from(value: i64) -> Float {
        let mantissa = BigUint::from(value.unsigned_abs());
        Float { negative: value < 0, mantissa, exponent: 0 }.normalize()
    }
}

impl Float {
    /// The value of a finite `f64`.
    pub(super) fn from_f64(value: f64) -> Float {
        let bits = value.abs().to_bits();
        let (fraction, scale) = (bits & ((1 << 52) - 1), bits >> 52);
        let (mantissa, exponent) = match i64::try_from(scale).expect("eleven bits fit") {
            0 => (fraction, -1074),
            scale => (fraction | (1 << 52), scale - 1075),
        };
        Float { negative: value.is_sign_negative(), mantissa: mantissa.into(), exponent }.normalize()
    }

    /// The nearest `f64`, ties to even.
    pub(super) fn to_f64(&self) -> f64 {
        // Below 2^-1022 an f64 has fewer bits, down to none at 2^-1074.
        let available = (self.top() + 1074).clamp(0, 53);
        let magnitude = if available == 0 {
            // At most half of the smallest f64, or a little more than half of it.
            let above_half = self.top() == -1074 && !self.mantissa.is_one();
            f64::from_bits(u64::from(above_half))
        } else {
            let rounded = self.clone().round(u32::try_from(available).expect("at most 53"));
            let mantissa = rounded.mantissa.to_u64().expect("at most 53 bits");
            if rounded.top() > 1024 { f64::INFINITY } else { scale(mantissa, rounded.exponent) }
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// The value if it is whole and fits, `-0` excepted.
    pub(super) fn to_i64(&self) -> Option<i64> {
        if self.exponent < 0 || self.top() > 64 || (self.negative && self.mantissa.is_zero()) {
            return None;
        }
        let magnitude = i128::from(self.mantissa.to_u64()?) << self.exponent;
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }

    /// The value without its fraction.
    pub(super) fn truncate(&self) -> BigInt {
        let shift = self.exponent.unsigned_abs();
        let magnitude = if self.exponent < 0 { &self.mantissa >> shift } else { &self.mantissa << shift };
        BigInt::from_biguint(if self.negative { Sign::Minus } else { Sign::Plus }, magnitude)
    }

    /// One more than the exponent of the highest bit: the value is below `2^top`.
    pub(super) fn top(&self) -> i64 {
        self.exponent + i64::try_from(self.mantissa.bits()).expect("no mantissa fills the memory")
    }

    /// Whether it is too large to be held.
    pub(super) fn overflows(&self) -> bool {
        self.top() > MAX_EXPONENT
    }

    /// The nearest value whose mantissa has at most so many bits, ties to even, in the form that equal values share.
    /// A value too small to be held becomes a zero of its sign.
    pub(super) fn round(mut self, precision: u32) -> Float {
        let surplus = self.mantissa.bits().saturating_sub(u64::from(precision));
        if surplus > 0 {
            let half = self.mantissa.bit(surplus - 1);
            let exactly_half = half && self.mantissa.trailing_zeros() == Some(surplus - 1);
            self.mantissa >>= surplus;
            self.exponent += i64::try_from(surplus).expect("no mantissa fills the memory");
            if half && (!exactly_half || self.mantissa.bit(0)) {
                self.mantissa += 1_u32;
            }
        }
        if self.top() < -MAX_EXPONENT {
            self.mantissa = BigUint::zero();
        }
        self.normalize()
    }

    /// The same value with an odd mantissa.
    fn normalize(mut self) -> Float {
        match self.mantissa.trailing_zeros() {
            None => self.exponent = 0,
            Some(0) => {}
            Some(zeros) => {
                self.mantissa >>= zeros;
                self.exponent += i64::try_from(zeros).expect("no mantissa fills the memory");
            }
        }
        self
    }

    /// The signed mantissas of two values at the lower of their exponents, and that exponent.
    pub(super) fn align(&self, other: &Float) -> (BigInt, BigInt, i64) {
        let exponent = self.exponent.min(other.exponent);
        (self.mantissa_at(exponent), other.mantissa_at(exponent), exponent)
    }

    fn mantissa_at(&self, exponent: i64) -> BigInt {
        let sign = if self.negative { Sign::Minus } else { Sign::Plus };
        BigInt::from_biguint(sign, &self.mantissa << (self.exponent - exponent).unsigned_abs())
    }

    /// The order of two values; zeros are equal.
    pub(super) fn cmp(&self, other: &Float) -> Ordering {
        let sign = |float: &Float| match (float.mantissa.is_zero(), float.negative) {
            (true, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        };
        let by_sign = sign(self).cmp(&sign(other));
        if by_sign != Ordering::Equal || self.mantissa.is_zero() {
            return by_sign;
        }
        let by_magnitude = self.top().cmp(&other.top()).then_with(|| {
            let (a, b, _) = self.align(other);
            a.magnitude().cmp(b.magnitude())
        });
        if self.negative { by_magnitude.reverse() } else { by_magnitude }
    }
}

/// `mantissa × 2^exponent` for a product that an `f64` holds exactly.
fn scale(mantissa: u64, exponent: i64) -> f64 {
    // Two steps, because 2^exponent alone may be too small for an f64 although the product is not.
    let power = |exponent: i64| 2_f64.powi(i32::try_from(exponent).expect("within the range of an f64"));
    let half = exponent / 2;
    mantissa as f64 * power(half) * power(exponent - half)
}
