//! Provider `kubernetes`: what a cluster knows of Macs, and anything else that is kept there.
//!
//! 1. [`settings`]: which cluster, and as whom; [`client`]: the two sides of its API; [`refusal`]: what its errors mean
//! 2. [`json`]: objects as values; [`owned`]: which of their fields are ours, and what is in them
//! 3. [`account`]: accounts with a token, which several kinds make; [`drain`]: how a Node is emptied; [`wait`]: until it is so
//! 4. [`standing`]: whether its credentials are good; [`kept`]: secrets that it keeps
//! 5. kinds and data, one file each

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use fleet_engine::host::reach::Secret;
use fleet_engine::kind::{Data, Kind, Of};
use fleet_engine::provider::{Provider, Standing};
use fleet_engine::resource::Error;
use fleet_engine::secret::InCluster;

mod account;
mod bootstrap_token;
mod capi_connection;
mod client;
mod drain;
mod egress_service;
mod json;
mod kept;
mod manifest;
mod node;
mod node_identity;
mod object;
mod owned;
mod refusal;
mod settings;
mod standing;
mod stuck_pods;
mod wait;

pub use client::{Acting, Looking};
pub use settings::Settings;

use settings::Cluster;

/// Where a pod finds its account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The variables that stand for what its settings leave out.
const VARIABLES: [&str; 4] = ["HOME", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"];

/// The provider.
#[derive(Clone)]
pub struct Kubernetes {
    /// Where relative paths start.
    directory: PathBuf,
    /// What its settings may leave out.
    environment: BTreeMap<String, String>,
}

impl Kubernetes {
    /// Takes what its settings leave out from these environment variables.
    #[must_use]
    pub fn new(directory: PathBuf, environment: &BTreeMap<String, String>) -> Kubernetes {
        let own = environment.iter().filter(|(name, _)| VARIABLES.contains(&name.as_str()));
        let environment = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        Kubernetes { directory, environment }
    }

    async fn cluster(&self, settings: Settings) -> Result<Cluster, Error> {
        settings.cluster(&self.directory, &self.environment, Path::new(ACCOUNT)).await
    }

    async fn connect(&self, settings: Settings) -> Result<Acting, Error> {
        client::connect(self.cluster(settings).await?)
    }
}

impl Provider for Kubernetes {
    const NAME: &'static str = "kubernetes";
    const LIMIT: usize = 16;
    type Settings = Settings;
    type Reader = Looking;
    type Writer = Acting;
    const KINDS: &'static [&'static dyn Kind<Looking, Acting>] = &[
        &Of::<bootstrap_token::BootstrapToken>::KIND,
        &Of::<capi_connection::CapiConnection>::KIND,
        &Of::<egress_service::EgressService>::KIND,
        &Of::<manifest::Manifest>::KIND,
        &Of::<node::Node>::KIND,
        &Of::<node_identity::NodeIdentity>::KIND,
        &Of::<stuck_pods::StuckPods>::KIND,
    ];
    const DATA: &'static [&'static dyn Data<Looking>] = &[&Of::<object::Object>::KIND];

    async fn reader(&self, settings: Settings) -> Result<Looking, Error> {
        Ok(self.connect(settings).await?.looking)
    }

    async fn writer(&self, settings: Settings) -> Result<Acting, Error> {
        self.connect(settings).await
    }

    fn warnings(reader: &Looking) -> Vec<String> {
        reader.warnings()
    }

    async fn kept(&self, settings: Settings, place: &InCluster) -> Result<Secret, Error> {
        kept::read(&self.connect(settings).await?.looking, place).await
    }

    async fn standing(&self, settings: Settings) -> Result<Option<Standing>, Error> {
        standing::of(self.cluster(settings).await?).await.map(Some)
    }
}

impl fmt::Debug for Kubernetes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubernetes").field("directory", &self.directory).finish_non_exhaustive()
    }
}
