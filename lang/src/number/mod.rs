//! 512-bit binary floating point numbers, with a fast path for whole numbers that fit an `i64`.
//!
//! 1. this file: the type and what can be asked of a number
//! 2. [`float`]: mantissa, exponent and rounding
//! 3. [`arithmetic`]: the operators
//! 4. [`parse`]: text → number
//! 5. [`print`](mod@print): number → the shortest text that reads back as it; [`layout`]: with a given number of digits;
//!    [`exact`]: to and from a text for machines

mod arithmetic;
mod exact;
mod float;
#[cfg(test)]
mod laws;
mod layout;
mod parse;
mod print;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use num_bigint::{BigInt, Sign};
use num_traits::Zero;

use float::Float;

/// The precision of literals and of text read as a number, in bits.
const FULL: u32 = 512;
/// The precision of counted things, such as lengths and indexes.
const COUNTED: u32 = 64;
/// The precision of what comes out of an `f64`.
const DOUBLE: u32 = 53;

/// A number as Terraform has it: a mantissa of 512 bits, signed zero, infinities, no NaN.
///
/// A number remembers how many bits it was computed with, because that decides how many digits it prints:
/// `pow(2, 0.5)` goes through an `f64` and prints 17 of them, `1 / 3` prints 155. Precision has no part in
/// equality, and neither has the sign of zero.
#[derive(Clone, Debug)]
pub struct Number {
    repr: Repr,
    /// How many bits the mantissa may have. Counted in bits rather than named, because a product keeps all of its own.
    precision: u32,
}

/// The three ways to hold a number. A whole number that fits an `i64` is always an `Int`, except `-0`.
#[derive(Clone, Debug)]
enum Repr {
    Int(i64),
    Float(Arc<Float>),
    Infinity { negative: bool },
}

impl Number {
    /// Zero.
    pub const ZERO: Number = Number { repr: Repr::Int(0), precision: FULL };

    /// A whole number as if it stood in a text: at full precision.
    #[must_use]
    pub fn from_whole(value: i64) -> Number {
        Number { repr: Repr::Int(value), precision: FULL }
    }

    /// What an `f64` holds, exactly; `None` for NaN.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Number> {
        if value.is_nan() {
            None
        } else if value.is_infinite() {
            Some(Number::infinity(value.is_sign_negative(), DOUBLE))
        } else {
            Some(Number::rounded(Float::from_f64(value), DOUBLE))
        }
    }

    /// A whole number of any size, exactly.
    #[must_use]
    pub fn from_bigint(value: &BigInt) -> Number {
        let bits = u32::try_from(value.bits()).unwrap_or(u32::MAX);
        let negative = value.sign() == Sign::Minus;
        Number::rounded(
            Float { negative, mantissa: value.magnitude().clone(), exponent: 0 },
            bits.max(COUNTED),
        )
    }

    /// The nearest `f64`.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        match &self.repr {
            // The conversion of an integer rounds to the nearest, ties to even, as ours would.
            Repr::Int(value) => *value as f64,
            Repr::Float(float) => float.to_f64(),
            Repr::Infinity { negative: false } => f64::INFINITY,
            Repr::Infinity { negative: true } => f64::NEG_INFINITY,
        }
    }

    /// The number if it is whole and fits.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        match &self.repr {
            Repr::Int(value) => Some(*value),
            Repr::Float(float) => float.mantissa.is_zero().then_some(0),
            Repr::Infinity { .. } => None,
        }
    }

    /// The number without its fraction; `None` for infinities.
    #[must_use]
    pub fn to_bigint(&self) -> Option<BigInt> {
        match &self.repr {
            Repr::Int(value) => Some(BigInt::from(*value)),
            Repr::Float(float) => Some(float.truncate()),
            Repr::Infinity { .. } => None,
        }
    }

    /// Whether it has no fraction. Infinities are not whole.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        match &self.repr {
            Repr::Int(_) => true,
            Repr::Float(float) => float.exponent >= 0,
            Repr::Infinity { .. } => false,
        }
    }

    /// Whether it is one of the two infinities.
    #[must_use]
    pub fn is_infinite(&self) -> bool {
        matches!(self.repr, Repr::Infinity { .. })
    }

    /// Whether it is zero, of either sign.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.to_i64() == Some(0)
    }

    /// Whether it has a minus sign, which zero may have too.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        match &self.repr {
            Repr::Int(value) => *value < 0,
            Repr::Float(float) => float.negative,
            Repr::Infinity { negative } => *negative,
        }
    }

    fn infinity(negative: bool, precision: u32) -> Number {
        Number { repr: Repr::Infinity { negative }, precision }
    }

    /// The number nearest to `float` with so many bits.
    fn rounded(float: Float, precision: u32) -> Number {
        let float = float.round(precision);
        if float.mantissa.is_zero() && !float.negative {
            return Number { repr: Repr::Int(0), precision };
        }
        if float.overflows() {
            return Number::infinity(float.negative, precision);
        }
        let repr = match float.to_i64() {
            Some(value) => Repr::Int(value),
            None => Repr::Float(Arc::new(float)),
        };
        Number { repr, precision }
    }

    /// Mantissa and exponent; `None` for infinities.
    fn float(&self) -> Option<Float> {
        match &self.repr {
            Repr::Int(value) => Some(Float::from(*value)),
            Repr::Float(float) => Some(Float::clone(float)),
            Repr::Infinity { .. } => None,
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number { repr: Repr::Int(value), precision: COUNTED }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        match (&self.repr, &other.repr) {
            (Repr::Int(a), Repr::Int(b)) => a.cmp(b),
            (Repr::Infinity { negative: a }, Repr::Infinity { negative: b }) => b.cmp(a),
            (Repr::Infinity { negative }, _) => {
                if *negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (_, Repr::Infinity { .. }) => other.cmp(self).reverse(),
            (Repr::Float(a), Repr::Float(b)) => a.cmp(b),
            (Repr::Int(a), Repr::Float(b)) => Float::from(*a).cmp(b),
            (Repr::Float(a), Repr::Int(b)) => a.cmp(&Float::from(*b)),
        }
    }
}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.repr {
            Repr::Float(float) if !float.mantissa.is_zero() => {
                1_u8.hash(state);
                (float.negative, &float.mantissa, float.exponent).hash(state);
            }
            Repr::Int(_) | Repr::Float(_) => {
                0_u8.hash(state);
                self.to_i64().hash(state);
            }
            Repr::Infinity { negative } => (2_u8, negative).hash(state),
        }
    }
}
