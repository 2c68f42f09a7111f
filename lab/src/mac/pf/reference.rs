//! Who wants the filter to be on. It is on as long as somebody does: each who turns it on by `-E` gets a token and gives
//! it back by `-X`; whoever turns it on by `-e` never does.

use serde::Serialize;

use crate::clock::Time;

/// All who want it.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::mac) struct References {
    since: Option<Time>,
    /// Whether somebody turned it on without a token.
    untold: bool,
    tokens: Vec<Token>,
    /// How many there were.
    #[serde(skip)]
    taken: u32,
}

/// What is given to one who wants it.
#[derive(Clone, Debug, Serialize)]
pub(in crate::mac) struct Token {
    /// As text: it is larger than what other programs take for a number.
    pub(in crate::mac) token: String,
    pub(in crate::mac) pid: u32,
    pub(in crate::mac) at: Time,
}

/// A token was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mac) enum Released {
    /// Nobody else wants it: it is off.
    Off,
    /// So many others do.
    Left(usize),
}

/// Why something cannot be given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mac) enum Unheld {
    /// The filter is off.
    Disabled,
    /// Nobody has this token.
    Invalid,
}

impl References {
    /// Since when it is on.
    pub(super) fn since(&self) -> Option<Time> {
        self.since
    }

    /// The tokens, the newest first.
    pub(in crate::mac) fn tokens(&self) -> impl Iterator<Item = &Token> {
        self.tokens.iter().rev()
    }

    /// Turns it on for good; false if it was on.
    pub(in crate::mac) fn enable(&mut self, now: Time) -> bool {
        self.untold = true;
        let was_off = self.since.is_none();
        self.since.get_or_insert(now);
        was_off
    }

    /// Turns it on until the token comes back.
    pub(in crate::mac) fn take(&mut self, now: Time) -> String {
        self.since.get_or_insert(now);
        self.taken += 1;
        // They look like this: twenty digits that say nothing.
        let token = u64::from(self.taken).wrapping_mul(0x9e37_79b9_7f4a_7c15) | (1 << 63);
        // The process has ended by the time somebody looks.
        self.tokens.push(Token { token: token.to_string(), pid: 4000 + self.taken * 14, at: now });
        token.to_string()
    }

    /// Gives a token back.
    pub(in crate::mac) fn release(&mut self, token: &str) -> Result<Released, Unheld> {
        if self.since.is_none() {
            return Err(Unheld::Disabled);
        }
        let at = self.tokens.iter().position(|known| known.token == token).ok_or(Unheld::Invalid)?;
        self.tokens.remove(at);
        let left = self.tokens.len() + usize::from(self.untold);
        if left > 0 {
            return Ok(Released::Left(left));
        }
        self.since = None;
        Ok(Released::Off)
    }

    /// Turns it off, whoever wants it; false if it was off.
    pub(in crate::mac) fn disable(&mut self) -> bool {
        let was_on = self.since.is_some();
        *self = References { taken: self.taken, ..References::default() };
        was_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_on_as_long_as_somebody_wants_it() {
        let now = Time::of_this_machine();
        let mut references = References::default();
        assert_eq!(references.release("1"), Err(Unheld::Disabled));
        let (one, two) = (references.take(now), references.take(now));
        assert_ne!(one, two);
        assert_eq!(references.release("1"), Err(Unheld::Invalid));
        assert_eq!(references.release(&one), Ok(Released::Left(1)));
        assert_eq!(references.release(&one), Err(Unheld::Invalid));
        assert_eq!(references.release(&two), Ok(Released::Off));
        assert!(references.since().is_none() && references.enable(now) && !references.enable(now));
        let three = references.take(now);
        assert_eq!(references.release(&three), Ok(Released::Left(1)));
        assert!(references.since().is_some() && references.disable() && !references.disable());
    }
}
