//! What undoes a change that could cut a host off → the words of the procedure that keeps it there.

use fleet_engine::host::{Ledger, Revert};

use super::WATCH;
use super::frame::quoted;

/// A change that the host may undo.
#[derive(Clone, Debug)]
pub struct Guarded<'g> {
    /// Where the ledger lies.
    pub ledger: &'g str,
    /// The name of the change and that of this attempt, with a tab between.
    pub name: &'g str,
    /// What undoes it.
    pub revert: &'g Revert,
}

impl Guarded<'_> {
    /// Arms it: the host undoes it after so many seconds.
    #[must_use]
    pub fn arm(&self, seconds: u64) -> Vec<String> {
        let Revert { paths, keep, arguments, .. } = self.revert;
        let mut words = self.words("arm", seconds);
        words.extend([self.watcher(seconds), (*keep).to_owned(), paths.len().to_string()]);
        words.extend(paths.iter().chain(arguments).cloned());
        words
    }

    /// Confirms it; waits so many seconds for who is at it to undo it already.
    #[must_use]
    pub fn confirm(&self, seconds: u64) -> Vec<String> {
        self.words("confirm", seconds)
    }

    /// Has it undone at once, and waits for that.
    #[must_use]
    pub fn undo(&self, seconds: u64) -> Vec<String> {
        self.words("undo", seconds)
    }

    fn words(&self, verb: &str, seconds: u64) -> Vec<String> {
        let (guard, notes) = (self.directory(), Ledger::unconfirmed(self.ledger));
        vec![verb.to_owned(), guard, seconds.to_string(), self.name.to_owned(), notes]
    }

    fn directory(&self) -> String {
        format!("{}.guard", self.ledger)
    }

    /// The script that is left on the host: it needs nothing but itself, so that a start of the host can run it, too.
    fn watcher(&self, seconds: u64) -> String {
        let Revert { paths, undo, arguments, .. } = self.revert;
        let words: Vec<String> = paths.iter().chain(arguments).map(|word| quoted(word)).collect();
        let (guard, notes) = (self.directory(), Ledger::unconfirmed(self.ledger));
        format!(
            "guard={}\nseconds={seconds}\nname={}\nnotes={}\nundo={}\nof() {{ \"$1\" {} {}; }}\n{WATCH}",
            quoted(&guard),
            quoted(self.name),
            quoted(&notes),
            quoted(undo),
            paths.len(),
            words.join(" "),
        )
    }
}
