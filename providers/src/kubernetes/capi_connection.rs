//! `kubernetes_capi_connection`: how Cluster API reaches a cluster.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::provider::Journal;
use fleet_engine::resource::{ApiKind, At, Change, Error, Resource};
use futures_util::future::join_all;
use serde_json::{Value as Json, json};

use super::account::{Account, decoded, roles, secrets};
use super::client::{self, Acting, Looking};
use super::json::text;
use super::wait::{PATIENCE, gone};

/// The label by which Cluster API knows what belongs to a cluster.
const CLUSTER: &str = "cluster.x-k8s.io/cluster-name";

/// The way that Cluster API takes to the Nodes of a cluster: an account, its role, and the Secret with its kubeconfig.
///
/// The Secret is `<cluster>-kubeconfig`, as Cluster API looks for it. The kubeconfig has to be usable from inside the
/// cluster, where an outer load balancer may not be reachable: so it names the address of the Service `kubernetes`, unless
/// `server` says otherwise. The role may look at Nodes and pods, change and delete Nodes, evict pods, and get the path `/`,
/// by which Cluster API finds out whether the server is there.
///
/// ```hcl
/// resource "kubernetes_capi_connection" "macs" {
///   cluster = "macs"
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct CapiConnection {
    /// The name of the Cluster.
    #[fleet(replace)]
    cluster: String,
    /// The namespace of the Cluster; that of the provider if it is left out.
    #[fleet(replace, optional_computed)]
    namespace: Option<String>,
    /// The server that the kubeconfig names; the address of the Service `kubernetes` if it is left out.
    #[fleet(optional_computed, follows = "complete")]
    server: Option<String>,
    /// Whether the account, its role and the Secret are there and fit together.
    #[fleet(default = true)]
    complete: bool,
    /// The kubeconfig that is in the Secret.
    #[fleet(computed, secret, follows = "complete", follows = "server")]
    kubeconfig: Option<String>,
}

impl Resource for CapiConnection {
    const NAME: &'static str = "kubernetes_capi_connection";

    fn normalize(&mut self) -> Result<(), Misfit> {
        if self.cluster.is_empty() {
            return Err(Misfit::new("cluster", "a name is needed"));
        }
        if !self.complete {
            return Err(Misfit::new("complete", "half a connection is of no use"));
        }
        Ok(())
    }
}

/// What the account may do.
fn rules() -> Json {
    json!([
        { "apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "patch", "delete"] },
        { "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"] },
        { "apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"] },
        { "nonResourceURLs": ["/"], "verbs": ["get"] },
    ])
}

impl CapiConnection {
    fn namespace(&self, looking: &Looking) -> String {
        self.namespace.clone().unwrap_or_else(|| looking.namespace.to_string())
    }

    /// Everything that spans the cluster has the namespace in its name.
    fn account(&self, namespace: &str) -> Account {
        let labels = BTreeMap::from([(CLUSTER.to_owned(), self.cluster.clone())]);
        let name = format!("{namespace}-{}-capi-remote", self.cluster);
        Account { namespace: namespace.to_owned(), name, labels }
    }

    fn secret_name(&self) -> String {
        format!("{}-kubeconfig", self.cluster)
    }

    /// Removes all of it; what stays, in words.
    async fn remove(&self, writer: &Acting) -> Result<Option<String>, Error> {
        let namespace = self.namespace(&writer.looking);
        let account = self.account(&namespace);
        // Authority first: the binding goes with the account, and the role grants nothing any more.
        let stays = account.remove(writer).await?;
        let (role, name) = (roles().one("", &account.name), self.secret_name());
        for place in [role, secrets().one(&namespace, &name)] {
            writer.delete(&place, "").await?;
            gone(&writer.looking, &place, "", PATIENCE).await?;
        }
        Ok(stays)
    }

    async fn server(&self, looking: &Looking) -> Result<String, Error> {
        if let Some(server) = self.server.as_ref().filter(|server| !server.is_empty()) {
            return Ok(server.clone());
        }
        let service = client::Resource::core("Service", "services", true).one("default", "kubernetes");
        let found = looking.get(&service).await?;
        let address = found.as_ref().map(|service| text(service, &["spec", "clusterIP"])).unwrap_or_default();
        if address.is_empty() || address == "None" {
            let error = Error::permanent("the cluster has no Service `default/kubernetes` with an address");
            return Err(error.help("say in `server` how pods reach the API server"));
        }
        let address = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
        Ok(format!("https://{address}:443"))
    }
}

impl ApiKind for CapiConnection {
    type Reader = Looking;
    type Writer = Acting;

    async fn observe(
        reader: &Looking,
        batch: Vec<At<CapiConnection>>,
    ) -> Vec<Result<Option<CapiConnection>, Error>> {
        join_all(batch.into_iter().map(|at| observe(reader, at))).await
    }

    async fn apply(self, writer: &Acting, _: Change<CapiConnection>) -> Result<CapiConnection, Error> {
        let namespace = self.namespace(&writer.looking);
        let account = self.account(&namespace);
        let server = self.server(&writer.looking).await?;
        let found = account.find(&writer.looking).await?;
        found.check_binding(&account, &writer.looking.manager)?;
        let credentials = account.make(writer).await?;
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": { "name": account.name, "labels": account.labels }, "rules": rules(),
        });
        writer.apply(&roles().one("", &account.name), &role, true).await.map_err(Error::from)?;
        account.bind(writer, &account.name, found.binding.as_ref()).await?;
        let kubeconfig = credentials.kubeconfig(&server, &account.name);
        let name = self.secret_name();
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "cluster.x-k8s.io/secret",
            "metadata": { "name": name, "labels": account.labels },
            "data": { "value": BASE64_STANDARD.encode(&kubeconfig) },
        });
        writer.apply(&secrets().one(&namespace, &name), &secret, true).await.map_err(Error::from)?;
        Ok(CapiConnection {
            namespace: Some(namespace),
            server: Some(server),
            kubeconfig: Some(kubeconfig),
            ..self
        })
    }

    async fn destroy(writer: &Acting, observed: CapiConnection) -> Result<(), Error> {
        observed.remove(writer).await.map(drop)
    }

    async fn destroy_in_time(
        writer: &Acting,
        observed: CapiConnection,
        run: &dyn Journal,
    ) -> Result<(), Error> {
        observed.remove(writer).await?.into_iter().for_each(|left| run.warn(left));
        Ok(())
    }

    const REHEARSES: bool = true;

    async fn rehearse(self, reader: &Looking) -> Result<(), Error> {
        // Who may not look at bindings is told when it is bound.
        let account = self.account(&self.namespace(reader));
        let Ok(found) = account.find(reader).await else { return Ok(()) };
        found.check_binding(&account, &reader.manager)
    }
}

async fn observe(reader: &Looking, at: At<CapiConnection>) -> Result<Option<CapiConnection>, Error> {
    let asked = match at {
        At::Recorded(asked) | At::Declared(asked) | At::Begun { wish: asked, .. } => asked,
        At::Id(_) => return Ok(None),
    };
    let namespace = asked.namespace(reader);
    let account = asked.account(&namespace);
    let found = account.find(reader).await?;
    let role = reader.get(&roles().one("", &account.name)).await?;
    let name = asked.secret_name();
    let secret = reader.get(&secrets().one(&namespace, &name)).await?;
    if found.is_nothing(&account) && role.is_none() && secret.is_none() {
        return Ok(None);
    }
    let kubeconfig = secret.as_ref().and_then(|secret| decoded(text(secret, &["data", "value"])));
    // JSON is what we write; a kubeconfig of somebody else is shown as one that does not fit.
    let written: Json =
        kubeconfig.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let server = written["clusters"][0]["cluster"]["server"].as_str().map(str::to_owned);
    // Whoever may not see where the server is takes it from the Secret.
    let expected = asked.server(reader).await.ok().or_else(|| server.clone());
    let fits = found.credentials(reader).zip(expected.as_ref()).is_some_and(|(credentials, server)| {
        kubeconfig.as_deref() == Some(&*credentials.kubeconfig(server, &account.name))
    });
    let is_allowed = role.as_ref().is_some_and(|role| role["rules"] == rules());
    let is_bound = found.role(&account).as_deref() == Some(&*account.name);
    let is_labelled =
        secret.as_ref().is_some_and(|secret| text(secret, &["metadata", "labels", CLUSTER]) == asked.cluster);
    Ok(Some(CapiConnection {
        namespace: Some(namespace),
        server,
        complete: fits && is_allowed && is_bound && is_labelled,
        kubeconfig,
        ..asked
    }))
}
