//! A vendor and its machines in memory, with a clock that stands still until everybody waits.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use fleet_engine::clock::Clock;
use fleet_engine::host::probe::{File, Found, Line, Output, What};
use fleet_engine::host::reach::Over;
use fleet_engine::host::step::{self, Claim, Mark};
use fleet_engine::host::{
    Act, Answer, Holder, Holding, HostReader, HostWriter, Hosts, Ledger, Probe, Reach, Read, Reply, Work,
};
use fleet_engine::pool::{Credentials, Sent, Server, Status, Vendor, VendorReader};
use fleet_engine::resource::{BoxFuture, Error};

/// How long a reinstall takes.
const REINSTALL: Duration = Duration::from_secs(15 * 60);

/// Everything there is.
#[derive(Default)]
pub(super) struct World {
    pub(super) time: Time,
    machines: Mutex<BTreeMap<String, Machine>>,
    /// Everything that the vendor was told.
    pub(super) log: Mutex<Vec<String>>,
    /// The requests, counted from 1, whose answers get lost.
    pub(super) lost: Mutex<BTreeSet<usize>>,
    /// What the vendor answers to every question, if it does not.
    pub(super) silent: Mutex<Option<Error>>,
}

struct Machine {
    server: Server,
    files: BTreeMap<String, Vec<u8>>,
    installs: u32,
    ready_at: Option<Duration>,
    /// What appears when it is being given back.
    late: Vec<(String, String)>,
}

/// A clock that goes on to the next sleeper as soon as nobody has anything to do.
#[derive(Clone, Default)]
pub(super) struct Time(Arc<Mutex<(Duration, Sleepers)>>);

/// Who sleeps, and until when.
type Sleepers = Vec<(Duration, Waker)>;

impl Clock for Time {
    fn now(&self) -> Duration {
        self.0.lock().unwrap().0
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let (time, until) = (self.clone(), self.now() + duration);
        Box::pin(poll_fn(move |context| {
            if time.now() >= until {
                return Poll::Ready(());
            }
            time.0.lock().unwrap().1.push((until, context.waker().clone()));
            Poll::Pending
        }))
    }
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Flag>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Time {
    /// Runs something to its end.
    pub(super) fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let flag = Arc::new(Flag(AtomicBool::new(false)));
        let waker = Waker::from(flag.clone());
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return value;
            }
            if flag.0.swap(false, Ordering::SeqCst) {
                continue;
            }
            let mut time = self.0.lock().unwrap();
            let next = time.1.iter().map(|(until, _)| *until).min().expect("somebody sleeps");
            time.0 = time.0.max(next);
            let now = time.0;
            let due: Vec<Waker> =
                time.1.extract_if(.., |(until, _)| *until <= now).map(|(_, waker)| waker).collect();
            drop(time);
            due.into_iter().for_each(Waker::wake);
        }
    }
}

impl World {
    /// So many free machines: `pool-1`, `pool-2` and so on, with the ids `s1`, `s2`.
    pub(super) fn of(count: usize) -> Arc<World> {
        let world = World::default();
        for n in 1..=count {
            let server = Server {
                id: format!("s{n}"),
                name: format!("pool-{n}"),
                zone: "z".into(),
                model: "M2".into(),
                os_family: "Tahoe".into(),
                addresses: vec![format!("10.0.0.{n}")],
                status: Status::Ready,
                provider_id: format!("rent://s{n}"),
                created_at: None,
                updated_at: None,
                deletable_at: Some("2026-01-02T00:00:00Z".into()),
                commitment: None,
            };
            let machine =
                Machine { server, files: BTreeMap::new(), installs: 0, ready_at: None, late: Vec::new() };
            world.machines.lock().unwrap().insert(format!("s{n}"), machine);
        }
        Arc::new(world)
    }

    /// Does something to a machine, as it is now.
    fn with<T>(&self, id: &str, work: impl FnOnce(&mut Machine) -> T) -> Option<T> {
        let now = self.time.now();
        let mut machines = self.machines.lock().unwrap();
        let machine = machines.get_mut(id)?;
        if machine.ready_at.is_some_and(|at| at <= now) {
            machine.ready_at = None;
            machine.installs += 1;
            machine.files.clear();
            machine.server.status = Status::Ready;
        }
        Some(work(machine))
    }

    /// Somebody presses the button at the vendor's console.
    pub(super) fn reinstall_behind(&self, id: &str) {
        self.with(id, |machine| {
            machine.installs += 1;
            machine.files.clear();
        });
    }

    pub(super) fn rename_behind(&self, id: &str, name: &str) {
        self.with(id, |machine| name.clone_into(&mut machine.server.name));
    }

    pub(super) fn put(&self, id: &str, path: &str, content: &str) {
        self.with(id, |machine| machine.files.insert(path.into(), content.as_bytes().to_vec()));
    }

    pub(super) fn appears_on_return(&self, id: &str, path: &str, content: &str) {
        self.with(id, |machine| machine.late.push((path.into(), content.into())));
    }

    /// What stands in the files whose paths start so.
    pub(super) fn below(&self, id: &str, start: &str) -> Vec<String> {
        let text = |(_, content): (&String, &Vec<u8>)| String::from_utf8_lossy(content).into_owned();
        let below = |machine: &mut Machine| {
            machine.files.iter().filter(|(path, _)| path.starts_with(start)).map(text).collect()
        };
        self.with(id, below).unwrap_or_default()
    }

    pub(super) fn file(&self, id: &str, path: &str) -> Option<String> {
        self.with(id, |machine| machine.files.get(path).map(|it| String::from_utf8_lossy(it).into_owned()))?
    }

    /// Each machine: its name and whose ledger it has.
    pub(super) fn books(&self) -> Vec<String> {
        let ids: Vec<String> = self.machines.lock().unwrap().keys().cloned().collect();
        let tell = |id: &String| {
            let name = self.with(id, |machine| machine.server.name.clone()).unwrap();
            let name = if name.starts_with("pool-") { "free".to_owned() } else { name };
            let ledger = self.file(id, LEDGER).and_then(|text| Ledger::parse(text.as_bytes()));
            match ledger {
                Some(ledger) => format!("{id} {name} {} {}", ledger.slot, ledger.state.word()),
                None => format!("{id} {name}"),
            }
        };
        ids.iter().map(tell).collect()
    }

    /// How often each request was sent, by its first word.
    pub(super) fn sent(&self, word: &str) -> usize {
        self.log.lock().unwrap().iter().filter(|line| line.starts_with(word)).count()
    }

    fn answer(&self) -> Result<(), Error> {
        self.silent.lock().unwrap().clone().map_or(Ok(()), Err)
    }

    fn request(&self, id: &str, line: String, work: impl FnOnce(&mut Machine) -> Result<(), Error>) -> Sent {
        let number = {
            let mut log = self.log.lock().unwrap();
            log.push(line);
            log.len()
        };
        match self.with(id, work) {
            None => Sent::Gone,
            Some(Err(error)) => Sent::Busy(error),
            Some(Ok(())) if self.lost.lock().unwrap().contains(&number) => {
                Sent::Unsettled(Error::transient("no answer"))
            }
            Some(Ok(())) => Sent::Taken,
        }
    }
}

pub(super) const LEDGER: &str = "/var/tmp/fleet/ledger";

/// The vendor's API.
pub(super) struct Api(pub(super) Arc<World>);

impl VendorReader for Api {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Server>, Error>> {
        Box::pin(async {
            self.0.answer()?;
            let ids: Vec<String> = self.0.machines.lock().unwrap().keys().cloned().collect();
            Ok(ids.iter().filter_map(|id| self.0.with(id, |machine| machine.server.clone())).collect())
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Server>, Error>> {
        Box::pin(async {
            self.0.answer()?;
            Ok(self.0.with(id, |machine| machine.server.clone()))
        })
    }

    fn credentials<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async { Ok(Credentials { user: Some("m1".into()), sudo_password: None }) })
    }
}

impl Vendor for Api {
    fn rename<'a>(&'a self, id: &'a str, name: &'a str) -> BoxFuture<'a, Sent> {
        Box::pin(async move {
            self.0.request(id, format!("rename {id} {name}"), |machine| {
                name.clone_into(&mut machine.server.name);
                Ok(())
            })
        })
    }

    fn order<'a>(&'a self, _: &'a [String], _: &'a str, _: Option<&'a str>) -> BoxFuture<'a, Sent> {
        Box::pin(async { Sent::Refused(Error::permanent("there are no more of them")) })
    }

    fn reboot<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Sent> {
        Box::pin(async move { self.0.request(id, format!("reboot {id}"), |_| Ok(())) })
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Sent> {
        Box::pin(async move { panic!("nobody asked for {id} to be deleted") })
    }

    fn reinstall<'a>(&'a self, id: &'a str, _: Option<&'a str>) -> BoxFuture<'a, (Sent, Option<String>)> {
        Box::pin(async move {
            let until = self.0.time.now() + REINSTALL;
            let sent = self.0.request(id, format!("reinstall {id}"), |machine| {
                if machine.ready_at.is_some() {
                    return Err(Error::transient("it is being reinstalled"));
                }
                machine.ready_at = Some(until);
                machine.server.status = Status::Reinstalling;
                Ok(())
            });
            (sent, None)
        })
    }
}

/// The way to machines.
pub(super) struct Ways(pub(super) Arc<World>);

struct Way(Arc<World>, Reach, Option<Holder>);

impl Hosts for Ways {
    fn reader(&self, reach: &Reach) -> Arc<dyn HostReader> {
        Arc::new(Way(self.0.clone(), reach.clone(), None))
    }

    fn meet(&self, reach: &Reach) -> Arc<dyn HostReader> {
        self.reader(reach)
    }

    fn writer(&self, reach: &Reach, holder: &Holder) -> Arc<dyn HostWriter> {
        Arc::new(Way(self.0.clone(), reach.clone(), Some(holder.clone())))
    }
}

impl Way {
    fn on<T>(&self, work: impl FnOnce(&mut Machine, Line) -> Result<T, Error>) -> Result<T, Error> {
        let Over::Ssh(ssh) = &self.1.over else { panic!("all is behind OpenSSH here") };
        let address = ssh.addresses.first().ok_or_else(|| Error::permanent("there is no address"))?;
        let ids: Vec<String> = self.0.machines.lock().unwrap().keys().cloned().collect();
        let is_there =
            |id: &&String| self.0.with(id, |m| m.server.addresses.contains(address)).unwrap_or_default();
        let id = ids.iter().find(is_there).ok_or_else(|| Error::transient("nobody is there"))?;
        let done = self.0.with(id, |machine| {
            if machine.ready_at.is_some() {
                return Err(Error::transient("it is being installed"));
            }
            let key = format!("ssh-ed25519 {}AA{}", machine.server.id, machine.installs);
            if ssh.host_key.as_ref().is_some_and(|pin| *pin != key) {
                return Err(Error::permanent("it has another key"));
            }
            let line = Line {
                address: Some(address.clone()),
                host_key: Some(key),
                pinned: ssh.host_key.is_some(),
                user: "m1".into(),
                lineage: self.1.lineage.clone(),
            };
            work(machine, line)
        });
        done.unwrap_or_else(|| Err(Error::transient("nobody is there")))
    }
}

fn read(machine: &Machine, line: &Line, read: &Read) -> Answer {
    match read {
        Read::Path(path, _) => Answer::Path(machine.files.get(path).map(|content| {
            let (size, content) = (content.len() as u64, Some(content.clone()));
            let what = What::File(File { size, digest: None, content });
            Found { what, mode: 0o644, owner: "m1".into(), group: "staff".into() }
        })),
        Read::Inside(directory) => {
            let below = format!("{directory}/");
            let inside = machine.files.iter().filter(|(path, _)| path.starts_with(&below));
            Answer::Inside(inside.flat_map(|(_, content)| content.clone()).collect())
        }
        Read::Line => Answer::Line(line.clone()),
        Read::Tool(..) => Answer::Output(Output { stdout: b"mini\n".to_vec(), ..Output::default() }),
        // Nobody works on it.
        Read::Processes(_) => Answer::Output(Output::default()),
        other => panic!("{other:?} is not asked here"),
    }
}

impl HostReader for Way {
    fn ask(&self, probes: Vec<Probe>) -> BoxFuture<'_, Vec<Result<Reply, Error>>> {
        Box::pin(async move {
            let reply = |probe: &Probe| {
                self.on(|machine, line| {
                    Ok(Reply(probe.reads().iter().map(|it| read(machine, &line, it)).collect()))
                })
            };
            probes.iter().map(reply).collect()
        })
    }
}

impl HostWriter for Way {
    fn work(&self, work: Work) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(async move {
            let holder = self.2.as_ref().expect("somebody works");
            self.on(|machine, line| {
                let listed = |machine: &mut Machine, line: Option<&String>| {
                    let Some(name) = work.listed.as_ref().map(|listed| format!("{LEDGER}.d/{}", listed.name))
                    else {
                        return;
                    };
                    match line {
                        Some(line) => _ = machine.files.insert(name, format!("{line}\n").into_bytes()),
                        None => _ = machine.files.remove(&name),
                    }
                };
                let line_of = work.listed.as_ref().and_then(|listed| listed.line.as_ref());
                if line_of.is_some() {
                    listed(machine, line_of);
                }
                for step in &work.steps {
                    act(machine, &step.act, holder)?;
                }
                if line_of.is_none() {
                    listed(machine, None);
                }
                Ok(Reply(work.read_back.reads().iter().map(|it| read(machine, &line, it)).collect()))
            })
        })
    }
}

fn act(machine: &mut Machine, act: &Act, holder: &Holder) -> Result<(), Error> {
    let found = machine.files.get(LEDGER).and_then(|text| Ledger::parse(text));
    let is = |ledger: &Ledger, mark: &Mark| ledger.claim == mark.claim && ledger.epoch == mark.epoch;
    let ledger = |claim: &Claim, mark: &Mark| Ledger {
        lineage: holder.lineage.clone(),
        slot: claim.slot.clone(),
        claim: mark.claim.clone(),
        fence: holder.fence,
        epoch: mark.epoch.clone(),
        state: mark.state,
        since: "now".into(),
        by: holder.by.clone(),
    };
    let mut write =
        |ledger: &Ledger| _ = machine.files.insert(LEDGER.into(), ledger.to_string().into_bytes());
    match act {
        Act::Claim(claim) => {
            let mark = claim.mark.as_ref().expect("a claim is told from others");
            match found {
                None => write(&ledger(claim, mark)),
                Some(found) if is(&found, mark) => {}
                Some(_) => return Err(Error::permanent("somebody else has it")),
            }
        }
        Act::Mark(claim) => {
            let mark = claim.mark.as_ref().expect("a claim is told from others");
            let Some(found) = found.filter(|found| is(found, mark)) else {
                return Err(Error::permanent("not ours"));
            };
            write(&Ledger { state: mark.state, ..found });
            if mark.state == Holding::Returning {
                let late = std::mem::take(&mut machine.late);
                machine.files.extend(late.into_iter().map(|(path, content)| (path, content.into_bytes())));
            }
        }
        Act::Release(claim) => {
            let mark = claim.mark.as_ref().expect("a claim is told from others");
            if found.is_some_and(|found| is(&found, mark)) {
                machine.files.remove(LEDGER);
            }
        }
        act => {
            let works = |found: &Ledger| matches!(found.state, Holding::Owned | Holding::Returning);
            let holds = found.is_some_and(|found| found.lineage == holder.lineage && works(&found));
            if !holds {
                return Err(Error::permanent("the host is not ours"));
            }
            match act {
                Act::Write { path, content: step::Content::Bytes(bytes), .. } => {
                    machine.files.insert(path.clone(), bytes.0.clone());
                }
                Act::Remove { path } => _ = machine.files.remove(path),
                other => panic!("{other:?} is not done here"),
            }
        }
    }
    Ok(())
}
