//! What comes next, from the record, the ledger and the name. The ledger decides before the name.

use super::command::{End, Loss, Surprise, Why};
use super::machine::{At, Change, Now, Process, View, Whose};
use super::notes::{Method, Names, Stage, Write};
use super::rules::Guard;
use crate::host::Holding;
use crate::pool::Status;

impl Process {
    /// The host answered.
    pub(super) fn decide(&mut self, view: View, now: Now) {
        match view.whose {
            _ if self.progress.stage == Stage::Closed => self.end(End::Lost(Loss::Settled)),
            Whose::Mine(holding) => self.held(view, holding, now),
            Whose::Nobodys => self.unheld(view, now),
            Whose::Others(_) => self.others(view, now),
        }
    }

    /// The ledger is ours.
    fn held(&mut self, view: View, holding: Holding, now: Now) {
        (self.memory.fresh, self.memory.waited) = (false, false);
        match self.progress.stage {
            Stage::Claiming if holding == Holding::Claiming && self.must_settle() => {
                self.wait_for_vendor(true, now);
            }
            Stage::Freeing | Stage::Retiring if self.must_settle() => self.wait_for_vendor(true, now),
            Stage::Leaving if holding != Holding::Returning => {
                self.at = At::Ledger(Change::Mark(Holding::Returning));
            }
            Stage::Abandoning if !self.progress.open.is_empty() => self.wait(Why::Hold, true, now),
            Stage::Abandoning => self.at = At::Ledger(Change::Remove),
            // Whatever its last holder may have sent is unsettled.
            Stage::Taking { .. } if self.must_settle() => self.wait(Why::Hold, true, now),
            Stage::Taking { .. } => self.enter(Stage::Freeing),
            _ => self.ask(view, now),
        }
    }

    /// Whether the vendor may still show, or do, what was so before the ledger was ours.
    fn must_settle(&self) -> bool {
        !self.memory.settled && self.who.names.is_some() && self.rules.keeps(Guard::NameAgain)
    }

    /// Asks the vendor, where there is one.
    fn ask(&mut self, view: View, now: Now) {
        match &self.who.names {
            Some(_) => self.at = At::Read(Some(view)),
            None => self.known(view, None, &Status::Ready, now),
        }
    }

    /// All that can be known is known. Without a vendor there is no name, and every name that is asked for is right.
    pub(super) fn known(&mut self, view: View, name: Option<&str>, status: &Status, now: Now) {
        let who = self.who.clone();
        let names = who.names.as_ref().zip(name);
        match view.whose {
            Whose::Mine(holding) => match self.progress.stage {
                Stage::Leaving => self.leave(names, status, now),
                Stage::Freeing => self.free(names, now),
                Stage::Retiring => self.retire_free(names, status, now),
                _ => self.own(names, holding, now),
            },
            Whose::Nobodys | Whose::Others(_) => self.close_or_acquire(view, names, now),
        }
    }

    /// Claims on, or sees to it that what is ours is called as it should be.
    fn own(&mut self, names: Option<(&Names, &str)>, holding: Holding, now: Now) {
        let is_claiming = self.progress.stage == Stage::Claiming;
        match names {
            Some((names, name)) if name != names.own => {
                let may_be_taken = names.is_free(name) || !self.rules.keeps(Guard::NameAgain);
                if is_claiming && holding == Holding::Claiming && !may_be_taken {
                    self.enter(Stage::Abandoning);
                } else {
                    self.rename(&names.own, now);
                }
            }
            _ if holding != Holding::Owned => self.at = At::Ledger(Change::Mark(Holding::Owned)),
            _ if is_claiming => self.enter(Stage::Owned),
            _ if !self.progress.open.is_empty() => self.wait(Why::Hold, true, now),
            _ if self.memory.reboot => self.guarded(Write::Reboot, now),
            _ => self.at = At::Done(End::Owned { surprise: self.memory.surprise }),
        }
    }

    /// Makes the host clean.
    fn leave(&mut self, names: Option<(&Names, &str)>, status: &Status, now: Now) {
        match names {
            Some((names, name)) if name != names.returning => self.rename(&names.returning, now),
            // A reinstall of unknown fate may be on its way.
            _ if !self.progress.open.is_empty() => self.wait(Why::Hold, true, now),
            Some(_) if *status != Status::Ready => self.wait(Why::Poll, true, now),
            Some(_) if self.progress.method == Method::Reinstall => self.escalate(now),
            _ => self.at = At::Scrub,
        }
    }

    /// The next thing to try: the same again, a reboot, a reinstall. Until the deadline, which ends it.
    pub(super) fn escalate(&mut self, now: Now) {
        let has_vendor = self.who.names.is_some();
        let tries = self.memory.tries;
        self.memory.tries = (tries + 1).min(3);
        match self.progress.method {
            _ if !has_vendor => self.wait(Why::Poll, true, now),
            Method::Reinstall if tries == 2 => self.guarded(Write::Reboot, now),
            Method::Reinstall => self.guarded(Write::Reinstall, now),
            Method::Scrub if tries == 1 => self.guarded(Write::Reboot, now),
            Method::Scrub if tries == 2 => {
                (self.progress.method, self.memory.tries) = (Method::Reinstall, 0);
                self.enter(Stage::Leaving);
            }
            Method::Scrub => self.wait(Why::Poll, true, now),
        }
    }

    /// Names the clean host free, and lets it go.
    fn free(&mut self, names: Option<(&Names, &str)>, now: Now) {
        match names {
            Some((names, name)) if !names.is_free(name) => self.rename(&names.free, now),
            _ if !self.progress.open.is_empty() => self.wait(Why::Hold, true, now),
            _ => self.at = At::Ledger(Change::Remove),
        }
    }

    /// Deletes the host, if it is free still. One that somebody called otherwise since is let go.
    fn retire_free(&mut self, names: Option<(&Names, &str)>, status: &Status, now: Now) {
        let is_free = names.is_some_and(|(names, name)| names.is_free(name));
        match status {
            _ if !is_free && self.rules.keeps(Guard::NameAgain) => self.enter(Stage::Abandoning),
            // One that was sent before may be on its way.
            _ if !self.progress.open.is_empty() => self.wait(Why::Hold, true, now),
            Status::Ready => self.guarded(Write::Delete, now),
            _ => self.wait(Why::Poll, true, now),
        }
    }

    /// Writes a name; again only when the vendor had time to show the last one.
    fn rename(&mut self, name: &str, now: Now) {
        if std::mem::take(&mut self.memory.renamed) {
            self.wait(Why::Settle, true, now);
        } else {
            self.guarded(Write::Rename(name.to_owned()), now);
        }
    }

    /// There is no ledger.
    fn unheld(&mut self, view: View, now: Now) {
        #[cfg(test)]
        if self.without_ledger(now) {
            return;
        }
        let is_new = self.progress.epoch.as_ref() != Some(&view.epoch);
        match self.progress.stage {
            Stage::Claiming | Stage::Retiring => self.acquire(view, Holding::Claiming),
            Stage::Owned => {
                self.memory.surprise =
                    Some(if is_new { Surprise::Reinstalled } else { Surprise::LedgerRemoved });
                self.progress.stage = Stage::Claiming;
                self.acquire(view, Holding::Claiming);
            }
            Stage::Taking { .. } => self.end(End::Lost(Loss::Settled)),
            Stage::Leaving if is_new => {
                // Whoever caused it: the host is clean.
                self.enter(Stage::Freeing);
            }
            _ if !self.progress.open.is_empty() => self.wait(Why::Hold, false, now),
            _ => self.ask(view, now),
        }
    }

    /// The ledger is another's.
    fn others(&mut self, view: View, now: Now) {
        let Whose::Others(ledger) = &view.whose else { return };
        match (&self.progress.stage, ledger) {
            (Stage::Taking { from }, Some((claim, Holding::Claiming))) if claim == from => {
                let take = Change::Take(claim.clone());
                self.progress.epoch = Some(view.epoch);
                self.changed = true;
                self.at = At::Ledger(take);
            }
            (Stage::Taking { .. }, _) => self.end(End::Lost(Loss::Settled)),
            _ if self.memory.fresh => self.end(End::Lost(Loss::Taken)),
            _ if !self.rules.keeps(Guard::LateClose) => self.end(End::Lost(Loss::Taken)),
            _ if !self.has_waited() => self.wait_for_vendor(false, now),
            (_, Some((_, Holding::Owned))) => self.end(End::Lost(Loss::Taken)),
            _ => self.ask(view, now),
        }
    }

    /// The ledger is not ours: the record is closed, unless the host has a name of ours. Then somebody else clears it away, or we do.
    fn close_or_acquire(&mut self, view: View, names: Option<(&Names, &str)>, now: Now) {
        let is_ours = names.is_some_and(|(names, name)| names.is_ours(name));
        let is_nobodys = view.whose == Whose::Nobodys;
        let is_late = self.rules.keeps(Guard::LateClose);
        match self.progress.stage {
            _ if !is_ours && (self.has_waited() || !is_late) => self.end(self.unneeded()),
            _ if !is_ours || !is_nobodys => self.wait(Why::Settle, false, now),
            Stage::Abandoning => {
                self.enter(Stage::Claiming);
                self.acquire(view, Holding::Claiming);
            }
            _ => self.acquire(view, Holding::Returning),
        }
    }

    /// Whether nothing can turn up any more that was on its way when the ledger was seen not to be ours.
    fn has_waited(&self) -> bool {
        self.memory.waited || self.who.names.is_none()
    }

    fn unneeded(&self) -> End {
        match self.progress.stage {
            Stage::Freeing => self.returned(),
            _ => End::Lost(Loss::Taken),
        }
    }

    /// Makes the ledger in the installation that was just seen.
    fn acquire(&mut self, view: View, holding: Holding) {
        self.progress.epoch = Some(view.epoch);
        self.changed |= self.rules.keeps(Guard::RecordFirst);
        self.memory.settled = false;
        self.at = At::Ledger(Change::Create(holding));
    }
}

/// What a protocol without these guards would do. Here so that the model can show what they are for.
#[cfg(test)]
impl Process {
    /// Writes the name without a ledger, before there is one or instead of it.
    fn without_ledger(&mut self, now: Now) -> bool {
        let Some(names) = &self.who.names else { return false };
        if self.progress.stage == Stage::Retiring && !self.rules.keeps(Guard::LedgerToDelete) {
            self.guarded(Write::Delete, now);
            self.at = At::Send(Write::Delete, now.clock);
            return true;
        }
        let name = match self.progress.stage {
            Stage::Claiming if self.memory.fresh && !self.rules.keeps(Guard::LedgerFirst) => &names.own,
            Stage::Freeing if !self.rules.keeps(Guard::LedgerToFree) => &names.free,
            _ => return false,
        };
        if !self.memory.renamed {
            let write = Write::Rename(name.clone());
            self.guarded(write.clone(), now);
            self.at = At::Send(write, now.clock);
        } else if self.progress.stage == Stage::Freeing {
            self.end(self.returned());
        } else {
            return false;
        }
        true
    }
}
