//! The two sides of GitLab's API.

use fleet_engine::host::reach::Secret;
use fleet_engine::provider::Standing;
use fleet_engine::resource::Error;
use fleet_transport::http::Verb;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::scope::Scope;
use crate::registrar::service::{self, Account, Asking, Changing, Manner, json_of};
use crate::registrar::{Prepared, Registered, Registrar, Removed, Roster, free_name};

/// So many runners are asked about at once.
const AT_ONCE: usize = 8;

pub(super) const MANNER: Manner = Manner {
    name: "GitLab",
    provider: "gitlab",
    home: Some("https://gitlab.com"),
    api: "/api/v4",
    header: "private-token",
    before: "",
    request_id: "x-request-id",
    not_taken: "check `token` of the provider, or `GITLAB_TOKEN`: it is wrong, expired or revoked",
    not_allowed: "the token lacks a scope (`create_runner` and `manage_runner`, or `api`), or its role may not do this there",
    page_size: "per_page",
    total: "x-total",
    since: "GitLab 16",
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
struct Numbered {
    id: i64,
}

impl Numbered {
    fn id(&self) -> i64 {
        self.id
    }
}

/// A runner, with all that GitLab tells of one.
#[derive(Deserialize)]
struct Runner {
    id: i64,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    platform: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    paused: bool,
    #[serde(default)]
    tag_list: Vec<String>,
}

#[derive(Deserialize)]
struct Made {
    token: String,
}

#[derive(Deserialize)]
struct Token {
    #[serde(default)]
    name: String,
    /// A day.
    #[serde(default)]
    expires_at: Option<String>,
}

/// Connects; nothing is sent yet.
pub(super) fn connect(account: &Account) -> Result<Acting, Error> {
    let (asking, changing) = service::connect(&MANNER, account)?;
    Ok(Acting { looking: Looking(asking), changing })
}

impl Looking {
    /// What GitLab says of the token.
    pub(super) async fn standing(&self) -> Result<Standing, Error> {
        let doing = "cannot ask GitLab about the token";
        let token: Token = self.0.get(doing, &["personal_access_tokens", "self"]).await?;
        // A token ends when its day begins.
        let until =
            token.expires_at.and_then(|day| humantime::parse_rfc3339(&format!("{day}T00:00:00Z")).ok());
        Ok(Standing { who: format!("the token {}", token.name), until, warnings: Vec::new() })
    }

    /// A place on this server.
    fn scope(&self, url: &str) -> Result<Scope, Error> {
        let scope = Scope::of(url)?;
        self.0.check_server(url).map(|()| scope)
    }

    /// All that GitLab tells of a runner; none if it is gone.
    async fn runner(&self, id: i64) -> Result<Option<Runner>, Error> {
        self.0.find(&format!("cannot look at runner {id}"), &["runners", &id.to_string()]).await
    }

    /// Whether a job runs on a runner.
    async fn is_busy(&self, id: i64) -> Result<bool, Error> {
        let doing = format!("cannot list the jobs of runner {id}");
        let path = ["runners", &id.to_string(), "jobs"];
        let jobs: Vec<Numbered> = self.0.all(&doing, &path, &[("status", "running")], Numbered::id).await?;
        Ok(!jobs.is_empty())
    }

    /// The same in the words of all services of CI. Only one that is online can have a job.
    async fn registered(&self, id: i64) -> Result<Option<Registered>, Error> {
        let Some(runner) = self.runner(id).await? else { return Ok(None) };
        let online = runner.status.as_deref() == Some("online");
        let mut labels = runner.tag_list;
        labels.sort();
        Ok(Some(Registered {
            id,
            name: runner.description.unwrap_or_default(),
            os: runner.platform.unwrap_or_default(),
            online,
            busy: online && self.is_busy(id).await?,
            labels,
            group: None,
            paused: runner.paused,
            was_seen: runner.status.as_deref() != Some("never_contacted"),
        }))
    }
}

impl Roster for Looking {
    async fn list(&self, url: &str) -> Result<Vec<Registered>, Error> {
        let scope = self.scope(url)?;
        let doing = format!("cannot list the runners at {url}");
        let query = [("type", scope.runner_type())];
        let known: Vec<Numbered> = self.0.all(&doing, &scope.runners(), &query, Numbered::id).await?;
        // The list has neither their tags nor their jobs.
        let runners = stream::iter(known).map(|Numbered { id }| self.registered(id)).buffered(AT_ONCE);
        runners.try_filter_map(|runner| async { Ok(runner) }).try_collect().await
    }
}

impl Acting {
    /// The side that only looks.
    pub(super) fn looking(&self) -> &Looking {
        &self.looking
    }

    /// Gives a runner these tags, in the place of those that it has.
    pub(super) async fn set_labels(&self, id: i64, labels: &[String]) -> Result<(), Error> {
        self.put(&format!("cannot set the tags of runner {id}"), id, &json!({ "tag_list": labels })).await
    }

    /// Lets a runner have no new jobs, or have them again.
    pub(super) async fn pause(&self, id: i64, is_paused: bool) -> Result<(), Error> {
        self.put(&format!("cannot pause runner {id}"), id, &json!({ "paused": is_paused })).await
    }

    async fn put(&self, doing: &str, id: i64, body: &Json) -> Result<(), Error> {
        self.changing.send(doing, Verb::Put, &["runners", &id.to_string()], Some(body)).await?;
        Ok(())
    }

    async fn delete(&self, id: i64) -> Result<(), Error> {
        let doing = format!("cannot deregister runner {id}");
        self.changing.delete(&doing, &["runners", &id.to_string()]).await
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
        // GitLab itself would make a second one of the same name.
        free_name(self, &doing, url, &wish.name, |id| self.delete(id)).await?;
        let mut body =
            json!({ "runner_type": scope.runner_type(), "description": wish.name, "tag_list": wish.labels });
        if let Some((path, name)) = scope.itself() {
            body[name] = json!(self.looking.0.get::<Numbered>(&doing, &path).await?.id);
        }
        let answer = self.changing.send(&doing, Verb::Post, &["user", "runners"], Some(&body)).await?;
        Ok(Secret(json_of::<Made>(&doing, &answer)?.token))
    }

    /// GitLab would cut a job short: so the runner gets no new one, is looked at, and goes only if none runs.
    async fn remove(&self, url: &str, id: i64) -> Result<Removed, Error> {
        self.looking.scope(url)?;
        let Some(before) = self.looking.runner(id).await? else { return Ok(Removed::Gone) };
        self.pause(before.id, true).await?;
        let removed = match self.looking.is_busy(id).await {
            Ok(true) => Ok(Removed::Busy),
            Ok(false) => self.delete(id).await.map(|()| Removed::Gone),
            Err(error) => Err(error),
        };
        if !before.paused && !matches!(removed, Ok(Removed::Gone)) {
            self.pause(id, false).await?;
        }
        removed
    }
}
