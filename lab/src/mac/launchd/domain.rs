//! Loading and unloading, and who may do so.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plist::{Dictionary, Value};

use super::job::Job;
use super::service::{Exit, Service};
use super::{background, run};
use crate::mac::Mac;
use crate::mac::disk::home_of;

/// Where services lie that are not started, whatever their property lists say.
const DISABLED: &str = "private/var/db/com.apple.xpc.launchd";
/// Where daemons lie.
const DAEMONS: [&str; 2] = ["System/Library/LaunchDaemons", "Library/LaunchDaemons"];
/// Where agents lie, beside those in the home of a user.
const AGENTS: &str = "Library/LaunchAgents";

/// Why launchd does not do something: its number and its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mac) struct Refused(pub(in crate::mac) u8, pub(in crate::mac) &'static str);

pub(in crate::mac) const NOT_PERMITTED: Refused = Refused(1, "Operation not permitted");
pub(in crate::mac) const NO_PROCESS: Refused = Refused(3, "No such process");
pub(in crate::mac) const INPUT_OUTPUT: Refused = Refused(5, "Input/output error");
const IN_PROGRESS: Refused = Refused(37, "Operation already in progress");
const BAD_OWNER: Refused = Refused(122, "Path had bad ownership/permissions");
pub(in crate::mac) const NO_DOMAIN: Refused = Refused(125, "Domain does not support specified action");

/// A number for each loading.
static LOADINGS: AtomicU64 = AtomicU64::new(0);

/// Whether a domain is there, and takes services.
pub(in crate::mac) fn exists(mac: &Mac, domain: &str) -> bool {
    let aqua = mac.live().as_ref().and_then(|live| live.aqua);
    let person =
        |uid: &str| uid.parse().is_ok_and(|uid: u32| mac.users().iter().any(|(_, known)| *known == uid));
    match domain.split_once('/') {
        None => domain == "system",
        Some(("gui", uid)) => aqua.is_some_and(|aqua| aqua.to_string() == uid),
        Some(("user", uid)) => person(uid),
        Some(_) => false,
    }
}

/// Loads a property list, as the Mac names it, into a domain.
pub(in crate::mac) fn load(mac: &Arc<Mac>, domain: &str, path: &str) -> Result<(), Refused> {
    if !exists(mac, domain) {
        return Err(NO_DOMAIN);
    }
    let place = mac.root().join(path.trim_start_matches('/'));
    let job = Job::read(&place).ok_or(INPUT_OUTPUT)?;
    if domain == "system" && !is_well_kept(mac, &place) {
        return Err(BAD_OWNER);
    }
    if is_disabled(mac, domain, &job.label) {
        return Err(INPUT_OUTPUT);
    }
    let target = format!("{domain}/{}", job.label);
    match mac.live().as_ref().and_then(|live| live.launchd.services.get(&target)) {
        Some(service) if service.is_leaving => return Err(IN_PROGRESS),
        Some(_) => return Err(INPUT_OUTPUT),
        None => {}
    }
    let is_capped = domain == "system" && background::register(mac, &job.label);
    add(mac, &target, path.to_owned(), job, is_capped);
    Ok(())
}

fn add(mac: &Arc<Mac>, target: &str, path: String, job: Job, is_capped: bool) {
    let loading = LOADINGS.fetch_add(1, Ordering::Relaxed);
    let starts = job.run_at_load || job.keep_alive != super::job::KeepAlive::Never;
    let interval = job.start_interval;
    if let Some(live) = &mut *mac.live() {
        live.launchd.services.insert(target.to_owned(), Service::new(loading, path, job, is_capped));
    }
    if starts {
        run::start(mac, target, loading);
    }
    if let Some(interval) = interval {
        run::start_every(mac, target, loading, interval);
    }
}

/// Whether a property list is root's alone.
fn is_well_kept(mac: &Mac, place: &Path) -> bool {
    let (owner, _) = mac.disk().owner(place);
    let mode = fs::metadata(place).map(|found| found.permissions().mode()).unwrap_or_default();
    owner == 0 && mode & 0o022 == 0
}

/// Takes a service out. What runs is asked to end, and the service is there until it has.
pub(in crate::mac) fn unload(mac: &Arc<Mac>, target: &str) -> Result<(), Refused> {
    let (loading, process) = {
        let mut live = mac.live();
        let services = live.as_mut().map(|live| &mut live.launchd.services).ok_or(NO_PROCESS)?;
        let service = services.get_mut(target).ok_or(NO_PROCESS)?;
        if service.is_leaving {
            return Err(IN_PROGRESS);
        }
        let (loading, process) = (service.loading, service.process.clone());
        if process.is_some() {
            service.is_leaving = true;
        } else {
            services.remove(target);
        }
        (loading, process)
    };
    if let Some(process) = process {
        run::ask_to_end(mac, target, loading, &process);
    }
    Ok(())
}

/// The services that are not started, by their labels; and those that somebody wanted to be.
pub(in crate::mac) fn overrides(mac: &Mac, domain: &str) -> BTreeMap<String, bool> {
    let list = Value::from_file(overrides_file(mac, domain)).ok().and_then(Value::into_dictionary);
    let list = list.unwrap_or_default().into_iter();
    list.filter_map(|(label, is_disabled)| Some((label, is_disabled.as_boolean()?))).collect()
}

fn overrides_file(mac: &Mac, domain: &str) -> PathBuf {
    let name = match domain.split_once('/') {
        Some((_, uid)) => format!("disabled.{uid}.plist"),
        None => "disabled.plist".to_owned(),
    };
    mac.root().join(DISABLED).join(name)
}

fn is_disabled(mac: &Mac, domain: &str, label: &str) -> bool {
    overrides(mac, domain).get(label).copied().unwrap_or(false)
}

/// Says that a service is not started, or that it is after all.
pub(in crate::mac) fn set_disabled(mac: &Mac, target: &str, is_disabled: bool) -> std::io::Result<()> {
    let Some((domain, label)) = target.rsplit_once('/') else { return Ok(()) };
    let mut all: Dictionary = Dictionary::new();
    for (label, is_disabled) in overrides(mac, domain) {
        all.insert(label, Value::Boolean(is_disabled));
    }
    all.insert(label.to_owned(), Value::Boolean(is_disabled));
    let file = overrides_file(mac, domain);
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    Value::Dictionary(all).to_file_xml(file).map_err(std::io::Error::other)
}

/// A Mac starts: all daemons are loaded.
pub(in crate::mac) fn at_boot(mac: &Arc<Mac>) {
    for directory in DAEMONS {
        load_all(mac, "system", directory);
    }
}

/// Somebody is logged in at the screen: all agents are loaded.
pub(in crate::mac) fn session_begins(mac: &Arc<Mac>, uid: u32) {
    if let Some(live) = &mut *mac.live() {
        live.aqua = Some(uid);
    }
    let domain = format!("gui/{uid}");
    load_all(mac, &domain, AGENTS);
    if let Some((user, _)) = mac.users().into_iter().find(|(_, known)| *known == uid) {
        let home = home_of(Path::new(""), &user);
        load_all(mac, &domain, &home.join(AGENTS).to_string_lossy());
    }
}

/// Nobody is logged in at the screen any more: what ran there ends.
pub(in crate::mac) fn session_ends(mac: &Mac) {
    let mut live = mac.live();
    let Some(live) = &mut *live else { return };
    if let Some(uid) = live.aqua.take() {
        live.launchd.services.retain(|target, _| !target.starts_with(&format!("gui/{uid}/")));
    }
}

/// Loads what lies in a directory, in the order of names. What cannot be loaded is left out.
fn load_all(mac: &Arc<Mac>, domain: &str, directory: &str) {
    let place = mac.root().join(directory);
    let files = fs::read_dir(&place).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "plist")).collect();
    files.sort();
    for file in files {
        let Some(job) = Job::read(&file) else { continue };
        let is_sound = domain != "system" || is_well_kept(mac, &file);
        if !is_sound || is_disabled(mac, domain, &job.label) {
            continue;
        }
        let target = format!("{domain}/{}", job.label);
        let is_there = mac.live().as_ref().is_none_or(|live| live.launchd.services.contains_key(&target));
        if is_there {
            continue;
        }
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_capped = domain == "system" && background::is_capped(mac, &job.label);
        add(mac, &target, format!("/{directory}/{name}"), job, is_capped);
    }
}

/// Ends a process with a signal, whichever service it runs for; whether there is one.
pub(in crate::mac) fn signal(mac: &Arc<Mac>, pid: u32, signal: i32) -> bool {
    let found = {
        let live = mac.live();
        let Some(live) = &*live else { return false };
        let services = live.launchd.services.iter();
        let mut found = services.filter_map(|(target, service)| {
            let process = service.process.as_ref().filter(|process| process.pid == pid)?;
            Some((target.clone(), service.loading, process.clone()))
        });
        found.next()
    };
    let Some((target, loading, process)) = found else { return false };
    match signal {
        0 => {}
        15 => run::ask_to_end(mac, &target, loading, &process),
        _ => run::ended(mac, &target, loading, pid, Exit::Signal(signal)),
    }
    true
}
