//! What happens to machines, because the books say so.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream;

use super::{Trouble, World, locked};
use crate::disk;
use crate::machine::{Blueprint, Failed};
use crate::scaleway::Effect;

impl World {
    /// Brings back the machines of all servers there are, as they were.
    pub(crate) async fn build_all(self: &Arc<World>, install: bool) {
        let _turn = self.turn.lock().await;
        let mut effects = Vec::new();
        for server in self.state().scaleway.servers.all() {
            effects.push((server.id.clone(), server.installs > 0, server.status.is_transient()));
        }
        let building = effects.into_iter().map(|(id, is_installed, is_transient)| async move {
            let mut effects = vec![Effect::Build(id.clone())];
            let wanted = if install { self.state().scaleway.install_of(&id) } else { None };
            effects.extend(wanted.map(|wanted| Effect::Install(id.clone(), wanted)));
            if is_installed && !is_transient {
                effects.push(Effect::Boot(id, None));
            }
            self.act(effects).await;
        });
        // Building is mostly files: more at once is not faster.
        stream::iter(building).for_each_concurrent(16, |built| built).await;
        self.settle();
    }

    /// Switches everything off.
    pub(crate) async fn halt_all(&self) {
        let machines: Vec<_> = locked(&self.machines).values().cloned().collect();
        join_all(machines.iter().map(|machine| async move {
            // The world ends anyway.
            let _ = machine.halt().await;
        }))
        .await;
    }

    /// Does to machines what the books say. A machine that fails is in `error`, and the rest goes on.
    pub(super) async fn act(self: &Arc<World>, effects: Vec<Effect>) {
        for effect in effects {
            let (server, done) = match effect {
                Effect::Build(id) => {
                    let built = self.build(&id).await;
                    (id, built)
                }
                Effect::Install(id, install) => {
                    let done = match self.machine(&id) {
                        Some(machine) => machine.install(install).await,
                        None => Ok(()),
                    };
                    (id, done)
                }
                Effect::Boot(id, keys) => {
                    let done = match self.machine(&id) {
                        Some(machine) => machine.boot(keys).await,
                        None => Ok(()),
                    };
                    (id, done)
                }
                Effect::Halt(id) => {
                    let done = match self.machine(&id) {
                        Some(machine) => machine.halt().await,
                        None => Ok(()),
                    };
                    (id, done)
                }
                Effect::Scrap(id) => {
                    let done = self.scrap(&id).await;
                    (id, done)
                }
            };
            if let Err(Failed(message)) = done {
                let at = self.clock.time();
                let mut state = self.state();
                state.scaleway.broke(&server, at);
                state.troubles.push(Trouble { at, server, message });
            }
        }
    }

    async fn build(self: &Arc<World>, id: &str) -> Result<(), Failed> {
        let blueprint = {
            let state = self.state();
            let Some(server) = state.scaleway.servers.get(id) else { return Ok(()) };
            Blueprint {
                id: id.to_owned(),
                model: server.model.clone(),
                ip: server.ip,
                directory: self.machine_directory(id),
                seed: state.seed ^ u64::from(u32::from(server.ip)),
                clock: self.clock.clone(),
            }
        };
        let machine = self.factory.build(blueprint).await?;
        locked(&self.machines).insert(id.to_owned(), machine);
        self.write_ssh_config()
    }

    fn machine_directory(&self, id: &str) -> PathBuf {
        self.directory.join("machines").join(id)
    }

    async fn scrap(&self, id: &str) -> Result<(), Failed> {
        if locked(&self.machines).remove(id).is_none() {
            return Ok(());
        }
        let directory = self.machine_directory(id);
        match tokio::task::spawn_blocking(move || std::fs::remove_dir_all(directory)).await {
            Ok(Err(error)) if error.kind() != std::io::ErrorKind::NotFound => Err(Failed(error.to_string())),
            _ => self.write_ssh_config(),
        }
    }

    /// Leads from the addresses of machines to where they really answer.
    fn write_ssh_config(&self) -> Result<(), Failed> {
        let machines = locked(&self.machines).clone();
        let mut text = String::new();
        for server in self.state().scaleway.servers.all() {
            if let Some(machine) = machines.get(&server.id) {
                let port = machine.ssh_port();
                text += &format!("Host {}\n  HostName 127.0.0.1\n  Port {port}\n", server.ip);
            }
        }
        disk::replace(&self.directory.join("ssh_config"), text.as_bytes())
            .map_err(|error| Failed(error.to_string()))
    }
}
