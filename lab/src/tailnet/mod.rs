//! The tailnet: the devices in it, and the keys by which they join.
//!
//! There is one for all Macs of a lab. A Mac's `tailscaled` joins it and leaves it; whoever has its admin console, or its
//! API, adds keys and removes devices with the same methods. All of it can be cloned, and all clones are the same one.
//!
//! 1. [`key`]: what lets a device in
//! 2. [`device`]: what is in
//! 3. [`api`]: the same over HTTP, with the [`policy`] of who may reach whom
//!
//! A name that another device has gets a number at its end (`mini-a-1`), and keeps it until the device says another name:
//! the removal of the first one gives nobody its name.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::clock::Time;

mod api;
mod device;
mod key;
mod policy;

pub use api::{API_KEY, CLIENT_ID, Console};
pub use device::Device;
pub(crate) use key::is_client;
pub use key::{Key, Sort};

/// How names of devices end.
const DOMAIN: &str = "tail4c7e.ts.net";
/// A reusable key that every tailnet of a lab has from the beginning.
pub const AUTH_KEY: &str = "tskey-auth-lab";
/// The secret of an OAuth client that it has as well.
pub const CLIENT_SECRET: &str = "tskey-client-lab";
/// What both may give to devices.
pub const TAGS: [&str; 2] = ["tag:ci", "tag:mac"];

/// A tailnet.
#[derive(Clone, Debug)]
pub struct Tailnet {
    book: Arc<Mutex<Book>>,
    /// Where it is kept, if it is.
    place: Option<Arc<PathBuf>>,
}

/// All that a tailnet knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Book {
    /// How names of devices end.
    pub domain: String,
    /// The devices, by their node ids.
    pub devices: BTreeMap<String, Device>,
    /// The keys.
    pub keys: Vec<Key>,
    /// How many devices there were.
    made: u32,
}

/// Why the tailnet does not let a device in, in its own words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// What a device asks for that wants to join.
#[derive(Clone, Copy, Debug)]
pub struct Join<'a> {
    /// The key, with what may follow it.
    pub key: &'a str,
    /// How it wants to be called.
    pub hostname: &'a str,
    /// Which tags it wants; those of the key, if it wants none.
    pub tags: &'a [String],
    /// By what it was known, if it was here before.
    pub node_key: Option<&'a str>,
}

impl Default for Tailnet {
    fn default() -> Tailnet {
        let tags: Vec<String> = TAGS.map(str::to_owned).into();
        let keys = vec![
            Key::auth(AUTH_KEY, tags.clone()),
            Key { sort: Sort::Client, ..Key::auth(CLIENT_SECRET, tags) },
        ];
        let book = Book { domain: DOMAIN.to_owned(), devices: BTreeMap::new(), keys, made: 0 };
        Tailnet { book: Arc::new(Mutex::new(book)), place: None }
    }
}

impl Tailnet {
    /// The tailnet that is kept in a file; a new one, if nothing is there that can be read.
    #[must_use]
    pub fn kept(place: &Path) -> Tailnet {
        let new = Tailnet { place: Some(Arc::new(place.to_owned())), ..Tailnet::default() };
        match crate::disk::read_json(place) {
            Ok(book) => Tailnet { book: Arc::new(Mutex::new(book)), ..new },
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(%error, "the tailnet begins anew");
                }
                new
            }
        }
    }

    /// All that it knows now.
    #[must_use]
    pub fn book(&self) -> Book {
        self.book.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes it: what the admin console and the API do.
    pub fn edit<T>(&self, edit: impl FnOnce(&mut Book) -> T) -> T {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        let done = edit(&mut book);
        if let Some(place) = &self.place
            && let Err(error) = crate::disk::replace_json(place, &*book)
        {
            tracing::warn!(%error, "the tailnet is not kept");
        }
        done
    }

    /// The device that is known by this key of its own, and is not logged out.
    #[must_use]
    pub fn device(&self, node_key: &str) -> Option<Device> {
        let known = |device: &&Device| device.node_key == node_key && !device.is_logged_out;
        self.book.lock().unwrap_or_else(PoisonError::into_inner).devices.values().find(known).cloned()
    }

    /// Lets a device in, or lets one that is in have other tags.
    ///
    /// # Errors
    ///
    /// If the key does not let it in, or not with these tags.
    pub fn join(&self, join: Join<'_>, now: Time) -> Result<Device, Refused> {
        self.edit(|book| book.join(join, now))
    }

    /// A device that is in says another name.
    #[must_use]
    pub fn rename(&self, node_key: &str, hostname: &str) -> Option<Device> {
        self.edit(|book| {
            let id = book.id_of(node_key)?;
            if book.devices.get(&id)?.hostname != hostname {
                let name = book.free_name(hostname, &id);
                let device = book.devices.get_mut(&id)?;
                (device.hostname, device.name) = (hostname.to_owned(), name);
            }
            book.devices.get(&id).cloned()
        })
    }

    /// A device leaves. One that is ephemeral is gone then; any other stays in the book.
    pub fn log_out(&self, node_key: &str) {
        self.edit(|book| {
            let Some(id) = book.id_of(node_key) else { return };
            if book.devices.get(&id).is_some_and(|device| device.is_ephemeral) {
                book.devices.remove(&id);
            } else if let Some(device) = book.devices.get_mut(&id) {
                (device.is_logged_out, device.online_since) = (true, None);
            }
        });
    }

    /// A device is connected, or is not any more.
    pub fn connected(&self, node_key: &str, is_online: bool, now: Time) {
        self.edit(|book| {
            let Some(id) = book.id_of(node_key) else { return };
            if let Some(device) = book.devices.get_mut(&id) {
                device.connected(is_online, now);
            }
        });
    }

    /// Removes a device, by its node id or its name; says whether there was one.
    pub fn remove(&self, device: &str) -> bool {
        self.edit(|book| {
            let before = book.devices.len();
            book.devices.retain(|id, known| id != device && known.name != device);
            book.devices.len() < before
        })
    }
}

impl Book {
    fn id_of(&self, node_key: &str) -> Option<String> {
        let known = |device: &&Device| device.node_key == node_key && !device.is_logged_out;
        self.devices.values().find(known).map(|device| device.node_id.clone())
    }

    /// A device's whole name.
    #[must_use]
    pub fn fqdn(&self, device: &Device) -> String {
        format!("{}.{}", device.name, self.domain)
    }

    /// Ephemeral devices that were away for long go.
    pub fn sweep(&mut self, now: Time) {
        self.devices.retain(|_, device| !device.is_over(now));
    }

    fn join(&mut self, join: Join<'_>, now: Time) -> Result<Device, Refused> {
        self.sweep(now);
        let (tags, is_ephemeral) = key::admit(&mut self.keys, join.key, join.tags, now)?;
        if let Some(id) = join.node_key.and_then(|node_key| self.id_of(node_key)) {
            let name = self.free_name(join.hostname, &id);
            let device = self.devices.get_mut(&id).ok_or_else(|| Refused("node not found".to_owned()))?;
            if device.hostname != join.hostname {
                (device.hostname, device.name) = (join.hostname.to_owned(), name);
            }
            device.tags = tags;
            return Ok(device.clone());
        }
        self.made += 1;
        let node_id = format!("n{:08x}CNTRL", self.made.wrapping_mul(0x9e37_79b1));
        let [_, _, high, low] = self.made.to_be_bytes();
        let device = Device {
            name: self.free_name(join.hostname, &node_id),
            node_id: node_id.clone(),
            hostname: join.hostname.to_owned(),
            address: Ipv4Addr::new(100, 64 + high % 64, low, 7),
            tags,
            is_ephemeral,
            is_logged_out: false,
            joined: now,
            online_since: Some(now),
            last_seen: now,
            node_key: format!("nodekey:{:016x}", u64::from(self.made).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            expires: None,
        };
        self.devices.insert(node_id, device.clone());
        Ok(device)
    }

    /// The name that a device gets: with a number, if another one has it.
    fn free_name(&self, hostname: &str, node_id: &str) -> String {
        let plain =
            |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
        let wanted: String = hostname.split('.').next().unwrap_or_default().chars().map(plain).collect();
        let is_free = |name: &String| {
            !self.devices.values().any(|device| device.node_id != node_id && device.name == *name)
        };
        let numbered = (1..).map(|number| format!("{wanted}-{number}"));
        std::iter::once(wanted.clone()).chain(numbered).find(is_free).unwrap_or(wanted.clone())
    }
}

#[cfg(test)]
mod tests;
