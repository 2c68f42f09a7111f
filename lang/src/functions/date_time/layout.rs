//! Timestamps as text in a layout of one's own.

use super::timestamp::{Timestamp, offset};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Writes a timestamp in a layout: runs of a letter stand for a part of it, text in single quotes and everything
/// that is not a letter for itself.
pub(super) fn format(layout: &str, timestamp: &Timestamp) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = layout;
    while let Some(c) = rest.chars().next() {
        if let Some(quoted) = rest.strip_prefix('\'') {
            rest = literal(quoted, &mut out).ok_or("the quote that starts a literal text has no end")?;
            continue;
        }
        let end = rest.find(|other| other != c).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        if c.is_ascii_alphabetic() {
            out.push_str(&part(run, timestamp)?);
        } else {
            out.push_str(run);
        }
        rest = after;
    }
    Ok(out)
}

/// Copies the text after an opening quote, where two quotes are one, and gives what follows the closing quote. No
/// text at all is a quote.
fn literal<'a>(quoted: &'a str, out: &mut String) -> Option<&'a str> {
    if let Some(after) = quoted.strip_prefix('\'') {
        out.push('\'');
        return Some(after);
    }
    let mut rest = quoted;
    loop {
        let (text, after) = rest.split_once('\'')?;
        out.push_str(text);
        let Some(more) = after.strip_prefix('\'') else { return Some(after) };
        out.push('\'');
        rest = more;
    }
}

fn part(run: &str, timestamp: &Timestamp) -> Result<String, String> {
    let Timestamp(at) = timestamp;
    let (year, month, day) = at.to_calendar_date();
    let (hour, minute, second) = at.to_hms();
    let month_name = MONTHS[usize::from(u8::from(month)) - 1];
    let weekday = WEEKDAYS[usize::from(at.weekday().number_days_from_monday())];
    let hour_of_twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
    let is_utc = at.offset().is_utc();
    Ok(match run {
        "YYYY" => format!("{year:04}"),
        "YY" => format!("{:02}", year.rem_euclid(100)),
        "MMMM" => month_name.to_owned(),
        "MMM" => month_name[..3].to_owned(),
        "MM" => format!("{:02}", u8::from(month)),
        "M" => u8::from(month).to_string(),
        "DD" => format!("{day:02}"),
        "D" => day.to_string(),
        "EEEE" => weekday.to_owned(),
        "EEE" => weekday[..3].to_owned(),
        "hh" => format!("{hour:02}"),
        "h" => hour.to_string(),
        "HH" => format!("{hour_of_twelve:02}"),
        "H" => hour_of_twelve.to_string(),
        "AA" => if hour < 12 { "AM" } else { "PM" }.to_owned(),
        "aa" => if hour < 12 { "am" } else { "pm" }.to_owned(),
        "mm" => format!("{minute:02}"),
        "m" => minute.to_string(),
        "ss" => format!("{second:02}"),
        "s" => second.to_string(),
        "Z" if is_utc => "Z".to_owned(),
        "ZZZ" if is_utc => "UTC".to_owned(),
        "Z" | "ZZZZZ" => offset(at.offset(), ":"),
        "ZZZ" | "ZZZZ" => offset(at.offset(), ""),
        _ => return Err(unknown(run)),
    })
}

fn unknown(run: &str) -> String {
    let letter = &run[..1];
    let known = match letter {
        "Y" => "YYYY or YY",
        "M" => "M, MM, MMM or MMMM",
        "D" => "D or DD",
        "E" => "EEE or EEEE",
        "h" | "H" | "m" | "s" => return format!("`{run}` is too long; use `{letter}` or `{letter}{letter}`"),
        "A" | "a" => return format!("`{run}` must be `{letter}{letter}`"),
        "Z" => "Z, ZZZ, ZZZZ or ZZZZZ",
        _ => return format!("`{run}` means nothing; put text into single quotes"),
    };
    format!("`{run}` means nothing; use {known}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts() {
        let check = |layout: &str, timestamp: &str, expected: Option<&str>| {
            let timestamp = Timestamp::parse(timestamp).unwrap();
            assert_eq!(format(layout, &timestamp).ok().as_deref(), expected, "{layout}");
        };
        check("DD MMM YYYY hh:mm ZZZ", "2018-01-02T23:12:01Z", Some("02 Jan 2018 23:12 UTC"));
        check(
            "EEEE, DD-MMM-YY hh:mm:ss ZZZ",
            "2018-01-02T23:12:01Z",
            Some("Tuesday, 02-Jan-18 23:12:01 UTC"),
        );
        check(
            "EEE, DD MMM YYYY hh:mm:ss ZZZ",
            "2018-01-02T23:12:01-08:00",
            Some("Tue, 02 Jan 2018 23:12:01 -0800"),
        );
        check("MMM DD, YYYY", "2018-01-02T23:12:01Z", Some("Jan 02, 2018"));
        check("HH:mmaa", "2018-01-02T23:12:01Z", Some("11:12pm"));
        check("H h HH hh m mm s ss AA aa", "2018-01-02T03:02:01Z", Some("3 3 03 03 2 02 1 01 AM am"));
        check("H HH AA", "2018-01-02T00:02:01Z", Some("12 12 AM"));
        check("H HH AA", "2018-01-02T12:02:01Z", Some("12 12 PM"));
        check(
            "M MM MMM MMMM D DD EEE EEEE",
            "2018-01-02T03:02:01Z",
            Some("1 01 Jan January 2 02 Tue Tuesday"),
        );
        check("YY", "2018-01-02T03:02:01Z", Some("18"));
        check("YYY", "2018-01-02T03:02:01Z", None);
        check("Y", "2018-01-02T03:02:01Z", None);
        check("YYYYY", "2018-01-02T03:02:01Z", None);
        check("E", "2018-01-02T03:02:01Z", None);
        check("EE", "2018-01-02T03:02:01Z", None);
        check("hhh", "2018-01-02T03:02:01Z", None);
        check("sss", "2018-01-02T03:02:01Z", None);
        check("A", "2018-01-02T03:02:01Z", None);
        check("a", "2018-01-02T03:02:01Z", None);
        check("aaa", "2018-01-02T03:02:01Z", None);
        check("aA", "2018-01-02T03:02:01Z", None);
        check("Aa", "2018-01-02T03:02:01Z", None);
        check("Z ZZZ ZZZZ ZZZZZ", "2018-01-02T03:02:01Z", Some("Z UTC +0000 +00:00"));
        check("Z ZZZ ZZZZ ZZZZZ", "2018-01-02T03:02:01+00:00", Some("Z UTC +0000 +00:00"));
        check("Z ZZZ ZZZZ ZZZZZ", "2018-01-02T03:02:01-00:00", Some("Z UTC +0000 +00:00"));
        check("Z ZZZ ZZZZ ZZZZZ", "2018-01-02T03:02:01+05:30", Some("+05:30 +0530 +0530 +05:30"));
        check("ZZ", "2018-01-02T03:02:01+05:30", None);
        check("ZZZZZZ", "2018-01-02T03:02:01+05:30", None);
        check("'it''s' YYYY", "2018-01-02T03:02:01Z", Some("it's 2018"));
        check("'abc", "2018-01-02T03:02:01Z", None);
        check("''", "2018-01-02T03:02:01Z", Some("'"));
        check("YYYY'T'", "2018-01-02T03:02:01Z", Some("2018T"));
        check("x", "2018-01-02T03:02:01Z", None);
        check("é-/.: 12", "2018-01-02T03:02:01Z", Some("é-/.: 12"));
        check("", "2018-01-02T03:02:01Z", Some(""));
        check("YYYY ZZZZ", "2018-02-28T23:59:59+23:59", Some("2018 +2359"));
        check("YYYY YY", "0009-01-01T00:00:00Z", Some("0009 09"));
    }
}
