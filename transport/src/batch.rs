//! Questions and works that travel together: from steps to round trips, and back.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use fleet_engine::host::reach::Over;
use fleet_engine::host::step::{Claim, Content};
use fleet_engine::host::{Act, Holder, Holding, Ledger, Probe, Reply, Step, Work};
use fleet_engine::resource::Error;
use tokio::sync::oneshot;

use crate::chance;
use crate::failure::{cut, not_held, not_listed, of_step};
use crate::guard;
use crate::prepare::{bring, is_long, read_edits};
use crate::script::Job;
use crate::script::frame::escaped_size;
use crate::script::work::{CHANGED, GOING, Hold, Outcome, Staged, Task, With};
use crate::session::{Round, Session, Sided, no_text, sound_path};
use crate::sudo::Who;

/// How long a step may take, if it does not say.
const STEP: Duration = Duration::from_secs(10 * 60);
/// How often a file is read again that others keep changing.
const REREADS: usize = 5;

/// Questions of one who waits.
pub(crate) struct Asked {
    probes: Vec<Probe>,
    answer: oneshot::Sender<Vec<Result<Reply, Error>>>,
}

/// A work, and how far it is.
pub(crate) struct Doing {
    pub(crate) work: Work,
    pub(crate) holder: Holder,
    answer: Option<oneshot::Sender<Result<Reply, Error>>>,
    /// The next step.
    pub(crate) next: usize,
    /// Whether the inventory knows of it.
    pub(crate) is_listed: bool,
    /// What was brought to the host for its steps.
    pub(crate) staged: BTreeMap<usize, Staged>,
    pub(crate) rereads: usize,
}

/// What is done of a work in one round trip.
pub(crate) struct Segment {
    pub(crate) doing: usize,
    pub(crate) root: bool,
    pub(crate) end: usize,
    pub(crate) reads_back: bool,
}

impl Asked {
    pub(crate) fn new(probes: Vec<Probe>, answer: oneshot::Sender<Vec<Result<Reply, Error>>>) -> Asked {
        Asked { probes, answer }
    }

    pub(crate) fn size(&self) -> usize {
        self.probes.iter().map(|probe| probe.reads().len() * 100).sum()
    }
}

impl Doing {
    pub(crate) fn new(work: Work, holder: Holder, answer: oneshot::Sender<Result<Reply, Error>>) -> Doing {
        let answer = Some(answer);
        Doing { work, holder, answer, next: 0, is_listed: false, staged: BTreeMap::new(), rereads: 0 }
    }

    /// About how many bytes it takes.
    pub(crate) fn size(&self) -> usize {
        let of_step = |step: &Step| match &step.act {
            Act::Write { content: Content::Bytes(bytes), .. } if !is_long(&bytes.0) => {
                escaped_size(&bytes.0) + 300
            }
            Act::Run { input, .. } => escaped_size(&input.0) + 300,
            Act::Procedure { script, input, .. } => {
                escaped_size(script.as_bytes()) + escaped_size(&input.0) + 300
            }
            Act::UserScript { script } => escaped_size(&script.0) + 300,
            _ => 300,
        };
        self.work.steps.iter().map(of_step).sum()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.answer.is_some()
    }

    pub(crate) fn finish(&mut self, answer: Result<Reply, Error>) {
        if let Some(waiting) = self.answer.take() {
            let _ = waiting.send(answer);
        }
    }

    /// Whether it takes the host or gives it back, so that the host need not be ours.
    fn settles_ownership(&self) -> bool {
        self.work.steps.iter().any(|step| of_ownership(&step.act).is_some())
    }

    fn hold(&self, slot: &str) -> Hold {
        hold(&self.holder, slot)
    }
}

/// Who works on the host of a slot.
pub(crate) fn hold(holder: &Holder, slot: &str) -> Hold {
    Hold { lineage: one_line(&holder.lineage), slot: one_line(slot), fence: holder.fence }
}

/// Answers all of them. Those that could cut the host off go alone, after all others.
pub(crate) async fn serve(session: &mut Session, asks: Vec<Asked>, works: Vec<Doing>) {
    let (guarded, works): (Vec<Doing>, Vec<Doing>) =
        works.into_iter().partition(|doing| doing.work.revert.is_some() && !doing.work.steps.is_empty());
    together(session, asks, works).await;
    for mut doing in guarded {
        let (work, holder) = (std::mem::take(&mut doing.work), doing.holder.clone());
        doing.finish(guard::guarded(session, work, holder).await);
    }
}

/// Answers all of them together.
pub(crate) async fn together(session: &mut Session, asks: Vec<Asked>, mut works: Vec<Doing>) {
    for doing in &mut works {
        let may_be = |step: &Step| sound(&step.act).and_then(|()| elsewhere(&session.reach.over, &step.act));
        if let Err(error) = doing.work.steps.iter().try_for_each(may_be) {
            doing.finish(Err(error));
        }
    }
    if asks.is_empty() && !works.iter().any(Doing::is_open) {
        return;
    }
    if let Err(error) = session.connect().await {
        works.iter_mut().for_each(|doing| doing.finish(Err(error.clone())));
        for asked in asks {
            let _ = asked.answer.send(asked.probes.iter().map(|_| Err(error.clone())).collect());
        }
        return;
    }
    for doing in &mut works {
        bring(session, doing).await;
    }
    let mut asks = asks;
    while !asks.is_empty() || works.iter().any(Doing::is_open) {
        let segments = segments(session, &works);
        let edited = read_edits(session, &mut works, &segments, &mut asks).await;
        let segments: Vec<Segment> = segments.into_iter().filter(|it| works[it.doing].is_open()).collect();
        if segments.is_empty() && asks.is_empty() {
            continue;
        }
        one_round(session, &mut works, &segments, &edited, std::mem::take(&mut asks)).await;
    }
}

/// One round trip, and what follows from it.
async fn one_round(
    session: &mut Session,
    works: &mut [Doing],
    segments: &[Segment],
    edited: &BTreeMap<(usize, usize), With>,
    asks: Vec<Asked>,
) {
    let mut round = Round::default();
    for segment in segments {
        let doing = &works[segment.doing];
        round.jobs.push(Sided { root: segment.root, it: job(session, doing, segment, edited) });
        let steps = &doing.work.steps[doing.next..segment.end];
        let patience = steps.iter().map(|step| step.timeout.unwrap_or(STEP)).max().unwrap_or(STEP);
        round.patience = Some(round.patience.unwrap_or_default().max(patience));
        if segment.reads_back {
            round.probes.push((doing.work.read_back.clone(), Who::Worker));
        }
    }
    let mut came = ask_along(session, &mut round, asks).await;
    share(works, segments, edited, &mut came.0);
    for (segment, outcome) in segments.iter().zip(came.0) {
        let reply = if segment.reads_back { came.1.next() } else { None };
        let doing = &mut works[segment.doing];
        match settle(session, doing, segment, outcome).await {
            Err(error) => doing.finish(Err(error)),
            Ok(true) => {
                if let Some(reply) = reply {
                    doing.finish(reply);
                }
            }
            Ok(false) => {}
        }
        if !works[segment.doing].is_open() {
            let used = segment.end;
            let left = std::mem::take(&mut works[segment.doing].staged);
            session.litter.extend(left.into_iter().filter(|(at, _)| *at >= used).map(|(_, it)| it.path));
        }
    }
}

/// An edit that another work was to write is done if that one is.
fn share(
    works: &[Doing],
    segments: &[Segment],
    edited: &BTreeMap<(usize, usize), With>,
    outcomes: &mut [Result<Outcome, Error>],
) {
    for (number, segment) in segments.iter().enumerate() {
        let Some(last) = segment.end.checked_sub(1) else { continue };
        let Some(With::Along { writer, at }) = edited.get(&(segment.doing, last)) else { continue };
        let Some(of) = segments.iter().position(|it| it.doing == *writer) else { continue };
        // What came of its own part matters more.
        if !matches!(outcomes[number], Ok(Outcome::Done)) {
            continue;
        }
        outcomes[number] = match &outcomes[of] {
            Ok(Outcome::Failed(step, _)) if *step > at - works[*writer].next => continue,
            Ok(Outcome::Failed(_, section)) => {
                Ok(Outcome::Failed(last - works[segment.doing].next, section.clone()))
            }
            other => other.clone(),
        };
    }
}

/// Lets questions travel along; they are answered here. A question whose answer got lost on the way is asked once more,
/// because nothing is done twice by that.
pub(crate) async fn ask_along(
    session: &mut Session,
    round: &mut Round,
    asks: Vec<Asked>,
) -> (Vec<Result<Outcome, Error>>, std::vec::IntoIter<Result<Reply, Error>>) {
    let own = round.probes.len();
    round
        .probes
        .extend(asks.iter().flat_map(|asked| &asked.probes).map(|probe| (probe.clone(), Who::Looker)));
    let came = session.round(round).await;
    let mut replies = came.replies;
    let mut others = replies.split_off(own);
    let is_lost = |reply: &Result<Reply, Error>| reply.as_ref().is_err_and(|error| error.transient);
    let lost: Vec<usize> = (0..others.len()).filter(|at| is_lost(&others[*at])).collect();
    if !lost.is_empty() {
        let probes = round.probes.split_off(own);
        let again = Round { probes: lost.iter().map(|at| probes[*at].clone()).collect(), ..Round::default() };
        let replies = match session.connect().await {
            Ok(()) => session.round(&again).await.replies,
            // Why nobody can connect says more than that something broke.
            Err(error) => lost.iter().map(|_| Err(error.clone())).collect(),
        };
        for (at, reply) in lost.into_iter().zip(replies) {
            others[at] = reply;
        }
    }
    let mut others = others.into_iter();
    for Asked { probes, answer } in asks {
        let _ = answer.send(others.by_ref().take(probes.len()).collect());
    }
    (came.outcomes, replies.into_iter())
}

/// What follows from how a segment ended: whether all of it was done.
async fn settle(
    session: &mut Session,
    doing: &mut Doing,
    segment: &Segment,
    outcome: Result<Outcome, Error>,
) -> Result<bool, Error> {
    let first = doing.next;
    let act = |index: usize| &doing.work.steps[first + index].act;
    let reboot = match doing.work.steps.get(first) {
        Some(Step { act: Act::Reboot { boot }, timeout, .. }) if segment.end > first => {
            Some((boot, *timeout))
        }
        _ => None,
    };
    let (slot, ledger) = (session.reach.slot.clone(), session.reach.ledger.clone());
    match outcome? {
        Outcome::Done => {}
        Outcome::Failed(0, section) if section.word == GOING && reboot.is_some() => {
            let Some((boot, timeout)) = reboot else { return Ok(false) };
            session.wait_for_boot(boot, timeout).await?;
        }
        Outcome::Unknown => match reboot {
            Some((boot, timeout)) => session.wait_for_boot(boot, timeout).await?,
            None => return Err(cut("")),
        },
        Outcome::NotHeld(whose, body) => return Err(not_held(whose, &slot, &ledger, &body)),
        Outcome::NotListed(section) => return Err(not_listed(&ledger, &section)),
        Outcome::Failed(index, section) => {
            let act = act(index);
            if let (Act::Edit { path, .. }, CHANGED) = (act, &*section.word) {
                if doing.rereads == REREADS {
                    let message = format!("`{path}` changed again and again while it was edited");
                    return Err(Error::transient(message));
                }
                doing.rereads += 1;
                doing.next += index;
                doing.is_listed = true;
                return Ok(false);
            }
            return Err(of_step(act, &slot, &section));
        }
    }
    doing.next = segment.end;
    doing.is_listed = true;
    Ok(true)
}

/// What comes next of every work that is not done: steps for one shell. A reboot goes alone.
fn segments(session: &Session, works: &[Doing]) -> Vec<Segment> {
    let aside = session.has_root_aside();
    let is_reboot = |step: &Step| matches!(step.act, Act::Reboot { .. });
    let mut all: Vec<Segment> = Vec::new();
    for (doing, it) in works.iter().enumerate().filter(|(_, it)| it.is_open()) {
        let steps = &it.work.steps[it.next..];
        let root = steps.first().map_or(it.work.read_back.needs_root(), |step| step.root);
        let same = |step: &&Step| (step.root && aside) == (root && aside) && !is_reboot(step);
        let count = match steps.first() {
            Some(step) if is_reboot(step) => 1,
            _ => steps.iter().take_while(same).count(),
        };
        let end = it.next + count;
        let reads_back = end == it.work.steps.len()
            && (it.work.read_back.needs_root() && aside) == (root && aside)
            && !steps.first().is_some_and(is_reboot);
        all.push(Segment { doing, root, end, reads_back });
    }
    let reboots = |segment: &Segment| {
        works[segment.doing].work.steps.get(works[segment.doing].next).is_some_and(is_reboot)
    };
    if all.iter().any(|segment| !reboots(segment)) {
        all.retain(|segment| !reboots(segment));
    } else {
        all.truncate(1);
    }
    all
}

pub(crate) fn job(
    session: &Session,
    doing: &Doing,
    segment: &Segment,
    edited: &BTreeMap<(usize, usize), With>,
) -> Job {
    let slot = &session.reach.slot;
    let listed = doing.work.listed.as_ref();
    let task = |at: usize| {
        let act = doing.work.steps[at].act.clone();
        let claim = of_ownership(&act).map(|claim| ledger(session, doing, claim));
        let with = match &act {
            _ if claim.is_some() => claim.unwrap_or(With::Nothing),
            Act::Edit { .. } => edited.get(&(segment.doing, at)).cloned().unwrap_or(With::Nothing),
            Act::Write { content, .. } => match (doing.staged.get(&at), content) {
                (Some(staged), _) => With::Staged(staged.clone()),
                (None, Content::Bytes(bytes)) => With::Sent(bytes.0.clone()),
                (None, Content::Local(_)) => With::Nothing,
            },
            _ => doing.staged.get(&at).cloned().map_or(With::Nothing, With::Staged),
        };
        Task { act, with }
    };
    let is_last = segment.end == doing.work.steps.len();
    let list = listed.filter(|_| !doing.is_listed);
    Job {
        hold: (!doing.settles_ownership()).then(|| doing.hold(slot)),
        list: list.and_then(|it| Some((it.name.clone(), it.line.clone()?))),
        tasks: (doing.next..segment.end).map(task).collect(),
        forget: listed.filter(|it| is_last && it.line.is_none()).map(|it| it.name.clone()),
        ledger: session.reach.ledger.clone(),
    }
}

/// Whose a host becomes or stays, if that is what an act is about.
fn of_ownership(act: &Act) -> Option<&Claim> {
    match act {
        Act::Claim(claim) | Act::Release(claim) | Act::Mark(claim) | Act::TakeOver { claim, .. } => {
            Some(claim)
        }
        _ => None,
    }
}

fn ledger(session: &Session, doing: &Doing, of: &Claim) -> With {
    let claim = of.mark.as_ref().map_or_else(chance::name, |mark| mark.claim.clone());
    let hold = doing.hold(&of.slot);
    let text = Ledger {
        lineage: hold.lineage.clone(),
        slot: hold.slot.clone(),
        claim: claim.clone(),
        fence: hold.fence,
        epoch: match &of.mark {
            Some(mark) => one_line(&mark.epoch),
            None => session.host_key.clone().unwrap_or_default(),
        },
        state: of.mark.as_ref().map_or(Holding::Owned, |mark| mark.state),
        since: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        by: one_line(&doing.holder.by),
    }
    .to_string();
    With::Ledger { hold, claim, text }
}

/// Whether a step can be put into a script, and may be.
fn sound(act: &Act) -> Result<(), Error> {
    let texts: Vec<&str> = match act {
        Act::Write { path, keep, .. } | Act::Directory { path, keep } | Act::Keep { path, keep } => {
            sound_path(path)?;
            keep.owner.iter().chain(&keep.group).map(String::as_str).collect()
        }
        Act::Link { path, target } => {
            sound_path(path)?;
            vec![target]
        }
        Act::RemoveTree { path } if path.split('/').all(|part| matches!(part, "" | "." | "..")) => {
            return Err(Error::permanent(format!("`{path}` is everything there is, and is not removed")));
        }
        Act::Edit { path, .. }
        | Act::Unpack { path, .. }
        | Act::Remove { path }
        | Act::RemoveTree { path } => {
            sound_path(path)?;
            Vec::new()
        }
        Act::Run { program, arguments, .. } => {
            [program].into_iter().chain(arguments).map(String::as_str).collect()
        }
        Act::Procedure { arguments, .. } => arguments.iter().map(String::as_str).collect(),
        Act::Claim(claim) | Act::Release(claim) | Act::Mark(claim) | Act::TakeOver { claim, .. } => {
            sound_path(&claim.ledger)?;
            // The name of a claim is also that of a file.
            let is_name = |name: &str| {
                !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            };
            if claim.mark.as_ref().is_some_and(|mark| !is_name(&mark.claim)) {
                return Err(Error::permanent("the name of a claim has letters, digits and `-` only"));
            }
            claim.mark.iter().map(|mark| &*mark.epoch).collect()
        }
        Act::Reboot { boot } => vec![boot],
        Act::UserScript { .. } => Vec::new(),
    };
    if texts.iter().any(|text| text.contains('\0')) { Err(no_text()) } else { Ok(()) }
}

/// Whoever runs fleet must be there to see what came of it, so that this very machine is not started anew.
fn elsewhere(over: &Over, act: &Act) -> Result<(), Error> {
    match (over, act) {
        (Over::Local, Act::Reboot { .. }) => {
            let error = Error::permanent("this machine runs fleet, and is not started anew by it");
            Err(error.help("start it anew by hand, and apply again"))
        }
        _ => Ok(()),
    }
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r', '\0'], " ")
}
