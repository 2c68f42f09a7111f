//! `test_server`: something with an id that only the other side knows.

use std::collections::BTreeMap;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::resource::{ApiKind, At, Change, Disruption, Error, Resource, Touch};
use serde::{Deserialize, Serialize};

use crate::provider::{Acting, Looking};

/// A server in the test world.
///
/// It is found by its id, and by name and zone as long as nothing was recorded. Asking for it twice makes two.
///
/// ```hcl
/// resource "test_server" "web" {
///   name   = "web"
///   size   = 2
///   labels = { tier = "front" }
///   routes = { "10.0.0.0/8" = ["a", "b"] }
/// }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Schema, Serialize, Deserialize)]
pub struct Server {
    /// What it is called.
    #[fleet(replace)]
    pub name: String,
    /// Where it stands.
    #[fleet(replace, default = "a")]
    pub zone: String,
    /// How large it is. At least 1.
    #[fleet(default = 1)]
    pub size: i64,
    /// What it starts from, in lower case. Left out, the world chooses.
    #[fleet(optional_computed)]
    pub image: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Words about it.
    #[fleet(default = BTreeMap::new())]
    pub labels: BTreeMap<String, String>,
    /// The ports it listens on, in order of importance.
    #[fleet(default = Vec::new())]
    pub ports: Vec<i64>,
    /// Where it sends what goes to a network: gateways, the best first.
    #[fleet(default = BTreeMap::new())]
    pub routes: BTreeMap<String, Vec<String>>,
    /// What opens it. The world shows it to whoever holds the token.
    #[fleet(secret)]
    pub password: Option<String>,
    /// What it joins its cluster with. The world never shows it.
    #[fleet(secret, write_only)]
    pub join_token: Option<String>,
    /// Given by the world.
    #[fleet(computed)]
    pub id: Option<String>,
    /// Where it is reached; it moves when its size changes.
    #[fleet(computed, follows = "size")]
    pub address: Option<String>,
    /// What opens its console, given by the world.
    #[fleet(computed, secret)]
    pub console_key: Option<String>,
}

impl Resource for Server {
    const NAME: &'static str = "test_server";
    const ID: Option<&'static str> = Some("the id that the world gave it");

    fn normalize(&mut self) -> Result<(), Misfit> {
        if self.name.is_empty() {
            return Err(Misfit::new("name", "a name is needed"));
        }
        if self.size < 1 {
            return Err(Misfit::new("size", "at least 1 is needed"));
        }
        self.image = self.image.as_ref().map(|image| image.to_lowercase());
        Ok(())
    }

    fn disrupts(touch: Touch<'_>) -> Disruption {
        match touch {
            Touch::Update(names) if names.contains(&"size") => Disruption::Thing,
            Touch::Destroy => Disruption::Thing,
            Touch::Create | Touch::Update(_) => Disruption::Nothing,
        }
    }
}

impl ApiKind for Server {
    type Reader = Looking;
    type Writer = Acting;

    async fn observe(reader: &Looking, batch: Vec<At<Server>>) -> Vec<Result<Option<Server>, Error>> {
        // One is asked for by its id; of many, one list costs a single call.
        if let [at] = &batch[..]
            && let Some(id) = id_of(at)
        {
            return vec![reader.server(id).await];
        }
        match reader.servers().await {
            Ok(all) => batch.iter().map(|at| find(&all, at)).collect(),
            Err(error) => batch.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    async fn apply(self, writer: &Acting, change: Change<Server>) -> Result<Server, Error> {
        match change {
            Change::Create => writer.create(&self).await,
            Change::Update { from } => writer.update(&known_id(&from)?, &self).await,
        }
    }

    async fn destroy(writer: &Acting, observed: Server) -> Result<(), Error> {
        writer.delete(&known_id(&observed)?).await
    }
}

/// Finds a server by name and zone. Two of them are one too many.
pub(crate) fn named<'a>(all: &'a [Server], name: &str, zone: &str) -> Result<Option<&'a Server>, Error> {
    let mut found = all.iter().filter(|server| server.name == name && server.zone == zone);
    match (found.next(), found.count()) {
        (found, 0) => Ok(found),
        (_, more) => {
            let message = format!("{} servers in zone `{zone}` are named `{name}`", more + 1);
            Err(Error::permanent(message).help("remove those that are not wanted"))
        }
    }
}

fn find(all: &[Server], at: &At<Server>) -> Result<Option<Server>, Error> {
    match (id_of(at), at) {
        (None, At::Recorded(server) | At::Declared(server)) => {
            named(all, &server.name, &server.zone).map(Option::<&Server>::cloned)
        }
        (None, At::Begun { wish, except }) => {
            let is_known = |server: &Server| except.iter().any(|known| known.id == server.id);
            let others: Vec<Server> = all.iter().filter(|server| !is_known(server)).cloned().collect();
            named(&others, &wish.name, &wish.zone).map(Option::<&Server>::cloned)
        }
        (id, _) => Ok(all.iter().find(|server| server.id.as_deref() == id).cloned()),
    }
}

fn id_of(at: &At<Server>) -> Option<&str> {
    match at {
        At::Recorded(server) => server.id.as_deref(),
        At::Declared(_) | At::Begun { .. } => None,
        At::Id(id) => Some(id),
    }
}

fn known_id(server: &Server) -> Result<String, Error> {
    server.id.clone().ok_or_else(|| Error::permanent("the world gave a server without an id"))
}
