//! The two sides of Forgejo's API.
//!
//! What is relied on: a list has only what belongs to the place itself, not what it inherits; its pages have a header `Link`,
//! whatever size was asked for, and begin with the runner that was there last, so that they change while they are read.
//! A runner is `offline`, `idle` or `active`, and active as long as its agent tells of a job. Its labels come from its agent alone. Names are not unique, and a runner is deleted whether it has a job or not.

use fleet_engine::host::reach::Secret;
use fleet_engine::provider::Standing;
use fleet_engine::resource::Error;
use fleet_transport::http::Verb;
use serde::Deserialize;
use serde_json::json;

use super::scope::Scope;
use crate::registrar::service::{self, Account, Asking, Changing, Manner, json_of};
use crate::registrar::{Prepared, Registered, Registrar, Removed, Roster, free_name};

pub(super) const MANNER: Manner = Manner {
    name: "Forgejo",
    provider: "forgejo",
    home: None,
    api: "/api/v1",
    header: "authorization",
    before: "token ",
    request_id: "x-request-id",
    not_taken: "check `token` of the provider, or `FORGEJO_TOKEN`: it is wrong or revoked",
    not_allowed: "the token lacks the scope that is named (`write:organization`, `write:repository`, `write:user` or `write:admin` \
                  for runners, `read:user` for whose it is), or its owner may not do this there",
    page_size: "limit",
    total: "x-total-count",
    since: "Forgejo 15",
};

/// Looks. It has no way to change anything.
#[derive(Clone, Debug)]
pub struct Looking(Asking);

/// Changes runners.
#[derive(Clone, Debug)]
pub struct Acting {
    looking: Looking,
    changing: Changing,
}

#[derive(Deserialize)]
struct Runner {
    id: i64,
    #[serde(default)]
    name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    labels: Option<Vec<String>>,
    /// The version that its agent said it is.
    #[serde(default)]
    version: String,
}

#[derive(Deserialize)]
struct Made {
    uuid: String,
    token: String,
}

#[derive(Deserialize)]
struct User {
    login: String,
}

/// Connects; nothing is sent yet.
pub(super) fn connect(account: &Account) -> Result<Acting, Error> {
    let (asking, changing) = service::connect(&MANNER, account)?;
    Ok(Acting { looking: Looking(asking), changing })
}

impl Looking {
    /// A place on this server.
    fn scope(&self, url: &str) -> Result<Scope, Error> {
        let scope = Scope::of(url)?;
        self.0.check_server(url).map(|()| scope)
    }

    /// What Forgejo says of the token. Such tokens do not end by themselves.
    pub(super) async fn standing(&self) -> Result<Standing, Error> {
        let user: User = self.0.get("cannot ask Forgejo about the token", &["user"]).await?;
        Ok(Standing { who: format!("a token of {}", user.login), until: None, warnings: Vec::new() })
    }
}

impl Roster for Looking {
    async fn list(&self, url: &str) -> Result<Vec<Registered>, Error> {
        let doing = format!("cannot list the runners at {url}");
        let scope = self.scope(url)?;
        let runners: Vec<Runner> =
            self.0.all(&doing, &scope.runners(None), &[], |runner: &Runner| runner.id).await?;
        Ok(runners.into_iter().map(Registered::from).collect())
    }
}

impl Acting {
    /// The side that only looks.
    pub(super) fn looking(&self) -> &Looking {
        &self.looking
    }

    async fn delete(&self, scope: &Scope, id: i64) -> Result<(), Error> {
        let doing = format!("cannot deregister runner {id}");
        self.changing.delete(&doing, &scope.runners(Some(&id.to_string()))).await
    }
}

impl Roster for Acting {
    async fn list(&self, url: &str) -> Result<Vec<Registered>, Error> {
        self.looking.list(url).await
    }
}

impl Registrar for Acting {
    async fn prepare(&self, url: &str, wish: &Prepared) -> Result<Secret, Error> {
        let scope = self.looking.scope(url)?;
        let doing = format!("cannot make the runner `{}` at {url}", wish.name);
        // Forgejo itself would make a second one of the same name.
        free_name(self, &doing, url, &wish.name, |id| self.delete(&scope, id)).await?;
        let body = json!({ "name": wish.name });
        let answer = self.changing.send(&doing, Verb::Post, &scope.runners(None), Some(&body)).await?;
        let Made { uuid, token } = json_of(&doing, &answer)?;
        Ok(Secret(json!({ "url": scope.server, "uuid": uuid, "token": token }).to_string()))
    }

    /// Forgejo would cut a job short, and cannot keep a runner from new ones: so it is looked at right before it goes.
    async fn remove(&self, url: &str, id: i64) -> Result<Removed, Error> {
        let scope = self.looking.scope(url)?;
        let doing = format!("cannot look at runner {id}");
        let found: Option<Runner> =
            self.looking.0.find(&doing, &scope.runners(Some(&id.to_string()))).await?;
        match found.map(Registered::from) {
            None => Ok(Removed::Gone),
            Some(runner) if runner.busy => Ok(Removed::Busy),
            Some(_) => self.delete(&scope, id).await.map(|()| Removed::Gone),
        }
    }
}

impl From<Runner> for Registered {
    fn from(runner: Runner) -> Registered {
        let mut labels = runner.labels.unwrap_or_default();
        labels.sort();
        let online = matches!(&*runner.status, "idle" | "active");
        Registered {
            id: runner.id,
            name: runner.name,
            // Forgejo does not know it.
            os: String::new(),
            online,
            busy: runner.status == "active",
            was_seen: online || !runner.version.is_empty() || !labels.is_empty(),
            labels,
            group: None,
            paused: false,
        }
    }
}
