//! How the vendor behaves where it may behave in several ways, and how long things take.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration, in seconds as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(pub Duration);

impl Seconds {
    /// So many seconds.
    #[must_use]
    pub const fn new(seconds: u64) -> Seconds {
        Seconds(Duration::from_secs(seconds))
    }
}

impl From<Duration> for Seconds {
    fn from(duration: Duration) -> Seconds {
        Seconds(duration)
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.subsec_nanos() == 0 {
            return serializer.serialize_u64(self.0.as_secs());
        }
        serializer.serialize_f64(self.0.as_secs_f64())
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Seconds, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(seconds).map(Seconds).map_err(serde::de::Error::custom)
    }
}

/// How something is denied that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Denial {
    /// 404 `not_found`.
    NotFound,
    /// 403 `permissions_denied`.
    Forbidden,
}

/// No more than so many requests of one key in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateLimit {
    /// How many.
    pub quota: u32,
    /// In how long.
    pub window: Seconds,
}

/// The rules of a world. What is known of the real vendor is the default; what nobody knows is a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// From an order to `ready`, with the default system of the type.
    pub start: Seconds,
    /// From an order to `ready`, with another system.
    pub start_other_os: Seconds,
    /// A restart.
    pub reboot: Seconds,
    /// The shortest and the longest reinstallation.
    pub reinstall: (Seconds, Seconds),
    /// From the moment a machine answers again to the moment the API calls it `ready`.
    pub ready_lag: Seconds,
    /// Attaching or detaching a private network, or switching private networks on.
    pub attach: Seconds,
    /// A diagnosis.
    pub diagnostic: Seconds,
    /// How long a new server cannot be deleted.
    pub lease: Seconds,
    /// How long after the order the server tells its password at the top level.
    pub password_shown: Seconds,
    /// How many things are on a page if nobody says.
    pub page_size: usize,
    /// How an id is denied that never was.
    pub unknown_id: Denial,
    /// How an id is denied that was deleted.
    pub deleted_id: Denial,
    /// Whether lists hide secrets, as answers to changes do.
    pub list_seals: bool,
    /// Whether a reinstallation makes a new password.
    pub reinstall_rotates_password: bool,
    /// Whether a restart by the API brings the project's keys up to date.
    pub reboot_applies_keys: bool,
    /// Whether attributes of a server can be changed while it is in the middle of something.
    pub update_while_transient: bool,
    /// Whether a list of keys without a filter leaves disabled ones out.
    pub list_hides_disabled_keys: bool,
    /// All reads show the world as it was so long ago.
    pub read_lag: Seconds,
    /// How much of requests is too much; any number is welcome if this is none.
    pub rate_limit: Option<RateLimit>,
    /// How many servers of a type there may be in a project and zone.
    pub quotas: BTreeMap<String, u32>,
}

impl Default for Rules {
    fn default() -> Rules {
        let quotas = [("M1-M", 3), ("M2-M", 5), ("M2-L", 5), ("M4-S", 2), ("M4-M", 2), ("M4-XL", 1)];
        Rules {
            start: Seconds::new(135),
            start_other_os: Seconds::new(3600),
            reboot: Seconds::new(90),
            reinstall: (Seconds::new(5 * 60), Seconds::new(15 * 60)),
            ready_lag: Seconds::new(0),
            attach: Seconds::new(15),
            diagnostic: Seconds::new(10),
            lease: Seconds::new(24 * 3600),
            password_shown: Seconds::new(6 * 3600),
            page_size: 20,
            unknown_id: Denial::NotFound,
            deleted_id: Denial::Forbidden,
            list_seals: true,
            reinstall_rotates_password: true,
            reboot_applies_keys: true,
            update_while_transient: false,
            list_hides_disabled_keys: false,
            read_lag: Seconds::new(0),
            rate_limit: None,
            quotas: quotas.into_iter().map(|(model, quota)| (model.to_owned(), quota)).collect(),
        }
    }
}
