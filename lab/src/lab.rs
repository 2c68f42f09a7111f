//! A world that runs: its threads, its addresses, its directory.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use crate::begin::{Started, live, token};
use crate::clock::{Clock, Pace, Time};
use crate::control::ServerEdit;
use crate::fault::{Fault, Set};
use crate::gate::Gate;
use crate::kubernetes::Cluster;
use crate::log::Entry;
use crate::machine::{Factory, NoMachines};
use crate::scaleway::{Rules, Scaleway, Server, Token};
use crate::vendors::Vendors;
use crate::world::{Trouble, World};

/// What a world begins with.
#[derive(Clone)]
pub struct Options {
    /// From which everything follows that is left to chance.
    pub seed: u64,
    /// How many Macs are there and free.
    pub macs: usize,
    /// Where the lab lives, and stays when it stops; a temporary directory that goes away with it if this is none.
    pub directory: Option<PathBuf>,
    /// How time goes by.
    pub pace: Pace,
    /// What time it is; that of this machine if this is none.
    pub start: Option<Time>,
    /// How the vendor behaves.
    pub rules: Rules,
    /// Where the Macs stand.
    pub zone: String,
    /// What they are.
    pub model: String,
    /// What is installed on them, by the name in the catalogue.
    pub os: String,
    /// What their names start with.
    pub prefix: String,
    /// Public keys that the project has from the beginning, by their names.
    pub keys: BTreeMap<String, String>,
    /// What builds machines.
    pub factory: Arc<dyn Factory>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 1,
            macs: 3,
            directory: None,
            pace: Pace::Manual,
            start: None,
            rules: Rules::default(),
            zone: "fr-par-1".to_owned(),
            model: "M2-L".to_owned(),
            os: "macos-tahoe-26.3".to_owned(),
            prefix: "pool-".to_owned(),
            keys: BTreeMap::new(),
            factory: Arc::new(NoMachines),
        }
    }
}

/// How a running lab is reached.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Description {
    /// The process it runs in.
    pub pid: u32,
    /// Where the vendor's APIs are.
    pub api_url: String,
    /// Where the lab itself is asked and told things.
    pub control_url: String,
    /// Where it lives.
    pub directory: PathBuf,
    /// The way from the addresses of Macs to their ports, for `ssh -F` and for connections.
    pub ssh_config: PathBuf,
    /// A private key that every Mac accepts.
    pub identity: PathBuf,
    /// Where the API server of the cluster is.
    pub kubernetes_url: String,
    /// The kubeconfig of somebody who may do everything there.
    pub kubeconfig: PathBuf,
    /// What a program that uses the lab needs in its environment.
    pub environment: BTreeMap<String, String>,
}

impl Description {
    /// Where a lab describes itself.
    #[must_use]
    pub fn path(directory: &Path) -> PathBuf {
        directory.join("lab.json")
    }
}

/// Why a lab could not begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something on this machine.
    #[error("the lab in {directory} cannot begin")]
    Machine {
        /// Where it should live.
        directory: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// What it should begin with.
    #[error("{0}")]
    Options(String),
}

/// A world that runs, until this is dropped.
pub struct Lab {
    world: Arc<World>,
    cluster: Cluster,
    vendors: Vendors,
    gate: Gate,
    description: Description,
    runtime: Handle,
    stop: Arc<Notify>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Removed after everything ended.
    temporary: Option<TempDir>,
}

impl Lab {
    /// Begins a world, or goes on with the one in the directory: then only `pace`, if it is not manual, and `factory` are
    /// used. When this returns, every Mac answers. It has threads of its own, so it can be used with and without tokio.
    ///
    /// # Errors
    ///
    /// If the directory cannot be used, or the options name what is not there.
    pub fn start(options: Options) -> Result<Lab, Error> {
        let temporary = match options.directory {
            Some(_) => None,
            None => Some(temporary().map_err(|source| at(Path::new("a temporary directory"), source))?),
        };
        let directory = match (&options.directory, &temporary) {
            (Some(directory), _) => directory.clone(),
            (None, Some(temporary)) => temporary.path().to_owned(),
            (None, None) => PathBuf::new(),
        };
        make_directory(&directory).map_err(|source| at(&directory, source))?;
        let directory = directory.canonicalize().map_err(|source| at(&directory, source))?;
        let (started, has_started) = mpsc::sync_channel(1);
        let (end, ended) = oneshot::channel();
        let place = directory.clone();
        let thread = std::thread::Builder::new().name("fleet-lab".to_owned()).spawn(move || {
            live(&options, &directory, &started, ended);
        });
        let thread = thread.map_err(|source| at(&place, source))?;
        let outcome = has_started
            .recv()
            .unwrap_or_else(|_| Err(at(&place, io::Error::other("it ended while it began"))));
        let Started { world, cluster, vendors, gate, description, runtime, stop } = outcome?;
        let (end, thread) = (Some(end), Some(thread));
        Ok(Lab { world, cluster, vendors, gate, description, runtime, stop, end, thread, temporary })
    }

    /// How to reach it.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// Where the vendor's APIs are.
    #[must_use]
    pub fn api_url(&self) -> &str {
        &self.description.api_url
    }

    /// Where every request comes through.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The vendors beside the one that rents machines out.
    #[must_use]
    pub fn vendors(&self) -> &Vendors {
        &self.vendors
    }

    /// Where it lives.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.description.directory
    }

    /// Its cluster.
    #[must_use]
    pub fn kubernetes(&self) -> &Cluster {
        &self.cluster
    }

    /// Its time, which a run of the engine may share.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.world.clock
    }

    /// Moves time forward; everything that is due on the way has happened when this returns.
    pub fn advance(&self, duration: Duration) {
        let clock = self.world.clock.clone();
        self.wait_for(async move { clock.advance(duration).await });
    }

    /// The project that the Macs are in.
    #[must_use]
    pub fn project_id(&self) -> &str {
        self.variable("SCW_DEFAULT_PROJECT_ID")
    }

    /// The secret key that is good for that project.
    #[must_use]
    pub fn secret_key(&self) -> &str {
        self.variable("SCW_SECRET_KEY")
    }

    fn variable(&self, name: &str) -> &str {
        self.description.environment.get(name).map_or("", String::as_str)
    }

    /// Makes another API key: for the lab's project if `project` is none.
    #[must_use]
    pub fn add_token(&self, name: &str, project: Option<&str>) -> Token {
        let project = project.unwrap_or_else(|| self.project_id()).to_owned();
        let name = name.to_owned();
        self.edit(move |scaleway, _| {
            let token = token(scaleway, &name, Some(project));
            scaleway.tokens.push(token.clone());
            token
        })
    }

    /// Lets something go wrong; the number of the fault.
    pub fn fault(&self, fault: Fault) -> u64 {
        self.world.state().faults.set(fault)
    }

    /// The faults that are set, and what came of them.
    #[must_use]
    pub fn faults(&self) -> Vec<Set> {
        self.world.state().faults.all().to_vec()
    }

    /// Takes all faults back.
    pub fn clear_faults(&self) {
        self.world.state().faults.clear(None);
    }

    /// Every request that came so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Entry> {
        self.world.state().log.after(0).to_vec()
    }

    /// What machines could not do: empty if the lab itself is sound.
    #[must_use]
    pub fn troubles(&self) -> Vec<Trouble> {
        self.world.state().troubles.clone()
    }

    /// The vendor's books as they are.
    #[must_use]
    pub fn scaleway(&self) -> Scaleway {
        self.world.state().scaleway.clone()
    }

    /// All servers.
    #[must_use]
    pub fn servers(&self) -> Vec<Server> {
        self.world.state().scaleway.servers.all().cloned().collect()
    }

    /// A server, by its id or its name.
    #[must_use]
    pub fn server(&self, server: &str) -> Option<Server> {
        let id = self.world.find(server)?;
        self.world.state().scaleway.servers.get(&id).cloned()
    }

    /// Changes the books behind the API's back: rules, catalogue, keys.
    pub fn edit<T: Send + 'static>(&self, edit: impl FnOnce(&mut Scaleway, Time) -> T + Send + 'static) -> T {
        let world = Arc::clone(&self.world);
        self.wait_for(async move { world.edit(edit).await })
    }

    /// Changes a server behind the API's back, by its id or its name; says whether there is one.
    pub fn edit_server(&self, server: &str, edit: ServerEdit) -> bool {
        let Some(id) = self.world.find(server) else { return false };
        let world = Arc::clone(&self.world);
        self.wait_for(async move { world.edit_server(&id, edit).await });
        true
    }

    /// Everything about a server and its machine, by its id or its name.
    #[must_use]
    pub fn inspect(&self, server: &str) -> Option<Value> {
        let (world, server) = (Arc::clone(&self.world), server.to_owned());
        self.wait_for(async move { world.inspect(&server).await })
    }

    /// Waits for something that runs on the lab's own threads: so it does not matter on whose thread this is.
    fn wait_for<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        let (done, is_done) = mpsc::sync_channel(1);
        self.runtime.spawn(async move {
            // Whoever waited may be gone.
            let _ = done.send(work.await);
        });
        match is_done.recv() {
            Ok(value) => value,
            Err(_) => panic!("what the lab was told to do panicked"),
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It panicked, which was printed: there is nothing more to end.
            let _ = thread.join();
        }
        drop(self.temporary.take());
    }
}

/// Begins a lab in the foreground and lets it live until it is interrupted, terminated or asked to stop over its own
/// address. `started` is told how to reach it.
///
/// # Errors
///
/// If it cannot begin.
pub fn run(options: Options, started: impl FnOnce(&Description)) -> Result<(), Error> {
    let lab = Lab::start(options)?;
    started(lab.description());
    let stop = Arc::clone(&lab.stop);
    let interrupted = async move {
        let mut terminated = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
        tokio::select! {
            () = stop.notified() => Ok(()),
            interrupted = tokio::signal::ctrl_c() => interrupted,
            _ = terminated.recv() => Ok(()),
        }
    };
    lab.wait_for(interrupted).map_err(|source| at(lab.directory(), source))
}

pub(crate) fn at(directory: &Path, source: io::Error) -> Error {
    Error::Machine { directory: directory.to_owned(), source }
}

fn temporary() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("fleet-lab-").tempdir()
}

/// Makes a directory for its owner alone.
fn make_directory(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}
