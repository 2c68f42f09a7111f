//! What a process does with a clock: how long checks live, that everything ends, and what is told at the end.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::host::Holding;
use crate::pool::{Sent, Status};
use crate::resource::Error;

/// One host that does what it is told, unless it is told not to.
struct World {
    clock: Duration,
    epoch: u32,
    ledger: Option<(String, Holding)>,
    name: String,
    kept: Option<Record>,
    /// What happens to requests.
    vendor: fn(&mut World, &Write) -> Sent,
    is_clean: bool,
    is_silent: bool,
    is_gone: bool,
    sent: Vec<Write>,
}

impl World {
    fn new(vendor: fn(&mut World, &Write) -> Sent) -> World {
        World {
            clock: Duration::ZERO,
            epoch: 0,
            ledger: None,
            name: "pool-1".to_owned(),
            kept: None,
            vendor,
            is_clean: true,
            is_silent: false,
            is_gone: false,
            sent: Vec::new(),
        }
    }

    fn now(&self) -> Now {
        Now { clock: self.clock, date: 0 }
    }

    fn run(&mut self, mut process: Process) -> End {
        for _ in 0..10_000 {
            let command = process.command(self.now());
            let answer = match command {
                Command::Done(end) => return end,
                command => self.answer(&process, command),
            };
            process.answer(answer, self.now());
        }
        panic!("it does not end");
    }

    fn answer(&mut self, process: &Process, command: Command) -> Answer {
        let claim = process.record().identity.claim;
        let is_mine = self.ledger.as_ref().is_some_and(|(holder, _)| *holder == claim);
        let mut write = |is_so: bool, ledger| {
            if is_so {
                self.ledger = ledger;
            }
            Answer::Wrote(if is_so { Wrote::Done } else { Wrote::Not })
        };
        match command {
            Command::Journal(record) => {
                let text = serde_json::to_string(&record).unwrap();
                self.kept = Some(serde_json::from_str(&text).unwrap());
                assert_eq!(self.kept.as_ref(), Some(&*record));
                Answer::Kept
            }
            Command::Look { .. } if self.is_silent || self.is_gone => Answer::Looked(Seen::Unreachable),
            Command::Look { .. } => {
                let epoch = self.epoch.to_string();
                let page = |(claim, state): &(String, Holding)| Page::Ledger {
                    claim: claim.clone(),
                    epoch: epoch.clone(),
                    state: *state,
                };
                let ledger = self.ledger.as_ref().map_or(Page::Empty, page);
                Answer::Looked(Seen::Host { epoch, ledger })
            }
            Command::Create { state, .. } => {
                let is_free = self.ledger.is_none();
                if is_free {
                    self.ledger = Some((claim, state));
                }
                Answer::Wrote(if is_free { Wrote::Done } else { Wrote::Not })
            }
            Command::Mark { state, .. } => write(is_mine, Some((claim, state))),
            Command::Remove { .. } => write(is_mine, None),
            Command::Take { .. } => write(true, Some((claim, Holding::Returning))),
            Command::Read if self.is_gone => Answer::Read(Shown::Gone),
            Command::Read => Answer::Read(Shown::Server { name: self.name.clone(), status: Status::Ready }),
            Command::Send(order) => {
                self.sent.push(order.clone());
                Answer::Sent((self.vendor)(self, &order))
            }
            Command::Scrub => Answer::Scrubbed(self.is_clean),
            Command::Wait { until, .. } => {
                self.clock = until;
                Answer::Waited
            }
            Command::Done(end) => panic!("{end:?} has no answer"),
        }
    }

    /// A host that is ours.
    fn owned(vendor: fn(&mut World, &Write) -> Sent, identity: Identity) -> (World, Record) {
        let mut world = World::new(obey);
        let end = world.run(Process::claim(identity, rules(), world.now()));
        assert_eq!(end, End::Owned { surprise: None });
        world.vendor = vendor;
        world.sent.clear();
        let record = world.kept.clone().unwrap();
        (world, record)
    }
}

fn rules() -> Arc<Rules> {
    Arc::new(Rules::default())
}

fn identity() -> Identity {
    Identity {
        server: "s".into(),
        lineage: "l".into(),
        slot: "fleet.a[0]".into(),
        claim: "c".into(),
        names: Some(Names::new("pool-", "runner-0", "l", "c")),
    }
}

fn error() -> Error {
    Error::permanent("no")
}

fn obey(world: &mut World, write: &Write) -> Sent {
    match write {
        Write::Rename(name) => name.clone_into(&mut world.name),
        Write::Reboot => {}
        Write::Reinstall => {
            (world.epoch, world.ledger) = (world.epoch + 1, None);
        }
        Write::Delete => world.is_gone = true,
    }
    Sent::Taken
}

#[test]
fn a_host_comes_and_goes() {
    let (mut world, record) = World::owned(obey, identity());
    assert_eq!((&*world.name, world.ledger.clone()), ("runner-0", Some(("c".into(), Holding::Owned))));
    let end = world.run(Process::give_back(record, Method::Reinstall, rules(), world.now()));
    let End::Returned { gap: Some(gap) } = end else { panic!("{end:?}") };
    assert!(rules().about_gap(gap).is_some(), "{gap:?} is short");
    assert_eq!((&*world.name, &world.ledger), ("pool-c", &None));
    assert_eq!(world.kept.unwrap().progress.stage, Stage::Closed);
    let names = ["returning-l-c", "pool-c"].map(|name| Write::Rename(name.into()));
    assert_eq!(world.sent, [names[0].clone(), Write::Reinstall, names[1].clone()]);
}

#[test]
fn an_old_check_is_made_again() {
    let (mut world, record) = World::owned(obey, identity());
    world.name = "what?".to_owned();
    let mut process = Process::resume(record, rules(), world.now());
    let lives = rules().lifetime;
    let mut checks = 0;
    loop {
        let command = process.command(world.now());
        if matches!(process.at, machine::At::Send(..)) && matches!(command, Command::Send(_)) {
            checks += 1;
            if checks == 4 {
                break;
            }
            // As long as it may: then a little longer.
            world.clock += lives;
            assert!(matches!(process.command(world.now()), Command::Send(_)));
            world.clock += Duration::from_millis(1);
            assert!(matches!(process.command(world.now()), Command::Look { .. }));
            continue;
        }
        let answer = world.answer(&process, command);
        process.answer(answer, world.now());
    }
    assert_eq!(world.sent, []);
}

/// Whatever goes wrong, every process ends by its deadline, and the record stays for the next one.
#[test]
fn everything_ends() {
    let refuse: fn(&mut World, &Write) -> Sent = |_, _| Sent::Refused(error());
    let busy: fn(&mut World, &Write) -> Sent = |_, _| Sent::Busy(error());
    let lose: fn(&mut World, &Write) -> Sent = |_, _| Sent::Unsettled(error());
    let idle: fn(&mut World, &Write) -> Sent = |world, write| match write {
        Write::Rename(_) => obey(world, write),
        _ => Sent::Taken,
    };
    for vendor in [refuse, busy, lose, idle] {
        for method in [Method::Reinstall, Method::Scrub] {
            let (mut world, record) = World::owned(vendor, identity());
            world.is_clean = false;
            let begun = world.clock;
            let end = world.run(Process::give_back(record, method, rules(), world.now()));
            assert!(matches!(end, End::Quarantined(_)), "{end:?}");
            assert!(world.clock - begun <= rules().deadline);
            let record = world.kept.clone().unwrap();
            assert!(record.progress.overdue && record.progress.stage == Stage::Leaving);
            // When the vendor is well again, the next run ends it.
            world.vendor = obey;
            let end = world.run(Process::resume(record, rules(), world.now()));
            assert!(matches!(end, End::Returned { .. }), "{end:?}");
        }
    }
    let (mut world, record) = World::owned(obey, identity());
    world.is_silent = true;
    let end = world.run(Process::resume(record, rules(), world.now()));
    assert_eq!(end, End::Quarantined(Why::Poll));
    assert_eq!(world.sent, [], "what cannot be checked is not sent");
}

#[test]
fn a_host_that_stays_dirty_is_restarted_and_then_installed_anew() {
    let (mut world, record) = World::owned(obey, identity());
    world.is_clean = false;
    let end = world.run(Process::give_back(record, Method::Scrub, rules(), world.now()));
    assert!(matches!(end, End::Returned { .. }), "{end:?}");
    let orders: Vec<&Write> = world.sent.iter().filter(|write| !matches!(write, Write::Rename(_))).collect();
    assert_eq!(orders, [&Write::Reboot, &Write::Reinstall]);
}

#[test]
fn a_server_that_is_gone_ends_it() {
    let (mut world, record) = World::owned(|_, _| Sent::Gone, identity());
    let end = world.run(Process::give_back(record, Method::Reinstall, rules(), world.now()));
    assert_eq!(end, End::Gone);
    assert_eq!(world.kept.unwrap().progress.stage, Stage::Closed);
}

/// A server that is gone does not answer either, and nobody waits for it to the end.
#[test]
fn a_server_that_was_deleted_by_somebody_ends_it() {
    let (mut world, record) = World::owned(obey, identity());
    world.is_gone = true;
    let begun = world.clock;
    let end = world.run(Process::give_back(record, Method::Reinstall, rules(), world.now()));
    assert_eq!((end, world.clock, world.sent.len()), (End::Gone, begun, 0));
    assert_eq!(world.kept.unwrap().progress.stage, Stage::Closed);
}

fn deleted(world: &World) -> usize {
    world.sent.iter().filter(|write| **write == Write::Delete).count()
}

#[test]
fn a_free_server_is_deleted_under_a_ledger_and_seen_to_be_gone() {
    // Taken, and taken without an answer.
    let lose: fn(&mut World, &Write) -> Sent = |world, write| {
        obey(world, write);
        Sent::Unsettled(error())
    };
    let takes: fn(&mut World, &Write) -> Sent = obey;
    for vendor in [takes, lose] {
        let mut world = World::new(vendor);
        let mut process = Process::retire(identity(), rules(), world.now());
        while !matches!(process.command(world.now()), Command::Send(_)) {
            let answer = match process.command(world.now()) {
                Command::Done(end) => panic!("{end:?}"),
                command => world.answer(&process, command),
            };
            process.answer(answer, world.now());
        }
        assert_eq!(world.ledger, Some(("c".into(), Holding::Claiming)));
        let kept = world.kept.clone().unwrap().progress;
        assert_eq!(
            (&kept.stage, &kept.open[0].write),
            (&Stage::Retiring, &Write::Delete),
            "it is noted before"
        );
        assert_eq!(world.clock, rules().settle, "and the name is read again once that is worth something");
        assert_eq!(world.run(process), End::Gone);
        assert_eq!((world.sent, world.kept.unwrap().progress.stage), (vec![Write::Delete], Stage::Closed));
    }
}

#[test]
fn a_deletion_that_is_refused_leaves_a_free_server() {
    let mut world = World::new(|_, _| Sent::Refused(error()));
    let end = world.run(Process::retire(identity(), rules(), world.now()));
    assert_eq!((end, &*world.name, &world.ledger), (End::Lost(Loss::Refused), "pool-1", &None));
    assert_eq!(deleted(&world), 1, "what is refused for good is not asked again");
    // What is refused for now is.
    let mut world = World::new(|world, write| match world.sent.len() {
        1 => Sent::Busy(error()),
        2 => Sent::Refused(Error::transient("too many")),
        _ => obey(world, write),
    });
    assert_eq!(world.run(Process::retire(identity(), rules(), world.now())), End::Gone);
    assert_eq!(deleted(&world), 3);
}

#[test]
fn what_is_not_free_is_not_deleted() {
    let retire = |world: &World| Process::retire(identity(), rules(), world.now());
    let mut world = World::new(obey);
    "runner-7".clone_into(&mut world.name);
    assert_eq!(world.run(retire(&world)), End::Lost(Loss::NotFree));
    assert_eq!((&world.ledger, world.sent.len()), (&None, 0));
    world.ledger = Some(("other".into(), Holding::Owned));
    assert_eq!(world.run(retire(&world)), End::Lost(Loss::Taken));
    world.is_silent = true;
    assert_eq!(world.run(retire(&world)), End::Lost(Loss::Unreachable));
    assert_eq!(world.sent, []);
}

/// Who goes on with a deletion that was cut off finds out what became of it; only whoever asked for it sends it again.
#[test]
fn a_deletion_that_was_cut_off_is_settled() {
    for has_effect in [false, true] {
        for goes_on in [false, true] {
            let mut world = World::new(obey);
            let mut process = Process::retire(identity(), rules(), world.now());
            while !matches!(process.command(world.now()), Command::Send(_)) {
                let command = process.command(world.now());
                let answer = world.answer(&process, command);
                process.answer(answer, world.now());
            }
            world.is_gone = has_effect;
            let record = world.kept.clone().unwrap();
            let next = match goes_on {
                true => Process::resume(record, rules(), world.now()),
                false => Process::give_back(record, Method::Reinstall, rules(), world.now()),
            };
            let end = world.run(next);
            let is_gone = has_effect || goes_on;
            let expected = if is_gone { End::Gone } else { End::Lost(Loss::NotFree) };
            assert_eq!((end, world.is_gone), (expected, is_gone), "{has_effect} {goes_on}");
            assert_eq!(deleted(&world), usize::from(goes_on && !has_effect));
            assert!(is_gone || (world.ledger.is_none() && world.name == "pool-1"));
        }
    }
}

#[test]
fn a_pool_without_a_vendor_has_no_names_to_write() {
    let (mut world, record) =
        World::owned(|_, _| panic!("nothing is sent"), Identity { names: None, ..identity() });
    assert_eq!((&*world.name, world.clock), ("pool-1", Duration::ZERO));
    // A restart or a reinstall is nothing that could be asked for.
    let end = world.run(Process::reboot(record.clone(), rules(), world.now()));
    assert_eq!(end, End::Owned { surprise: None });
    let end = world.run(Process::give_back(record, Method::Reinstall, rules(), world.now()));
    assert_eq!((end, &world.ledger), (End::Returned { gap: None }, &None));
    let (mut world, record) = World::owned(obey, Identity { names: None, ..identity() });
    world.ledger = Some(("other".into(), Holding::Claiming));
    assert_eq!(world.run(Process::resume(record, rules(), world.now())), End::Lost(Loss::Taken));
    assert_eq!(world.clock, Duration::ZERO, "there is nothing to wait for");
}

#[test]
fn a_host_that_is_not_to_be_had_leaves_no_record() {
    let claim = |world: &World| Process::claim(identity(), rules(), world.now());
    let mut world = World::new(obey);
    world.is_silent = true;
    assert_eq!(world.run(claim(&world)), End::Lost(Loss::Unreachable));
    world.is_silent = false;
    world.ledger = Some(("other".into(), Holding::Claiming));
    assert_eq!(world.run(claim(&world)), End::Lost(Loss::Taken));
    assert_eq!(world.kept, None);
    // Free when it was chosen, and something else when the ledger is there.
    (world.ledger, world.name) = (None, "maintenance".to_owned());
    assert_eq!(world.run(claim(&world)), End::Lost(Loss::NotFree));
    assert_eq!((&*world.name, &world.ledger, world.sent.len()), ("maintenance", &None, 0));
}
