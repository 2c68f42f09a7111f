//! 512-bit binary floating point numbers, with a fast path for whole numbers that fit an `i64`.

/// A number as Terraform has it: 512 bits of mantissa, signed zero, infinities, no NaN.
///
/// A whole number that fits an `i64` is always held as one (except `-0`), so that equal numbers are equal to Rust.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// A whole number.
    Int(i64),
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number::Int(value)
    }
}
