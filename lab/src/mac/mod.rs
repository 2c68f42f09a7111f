//! Macs, each behind an SSH server of its own on 127.0.0.1, to which the real OpenSSH client logs in.
//!
//! 1. [`disk`]: what survives a reboot: the tree of files under the Mac's root directory, and what an installation left
//! 2. [`live`]: what does not: the kernel's and launchd's own state
//! 3. [`login`]: who is logged in at the screen, who may become root, who gets in
//! 4. [`ssh`]: the SSH server, and in [`channel`] what runs on its channels, with a [`terminal`] if one is asked for
//! 5. [`confine`]: what keeps a Mac's shells inside its root directory
//! 6. [`launchd`](mod@launchd): services and what they run; [`boot`]: what happens at a start; [`pf`] and [`network`]: the
//!    packet filter, interfaces and routes; [`tailscale`]: the device that a Mac is in the tailnet
//! 7. [`builders`]: what Macs that build have: VMs, Homebrew, Xcode, the agent of GitHub Actions
//! 8. [`command`]: the simulated commands of macOS
//! 9. [`call`] and [`stand_in`](mod@stand_in): how a command that a shell starts reaches the lab, where it is carried out;
//!    [`under_way`]: what services are at
//!
//! ## Where paths lead
//!
//! A Mac's shells are those of this machine. They find `FLEET_ROOT`, the Mac's root directory, in their environment,
//! and fleet puts it before every path, so nobody has to say it in a configuration. Simulated commands take a path with
//! and without it. Scripts that name a path of the Mac without it get one of this machine, which they cannot write to.
//!
//! ## How a command is carried out
//!
//! The first directory in `PATH` holds a link for each command to a program that calls [`stand_in`](fn@stand_in) first of all: `fleet`
//! itself, or in the lab's own tests `lab-stand-in`. It hands its three streams and its words to the lab over a Unix
//! socket and ends with the status that it is given. So a command is a function in the lab, where the clock and the live
//! state of the Mac are. See [`command`] for how to add one.
//!
//! ## What is not simulated
//!
//! - Permissions between users: whoever is logged in can read and write all files of the Mac, whoever owns them. Owners
//!   and groups are kept, shown by `stat` and changed by `chown` by the rules of macOS.
//! - Tools of the system that are the same on macOS are those of this machine, without the options that are not.
//! - Programs are found by name, not by the path at which they lie on a Mac.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use fleet_engine::resource::BoxFuture;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

use crate::kubernetes::{Kubelets, Pods};
use crate::machine::{Blueprint, Factory, Failed, Machine};
use crate::runners::{Agents, Runners};
use crate::tailnet::Tailnet;

mod boot;
mod builders;
mod call;
mod channel;
mod command;
mod confine;
mod disk;
mod host;
mod launchd;
mod live;
mod login;
mod network;
mod pf;
mod ssh;
mod stand_in;
mod tailscale;
mod terminal;
mod under_way;

pub use builders::archive;
pub use confine::Confinement;
pub use host::Mac;
pub use launchd::signature::sign;
pub use pf::{Net, Packet, Verdict};
pub use stand_in::stand_in;

/// Tools of this machine that do for those of macOS. What is not listed, a Mac does not have.
const SYSTEM: &str = "[ awk basename bash bc bzip2 cat chmod cksum cmp col comm curl cut dash dd df diff dirname du echo \
    ed env expr false file find fold getconf gunzip gzip head hexdump install jq join ksh less lockf mkdir mkfifo mktemp \
    more nice nl nohup od openssl paste patch perl pkill pr printenv printf pwd python3 readlink rev rm rmdir \
    rsync scp screen sed seq sh sort split ssh ssh-keygen strings stty sync tail tar tee test time top touch tr true \
    tsort tty uniq unlink unzip uuidgen vim wait4path wc which xargs xxd yes zcat zip zsh";

/// Builds Macs.
#[derive(Debug)]
pub struct Macs {
    tools: Arc<Tools>,
}

/// What all Macs share.
pub(crate) struct Tools {
    /// A directory with a link for each command.
    directory: PathBuf,
    confinement: Confinement,
    macs: Mutex<BTreeMap<String, Weak<Mac>>>,
    /// The runners of GitHub, which all Macs share.
    runners: Runners,
    /// What their `tailscaled` joins.
    pub(crate) tailnet: Tailnet,
    /// The clusters whose Pods their agents run.
    pods: Mutex<Vec<Weak<dyn Pods>>>,
    /// What takes the calls of commands.
    service: Mutex<Option<JoinHandle<()>>>,
}

impl std::fmt::Debug for Tools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tools").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Macs {
    /// Macs whose commands are carried out by way of a program that calls [`stand_in`](fn@stand_in). The directory is for what they
    /// share; it is made anew, and its name must be short, because a socket lies in it.
    pub fn new(stand_in: &Path, directory: &Path) -> Result<Macs, Failed> {
        Macs::in_tailnet(stand_in, directory, Tailnet::default())
    }

    /// The same for Macs whose `tailscaled` joins this tailnet.
    pub fn in_tailnet(stand_in: &Path, directory: &Path, tailnet: Tailnet) -> Result<Macs, Failed> {
        let tools = Tools::make(stand_in, directory, tailnet);
        let tools = tools.map_err(|error| {
            Failed(format!("the tools of Macs cannot be put into {}: {error}", directory.display()))
        })?;
        let tools = Arc::new(tools);
        let agents: Arc<dyn Agents> = tools.clone();
        tools.runners.watch(Arc::downgrade(&agents));
        Ok(Macs { tools })
    }

    /// The runners that agents on these Macs are registered as.
    #[must_use]
    pub fn runners(&self) -> &Runners {
        &self.tools.runners
    }

    /// What their `tailscaled` joins.
    #[must_use]
    pub fn tailnet(&self) -> &Tailnet {
        &self.tools.tailnet
    }

    /// Whether the shells of these Macs are confined.
    #[must_use]
    pub fn confinement(&self) -> &Confinement {
        &self.tools.confinement
    }

    /// Builds a Mac, or finds what is left of it in its directory.
    pub async fn build_mac(&self, blueprint: Blueprint) -> Result<Arc<Mac>, Failed> {
        self.serve()?;
        let id = blueprint.id.clone();
        let tools = self.tools.clone();
        let mac = tokio::task::spawn_blocking(move || Mac::build(blueprint, tools)).await;
        let mac = mac.map_err(|error| Failed(error.to_string()))??;
        self.tools.macs.lock().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::downgrade(&mac));
        Ok(mac)
    }

    /// Takes calls, from the first Mac on.
    fn serve(&self) -> Result<(), Failed> {
        let mut service = self.tools.service.lock().unwrap_or_else(PoisonError::into_inner);
        if service.is_none() {
            let listener = UnixListener::bind(self.tools.socket())
                .map_err(|error| Failed(format!("{}: {error}", self.tools.socket().display())))?;
            *service = Some(tokio::spawn(call::serve(listener, Arc::downgrade(&self.tools))));
        }
        Ok(())
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        if let Some(service) = self.service.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            service.abort();
        }
    }
}

impl Factory for Macs {
    fn build(&self, blueprint: Blueprint) -> BoxFuture<'_, Result<Arc<dyn Machine>, Failed>> {
        Box::pin(async move { Ok(self.build_mac(blueprint).await? as Arc<dyn Machine>) })
    }

    fn kubelets(&self) -> Option<Weak<dyn Kubelets>> {
        let kubelets: Arc<dyn Kubelets> = self.tools.clone();
        Some(Arc::downgrade(&kubelets))
    }

    fn runners(&self) -> Runners {
        self.tools.runners.clone()
    }

    fn tailnet(&self) -> Tailnet {
        self.tools.tailnet.clone()
    }
}

impl Tools {
    fn make(stand_in: &Path, directory: &Path, tailnet: Tailnet) -> io::Result<Tools> {
        let stand_in = stand_in.canonicalize()?;
        match fs::remove_dir_all(directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => fs::create_dir_all(directory)?,
        }
        let directory = directory.canonicalize()?;
        let (commands, system) = (directory.join("commands"), directory.join("system"));
        fs::create_dir(&commands)?;
        fs::create_dir(&system)?;
        for name in command::names() {
            symlink(&stand_in, commands.join(name))?;
        }
        for (name, script) in command::SCRIPTS {
            command::write_script(&commands.join(name), script)?;
        }
        symlink(&stand_in, directory.join(stand_in::CONFINE))?;
        for name in SYSTEM.split_whitespace().chain(command::refined()) {
            let found = ["/usr/bin", "/bin"].iter().map(|place| Path::new(place).join(name));
            if let Some(found) = found.into_iter().find(|path| path.exists()) {
                symlink(found, system.join(name))?;
            }
        }
        let confinement = Confinement::try_out(&directory)?;
        Ok(Tools {
            directory,
            confinement,
            macs: Mutex::default(),
            runners: Runners::default(),
            tailnet,
            pods: Mutex::default(),
            service: Mutex::default(),
        })
    }

    fn socket(&self) -> PathBuf {
        self.directory.join("socket")
    }

    /// The tool of this machine that has this name.
    fn system(&self, name: &str) -> PathBuf {
        self.directory.join("system").join(name)
    }

    /// The clusters whose Pods their agents run.
    fn clusters(&self) -> MutexGuard<'_, Vec<Weak<dyn Pods>>> {
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All Macs there are.
    fn all(&self) -> Vec<Arc<Mac>> {
        let macs = self.macs.lock().unwrap_or_else(PoisonError::into_inner);
        macs.values().filter_map(Weak::upgrade).collect()
    }

    fn find(&self, id: &str) -> Option<Arc<Mac>> {
        self.macs.lock().unwrap_or_else(PoisonError::into_inner).get(id)?.upgrade()
    }
}
