//! The lab's directory: everything of a lab is in it, and nothing anywhere else.
//!
//! | file | what |
//! |---|---|
//! | `lab.json` | how to reach the running lab: its [`Description`](crate::Description) |
//! | `world.json` | the books, the faults and the time, for a lab that goes on later |
//! | `requests.jsonl` | the log, one entry a line; the last line of a number counts |
//! | `kubernetes.json`, `kubeconfig` | the objects of the cluster, and the way there |
//! | `ssh_config` | the way from the addresses of Macs to their ports |
//! | `identity`, `identity.pub` | a key that every Mac of the lab accepts |
//! | `machines/` | one directory for each Mac |

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::clock::{Clock, Pace, Time};
use crate::log::{Entry, Log};
use crate::world::State;

const WORLD: &str = "world.json";
const LOG: &str = "requests.jsonl";

#[derive(Serialize)]
struct Saved<'a> {
    time: Time,
    pace: Pace,
    state: &'a State,
}

/// A world as it was left.
#[derive(Deserialize)]
pub(crate) struct Loaded {
    pub(crate) time: Time,
    pub(crate) pace: Pace,
    pub(crate) state: State,
}

/// Writes a file, wholly or not at all, for its owner alone.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

pub(crate) fn replace_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(io::Error::other)?;
    bytes.push(b'\n');
    replace(path, &bytes)
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<T> {
    serde_json::from_slice(&fs::read(path)?).map_err(io::Error::other)
}

pub(crate) fn save(directory: &Path, state: &State, clock: &Clock) -> io::Result<()> {
    let saved = Saved { time: clock.time(), pace: clock.pace(), state };
    replace_json(&directory.join(WORLD), &saved)
}

pub(crate) fn append_log(directory: &Path, log: &mut Log) -> io::Result<()> {
    let mut text = Vec::new();
    for entry in log.take_changed() {
        serde_json::to_writer(&mut text, entry).map_err(io::Error::other)?;
        text.push(b'\n');
    }
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(directory.join(LOG));
    file.and_then(|mut file: File| file.write_all(&text))
}

/// Whether a lab was in this directory before.
pub(crate) fn has_world(directory: &Path) -> bool {
    directory.join(WORLD).exists()
}

pub(crate) fn load(directory: &Path) -> io::Result<Loaded> {
    let mut loaded: Loaded = read_json(&directory.join(WORLD))?;
    let text = match fs::read_to_string(directory.join(LOG)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read?,
    };
    // A lab that was killed may have left half a line at the end.
    let written: Vec<Entry> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    loaded.state.log = Log::from_written(written);
    Ok(loaded)
}
