//! `kubernetes_egress_service`: the way from a cluster to a machine in a tailnet.

use std::collections::BTreeMap;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::resource::{ApiKind, At, Change, Error, Resource};
use futures_util::future::join_all;
use serde_json::{Value as Json, json};

use super::client::{self, Acting, Looking};
use super::json::{metadata, text};
use super::owned;
use super::refusal::Refusal;
use super::wait::{PATIENCE, gone};

const FQDN: &str = "tailscale.com/tailnet-fqdn";
const PROXY_GROUP: &str = "tailscale.com/proxy-group";

/// What the operator writes over.
const PLACEHOLDER: &str = "placeholder.invalid";

/// Who puts the placeholder there, and never comes back: the field is the operator's.
const ONCE: &str = "fleet-placeholder";

/// A Service by which pods reach a machine in a tailnet, through the proxies of the Tailscale operator.
///
/// It is of the type `ExternalName`. Where it leads to is the operator's to write: fleet puts a placeholder there once, and
/// never owns or changes that field. Whatever the operator writes meanwhile is no conflict.
///
/// ```hcl
/// resource "kubernetes_egress_service" "mini" {
///   name        = "mini-0"
///   fqdn        = "mini-0.example.ts.net"
///   proxy_group = "macs"
///   ports       = { ssh = 22, node-exporter = 9100 }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct EgressService {
    /// The name of the Service.
    #[fleet(replace)]
    name: String,
    /// The namespace it is in; that of the provider if it is left out.
    #[fleet(replace, optional_computed)]
    namespace: Option<String>,
    /// The machine, by its full name in the tailnet.
    fqdn: String,
    /// The group of proxies that leads there.
    proxy_group: String,
    /// The ports that lead there, by their names.
    ports: BTreeMap<String, i64>,
    /// Labels that are fleet's.
    #[fleet(default = BTreeMap::new())]
    labels: BTreeMap<String, String>,
    /// Where it leads to, as the operator wrote it.
    #[fleet(computed)]
    external_name: Option<String>,
    /// Whether the operator says that it leads there.
    #[fleet(computed)]
    ready: Option<bool>,
    /// Given by the cluster.
    #[fleet(computed)]
    uid: Option<String>,
}

impl Resource for EgressService {
    const NAME: &'static str = "kubernetes_egress_service";
    const ID: Option<&'static str> = Some("`namespace/name`");

    fn normalize(&mut self) -> Result<(), Misfit> {
        if self.ports.is_empty() {
            return Err(Misfit::new("ports", "at least one port is needed"));
        }
        if let Some((name, port)) = self.ports.iter().find(|(_, port)| !(1..=65535).contains(*port)) {
            return Err(Misfit::new(
                "ports",
                format!("`{name}` is {port}, and ports are between 1 and 65535"),
            ));
        }
        let parts: Vec<&str> = self.fqdn.trim_end_matches('.').split('.').collect();
        if parts.len() < 3 || parts.iter().any(|part| part.is_empty()) {
            return Err(Misfit::new("fqdn", "the full name is needed, such as `mini-0.example.ts.net`"));
        }
        Ok(())
    }
}

/// Whether it is being deleted.
fn is_going(live: &Json) -> bool {
    !live["metadata"]["deletionTimestamp"].is_null()
}

fn services() -> client::Resource {
    client::Resource::core("Service", "services", true)
}

impl EgressService {
    fn namespace(&self, looking: &Looking) -> String {
        self.namespace.clone().unwrap_or_else(|| looking.namespace.to_string())
    }

    /// Makes it, with what the operator will write over, and nothing that is ours.
    async fn make(&self, writer: &Acting, namespace: &str) -> Result<(), Error> {
        let first = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": self.name, "namespace": namespace },
            "spec": { "type": "ExternalName", "externalName": PLACEHOLDER },
        });
        match writer.create(&services().all(Some(namespace)), &first, ONCE).await {
            Ok(_) => Ok(()),
            // Somebody made it meanwhile.
            Err(Refusal::Failed(error)) if error.message.contains("already exists") => Ok(()),
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// What is ours of it.
    fn object(&self) -> Json {
        let ports: Vec<Json> = self
            .ports
            .iter()
            .map(|(name, port)| json!({ "name": name, "port": port, "protocol": "TCP" }))
            .collect();
        let mut metadata = metadata(&self.name, &self.labels);
        metadata["annotations"] = json!({ FQDN: self.fqdn, PROXY_GROUP: self.proxy_group });
        let spec = json!({ "type": "ExternalName", "ports": ports });
        json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec })
    }
}

impl ApiKind for EgressService {
    type Reader = Looking;
    type Writer = Acting;

    async fn observe(
        reader: &Looking,
        batch: Vec<At<EgressService>>,
    ) -> Vec<Result<Option<EgressService>, Error>> {
        join_all(batch.into_iter().map(|at| observe(reader, at))).await
    }

    async fn apply(self, writer: &Acting, _: Change<EgressService>) -> Result<EgressService, Error> {
        let namespace = self.namespace(&writer.looking);
        let place = services().one(&namespace, &self.name);
        let mut live = writer.looking.get(&place).await?;
        if let Some(going) = live.take_if(|live| is_going(live)) {
            // The operator takes its finalizer away when it has cleaned up.
            gone(&writer.looking, &place, text(&going, &["metadata", "uid"]), PATIENCE).await?;
        }
        match live {
            None => self.make(writer, &namespace).await?,
            // Ports of others would stay between ours, and lead there under the same names.
            Some(live) if self.read(&namespace, &live, &writer.looking.manager).ports != self.ports => {
                let ports = self.object()["spec"].clone();
                writer.merge(&place, &json!({ "spec": ports })).await.map_err(Error::from)?;
            }
            Some(_) => {}
        }
        let made = writer.apply(&place, &self.object(), true).await.map_err(Error::from)?;
        let uid = Some(text(&made, &["metadata", "uid"]).to_owned());
        Ok(EgressService { namespace: Some(namespace), uid, ..self })
    }

    async fn destroy(writer: &Acting, observed: EgressService) -> Result<(), Error> {
        let namespace = observed.namespace(&writer.looking);
        let place = services().one(&namespace, &observed.name);
        let uid = observed.uid.unwrap_or_default();
        writer.delete(&place, &uid).await?;
        // The operator cleans up first: its finalizer is told if it does not.
        gone(&writer.looking, &place, &uid, PATIENCE).await
    }
}

async fn observe(reader: &Looking, at: At<EgressService>) -> Result<Option<EgressService>, Error> {
    let asked = match at {
        At::Recorded(asked) | At::Declared(asked) | At::Begun { wish: asked, .. } => asked,
        At::Id(id) => {
            let (namespace, name) = id.split_once('/').unwrap_or((&*reader.namespace, &*id));
            EgressService {
                name: name.to_owned(),
                namespace: Some(namespace.to_owned()),
                fqdn: String::new(),
                proxy_group: String::new(),
                ports: BTreeMap::new(),
                labels: BTreeMap::new(),
                external_name: None,
                ready: None,
                uid: None,
            }
        }
    };
    let namespace = asked.namespace(reader);
    let Some(live) = reader.get(&services().one(&namespace, &asked.name)).await? else { return Ok(None) };
    Ok(Some(asked.read(&namespace, &live, &reader.manager)))
}

impl EgressService {
    fn read(&self, namespace: &str, live: &Json, manager: &str) -> EgressService {
        let annotation = |name: &str| text(live, &["metadata", "annotations", name]).to_owned();
        let ports = live["spec"]["ports"].as_array().into_iter().flatten();
        let is_ours = |port: &&Json| matches!(text(port, &["protocol"]), "" | "TCP");
        let ports = ports
            .filter(is_ours)
            .filter_map(|port| Some((text(port, &["name"]).to_owned(), port["port"].as_i64()?)));
        let conditions = live["status"]["conditions"].as_array().into_iter().flatten();
        let ready = conditions
            .into_iter()
            .any(|one| one["type"] == "TailscaleEgressSvcReady" && one["status"] == "True");
        let is_external = text(live, &["spec", "type"]) == "ExternalName" && !is_going(live);
        EgressService {
            name: self.name.clone(),
            namespace: Some(namespace.to_owned()),
            fqdn: annotation(FQDN),
            proxy_group: annotation(PROXY_GROUP),
            // Of another type it leads elsewhere, whatever its ports are; one that is being deleted soon leads nowhere.
            ports: if is_external { ports.collect() } else { BTreeMap::new() },
            labels: owned::labels(live, manager, &self.labels),
            external_name: Some(text(live, &["spec", "externalName"]).to_owned()),
            ready: Some(ready),
            uid: Some(text(live, &["metadata", "uid"]).to_owned()),
        }
    }
}
