//! Laws of numbers, checked against exact rational arithmetic.

use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;

use num_rational::BigRational;
use num_traits::{One, Signed};
use proptest::prelude::*;

use super::*;

fn exact(number: &Number) -> BigRational {
    let float = number.float().expect("finite");
    let sign = if float.negative { Sign::Minus } else { Sign::Plus };
    let mantissa = BigRational::from(BigInt::from_biguint(sign, float.mantissa));
    mantissa * power_of_two(float.exponent)
}

fn power_of_two(exponent: i64) -> BigRational {
    let power = BigRational::from(BigInt::one() << exponent.unsigned_abs());
    if exponent < 0 { power.recip() } else { power }
}

fn hash(number: &Number) -> u64 {
    let mut hasher = DefaultHasher::new();
    number.hash(&mut hasher);
    hasher.finish()
}

/// Fails unless `result` is the number of `bits` bits nearest to `wanted`, ties to even.
fn assert_nearest(result: &Number, wanted: &BigRational, bits: u32) {
    if wanted.is_zero() {
        assert!(result.is_zero());
        return;
    }
    let float = result.float().expect("finite");
    assert!(float.mantissa.bits() <= u64::from(bits));
    // Just below a power of two the neighbours are twice as near as above it.
    let at = |bits: i64| power_of_two(float.top() - bits);
    let lower_ulp = if float.mantissa.is_one() { at(i64::from(bits) + 1) } else { at(i64::from(bits)) };
    let error = wanted.abs() - exact(result).abs();
    let half = if error.is_negative() { lower_ulp } else { at(i64::from(bits)) } / BigInt::from(2);
    let even = float.mantissa.bits() < u64::from(bits);
    match error.abs().cmp(&half) {
        Ordering::Less => {}
        Ordering::Equal => assert!(even, "{result} is the odd side of a tie"),
        Ordering::Greater => panic!("{result} is not the nearest to {wanted}"),
    }
}

fn numbers() -> impl Strategy<Value = Number> {
    let text = "-?[0-9]{1,40}(\\.[0-9]{1,40})?(e-?[0-9]{1,2})?";
    prop_oneof![
        (-20_i64..20).prop_map(|value| Number { precision: FULL, ..Number::from(value) }),
        any::<i64>().prop_map(|value| Number { precision: FULL, ..Number::from(value) }),
        text.prop_map(|text| Number::parse(&text).expect("a number")),
        (-1500_i64..1500).prop_map(|power| Number::parse(&format!("1p{power}")).expect("a number")),
        (text, "[0-9]{1,60}").prop_map(|(a, b)| {
            let (a, b) = (Number::parse(&a).expect("a number"), Number::parse(&b).expect("a number"));
            if b.is_zero() { a } else { a.div(&b).expect("the divisor is not zero") }
        }),
    ]
}

fn digits(text: &str) -> &str {
    text.trim_start_matches(['-', '0', '.']).trim_end_matches('0')
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printed_numbers_read_back(x in numbers()) {
        let text = x.to_string();
        let back = Number::parse(&text).expect("a number");
        prop_assert_eq!(&back, &x);
        prop_assert_eq!(back.is_negative(), x.is_negative());
    }

    #[test]
    fn no_shorter_text_reads_back(x in numbers()) {
        let text = x.abs().to_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let all: BigInt = format!("{whole}{fraction}").parse().unwrap();
        let zeros = all.to_string().len() - all.to_string().trim_end_matches('0').len();
        if digits(&all.to_string()).len() > 1 {
            // One digit less, rounded down and up: every shorter text is even further away.
            let unit = BigInt::from(10).pow(u32::try_from(zeros + 1).unwrap());
            let down = &all / &unit * &unit;
            for shorter in [down.clone(), down + unit] {
                let shorter = Number::parse(&format!("{shorter}e-{}", fraction.len())).unwrap();
                prop_assert_ne!(shorter, x.abs());
            }
        }
    }

    #[test]
    fn results_are_the_nearest(a in numbers(), b in numbers()) {
        let (x, y) = (exact(&a), exact(&b));
        assert_nearest(&a.add(&b).unwrap(), &(&x + &y), FULL);
        assert_nearest(&a.sub(&b).unwrap(), &(&x - &y), FULL);
        assert_nearest(&a.mul(&b).unwrap(), &(&x * &y), FULL);
        if !b.is_zero() {
            assert_nearest(&a.div(&b).unwrap(), &(&x / &y), FULL);
        }
    }

    #[test]
    fn text_is_read_as_the_nearest(whole in "[0-9]{1,200}", fraction in "[0-9]{1,200}", power in -300_i32..300) {
        let read = Number::parse(&format!("{whole}.{fraction}e{power}")).unwrap();
        let digits: BigInt = format!("{whole}{fraction}").parse().unwrap();
        let places = power - i32::try_from(fraction.len()).unwrap();
        assert_nearest(&read, &(BigRational::from(digits) * BigRational::from(BigInt::from(10)).pow(places)), FULL);
    }

    #[test]
    fn any_text_is_a_number_or_not(text in "[-+.0-9eEpPInf é_x]{0,12}", other in any::<String>()) {
        for text in [text, other] {
            if let Some(number) = Number::parse(&text) {
                prop_assert!(text.bytes().all(|byte| b"+-.0123456789eEpPInf".contains(&byte)));
                prop_assert_eq!(number.is_negative(), text.starts_with('-'));
            }
        }
    }

    #[test]
    fn the_order_is_that_of_the_values(a in numbers(), b in numbers()) {
        prop_assert_eq!(a.cmp(&b), exact(&a).cmp(&exact(&b)));
        let coarse = Number { precision: a.precision + 1, ..a.clone() };
        prop_assert_eq!(hash(&coarse), hash(&a));
        prop_assert_eq!(a.exact_text() == b.exact_text(), a == b && a.is_negative() == b.is_negative());
    }

    #[test]
    fn floor_and_ceiling_enclose(x in numbers()) {
        prop_assert_eq!(exact(&x.floor()), exact(&x).floor());
        prop_assert_eq!(exact(&x.ceil()), exact(&x).ceil());
        prop_assert_eq!(x.is_whole(), x.floor() == x);
    }

    #[test]
    fn doubles_pass_unchanged(x in any::<f64>().prop_filter("a number", |x| !x.is_nan())) {
        let number = Number::from_f64(x).unwrap();
        prop_assert_eq!(number.to_f64().to_bits(), x.to_bits());
        // The neighbours of powers of two are a case of their own.
        if x.is_normal() && x.to_bits() << 12 != 0 {
            let text = number.to_string();
            prop_assert_eq!(text.parse::<f64>().unwrap(), x);
            prop_assert_eq!(text.len(), x.to_string().len());
        }
    }

    #[test]
    fn the_nearest_double_is_found(x in numbers()) {
        let double = x.to_f64();
        prop_assume!(double.is_finite());
        let distance = |double: f64| (exact(&Number::from_f64(double).unwrap()) - exact(&x)).abs();
        for neighbour in [double.next_up(), double.next_down()] {
            prop_assert!(neighbour.is_infinite() || distance(double) <= distance(neighbour));
        }
    }

    #[test]
    fn remainders_of_whole_numbers(a in any::<i64>(), b in any::<i64>().prop_filter("not zero", |b| *b != 0)) {
        let (x, y) = (Number::parse(&a.to_string()).unwrap(), Number::parse(&b.to_string()).unwrap());
        prop_assert_eq!(x.rem(&y).unwrap(), Number::from(a.wrapping_rem(b)));
    }
}
