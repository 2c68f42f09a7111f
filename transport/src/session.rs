//! A session with one host: connects when it is needed, and again when it has to; one round trip at a time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fleet_engine::host::probe::{Answer, Content, File, Found, Line, What};
use fleet_engine::host::{Probe, Reach, Read, Reply};
use fleet_engine::resource::Error;
use tokio::time::Instant;

use crate::chance;
use crate::failure::{cut, late, not_reached};
use crate::link::{Link, Shared};
use crate::prepare::is_long;
use crate::road::Road;
use crate::script::work::Outcome;
use crate::script::{self, Asking, Frame, Job, Section};
use crate::shell::{End, Exchange};
use crate::sudo::{Sudo, Who};
use crate::upload::{Source, upload};

/// How long questions may take.
const QUESTIONS: Duration = Duration::from_secs(60);
/// How long a host may take to come back from a reboot.
const REBOOT: Duration = Duration::from_secs(15 * 60);

/// A session with one host.
pub(crate) struct Session {
    pub(crate) reach: Reach,
    pub(crate) shared: Arc<Shared>,
    link: Option<Link>,
    /// Whether no connection of an earlier run does.
    is_fresh: bool,
    /// What the host proved to be when it was first met in this run.
    pub(crate) host_key: Option<String>,
    /// What stands before every path, as the host said last.
    prefix: Arc<Mutex<String>>,
    sudo: Sudo,
    /// A name for what this run uploads.
    run: String,
    uploads: usize,
    /// What was uploaded in vain.
    pub(crate) litter: Vec<String>,
    /// What stood in files when they were last read as a whole, by path and whether root read it; none if there was none.
    pub(crate) contents: BTreeMap<(String, bool), Option<Vec<u8>>>,
}

/// One round trip: what is done, and what is asked afterwards.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) jobs: Vec<Sided<Job>>,
    pub(crate) probes: Vec<(Probe, Who)>,
    /// The longest that a step may take.
    pub(crate) patience: Option<Duration>,
}

/// Something for one of the two shells.
pub(crate) struct Sided<T> {
    pub(crate) root: bool,
    pub(crate) it: T,
}

/// What came of a round trip, in the order of what was in it.
pub(crate) struct Came {
    pub(crate) outcomes: Vec<Result<Outcome, Error>>,
    pub(crate) replies: Vec<Result<Reply, Error>>,
}

/// What one shell does in a round trip.
struct Part {
    jobs: Vec<usize>,
    probes: Vec<usize>,
    body: Frame,
    asking: Asking,
    patience: Duration,
}

impl Session {
    pub(crate) fn new(reach: Reach, shared: Arc<Shared>, prefix: Arc<Mutex<String>>) -> Session {
        Session {
            reach,
            shared,
            link: None,
            is_fresh: false,
            host_key: None,
            prefix,
            sudo: Sudo::default(),
            run: chance::name()[..12].to_owned(),
            uploads: 0,
            litter: Vec::new(),
            contents: BTreeMap::new(),
        }
    }

    /// A session by a connection of its own, with the same host.
    pub(crate) fn fresh(&self) -> Session {
        let host_key = self.host_key.clone();
        let session = Session::new(self.reach.clone(), self.shared.clone(), self.prefix.clone());
        Session { is_fresh: true, host_key, sudo: self.sudo.elsewhere(), ..session }
    }

    /// Whether there is a connection, as far as anybody noticed.
    pub(crate) fn is_connected(&self) -> bool {
        self.link.is_some()
    }

    /// Sees to it that there is a connection.
    pub(crate) async fn connect(&mut self) -> Result<(), Error> {
        if let Some(link) = &mut self.link
            && !link.user.is_up().await
        {
            self.disconnect().await;
        }
        if self.link.is_none() {
            let link = Link::make(&self.reach, self.host_key.as_deref(), self.is_fresh, &self.shared).await?;
            self.host_key = link.line.host_key.clone();
            self.link = Some(link);
        }
        Ok(())
    }

    /// Ends the connection, if there is one.
    pub(crate) async fn disconnect(&mut self) {
        self.sudo.forget_shell();
        if let Some(link) = self.link.take() {
            link.close().await;
        }
    }

    /// What `fleet ssh` needs of the connection.
    pub(crate) fn line(&self) -> Option<&Line> {
        self.link.as_ref().map(|link| &link.line)
    }

    /// Whether root is another than whoever is logged in.
    pub(crate) fn has_root_aside(&self) -> bool {
        !self.link.as_ref().is_some_and(|link| link.is_root)
    }

    /// Brings something to the host; returns where it lies.
    pub(crate) async fn upload(&mut self, source: Source) -> Result<String, Error> {
        let Some(link) = &self.link else { return Err(cut("")) };
        self.uploads += 1;
        let (ledger, name) = (&self.reach.ledger, self.uploads.to_string());
        let path = format!("{ledger}.up-{}-{name}", self.run);
        let uploaded = upload(&link.road, &link.root, ledger, &self.run, &name, source).await;
        if let Err(error) = uploaded {
            self.litter.push(path);
            if error.transient {
                self.disconnect().await;
            }
            return Err(error);
        }
        Ok(path)
    }

    /// Does all of it in one round trip, on each shell that is needed.
    pub(crate) async fn round(&mut self, round: &Round) -> Came {
        let litter = std::mem::take(&mut self.litter);
        let aside = self.has_root_aside();
        let part = |root: bool, lookers: bool| Part::new(round, root, aside, lookers, &litter);
        let mut came = Half::new(round);
        let Some(link) = &mut self.link else {
            came.fail(&cut(""));
            return came.finish();
        };
        let lookers_are_root = self.sudo.is_free();
        let (user, root) = (part(false, true), part(true, lookers_are_root));
        let Link { road, root: prefix, user: shell, .. } = link;
        let user_part = async {
            let is_needed = user.is_needed() || shell.is_new();
            if is_needed { Some(shell.exchange(&user.body, user.works(), user.patience).await) } else { None }
        };
        let sudo_password = &self.reach.sudo_password;
        let sudo = &mut self.sudo;
        let root_part = async {
            if !root.is_needed() {
                return (None, None);
            }
            let who = root.who(round);
            let password =
                if lookers_are_root && root.has_lookers(round) { None } else { sudo_password.as_ref() };
            let first = sudo.exchange(road, prefix, password, who, &root.body, root.patience).await;
            let again = part(true, false);
            if first.is_err() && !sudo.is_free() && root.has_lookers(round) && again.is_needed() {
                // Those who look stay without an answer; the others have a password.
                let second = sudo.exchange(
                    road,
                    prefix,
                    sudo_password.as_ref(),
                    Who::Worker,
                    &again.body,
                    again.patience,
                );
                let second = second.await;
                return (Some(again), Some(second));
            }
            (None, Some(first))
        };
        let (said, (again, root_said)) = tokio::join!(user_part, root_part);
        let mut is_broken = false;
        if let Some(exchange) = said {
            if let Some(hello) = &exchange.hello {
                link.greet(hello);
                self.prefix.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&link.user.prefix);
            }
            is_broken = exchange.end != End::Whole;
            if matches!(exchange.end, End::Late(_)) {
                stop(&link.road, link.user.number.as_deref()).await;
            }
            user.take(round, &mut came, &link.line, exchange);
        }
        let unseen = self.sudo.unseen();
        let root = again.unwrap_or(root);
        match root_said {
            None => {}
            Some(Err(error)) => root.refuse(&mut came, &error, &unseen, round),
            Some(Ok(exchange)) => {
                if exchange.end != End::Whole {
                    self.sudo.forget_shell();
                }
                root.take(round, &mut came, &link.line, exchange);
            }
        }
        // Whoever only looks and found nobody to ask.
        for (reply, (probe, _)) in came.replies.iter_mut().zip(&round.probes) {
            if aside && probe.needs_root() && reply.is_none() {
                *reply = Some(Err(unseen.clone()));
            }
        }
        if is_broken {
            self.disconnect().await;
        }
        let came = came.finish();
        self.remember(round, &came);
        came
    }

    /// Whoever edits a file that was looked at need not read it again.
    fn remember(&mut self, round: &Round, came: &Came) {
        let aside = self.has_root_aside();
        for ((probe, _), reply) in round.probes.iter().zip(&came.replies) {
            let Ok(Reply(answers)) = reply else { continue };
            for (read, answer) in probe.reads().iter().zip(answers) {
                let (Read::Path(path, Content::Whole), Answer::Path(found)) = (read, answer) else {
                    continue;
                };
                let content = match found {
                    None => None,
                    Some(Found { what: What::File(File { content: Some(content), .. }), .. }) => {
                        Some(content.clone())
                    }
                    Some(_) => continue,
                };
                let key = (path.clone(), probe.needs_root() && aside);
                if content.as_ref().is_none_or(|content| !is_long(content)) {
                    self.contents.insert(key, content);
                } else {
                    self.contents.remove(&key);
                }
            }
        }
    }

    /// Waits until the host answers from another boot.
    pub(crate) async fn wait_for_boot(
        &mut self,
        boot: &str,
        patience: Option<Duration>,
    ) -> Result<(), Error> {
        let deadline = Instant::now() + patience.unwrap_or(REBOOT);
        let mut pause = Duration::from_millis(250);
        loop {
            self.disconnect().await;
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
            let error = match self.boot().await {
                Ok(now) if now != boot => return Ok(()),
                Ok(_) => Error::permanent("the host still answers from the boot that it was to end"),
                Err(error) if !error.transient => return Err(error),
                Err(error) => error,
            };
            if Instant::now() > deadline {
                return Err(Error::permanent(format!("the host did not come back from its reboot: {error}"))
                    .help("see what it shows on its screen, or start it by hand"));
            }
        }
    }

    async fn boot(&mut self) -> Result<String, Error> {
        self.connect().await?;
        let Some(link) = &mut self.link else { return Err(cut("")) };
        let mut body = Frame::new();
        body.push("boot\nx $?\n");
        let exchange = link.user.exchange(&body, true, QUESTIONS).await;
        let section = exchange.sections.into_iter().next().ok_or_else(|| cut(""))?;
        Ok(String::from_utf8_lossy(&section.body).trim().to_owned())
    }
}

impl Part {
    /// What is for one of the shells. Where root is logged in, the first does everything.
    fn new(round: &Round, root: bool, aside: bool, lookers: bool, litter: &[String]) -> Part {
        let is_here = |wants_root: bool| (wants_root && aside) == root;
        let jobs: Vec<usize> = (0..round.jobs.len()).filter(|at| is_here(round.jobs[*at].root)).collect();
        let probes: Vec<usize> = (0..round.probes.len())
            .filter(|at| {
                let (probe, who) = &round.probes[*at];
                is_here(probe.needs_root()) && (lookers || *who == Who::Worker) && sound(probe).is_ok()
            })
            .collect();
        let mut body = Frame::new();
        script::work::write(jobs.iter().map(|job| &round.jobs[*job].it), &mut body);
        if !root && !litter.is_empty() {
            let words: Vec<String> =
                litter.iter().map(|path| crate::script::frame::under_root(path)).collect();
            body.push(&format!("rm -f -- {}\n", words.join(" ")));
        }
        let asking = Asking::new(probes.iter().map(|at| round.probes[*at].0.clone()).collect());
        asking.write(&mut body);
        let patience = if jobs.is_empty() { QUESTIONS } else { round.patience.unwrap_or(QUESTIONS) };
        Part { jobs, probes, body, asking, patience }
    }

    fn works(&self) -> bool {
        !self.jobs.is_empty()
    }

    fn is_needed(&self) -> bool {
        self.works() || !self.asking.is_empty() || !self.body.script().is_empty()
    }

    /// Whoever works along pays for those who look.
    fn who(&self, round: &Round) -> Who {
        let is_worker = |at: &usize| round.probes[*at].1 == Who::Worker;
        if self.works() || self.probes.iter().any(is_worker) { Who::Worker } else { Who::Looker }
    }

    fn has_lookers(&self, round: &Round) -> bool {
        self.probes.iter().any(|at| round.probes[*at].1 == Who::Looker)
    }

    /// Reads what came back.
    fn take(&self, round: &Round, came: &mut Half, line: &Line, exchange: Exchange) {
        let Exchange { sections, end, .. } = exchange;
        let mut sections = sections.into_iter();
        let mut is_lost = false;
        for job in &self.jobs {
            let outcome = round.jobs[*job].it.outcome(&mut sections);
            came.outcomes[*job] = Some(match (outcome, &end) {
                (Outcome::Unknown, End::Late(patience)) if !is_lost => Err(late(*patience)),
                (Outcome::Unknown, End::Late(_)) => Err(not_reached()),
                (outcome, _) => Ok(outcome),
            });
            is_lost |= matches!(came.outcomes[*job], Some(Err(_) | Ok(Outcome::Unknown)));
        }
        let rest: Vec<Section> = sections.collect();
        let replies = self.asking.replies(line, rest.into_iter());
        for (at, reply) in self.probes.iter().zip(replies) {
            let reply = match (&end, reply) {
                (End::Cut(why), Err(_)) => Err(cut(why)),
                (End::Late(patience), Err(_)) => Err(late(*patience)),
                (_, reply) => reply,
            };
            came.replies[*at] = Some(reply);
        }
    }

    /// Nobody became root.
    fn refuse(&self, came: &mut Half, error: &Error, unseen: &Error, round: &Round) {
        for job in &self.jobs {
            came.outcomes[*job] = Some(Err(error.clone()));
        }
        for at in &self.probes {
            let is_looker = round.probes[*at].1 == Who::Looker && !error.transient;
            came.replies[*at] = Some(Err(if is_looker { unseen.clone() } else { error.clone() }));
        }
    }
}

/// What came of a round trip so far.
struct Half {
    outcomes: Vec<Option<Result<Outcome, Error>>>,
    replies: Vec<Option<Result<Reply, Error>>>,
}

impl Half {
    fn new(round: &Round) -> Half {
        let replies = round.probes.iter().map(|(probe, _)| sound(probe).err().map(Err));
        Half { outcomes: round.jobs.iter().map(|_| None).collect(), replies: replies.collect() }
    }

    fn fail(&mut self, error: &Error) {
        self.outcomes.iter_mut().for_each(|outcome| *outcome = Some(Err(error.clone())));
        self.replies.iter_mut().for_each(|reply| *reply = Some(Err(error.clone())));
    }

    fn finish(self) -> Came {
        let lost = || cut("");
        Came {
            outcomes: self.outcomes.into_iter().map(|it| it.unwrap_or_else(|| Err(lost()))).collect(),
            replies: self.replies.into_iter().map(|it| it.unwrap_or_else(|| Err(lost()))).collect(),
        }
    }
}

/// Whether a probe can be put into a script.
fn sound(probe: &Probe) -> Result<(), Error> {
    probe.reads().iter().try_for_each(|read| match read {
        Read::Path(path, _) | Read::Names(path) | Read::Tree(path) | Read::Inside(path) => sound_path(path),
        Read::Tool(_, operands) if operands.iter().any(|word| word.as_str().contains('\0')) => Err(no_text()),
        Read::Processes(expression) if expression.contains('\0') => Err(no_text()),
        Read::Line | Read::Tool(..) | Read::Processes(_) | Read::UserScript(_) => Ok(()),
    })
}

/// Whether a path can be put into a script.
pub(crate) fn sound_path(path: &str) -> Result<(), Error> {
    if path.contains('\0') {
        return Err(no_text());
    }
    if !path.starts_with('/') {
        return Err(Error::permanent(format!(
            "`{path}` is no path from the root on: it must start with `/`"
        )));
    }
    Ok(())
}

pub(crate) fn no_text() -> Error {
    Error::permanent("a name on a host cannot hold the character NUL")
}

/// Ends whatever a shell runs, and the shell.
async fn stop(road: &Road, number: Option<&str>) {
    const STOP: &str = r#"IFS= read -r n; for s in TERM KILL; do kill -s $s -- "-$n" || kill -$s "-$n" || exit 0; sleep 1; done"#;
    if let Some(number) = number {
        let line = format!("{number}\n");
        let stopping = road.feed(&["/bin/sh", "-c", STOP], line.as_bytes());
        let _ = tokio::time::timeout(Duration::from_secs(10), stopping).await;
    }
}
