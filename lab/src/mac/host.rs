//! One Mac: switched on and off, installed, and asked about.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use fleet_engine::resource::BoxFuture;
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;

use super::Tools;
use super::boot::AT_BOOT;
use super::confine;
use super::disk::{Disk, Installation};
use super::live::Live;
use super::login::{self, Login};
use super::network::{Network, is_of_tailnet};
use super::pf::{Packet, Verdict};
use super::ssh;
use super::stand_in::{MAC, SOCKET};
use super::under_way::UnderWay;
use crate::clock::{Clock, Time};
use crate::machine::{Blueprint, Disturbance, Failed, Install, Machine};

/// How long a Mac that shuts down takes to do so.
const SHUTDOWN: Duration = Duration::from_secs(3);
/// How long a Mac that starts itself anew does not answer.
const REBOOT: Duration = Duration::from_secs(45);
/// However fast time goes by there, so long takes what a Mac said last to arrive here.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// Where whoever connects pretends to come from, unless it is told otherwise.
const PEER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 7);

/// A Mac.
pub struct Mac {
    blueprint: Blueprint,
    root: PathBuf,
    port: u16,
    pub(super) tools: Arc<Tools>,
    disk: Mutex<Disk>,
    /// Nothing while it is off.
    live: Mutex<Option<Live>>,
    power: tokio::sync::Mutex<Power>,
    /// Where whoever connects pretends to come from.
    ssh_peer: Mutex<IpAddr>,
    /// What is connected, and where it pretends to come from; nowhere if the packet filter lets nobody answer.
    connections: Mutex<BTreeMap<u64, (OwnedFd, Option<IpAddr>)>>,
    /// The leaders of what runs on channels.
    processes: Mutex<BTreeMap<u64, Pid>>,
    pub(super) counts: Counts,
    pub(super) under_way: UnderWay,
    /// What happens at which call of a command.
    planned: Mutex<Option<(u64, Happening)>>,
    /// How often it was switched on and off, so that a plan from before a change is seen to be one.
    turns: AtomicU64,
    this: Weak<Mac>,
}

/// Something that happens to a Mac.
type Happening = Box<dyn FnOnce(&Mac) + Send>;

/// What happened so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// A number for each connection and each process.
    pub(super) numbers: AtomicU64,
    pub(super) logins: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) commands: AtomicU64,
    /// How often somebody sent something to a command after all that it had said before.
    pub(super) turns: AtomicU64,
    pub(super) calls: AtomicU64,
}

/// The port, in one of two ways.
#[derive(Debug)]
enum Power {
    /// It is kept, so that nobody else takes it, and nobody answers there.
    Off(Option<TcpSocket>),
    /// The server runs.
    On(JoinHandle<()>),
}

impl std::fmt::Debug for Mac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mac")
            .field("id", &self.blueprint.id)
            .field("port", &self.port)
            .finish_non_exhaustive()
    }
}

impl Mac {
    /// Puts a Mac together, switched off.
    pub(super) fn build(blueprint: Blueprint, tools: Arc<Tools>) -> Result<Arc<Mac>, Failed> {
        let failed = |error: std::io::Error| {
            Failed(format!("a Mac cannot be put into {}: {error}", blueprint.directory.display()))
        };
        let disk = Disk::open(&blueprint.directory).map_err(failed)?;
        let kept = blueprint.directory.join("port");
        let known = std::fs::read_to_string(&kept).ok().and_then(|port| port.trim().parse().ok());
        let socket = known.and_then(|port| bind(port).ok());
        let socket = socket.map_or_else(|| bind(0), Ok).map_err(failed)?;
        let port = socket.local_addr().map_err(failed)?.port();
        std::fs::write(kept, port.to_string()).map_err(failed)?;
        Ok(Arc::new_cyclic(|this| Mac {
            root: disk.root(),
            port,
            tools,
            disk: Mutex::new(disk),
            live: Mutex::new(None),
            power: tokio::sync::Mutex::new(Power::Off(Some(socket))),
            ssh_peer: Mutex::new(PEER.into()),
            connections: Mutex::default(),
            processes: Mutex::default(),
            counts: Counts::default(),
            under_way: UnderWay::default(),
            planned: Mutex::default(),
            turns: AtomicU64::new(0),
            this: this.clone(),
            blueprint,
        }))
    }

    /// Its root directory: what stands before every path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What the vendor calls it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.blueprint.id
    }

    /// What it is, such as `M2-L`.
    pub(super) fn model(&self) -> &str {
        &self.blueprint.model
    }

    /// The time of the world.
    pub(super) fn clock(&self) -> &Clock {
        &self.blueprint.clock
    }

    pub(super) fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it knows while it is on.
    pub(super) fn live(&self) -> MutexGuard<'_, Option<Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn installation(&self) -> Option<Installation> {
        self.disk().installed().cloned()
    }

    /// Its users and their numbers.
    pub(super) fn users(&self) -> Vec<(String, u32)> {
        let system = [("root", 0), ("daemon", 1), ("_www", 70), ("nobody", u32::MAX - 1)];
        let mut users: Vec<(String, u32)> = system.map(|(name, uid)| (name.to_owned(), uid)).into();
        users.extend(self.installation().map(|installation| (installation.user, 501)));
        users
    }

    /// Whether a user is the one whom the vendor made, who may become root.
    pub(super) fn is_administrator(&self, user: &str) -> bool {
        self.disk().installed().is_some_and(|installation| installation.user == user)
    }

    /// The environment of a shell that somebody gets who logs in.
    pub(super) fn environment(&self, user: &str) -> Vec<(String, String)> {
        let tools = self.tools.directory.display();
        let home = super::disk::home_of(&self.root, user).display().to_string();
        let temporary = self.root.join("private/tmp").display().to_string();
        let pairs = [
            ("FLEET_ROOT", self.root.display().to_string()),
            ("HOME", home),
            ("LOGNAME", user.to_owned()),
            ("PATH", format!("{tools}/commands:{tools}/system")),
            ("SHELL", shell().to_owned()),
            ("TMPDIR", temporary),
            ("USER", user.to_owned()),
            (MAC, self.blueprint.id.clone()),
            (SOCKET, self.tools.socket().display().to_string()),
            (super::stand_in::USER, user.to_owned()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// Somebody logs in at the screen: launchd has a `gui` domain for them, with their agents in it. Call it within
    /// tokio.
    pub fn begin_session(&self, uid: u32) {
        if let Some(mac) = self.this.upgrade() {
            super::launchd::domain::session_begins(&mac, uid);
        }
    }

    /// Nobody is at the screen any more.
    pub fn end_session(&self) {
        super::launchd::domain::session_ends(self);
    }

    /// Cuts all connections, as a network that fails does. What runs goes on until it notices.
    pub fn cut_connections(&self) {
        let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        for (connection, _) in connections.values() {
            // One that ended meanwhile is cut already.
            let _ = rustix::net::shutdown(connection, rustix::net::Shutdown::Both);
        }
    }

    /// How many simulated commands were called so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.counts.calls.load(Ordering::Relaxed)
    }

    /// Lets something happen at a call of a simulated command, so many calls from now: before that one is carried out,
    /// which waits for it.
    pub fn at_call(&self, number: u64, happens: impl FnOnce(&Mac) + Send + 'static) {
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        *planned = Some((self.calls() + number, Box::new(happens)));
    }

    /// A simulated command is called.
    pub(super) fn called(&self) {
        let number = self.counts.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let due = {
            let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
            planned.take_if(|(at, _)| *at <= number)
        };
        if let Some((_, happens)) = due {
            happens(self);
        }
    }

    /// What its packet filter says to a packet; none while it is off.
    #[must_use]
    pub fn judge(&self, packet: &Packet) -> Option<Verdict> {
        let live = self.live();
        let live = live.as_ref()?;
        Some(live.pf.judge(packet, &|interface| live.network.addresses(interface)))
    }

    /// The rule by which it translates the address of a packet, if it does.
    #[must_use]
    pub fn translate(&self, packet: &Packet) -> Option<String> {
        let live = self.live();
        let live = live.as_ref()?;
        live.pf.translate(packet, &|interface| live.network.addresses(interface))
    }

    /// Lets whoever connects from now on come from this address: really all come from this machine. Its packet filter
    /// decides by it, and `netstat` shows it.
    pub fn set_ssh_peer(&self, peer: IpAddr) {
        *self.ssh_peer.lock().unwrap_or_else(PoisonError::into_inner) = peer;
        if let Some(live) = &mut *self.live() {
            live.network.ssh_peer = peer;
        }
    }

    fn ssh_peer(&self) -> IpAddr {
        *self.ssh_peer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives an interface an address and the bits of its network, or makes one without, until it is started anew.
    pub fn set_interface(&self, name: &str, address: Option<(IpAddr, u8)>) {
        if let Some(live) = &mut *self.live() {
            live.network.set(name, address);
        }
    }

    /// The addresses of all its interfaces.
    pub(super) fn addresses(&self) -> Vec<IpAddr> {
        let live = self.live();
        let interfaces = live.iter().flat_map(|live| live.network.interfaces.values().flatten());
        interfaces.map(|(address, _)| *address).collect()
    }

    /// Gives it this address in the tailnet, or takes it out.
    pub(super) fn set_tailnet(&self, address: Option<IpAddr>) {
        if let Some(live) = &mut *self.live() {
            match address {
                Some(address) => live.network.set(super::tailscale::INTERFACE, Some((address, 32))),
                None => drop(live.network.interfaces.remove(super::tailscale::INTERFACE)),
            }
        }
    }

    /// Cuts all connections that came over the tailnet, as its daemon does when it ends.
    pub(super) fn cut_tailnet(&self) {
        let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        for (connection, _) in connections.values().filter(|(_, peer)| peer.is_some_and(is_of_tailnet)) {
            // One that ended meanwhile is cut already.
            let _ = rustix::net::shutdown(connection, rustix::net::Shutdown::Both);
        }
    }

    /// Both ends of a connection that is made now, as `SSH_CONNECTION` names them.
    pub(super) fn ends(&self) -> String {
        let live = self.live();
        let here = live.as_ref().map(|live| live.network.arrival().1);
        format!("{} 50022 {} 22", self.ssh_peer(), here.unwrap_or(Ipv4Addr::UNSPECIFIED.into()))
    }

    /// Leads a network over an interface, until it is started anew.
    pub fn set_route(&self, net: super::Net, interface: &str) {
        if let Some(live) = &mut *self.live() {
            live.network.routes.push((net, interface.to_owned()));
        }
    }

    /// What InternetSharing does when the first VM starts; and, without anybody being told, after many have come and gone.
    pub fn share_internet(&self, shares: bool) {
        if let Some(live) = &mut *self.live() {
            live.pf.share_internet(shares);
        }
    }

    /// What its packet filter says to somebody who connects.
    pub(super) fn judge_arrival(&self) -> Option<Verdict> {
        let live = self.live();
        let network = &live.as_ref()?.network;
        let (interface, here) = network.arrival();
        let packet = Packet::arriving(interface, network.ssh_peer, here, 22);
        drop(live);
        self.judge(&packet)
    }

    /// Where those pretend to come from who are connected.
    pub(super) fn peers(&self) -> Vec<IpAddr> {
        let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.values().filter_map(|(_, peer)| *peer).collect()
    }

    /// The time of its world.
    pub(super) fn time(&self) -> Time {
        self.blueprint.clock.time()
    }

    /// Remembers a connection until what is returned is dropped.
    pub(super) fn connected(self: &Arc<Mac>, socket: OwnedFd) -> Known {
        self.remember(socket, Some(self.ssh_peer()))
    }

    /// The same for one that nobody answers.
    pub(super) fn dropped(self: &Arc<Mac>, socket: OwnedFd) -> Known {
        self.remember(socket, None)
    }

    fn remember(self: &Arc<Mac>, socket: OwnedFd, peer: Option<IpAddr>) -> Known {
        let number = self.counts.numbers.fetch_add(1, Ordering::Relaxed);
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).insert(number, (socket, peer));
        Known { mac: self.clone(), number, is_process: false }
    }

    /// Remembers a process until what is returned is dropped.
    pub(super) fn runs(self: &Arc<Mac>, leader: Pid) -> Known {
        let number = self.counts.numbers.fetch_add(1, Ordering::Relaxed);
        self.processes.lock().unwrap_or_else(PoisonError::into_inner).insert(number, leader);
        Known { mac: self.clone(), number, is_process: true }
    }

    /// Ends all that runs on it.
    fn end_processes(&self) {
        for leader in self.processes.lock().unwrap_or_else(PoisonError::into_inner).values() {
            confine::signal(*leader, Signal::KILL);
        }
        for stray in strays(&self.blueprint.id, &self.tools.socket()) {
            let _ = rustix::process::kill_process(stray, Signal::KILL);
        }
    }

    /// Starts itself anew, as `shutdown -r` does; or only stops.
    pub(super) fn shut_down(&self, comes_back: bool) {
        let Some(mac) = self.this.upgrade() else { return };
        let turn = self.turns.load(Ordering::Acquire);
        let clock = self.blueprint.clock.clone();
        self.blueprint.clock.at(clock.time().after(SHUTDOWN), async move {
            tokio::time::sleep(LAST_WORDS).await;
            let is_same = |turn: u64| mac.turns.load(Ordering::Acquire) == turn;
            if !is_same(turn) || mac.halt().await.is_err() || !comes_back {
                return;
            }
            let starting = mac.clone();
            clock.at(clock.time().after(REBOOT), async move {
                // The vendor may have done something with it meanwhile.
                if starting.turns.load(Ordering::Acquire) == turn + 1
                    && let Err(error) = starting.boot(None).await
                {
                    tracing::warn!(%error, "a Mac does not come back");
                }
            });
        });
    }

    async fn switch_on(&self, keys: Option<Vec<String>>) -> Result<(), Failed> {
        let mut power = self.power.lock().await;
        let host_key = {
            let disk = self.disk();
            let Some(installation) = disk.installed() else {
                return Err(Failed(format!("nothing is installed on {}", self.blueprint.id)));
            };
            if let Some(keys) = keys {
                disk.set_keys(&keys).map_err(|error| self.failed(&error))?;
            }
            installation.host_key().map_err(|error| self.failed(&error))?
        };
        let Power::Off(socket) = &mut *power else { return Ok(()) };
        let listener = match socket.take() {
            Some(socket) => socket.listen(128),
            None => bind(self.port).and_then(|socket| socket.listen(128)),
        };
        let listener: TcpListener = listener.map_err(|error| self.failed(&error))?;
        let Some(mac) = self.this.upgrade() else { return Ok(()) };
        let boot_id = uuid::Uuid::new_v4().to_string().to_uppercase();
        let network = Network::at_boot(self.blueprint.ip, self.ssh_peer());
        let login = Login::begin(&self.root);
        *self.live() = Some(Live::new(boot_id, self.blueprint.clock.time(), network, login));
        self.turns.fetch_add(1, Ordering::AcqRel);
        let starting = mac.clone();
        let started = tokio::task::spawn_blocking(move || AT_BOOT.iter().for_each(|part| part(&starting)));
        started.await.map_err(|error| self.failed(&error))?;
        *power = Power::On(tokio::spawn(ssh::serve(listener, Arc::downgrade(&mac), host_key)));
        Ok(())
    }

    async fn switch_off(&self) -> Result<(), Failed> {
        let mut power = self.power.lock().await;
        let Power::On(server) = &mut *power else { return Ok(()) };
        server.abort();
        // The port is free when the server is gone, which an end on purpose is no error of.
        let _ = server.await;
        self.turns.fetch_add(1, Ordering::AcqRel);
        super::tailscale::switched_off(self);
        *self.live() = None;
        self.cut_connections();
        self.end_processes();
        // Without it the port is bound when it is needed.
        *power = Power::Off(bind(self.port).ok());
        Ok(())
    }

    fn failed(&self, error: &dyn std::fmt::Display) -> Failed {
        Failed(format!("the Mac {}: {error}", self.blueprint.id))
    }

    fn describe(&self) -> Value {
        let live = self.live();
        let disk = self.disk();
        let installation = disk.installed().map(|installation| {
            let key = installation.host_key().ok().and_then(|key| key.public_key().to_openssh().ok());
            json!({
                "number": disk.installs(),
                "os_name": installation.os_name,
                "os_version": installation.os_version,
                "user": installation.user,
                "host_key": key,
                "background_items": installation.background,
            })
        });
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        json!({
            "id": self.blueprint.id,
            "model": self.blueprint.model,
            "ip": self.blueprint.ip,
            "port": self.port,
            "root": self.root,
            "on": live.is_some(),
            "uptime": live.as_ref().map(|live| self.blueprint.clock.time().since(live.booted).as_secs()),
            "live": *live,
            "installation": installation,
            "confinement": self.tools.confinement,
            "connections": self.peers().len(),
            "processes": self.processes.lock().unwrap_or_else(PoisonError::into_inner).len(),
            "logins": count(&self.counts.logins),
            "logins_refused": count(&self.counts.refused),
            "commands_over_ssh": count(&self.counts.commands),
            "turns_over_ssh": count(&self.counts.turns),
            "simulated_commands": count(&self.counts.calls),
        })
    }
}

impl Machine for Mac {
    fn install(&self, install: Install) -> BoxFuture<'_, Result<(), Failed>> {
        Box::pin(async move {
            self.switch_off().await?;
            let Some(mac) = self.this.upgrade() else { return Ok(()) };
            let installed = tokio::task::spawn_blocking(move || mac.disk().install(&install)).await;
            let installed = installed.map_err(|error| self.failed(&error))?;
            installed.map_err(|error| self.failed(&error))
        })
    }

    fn boot(&self, keys: Option<Vec<String>>) -> BoxFuture<'_, Result<(), Failed>> {
        Box::pin(self.switch_on(keys))
    }

    fn halt(&self) -> BoxFuture<'_, Result<(), Failed>> {
        Box::pin(self.switch_off())
    }

    fn ssh_port(&self) -> u16 {
        self.port
    }

    fn is_up(&self) -> bool {
        self.live().is_some()
    }

    fn disturb(&self, disturbance: Disturbance) -> Result<(), Failed> {
        if !self.is_up() {
            return Err(Failed(format!("the Mac {} is off", self.blueprint.id)));
        }
        match disturbance {
            Disturbance::FillBacklog => login::sshd::fill(self),
            Disturbance::HangUp => {
                if let Some(mac) = self.this.upgrade() {
                    login::loginwindow::hang_up(&mac);
                }
            }
            Disturbance::DhcpName(name) => {
                if let Some(live) = &mut *self.live() {
                    live.login.dhcp_name = Some(name);
                }
            }
        }
        Ok(())
    }

    fn inspect(&self) -> BoxFuture<'_, Value> {
        Box::pin(async { self.describe() })
    }
}

impl Drop for Mac {
    fn drop(&mut self) {
        if let Power::On(server) = self.power.get_mut() {
            server.abort();
        }
        self.cut_connections();
        self.end_processes();
    }
}

/// A connection or a process that a Mac knows of.
pub(super) struct Known {
    mac: Arc<Mac>,
    number: u64,
    is_process: bool,
}

impl Drop for Known {
    fn drop(&mut self) {
        if self.is_process {
            self.mac.processes.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
        } else {
            self.mac.connections.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
        }
    }
}

/// The shell of whoever logs in. That of macOS is zsh; any other does where it is not there.
pub(super) fn shell() -> &'static str {
    if Path::new("/bin/zsh").exists() { "/bin/zsh" } else { "/bin/sh" }
}

fn bind(port: u16) -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    // Connections that just ended do not keep the port.
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    Ok(socket)
}

/// Processes of a Mac that left the group they were started in: known by their environment, where it can be read.
#[cfg(target_os = "linux")]
fn strays(id: &str, socket: &Path) -> Vec<Pid> {
    let signs = [format!("{MAC}={id}"), format!("{SOCKET}={}", socket.display())];
    let is_ours = |environment: &[u8]| {
        let entries: Vec<&[u8]> = environment.split(|byte| *byte == 0).collect();
        signs.iter().all(|sign| entries.contains(&sign.as_bytes()))
    };
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let ours = numbers.filter(|number| {
        std::fs::read(format!("/proc/{number}/environ")).is_ok_and(|environment| is_ours(&environment))
    });
    ours.filter_map(Pid::from_raw).collect()
}

#[cfg(not(target_os = "linux"))]
fn strays(_: &str, _: &Path) -> Vec<Pid> {
    Vec::new()
}
