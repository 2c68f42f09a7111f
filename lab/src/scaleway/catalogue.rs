//! What can be ordered and installed: it changes without notice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::page::page;
use super::refusal::Refusal;
use super::route::Call;
use super::{Answer, Scaleway};

/// How many servers of a type are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "these are the vendor's words")]
pub enum Stock {
    UnknownStock,
    NoStock,
    LowStock,
    HighStock,
}

/// A type of servers: name, zone, chip, cores, GHz × 10, memory and disk in GB.
type Model = (&'static str, &'static str, &'static str, u32, u64, u64, u64);

const MODELS: [Model; 7] = [
    ("M1-M", "fr-par-3", "Apple M1", 8, 32, 8, 256),
    ("M2-M", "fr-par-1", "Apple M2", 8, 35, 16, 256),
    ("M2-L", "fr-par-1", "Apple M2 Pro", 10, 35, 16, 512),
    ("M4-S", "fr-par-1", "Apple M4", 10, 44, 16, 256),
    ("M4-M", "fr-par-1", "Apple M4", 10, 44, 24, 512),
    ("M4-L", "fr-par-1", "Apple M4", 10, 44, 32, 512),
    ("M4-XL", "fr-par-1", "Apple M4 Pro", 14, 45, 64, 2000),
];

const GIGABYTE: u64 = 1_000_000_000;

/// What a server is given without being asked, and what it can have.
const BANDWIDTHS: [u64; 2] = [GIGABYTE, 2 * GIGABYTE];

/// Which system a new server has if nobody says.
const DEFAULT_OS: &str = "macos-tahoe-26.3";

/// A system that can be installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "these are the vendor's words")]
pub struct Os {
    pub id: String,
    pub name: String,
    pub label: String,
    pub family: String,
    pub version: String,
    pub is_beta: bool,
    pub xcode_version: String,
    /// Types on which it cannot be installed.
    #[serde(default)]
    pub not_on: Vec<String>,
}

impl Os {
    /// A system of a name, family and version.
    #[must_use]
    pub fn new(name: &str, family: &str, version: &str, is_beta: bool) -> Os {
        let id = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, name.as_bytes()).to_string();
        let label = format!("macOS {family} {version}");
        let (name, family, version) = (name.to_owned(), family.to_owned(), version.to_owned());
        let xcode_version = "26.2".to_owned();
        Os { id, name, label, family, version, is_beta, xcode_version, not_on: Vec::new() }
    }

    /// As the API shows it in a zone; lists also say on which types it can be installed.
    pub(super) fn view(&self, supported: &[&str]) -> Value {
        let supported: Vec<Value> = supported
            .iter()
            .map(|model| json!({ "server_type": model, "fast_delivery_available": self.name == DEFAULT_OS }))
            .collect();
        json!({
            "id": self.id,
            "name": self.name,
            "label": self.label,
            "image_url": "",
            "family": self.family,
            "is_beta": self.is_beta,
            "version": self.version,
            "xcode_version": self.xcode_version,
            "compatible_server_types": [],
            "release_notes_url": "",
            "description": "",
            "tags": [],
            "supported_server_types": supported,
        })
    }
}

/// What there is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Catalogue {
    /// Systems, as they can be installed everywhere.
    pub os: Vec<Os>,
    /// The system of a type if nobody says.
    pub default_os: String,
    /// How many of a type are left.
    pub stock: BTreeMap<String, Stock>,
}

impl Default for Catalogue {
    fn default() -> Catalogue {
        let os = [
            ("macos-ventura-13.7", "Ventura", "13.7", false),
            ("macos-sonoma-14.6", "Sonoma", "14.6", false),
            ("macos-sequoia-15.5", "Sequoia", "15.5", false),
            ("macos-sequoia-15.6", "Sequoia", "15.6", false),
            ("macos-tahoe-26.2", "Tahoe", "26.2", false),
            ("macos-tahoe-26.3", "Tahoe", "26.3", false),
            ("macos-tahoe-26.7-beta", "Tahoe", "26.7-beta", true),
            ("devos-tahoe-26.3", "DevOS", "26.3", false),
            ("asahi-fedora-42", "Asahi", "42", false),
        ];
        let mut os: Vec<Os> = os
            .into_iter()
            .map(|(name, family, version, beta)| Os::new(name, family, version, beta))
            .collect();
        for one in os.iter_mut().filter(|os| os.name == "macos-ventura-13.7") {
            one.not_on = ["M4-S", "M4-M", "M4-L", "M4-XL"].map(str::to_owned).to_vec();
        }
        let stock = MODELS.iter().map(|(name, ..)| {
            let stock = if *name == "M1-M" { Stock::NoStock } else { Stock::HighStock };
            ((*name).to_owned(), stock)
        });
        Catalogue { os, default_os: DEFAULT_OS.to_owned(), stock: stock.collect() }
    }
}

impl Catalogue {
    pub(super) fn has_model(&self, name: &str) -> bool {
        MODELS.iter().any(|model| model.0 == name)
    }

    pub(super) fn bandwidths(&self) -> &'static [u64] {
        &BANDWIDTHS
    }

    /// The system of servers for which nobody names one: the newest there is if the usual one is gone.
    pub(super) fn default_os(&self) -> Option<&Os> {
        let usual = self.os.iter().find(|os| os.name == self.default_os);
        usual.or_else(|| self.os.iter().rev().find(|os| os.name.starts_with("macos-") && !os.is_beta))
    }

    pub(super) fn os(&self, id: &str) -> Option<&Os> {
        self.os.iter().find(|os| os.id == id)
    }

    /// Takes a system away, by its name; says whether it was there.
    pub fn retire(&mut self, name: &str) -> bool {
        let before = self.os.len();
        self.os.retain(|os| os.name != name);
        self.os.len() < before
    }

    fn models(zone: &str) -> impl Iterator<Item = &'static Model> {
        MODELS.iter().filter(move |model| model.1 == zone)
    }

    fn model_view(&self, model: &Model) -> Value {
        let (name, _, chip, cores, frequency, memory, disk) = *model;
        json!({
            "name": name,
            "cpu": {
                "name": chip, "core_count": cores, "frequency": frequency * 100_000_000, "sockets": 1,
                "threads_per_core": 1,
            },
            "disk": { "capacity": disk * GIGABYTE, "type": "SSD" },
            "memory": { "capacity": memory * GIGABYTE, "type": "LPDDR" },
            "gpu": { "count": cores },
            "npu": { "count": 16 },
            "stock": self.stock.get(name).unwrap_or(&Stock::UnknownStock),
            "minimum_lease_duration": "86400s",
            "network": {
                "public_bandwidth_bps": BANDWIDTHS[0],
                "supported_bandwidth": BANDWIDTHS,
                "default_public_bandwidth": BANDWIDTHS[0],
            },
            "default_os": self.default_os().map(|os| os.view(&[])),
        })
    }
}

impl Scaleway {
    pub(super) fn list_server_types(&self, call: &Call) -> Answer {
        let types: Vec<Value> =
            Catalogue::models(&call.place).map(|model| self.catalogue.model_view(model)).collect();
        Answer::ok(json!({ "server_types": types }))
    }

    pub(super) fn get_server_type(&self, call: &Call) -> Result<Answer, Refusal> {
        let model = Catalogue::models(&call.place).find(|model| model.0 == call.id());
        let model = model.ok_or_else(|| Refusal::not_found("server_type", call.id()))?;
        Ok(Answer::ok(self.catalogue.model_view(model)))
    }

    pub(super) fn list_os(&self, call: &Call) -> Result<Answer, Refusal> {
        let (model, name) = (call.parameter("server_type"), call.parameter("name"));
        let mut shown = Vec::new();
        for os in &self.catalogue.os {
            let models = MODELS.iter().map(|model| model.0);
            let on: Vec<&str> = models.filter(|model| !os.not_on.iter().any(|not| not == model)).collect();
            let named = name.is_none_or(|name| os.name.starts_with(name) || os.version.starts_with(name));
            if named && model.is_none_or(|model| on.contains(&model)) {
                shown.push(os.view(&on));
            }
        }
        page(call, &self.rules, "os", shown)
    }

    pub(super) fn get_os(&self, call: &Call) -> Result<Answer, Refusal> {
        let os = self.catalogue.os(call.id()).ok_or_else(|| Refusal::not_found("os", call.id()))?;
        Ok(Answer::ok(os.view(&[])))
    }
}
