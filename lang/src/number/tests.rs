//! Expected values in tables are those of Terraform; laws are checked against exact rational arithmetic.

use super::*;

fn number(text: &str) -> Number {
    Number::parse(text).unwrap_or_else(|| panic!("{text} is a number"))
}

/// Numbers as functions return them, with fewer bits than literals.
fn counted(value: i64) -> Number {
    Number::from(value)
}

fn double(value: f64) -> Number {
    Number::from_f64(value).unwrap()
}

fn check(result: Option<Number>, expected: &str) {
    assert_eq!(result.expect(expected).to_string(), expected);
}

#[test]
fn text_that_is_a_number() {
    let table = [
        ("1p3", "8"),
        ("1.5p3", "12"),
        ("inf", "+Inf"),
        ("+Inf", "+Inf"),
        ("-inf", "-Inf"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1E+3", "1000"),
        ("010", "10"),
        ("+5", "5"),
        ("-0", "-0"),
        ("-0.0", "-0"),
        ("1.5e-3", "0.0015"),
        ("1e999999999", "+Inf"),
        ("1e-999999999", "0"),
        ("-1e-999999999", "-0"),
        ("0e999999999", "0"),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775808"),
        ("-9223372036854775808", "-9223372036854775808"),
    ];
    for (text, printed) in table {
        assert_eq!(number(text).to_string(), printed, "{text}");
    }
}

#[test]
fn text_that_is_no_number() {
    for text in [
        "",
        "-",
        "+",
        ".",
        "e5",
        "1e",
        "1e+",
        "--1",
        "+-1",
        " 1",
        "1 ",
        "0x1F",
        "0b1",
        "1_000",
        "1,5",
        "infinity",
        "NaN",
        "1e9999999999",
        "1e-9999999999",
        "1.2.3",
        "é",
        "1é",
        "٣",
        "1e5e5",
        "INF",
    ] {
        assert_eq!(Number::parse(text), None, "{text}");
    }
}

#[test]
fn arithmetic_has_512_bits() {
    check(number("0.1").add(&number("0.2")), "0.3");
    let third = number("1").div(&number("3")).unwrap();
    assert_eq!(third.to_string(), format!("0.{}5", "3".repeat(154)));
    check(third.mul(&number("3")), "1");
    check(number("1e50").add(&number("1")).unwrap().sub(&number("1e50")), "1");
    check(number("1e200").add(&number("1")).unwrap().sub(&number("1e200")), "0");
    assert_eq!(number("1e100").to_string(), format!("1{}", "0".repeat(100)));
    assert_eq!(number(&"9".repeat(197)).to_string(), format!("1{}", "0".repeat(197)));
    let square = "85070591730234615847396907784232501249";
    check(number("9223372036854775807").mul(&number("9223372036854775807")), square);
}

#[test]
fn results_have_the_precision_of_their_operands() {
    check(counted(1).div(&counted(3)), "0.33333333333333333334");
    check(counted(1).div(&number("3")), &format!("0.{}5", "3".repeat(154)));
    check(Some(double(2_f64.powi(62))), "4611686018427388000");
    check(Some(double(2_f64.powi(200))), &format!("16069380442589903{}", "0".repeat(44)));
    check(Some(double(2_f64.powi(64))), "18446744073709550000");
    check(Some(double(2_f64.powi(-44))), "0.00000000000005684341886080801");
    check(Some(double(2_f64.sqrt())), "1.4142135623730951");
    let root = double(3_f64.sqrt());
    check(root.mul(&root), "2.9999999999999996523744853919531");
    check(double(2_f64.powi(62)).mul(&counted(3)), "13835058055282163712");
    check(double(2_f64.powi(62)).add(&counted(3)), "4611686018427387907");
    check(double(3.0).div(&double(7.0)), "0.42857142857142855");
    let square = "85070591730234615847396907784232501249";
    check(counted(i64::MAX).mul(&counted(i64::MAX)), square);
    let long: BigInt = "9".repeat(197).parse().unwrap();
    assert_eq!(Number::from_bigint(&long).to_string(), "9".repeat(197));
}

#[test]
fn zeros_and_infinities() {
    let (zero, minus_zero, infinity) = (number("0"), number("-0"), number("Inf"));
    check(zero.mul(&number("-1")), "-0");
    check(zero.sub(&zero), "0");
    check(minus_zero.add(&minus_zero), "-0");
    check(Some(minus_zero.neg()), "0");
    check(Some(minus_zero.abs()), "0");
    check(number("1").div(&zero), "+Inf");
    check(number("1").div(&minus_zero), "-Inf");
    check(number("-1").div(&infinity), "-0");
    check(Some(infinity.floor()), "+Inf");
    assert_eq!(zero.div(&zero), None);
    assert_eq!(infinity.sub(&infinity), None);
    assert_eq!(infinity.mul(&zero), None);
    assert_eq!(infinity.div(&infinity), None);
    assert_eq!(infinity.rem(&number("5")), None);
    assert_eq!(number("5").rem(&infinity), None);
    assert_eq!(minus_zero, zero);
    assert_eq!(infinity, number("1").div(&zero).unwrap());
}

#[test]
fn remainders() {
    let table = [
        ("5", "0", "5"),
        ("5.5", "0", "5.5"),
        ("Inf", "0", "+Inf"),
        ("-5.5", "2", "-1.5"),
        ("5", "-3", "2"),
        ("-5", "3", "-2"),
        ("-4", "2", "0"),
        ("10.5", "0.1", "0"),
        ("0.3", "1", "0.3"),
        ("1e30", "7", "1"),
        ("1e300", "7", "0"),
    ];
    for (left, right, expected) in table {
        check(number(left).rem(&number(right)), expected);
    }
}

#[test]
fn whole_numbers_nearby() {
    let table = [
        ("-0.5", "-1", "0"),
        ("0.5", "0", "1"),
        ("2", "2", "2"),
        ("-1e30", "-1000000000000000000000000000000", "-1000000000000000000000000000000"),
    ];
    for (text, floor, ceil) in table {
        assert_eq!(number(text).floor().to_string(), floor, "{text}");
        assert_eq!(number(text).ceil().to_string(), ceil, "{text}");
    }
    check(Some(double(2_f64.powi(64)).floor()), "18446744073709550000");
    check(Some(number("1e308").floor()), &format!("1{}", "0".repeat(308)));
}
