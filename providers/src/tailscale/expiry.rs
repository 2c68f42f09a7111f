//! When keys end, and what is said of it before.

use std::time::{Duration, SystemTime};

/// What ends within so long is told.
pub(super) const SOON: Duration = Duration::from_secs(14 * 24 * 3600);

/// What is said of something that ends soon, or has ended; none if that is far away.
pub(super) fn told(what: &str, at: &str) -> Option<String> {
    told_at(what, at, SystemTime::now())
}

fn told_at(what: &str, at: &str, now: SystemTime) -> Option<String> {
    // Where there is no end, the API writes the first moment of all, which is no time to this.
    let end = humantime::parse_rfc3339(at).ok()?;
    match end.duration_since(now) {
        Err(_) => Some(format!("{what} ended at {at}")),
        Ok(left) if left < SOON => Some(format!("{what} ends {}, at {at}", in_days(left))),
        Ok(_) => None,
    }
}

fn in_days(left: Duration) -> String {
    match left.as_secs() / 86_400 {
        0 => "within a day".to_owned(),
        1 => "in 1 day".to_owned(),
        days => format!("in {days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_14_days_before() {
        let now = humantime::parse_rfc3339("2026-11-18T08:00:00Z").unwrap();
        for (at, expected) in [
            ("2026-12-18T08:00:00Z", None),
            ("2026-12-01T08:00:00Z", Some("it ends in 13 days, at 2026-12-01T08:00:00Z")),
            ("2026-11-19T09:00:00.25Z", Some("it ends in 1 day, at 2026-11-19T09:00:00.25Z")),
            ("2026-11-18T09:00:00Z", Some("it ends within a day, at 2026-11-18T09:00:00Z")),
            ("2026-11-18T07:00:00Z", Some("it ended at 2026-11-18T07:00:00Z")),
            ("0001-01-01T00:00:00Z", None),
            ("", None),
        ] {
            assert_eq!(told_at("it", at, now).as_deref(), expected, "{at}");
        }
    }
}
