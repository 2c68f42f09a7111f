//! How a host is reached, and who wants to.

use std::fmt;
use std::time::Duration;

use fleet_lang::Value;

use crate::attributes::{Misfit, read};
use crate::resource::Error;

/// The way to one host. Two equal ways lead to one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// The slot that the host is for, such as `fleet.runners[0]`: what people are told.
    pub slot: String,
    /// Over what.
    pub over: Over,
    /// What stands before every path: empty for the host itself, a directory for a mounted image.
    pub root: String,
    /// Where the ledger lies on the host, under that root.
    pub ledger: String,
    /// The random name of the state that asks: whose ledgers are ours. None while there is no state.
    pub lineage: Option<String>,
    /// The password with which the user may become root, where that takes one.
    pub sudo_password: Option<Secret>,
    /// How long a host waits for a new connection after a change that could cut it off, before it undoes it.
    pub confirm_within: Duration,
}

/// How long a host waits for a new connection, if its own does not say otherwise: some attempts to connect, each of
/// which takes ten seconds where packets are dropped.
pub const CONFIRM_WITHIN: Duration = Duration::from_secs(60);

/// Over what a host is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// It is this machine.
    Local,
    /// OpenSSH.
    Ssh(Ssh),
}

/// A host behind OpenSSH. What is not said is as the user's own configuration has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ssh {
    /// Where it may be, in the order in which that is tried.
    pub addresses: Vec<String>,
    /// The port.
    pub port: Option<u16>,
    /// Who logs in.
    pub user: Option<String>,
    /// The private key, as OpenSSH writes it. It never touches a disk.
    pub identity: Option<Secret>,
    /// The key by which the host must prove who it is, as `type base64`. None: whatever it is, on first sight.
    pub host_key: Option<String>,
    /// A file of the user's to be read in the place of `~/.ssh/config`.
    pub config: Option<String>,
    /// Hosts on the way, as `ssh -J` takes them.
    pub jump: Option<String>,
}

/// Who changes a host: every frame of work is refused by the host itself if its ledger names another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The random name of the state.
    pub lineage: String,
    /// The number of the lock under which the run writes. A host that has seen a higher one refuses.
    pub fence: u64,
    /// Who and where, for people.
    pub by: String,
}

/// A text that is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl Reach {
    /// Reads the settings of a session with a host, as a fleet's slot makes them.
    pub fn of(settings: &Value) -> Result<Reach, Error> {
        let reach = Reach::read(settings);
        reach.map_err(|misfit| Error::permanent(format!("the connection cannot be used: {misfit}")))
    }

    fn read(settings: &Value) -> Result<Reach, Misfit> {
        let secret = |name: &str| Ok(read::<Option<String>>(settings, name)?.map(Secret));
        let over = match read::<String>(settings, "kind")?.as_str() {
            "local" => Over::Local,
            "ssh" => Over::Ssh(Ssh {
                addresses: read(settings, "addresses")?,
                port: match read::<Option<i64>>(settings, "port")? {
                    None => None,
                    Some(port) => Some(
                        u16::try_from(port).map_err(|_| Misfit::new("port", format!("{port} is no port")))?,
                    ),
                },
                user: read(settings, "user")?,
                identity: secret("identity")?,
                host_key: read(settings, "host_key")?,
                config: read(settings, "config")?,
                jump: read(settings, "jump")?,
            }),
            other => return Err(Misfit::new("kind", format!("`{other}` is no kind of connection"))),
        };
        Ok(Reach {
            slot: read(settings, "slot")?,
            over,
            root: read::<Option<String>>(settings, "root")?.unwrap_or_default(),
            ledger: read(settings, "ledger")?,
            lineage: read(settings, "lineage")?,
            sudo_password: secret("sudo_password")?,
            confirm_within: match read::<Option<i64>>(settings, "confirm_within")? {
                None => CONFIRM_WITHIN,
                Some(seconds) if (10..=3600).contains(&seconds) => {
                    Duration::from_secs(seconds.unsigned_abs())
                }
                Some(seconds) => {
                    let message = format!("{seconds} is not between 10 and 3600 seconds");
                    return Err(Misfit::new("confirm_within", message));
                }
            },
        })
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}
