//! Durations such as `1h30m`, `-1.5s` or `300ms`.

const UNITS: &[(&str, i128)] = &[
    // The micro sign and the Greek letter look alike and are both in use.
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// A duration in nanoseconds. It must fit 64 bits, which is about 292 years.
pub(super) fn parse(text: &str) -> Result<i64, String> {
    let problem = || {
        format!(
            "`{text}` is not a duration, such as `1h30m` or `-1.5s`; the units are ns, us, ms, s, m and h"
        )
    };
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(problem());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let (_, nanoseconds) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(problem)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(problem());
        }
        let too_long = || format!("`{text}` is longer than 292 years");
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_long())? };
        // More than eighteen digits of a fraction are less than a nanosecond of an hour.
        let fraction = &fraction[..fraction.len().min(18)];
        let scale = 10_i128.pow(u32::try_from(fraction.len()).unwrap_or_default());
        let fraction: i128 = fraction.parse().unwrap_or_default();
        total += i128::from(whole) * nanoseconds + fraction * nanoseconds / scale;
        if total > i128::from(i64::MAX) + i128::from(negative) {
            return Err(too_long());
        }
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).map_err(|_| problem())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let check = |text: &str, expected: Option<i64>| assert_eq!(parse(text).ok(), expected, "{text}");
        check("10m", Some(600_000_000_000));
        check("-10m", Some(-600_000_000_000));
        check("1h30m10s", Some(5_410_000_000_000));
        check("1.5h", Some(5_400_000_000_000));
        check(".5h", Some(1_800_000_000_000));
        check("1.h", Some(3_600_000_000_000));
        check("1m1h", Some(3_660_000_000_000));
        check("1us2µs3μs4ms5ns", Some(4_006_005));
        check("+1s", Some(1_000_000_000));
        check("0", Some(0));
        check("-0", Some(0));
        check("9223372036854775807ns", Some(i64::MAX));
        check("-9223372036854775808ns", Some(i64::MIN));
        check("9223372036854775808ns", None);
        check("9223372037s", None);
        check("99999999999999999999s", None);
        for text in ["", "-", "1", "1d", "1h-1m", " 1h", "1h ", ".s", "1..5s", "1.5.5s", "s", "é", "--1s"] {
            check(text, None);
        }
    }
}
