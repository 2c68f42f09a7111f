//! The times that the protocol relies on.

use std::time::Duration;

/// The times of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What the vendor shows is never older than this.
    pub settle: Duration,
    /// How old the check of a ledger may be when the write that it allows is sent.
    pub lifetime: Duration,
    /// D: how long after that check the write may have its effect at the latest.
    pub delay: Duration,
    /// Q: how long a host is held while the fate of a write is not known.
    pub hold: Duration,
    /// How often something is looked at again.
    pub poll: Duration,
    /// After this a process ends, whatever happened.
    pub deadline: Duration,
    /// The guard that is left out, to see that the model finds what it is for.
    #[cfg(test)]
    pub(super) without: Option<Guard>,
}

/// What the protocol does so that nothing goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// The ledger comes before the rename.
    #[cfg(test)]
    LedgerFirst,
    /// The ledger is checked before each write.
    Check,
    /// A check is not valid for ever.
    Lifetime,
    /// A host is named free under a ledger.
    #[cfg(test)]
    LedgerToFree,
    /// A host is deleted under a ledger.
    #[cfg(test)]
    LedgerToDelete,
    /// The name is read again once the ledger is there.
    NameAgain,
    /// A record is closed only when nothing of ours can be left.
    LateClose,
    /// The record comes before the ledger.
    RecordFirst,
    /// A claim is told by its random name, never by the name of the host.
    ClaimNotName,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            settle: Duration::from_secs(30),
            lifetime: Duration::from_secs(5),
            delay: Duration::from_secs(30),
            hold: Duration::from_secs(60),
            poll: Duration::from_secs(5),
            deadline: Duration::from_secs(45 * 60),
            #[cfg(test)]
            without: None,
        }
    }
}

impl Rules {
    /// What is wrong with them, if anything is.
    pub fn check(&self) -> Result<(), String> {
        let Rules { settle, lifetime, delay, hold, poll, .. } = self;
        let shown = |time: &Duration| humantime::format_duration(*time).to_string();
        if lifetime >= delay {
            let (lifetime, delay) = (shown(lifetime), shown(delay));
            return Err(format!(
                "a check that lives {lifetime} must live for less than the delay of {delay}"
            ));
        }
        if settle < delay {
            let (settle, delay) = (shown(settle), shown(delay));
            return Err(format!("the settle time of {settle} must not be less than the delay of {delay}"));
        }
        if *hold < *delay + *settle {
            let (hold, least) = (shown(hold), shown(&(*delay + *settle)));
            return Err(format!(
                "the hold of {hold} must not be less than delay and settle time together: {least}"
            ));
        }
        if poll.is_zero() {
            return Err("the time between two looks must not be nothing".to_owned());
        }
        Ok(())
    }

    /// What there is to say about a gap of this length between the last answer of an installation and the first of the
    /// next one.
    #[must_use]
    pub fn about_gap(&self, gap: Duration) -> Option<String> {
        let delay = self.delay;
        (gap < delay * 2).then(|| {
            let (gap, delay) = (humantime::format_duration(gap), humantime::format_duration(delay));
            format!("a reinstall took {gap} from answer to answer, less than twice the delay of {delay}: a late write could reach the next owner")
        })
    }

    #[cfg(test)]
    pub(super) fn keeps(&self, guard: Guard) -> bool {
        self.without != Some(guard)
    }

    #[cfg(not(test))]
    pub(super) fn keeps(&self, _guard: Guard) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_must_fit() {
        let (seconds, rules) = (Duration::from_secs, Rules::default);
        assert_eq!(rules().check(), Ok(()));
        for (wrong, word) in [
            (Rules { lifetime: seconds(30), ..rules() }, "a check"),
            (Rules { settle: seconds(29), ..rules() }, "settle"),
            (Rules { hold: seconds(59), ..rules() }, "hold"),
            (Rules { poll: seconds(0), ..rules() }, "two looks"),
        ] {
            assert!(wrong.check().unwrap_err().contains(word), "{wrong:?}");
        }
        assert_eq!(rules().about_gap(seconds(60)), None);
        assert!(rules().about_gap(seconds(59)).unwrap().contains("59s"));
    }
}
