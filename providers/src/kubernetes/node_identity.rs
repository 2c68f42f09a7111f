//! `kubernetes_node_identity`: who the agent of a Mac is to the cluster.

use std::collections::BTreeMap;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::provider::Journal;
use fleet_engine::resource::{ApiKind, At, Change, Error, Resource, Weight};
use futures_util::future::join_all;

use super::account::{Account, Found, roles};
use super::client::{Acting, Looking};
use super::json::texts;
use super::owned;

/// The account of an agent, such as that of a Mac, with a token that lasts and a role: yields its kubeconfig.
///
/// It is a ServiceAccount, a Secret with its token and a ClusterRoleBinding, all of the same name. The role has to be there,
/// and whoever applies this needs the verb `bind` on it. On the way out, authority goes first: the binding, then the
/// token, then the account; a binding of that name that is for others, too, is theirs and stays, which is told. Nor is one
/// of others taken for the account: where the name is theirs, apply refuses. The kubeconfig is a secret: it is read when it is needed, and kept nowhere. Whoever
/// gets it trusts the server as fleet does: with `tls-server-name` if fleet's kubeconfig has it, and with
/// `insecure-skip-tls-verify` if fleet skips that for the same server.
///
/// ```hcl
/// resource "kubernetes_node_identity" "mini" {
///   name         = "tart-kubelet-mini-0"
///   cluster_role = "view"
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct NodeIdentity {
    /// The name of the account.
    #[fleet(replace)]
    name: String,
    /// The namespace of the account; that of the provider if it is left out.
    #[fleet(replace, optional_computed)]
    namespace: Option<String>,
    /// The ClusterRole that it is bound to.
    cluster_role: String,
    /// Whether there is a token. Without one, the account is of no use.
    #[fleet(default = true)]
    token: bool,
    /// Labels of all three objects.
    #[fleet(default = BTreeMap::new())]
    labels: BTreeMap<String, String>,
    /// The server that the kubeconfig names; the one that fleet talks to if it is left out.
    server: Option<String>,
    /// The kubeconfig of the account.
    #[fleet(computed, secret, follows = "token", follows = "server")]
    kubeconfig: Option<String>,
}

impl Resource for NodeIdentity {
    const NAME: &'static str = "kubernetes_node_identity";
    const ID: Option<&'static str> = Some("`namespace/name`");

    fn normalize(&mut self) -> Result<(), Misfit> {
        if self.name.is_empty() {
            return Err(Misfit::new("name", "a name is needed"));
        }
        if !self.token {
            return Err(Misfit::new("token", "an account without a token is of no use"));
        }
        Ok(())
    }
}

impl NodeIdentity {
    fn account(&self, looking: &Looking) -> Account {
        let namespace = self.namespace.clone().unwrap_or_else(|| looking.namespace.to_string());
        Account { namespace, name: self.name.clone(), labels: self.labels.clone() }
    }

    fn found(self, looking: &Looking, account: &Account, found: &Found) -> NodeIdentity {
        let labels = |object: &Option<serde_json::Value>| {
            object.as_ref().map(|object| owned::labels(object, &looking.manager, &self.labels))
        };
        // All three should have them: whoever differs is told.
        let all = [labels(&found.account), labels(&found.secret), labels(&found.binding)];
        let odd = all.into_iter().flatten().find(|labels| *labels != self.labels);
        let credentials = found.credentials(looking);
        let server = self.server.clone().unwrap_or_else(|| looking.server.to_string());
        NodeIdentity {
            namespace: Some(account.namespace.clone()),
            cluster_role: found.role(account).unwrap_or_default(),
            token: credentials.is_some(),
            labels: odd.unwrap_or_else(|| self.labels.clone()),
            kubeconfig: credentials.map(|credentials| credentials.kubeconfig(&server, &account.name)),
            ..self
        }
    }
}

impl ApiKind for NodeIdentity {
    type Reader = Looking;
    type Writer = Acting;

    async fn observe(
        reader: &Looking,
        batch: Vec<At<NodeIdentity>>,
    ) -> Vec<Result<Option<NodeIdentity>, Error>> {
        join_all(batch.into_iter().map(|at| observe(reader, at))).await
    }

    async fn apply(self, writer: &Acting, _: Change<NodeIdentity>) -> Result<NodeIdentity, Error> {
        let account = self.account(&writer.looking);
        let found = account.find(&writer.looking).await?;
        found.check_binding(&account, &writer.looking.manager)?;
        let credentials = account.make(writer).await?;
        account.bind(writer, &self.cluster_role, found.binding.as_ref()).await?;
        let server = self.server.clone().unwrap_or_else(|| writer.looking.server.to_string());
        let kubeconfig = Some(credentials.kubeconfig(&server, &account.name));
        Ok(NodeIdentity { namespace: Some(account.namespace), kubeconfig, ..self })
    }

    async fn destroy(writer: &Acting, observed: NodeIdentity) -> Result<(), Error> {
        observed.account(&writer.looking).remove(writer).await.map(drop)
    }

    async fn destroy_in_time(
        writer: &Acting,
        observed: NodeIdentity,
        run: &dyn Journal,
    ) -> Result<(), Error> {
        observed.account(&writer.looking).remove(writer).await?.into_iter().for_each(|left| run.warn(left));
        Ok(())
    }

    const REHEARSES: bool = true;

    async fn rehearse(self, reader: &Looking) -> Result<(), Error> {
        // Who may not look at bindings is told when it is bound.
        let account = self.account(reader);
        if let Ok(found) = account.find(reader).await {
            found.check_binding(&account, &reader.manager)?;
        }
        // Who may not look at roles is not told of one that is missing.
        let Ok(None) = reader.get(&roles().one("", &self.cluster_role)).await else { return Ok(()) };
        let error = Error::permanent(format!("there is no ClusterRole `{}` to bind to", self.cluster_role));
        let help =
            "the cluster binds to it all the same, and the account may do nothing until somebody makes it";
        Err(error.help(help).weighs(Weight::Perhaps))
    }
}

async fn observe(reader: &Looking, at: At<NodeIdentity>) -> Result<Option<NodeIdentity>, Error> {
    let asked = match at {
        At::Recorded(asked) | At::Declared(asked) | At::Begun { wish: asked, .. } => asked,
        At::Id(id) => {
            let (namespace, name) = id.split_once('/').unwrap_or((&*reader.namespace, &*id));
            let account = Account { namespace: namespace.into(), name: name.into(), labels: BTreeMap::new() };
            let labels =
                account.find(reader).await?.account.map(|account| texts(&account["metadata"]["labels"]));
            NodeIdentity {
                name: name.to_owned(),
                namespace: Some(namespace.to_owned()),
                cluster_role: String::new(),
                token: true,
                labels: labels.unwrap_or_default(),
                server: None,
                kubeconfig: None,
            }
        }
    };
    let account = asked.account(reader);
    let found = account.find(reader).await?;
    if found.is_nothing(&account) {
        return Ok(None);
    }
    Ok(Some(asked.found(reader, &account, &found)))
}
