//! Starting, ending, starting again: all of it on the lab's clock.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;

use super::domain::{NO_PROCESS, Refused};
use super::job::EXIT_TIMEOUT;
use super::program::{self, Prepared};
use super::service::{Exit, Process, Service};
use crate::clock::Time;
use crate::mac::Mac;
use crate::mac::builders::kubelet;

/// Looks at a service, if it is still the same loading of it.
fn with<T>(mac: &Mac, target: &str, loading: u64, look: impl FnOnce(&mut Service) -> T) -> Option<T> {
    let mut live = mac.live();
    let service = live.as_mut()?.launchd.services.get_mut(target)?;
    (service.loading == loading).then(|| look(service))
}

/// Does something at a time, if the Mac is still there.
fn at<F>(mac: &Arc<Mac>, time: Time, work: impl FnOnce(Arc<Mac>) -> F + Send + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    let later = Arc::downgrade(mac);
    mac.clock().at(time, async move {
        if let Some(mac) = later.upgrade() {
            work(mac).await;
        }
    });
}

/// Starts a service that does not run.
pub(super) fn start(mac: &Arc<Mac>, target: &str, loading: u64) {
    let now = mac.clock().time();
    let begun = with(mac, target, loading, |service| {
        let may = service.process.is_none() && !service.is_leaving;
        if may {
            (service.runs, service.last_start, service.next_start) = (service.runs + 1, Some(now), None);
        }
        may.then(|| service.job.clone())
    });
    let Some(Some(job)) = begun else { return };
    let user = job.user.clone().or_else(|| user_of(mac, target)).unwrap_or_else(|| "root".to_owned());
    let prepared = program::prepare(mac, &job, &user);
    let pid = match &mut *mac.live() {
        Some(live) => live.launchd.new_pid(),
        None => return,
    };
    let (process, exit) = match prepared {
        Ok(prepared) => (prepared, None),
        Err(exit) => (Prepared::nothing(), Some(exit)),
    };
    let Prepared { life, cdhash, is, listens, stops_after } = process;
    let process = Process {
        cdhash,
        is,
        listens,
        stops_after,
        kubeconfig: kubelet::kubeconfig(mac, &job.arguments),
        ..Process::new(pid, &user, &job.program, job.arguments.clone(), now)
    };
    let is_there = with(mac, target, loading, |service| service.process = Some(process));
    if is_there.is_none() {
        return;
    }
    match exit {
        Some(exit) => ended(mac, target, loading, pid, exit),
        None => program::live(mac, life, &job, &user, Running { target, loading, pid }),
    }
}

/// Starts what leads processes of this machine for a service, if that is still to be. Whoever ends the service ends it, too: no
/// moment lies between.
pub(super) fn lead<T>(
    mac: &Mac,
    running: Running<'_>,
    start: impl FnOnce() -> io::Result<(T, Pid)>,
) -> Option<io::Result<(T, Pid)>> {
    let led = with(mac, running.target, running.loading, |service| {
        let process = service.process.as_mut().filter(|process| process.pid == running.pid)?;
        let started = start();
        process.leader = started.as_ref().ok().map(|(_, leader)| *leader);
        Some(started)
    });
    led.flatten()
}

/// What runs for a service becomes another program, which listens at a port of an address; whether there is such a service.
pub(in crate::mac) fn becomes(
    mac: &Mac,
    label: &str,
    program: &str,
    arguments: Vec<String>,
    (address, port): (&str, u16),
) -> bool {
    let cdhash = program::cdhash(mac, program);
    let mut live = mac.live();
    let services = live.iter_mut().flat_map(|live| &mut live.launchd.services);
    let mut found = services.filter(|(target, _)| target.ends_with(&format!("/{label}")));
    let Some(process) = found.find_map(|(_, service)| service.process.as_mut()) else { return false };
    (process.program, process.arguments, process.cdhash) = (program.to_owned(), arguments, cdhash);
    (process.address, process.listens) = (Some(address.to_owned()), Some((port, "200 ok".to_owned())));
    true
}

/// Whose domain it is.
fn user_of(mac: &Mac, target: &str) -> Option<String> {
    let mut parts = target.split('/');
    let uid: u32 = if parts.next()? == "system" { return None } else { parts.next()?.parse().ok()? };
    mac.users().into_iter().find(|(_, known)| *known == uid).map(|(name, _)| name)
}

/// A process, as whoever ends it names it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running<'a> {
    pub(super) target: &'a str,
    pub(super) loading: u64,
    pub(super) pid: u32,
}

impl Running<'_> {
    /// It ends by itself at some time.
    pub(super) fn ends_at(self, mac: &Arc<Mac>, time: Time, exit: Exit) {
        let (target, loading, pid) = (self.target.to_owned(), self.loading, self.pid);
        at(mac, time, move |mac| async move { ended(&mac, &target, loading, pid, exit) });
    }
}

/// A process ended: the service is gone, or rests, or is started again.
pub(super) fn ended(mac: &Arc<Mac>, target: &str, loading: u64, pid: u32, exit: Exit) {
    let now = mac.clock().time();
    let (mut is_gone, mut process) = (false, None);
    let next = with(mac, target, loading, |service| {
        if service.process.as_ref().is_none_or(|process| process.pid != pid) {
            return None;
        }
        process = service.process.take();
        service.last_exit = Some(exit);
        service.crashes = if exit.is_well() { 0 } else { service.crashes + 1 };
        is_gone = service.is_leaving;
        (!is_gone && service.job.keep_alive.wants(exit.is_well()) && !service.is_capped)
            .then(|| service.plan(now))
    });
    if let Some(process) = process {
        program::ended(mac, target, &process);
    }
    if is_gone && let Some(live) = &mut *mac.live() {
        live.launchd.services.remove(target);
    }
    if let Some(Some(next)) = next {
        start_at(mac, target, loading, next);
    }
}

impl Service {
    /// When it may be started next: not before it has rested.
    fn plan(&mut self, now: Time) -> Time {
        let rested = self.last_start.map(|start| start.after(self.job.throttle));
        let next = rested.map_or(now, |rested| rested.max(now));
        self.next_start = Some(next);
        next
    }
}

/// Starts a service when it is time, or at once if it is.
fn start_at(mac: &Arc<Mac>, target: &str, loading: u64, time: Time) {
    if time <= mac.clock().time() {
        start(mac, target, loading);
        return;
    }
    let target = target.to_owned();
    at(mac, time, move |mac| async move {
        let is_planned = with(&mac, &target, loading, |service| service.next_start == Some(time));
        if is_planned == Some(true) {
            start(&mac, &target, loading);
        }
    });
}

/// Starts a service at every interval at which it does not run.
pub(super) fn start_every(mac: &Arc<Mac>, target: &str, loading: u64, interval: Duration) {
    let (target, time) = (target.to_owned(), mac.clock().time().after(interval));
    at(mac, time, move |mac| async move {
        if with(&mac, &target, loading, |_| ()).is_some() {
            start(&mac, &target, loading);
            start_every(&mac, &target, loading, interval);
        }
    });
}

/// Asks a process to end. One that does not in time is killed.
pub(super) fn ask_to_end(mac: &Arc<Mac>, target: &str, loading: u64, process: &Process) {
    let takes = Duration::from_secs(process.stops_after);
    let exit = if takes > EXIT_TIMEOUT { Exit::Signal(9) } else { Exit::Signal(15) };
    let time = mac.clock().time().after(takes.min(EXIT_TIMEOUT));
    Running { target, loading, pid: process.pid }.ends_at(mac, time, exit);
}

/// What became of a kickstart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mac) struct Kicked {
    /// What runs now, if it does not have to rest first.
    pub(in crate::mac) pid: Option<u32>,
}

/// Starts a service that does not run. What runs is left alone, or killed first.
pub(in crate::mac) fn kickstart(mac: &Arc<Mac>, target: &str, kills: bool) -> Result<Kicked, Refused> {
    let (loading, process) = {
        let live = mac.live();
        let service = live.as_ref().and_then(|live| live.launchd.services.get(target)).ok_or(NO_PROCESS)?;
        (service.loading, service.process.as_ref().map(|process| process.pid))
    };
    if let Some(pid) = process
        && kills
    {
        // It is started again below, whatever its property list says.
        let killed = with(mac, target, loading, |service| {
            service.last_exit = Some(Exit::Signal(9));
            service.process.take()
        });
        if let Some(Some(process)) = killed {
            program::ended(mac, target, &process);
        }
        tracing::debug!(pid, "a service was killed to be started anew");
    }
    let now = mac.clock().time();
    let next = with(mac, target, loading, |service| match service.process {
        Some(_) => None,
        None => Some(service.plan(now)),
    });
    if let Some(Some(next)) = next {
        start_at(mac, target, loading, next);
    }
    let pid = with(mac, target, loading, |service| service.process.as_ref().map(|process| process.pid));
    Ok(Kicked { pid: pid.flatten() })
}
