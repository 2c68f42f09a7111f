//! All hosts of a run.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fleet_engine::host::reach::Over;
use fleet_engine::host::{Holder, HostReader, HostWriter, Hosts, Probe, Reach, Reply, Work};
use fleet_engine::resource::{BoxFuture, Error};
use futures_util::future::join_all;

use crate::host::Host;
use crate::link::Shared;
use crate::ssh::Masters;

/// How hosts are connected to.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Connections outlive the run by so much, for the next one to find; none: they end with it.
    pub keep: Option<Duration>,
    /// Where relative paths of files on this machine start.
    pub directory: PathBuf,
}

/// The way to all hosts of a run.
///
/// # Guarantees
/// - A connection is made when it is first needed, and anew when it broke.
/// - However this process ends, nothing of it is left behind on this machine half a minute later, but for connections
///   that are to be kept.
///
/// # Assumptions
/// - Everything is called in a runtime of tokio, with its drivers for time and for input and output.
pub struct Channels {
    shared: Arc<Shared>,
    /// By slot, so that many hosts are found as fast as few.
    hosts: Mutex<HashMap<String, Vec<Arc<Host>>>>,
}

struct Reading(Arc<Host>);

struct Writing(Arc<Host>, Holder);

impl Channels {
    /// No connections yet. The process may open more files from now on.
    #[must_use]
    pub fn new(options: &Options) -> Channels {
        crate::limit::raise();
        Channels {
            shared: Arc::new(Shared::new(Masters::new(options.keep), options.directory.clone())),
            hosts: Mutex::default(),
        }
    }

    /// Ends all connections, once what was handed over is done. Whatever is asked afterwards is refused.
    pub async fn close(&self) {
        let hosts: Vec<Arc<Host>> = {
            let hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            hosts.values().flatten().cloned().collect()
        };
        join_all(hosts.iter().map(|host| host.close())).await;
        self.shared.masters.close().await;
    }

    /// The command that opens a shell for a person, with the key, the user and the host key of a slot. The connection is
    /// made first, so that it is known which address answers; until [`close`](Channels::close) it also serves the key.
    pub async fn interactive(&self, reach: &Reach) -> Result<Command, Error> {
        let Over::Ssh(ssh) = &reach.over else {
            return Err(Error::permanent(format!(
                "`{}` is this machine: no connection is needed",
                reach.slot
            )));
        };
        let line = self.host(reach).line().await?;
        self.shared.masters.interactive(&reach.slot, ssh, &line).await
    }

    fn host(&self, reach: &Reach) -> Arc<Host> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let same = hosts.entry(reach.slot.clone()).or_default();
        if let Some(host) = same.iter().find(|host| host.reach == *reach) {
            return host.clone();
        }
        let host = Arc::new(Host::new(reach.clone(), self.shared.clone()));
        same.push(host.clone());
        host
    }
}

impl Hosts for Channels {
    fn reader(&self, reach: &Reach) -> Arc<dyn HostReader> {
        Arc::new(Reading(self.host(reach)))
    }

    fn meet(&self, reach: &Reach) -> Arc<dyn HostReader> {
        Arc::new(Reading(Arc::new(Host::new(reach.clone(), self.shared.clone()))))
    }

    fn writer(&self, reach: &Reach, holder: &Holder) -> Arc<dyn HostWriter> {
        Arc::new(Writing(self.host(reach), holder.clone()))
    }
}

impl HostReader for Reading {
    fn ask(&self, probes: Vec<Probe>) -> BoxFuture<'_, Vec<Result<Reply, Error>>> {
        Box::pin(self.0.ask(probes))
    }

    fn root(&self) -> String {
        self.0.prefix()
    }
}

impl HostWriter for Writing {
    fn work(&self, work: Work) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(self.0.work(work, self.1.clone()))
    }
}
