//! Points in time as RFC 3339 writes them, which keep the offset they were written with.

use std::fmt;

use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};

/// A point in time with an offset.
#[derive(Clone, Copy, Debug)]
pub(in crate::functions) struct Timestamp(pub(super) OffsetDateTime);

impl Timestamp {
    /// Reads `2006-01-02T15:04:05Z`, with an optional fraction of a second and an offset instead of the `Z`.
    pub(in crate::functions) fn parse(text: &str) -> Result<Timestamp, String> {
        let mut reader = Reader { rest: text };
        let fields = reader.rfc3339();
        match fields {
            Some(fields) if reader.rest.is_empty() => {
                fields.timestamp().ok_or_else(|| format!("`{text}` is a date or time that does not exist"))
            }
            _ => Err(format!("`{text}` is not a timestamp of RFC 3339, such as `2006-01-02T15:04:05Z`")),
        }
    }

    /// Reads the looser forms that YAML takes for a point in time: digits may be missing, and so may the time, or
    /// only its offset if a space stands before it.
    pub(in crate::functions) fn from_yaml(text: &str) -> Option<Timestamp> {
        let mut reader = Reader { rest: text };
        let mut fields = Fields { year: reader.digits(4, 4)?, ..Fields::default() };
        reader.eat('-')?;
        fields.month = reader.digits(1, 2)?;
        reader.eat('-')?;
        fields.day = reader.digits(1, 2)?;
        if reader.rest.starts_with(['T', 't']) {
            reader.rest = &reader.rest[1..];
            reader.time(&mut fields, 1, &['.', ','])?;
            fields.offset = reader.offset()?;
        } else if reader.rest.starts_with(' ') {
            reader.rest = reader.rest.trim_start_matches(' ');
            reader.time(&mut fields, 1, &['.', ','])?;
        }
        if reader.rest.is_empty() { fields.timestamp() } else { None }
    }

    /// The point in time so many nanoseconds after the start of 1970.
    pub(in crate::functions) fn from_nanoseconds(nanoseconds: i128) -> Option<Timestamp> {
        OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).ok().map(Timestamp)
    }
}

impl fmt::Display for Timestamp {
    /// As RFC 3339, to the second.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Timestamp(at) = self;
        let (year, month, day) = at.to_calendar_date();
        let sign = if year < 0 { "-" } else { "" };
        let (hour, minute, second) = at.to_hms();
        write!(f, "{sign}{:04}-{:02}-{day:02}", year.unsigned_abs(), u8::from(month))?;
        write!(f, "T{hour:02}:{minute:02}:{second:02}")?;
        if at.offset().is_utc() { f.write_str("Z") } else { f.write_str(&offset(at.offset(), ":")) }
    }
}

/// An offset as `+01:00`, with something else for the colon.
pub(super) fn offset(offset: UtcOffset, colon: &str) -> String {
    let (hours, minutes, _) = offset.as_hms();
    let sign = if offset.is_negative() { '-' } else { '+' };
    format!("{sign}{:02}{colon}{:02}", hours.unsigned_abs(), minutes.unsigned_abs())
}

/// What was read, not yet known to exist.
#[derive(Default)]
struct Fields {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    nanosecond: u32,
    /// Hours and minutes, and whether they count backwards.
    offset: (u32, u32, bool),
}

impl Fields {
    fn timestamp(&self) -> Option<Timestamp> {
        let month = Month::try_from(u8::try_from(self.month).ok()?).ok()?;
        let date =
            Date::from_calendar_date(i32::try_from(self.year).ok()?, month, u8::try_from(self.day).ok()?);
        let small = |value: u32| u8::try_from(value).ok();
        let time =
            Time::from_hms_nano(small(self.hour)?, small(self.minute)?, small(self.second)?, self.nanosecond);
        let (hours, minutes, negative) = self.offset;
        if hours > 23 || minutes > 59 {
            return None;
        }
        let minutes = i32::try_from(hours * 60 + minutes).ok()?;
        let seconds = 60 * if negative { -minutes } else { minutes };
        let offset = UtcOffset::from_whole_seconds(seconds).ok()?;
        Some(Timestamp(PrimitiveDateTime::new(date.ok()?, time.ok()?).assume_offset(offset)))
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn eat(&mut self, c: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(c)?;
        Some(())
    }

    /// A number of so many digits.
    fn digits(&mut self, least: usize, most: usize) -> Option<u32> {
        let count = self.rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
        if count < least {
            return None;
        }
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        digits.parse().ok()
    }

    fn rfc3339(&mut self) -> Option<Fields> {
        let mut fields = Fields { year: self.digits(4, 4)?, ..Fields::default() };
        self.eat('-')?;
        fields.month = self.digits(2, 2)?;
        self.eat('-')?;
        fields.day = self.digits(2, 2)?;
        self.eat('T')?;
        self.time(&mut fields, 2, &['.'])?;
        fields.offset = self.offset()?;
        Some(fields)
    }

    fn time(&mut self, fields: &mut Fields, least: usize, points: &[char]) -> Option<()> {
        fields.hour = self.digits(least, 2)?;
        self.eat(':')?;
        fields.minute = self.digits(least, 2)?;
        self.eat(':')?;
        fields.second = self.digits(least, 2)?;
        if let Some(fraction) = self.rest.strip_prefix(points) {
            let count = fraction.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, rest) = fraction.split_at(count);
            if digits.is_empty() {
                return None;
            }
            fields.nanosecond = format!("{digits:0<9}")[..9].parse().ok()?;
            self.rest = rest;
        }
        Some(())
    }

    fn offset(&mut self) -> Option<(u32, u32, bool)> {
        if self.eat('Z').is_some() {
            return Some((0, 0, false));
        }
        let negative = self.rest.starts_with('-');
        self.rest = self.rest.strip_prefix(['+', '-'])?;
        let hours = self.digits(2, 2)?;
        self.eat(':')?;
        Some((hours, self.digits(2, 2)?, negative))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_of_rfc_3339() {
        let check = |text: &str, expected: &str| {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), expected, "{text}");
        };
        check("2018-01-02T23:12:01Z", "2018-01-02T23:12:01Z");
        check("2018-01-02T23:12:01.987654321987Z", "2018-01-02T23:12:01Z");
        check("2018-01-02T23:12:01+00:00", "2018-01-02T23:12:01Z");
        check("2018-01-02T23:12:01-00:00", "2018-01-02T23:12:01Z");
        check("2018-01-02T23:12:01+05:30", "2018-01-02T23:12:01+05:30");
        check("2018-01-02T23:12:01-23:59", "2018-01-02T23:12:01-23:59");
        check("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z");
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "2018-01-02",
            "2018-01-02 03:02:01Z",
            "2018-01-02t03:02:01z",
            "2018-01-02T03:02:01",
            "2018-13-02T03:02:01Z",
            "2018-00-02T03:02:01Z",
            "2018-02-29T03:02:01Z",
            "2018-02-28T24:02:01Z",
            "2018-02-28T23:60:01Z",
            "2018-02-28T23:59:60Z",
            "2018-02-28T23:59:59,123Z",
            "2018-02-28T23:59:59.Z",
            "2018-02-28T23:59:59+24:00",
            "2018-02-28T23:59:59+05:60",
            "2018-02-28T23:59:59+05",
            "2018-02-28T3:59:59Z",
            "12018-02-28T03:59:59Z",
            "2018-02-28T03:59:59Zx",
            "é",
            "",
        ] {
            assert!(Timestamp::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_yaml_takes_for_a_timestamp() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(Timestamp::from_yaml(text).map(|t| t.to_string()).as_deref(), expected, "{text}");
        };
        check("2024-1-2", Some("2024-01-02T00:00:00Z"));
        check("2024-01-02T3:4:5Z", Some("2024-01-02T03:04:05Z"));
        check("2024-1-2t03:04:05+01:00", Some("2024-01-02T03:04:05+01:00"));
        check("2024-01-02 3:4:5,5", Some("2024-01-02T03:04:05Z"));
        check("2024-01-02  03:04:05", Some("2024-01-02T03:04:05Z"));
        check("2024-01-02t3:4:5.999-00:00", Some("2024-01-02T03:04:05Z"));
        for text in [
            "2024-02-30",
            "24-01-02",
            "02024-01-02",
            "2024-001-02",
            "2024-01-02T",
            "2024-01-02T03:04",
            "2024-01-02T03:04:05",
            "2024-01-02T03:04:05+0100",
            "2024-01-02T03:04:05 Z",
            "2024-01-02t03:04:05z",
            "2024-01-02 03:04:05 +1",
            "2024-01-02T03:04:05.+01:00",
            "12:30:45",
        ] {
            check(text, None);
        }
    }
}
