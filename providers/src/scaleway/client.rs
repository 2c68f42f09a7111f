//! The two sides of the vendor's API: [`Looking`] asks, [`Acting`] changes.

use std::sync::Arc;
use std::time::Duration;

use fleet_engine::resource::Error;
use fleet_transport::http::{self, Answer, Outcome, Verb};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::refusal::{Unmade, Unread, on_read, on_write};
use super::settings::Account;
use super::wire::{Os, Server};

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// As much of a list as the vendor gives at once.
const PAGE: &str = "100";

/// How often a list is begun anew that changed while it was read.
const ATTEMPTS: usize = 4;

/// Looks at an account. It has no way to change anything.
#[derive(Clone, Debug)]
pub struct Looking {
    http: http::Reader,
    pub(super) account: Arc<Account>,
}

/// Changes things of an account.
#[derive(Clone, Debug)]
pub struct Acting {
    http: http::Writer,
    pub(super) looking: Looking,
}

/// Connects to an account; nothing is sent yet.
pub(super) fn connect(account: Account) -> Result<Acting, Error> {
    let (reader, writer) = http::connect(&http::Options {
        name: "Scaleway",
        url: &account.api_url,
        header: "x-auth-token",
        credential: &account.secret_key,
        headers: &[],
        request_id: "x-request-id",
        timeout: PATIENCE,
    })?;
    Ok(Acting { http: writer, looking: Looking { http: reader, account: Arc::new(account) } })
}

/// Where the Macs of a zone are.
pub(super) fn macs(zone: &str) -> [&str; 4] {
    ["apple-silicon", "v1alpha1", "zones", zone]
}

/// Where private networks are.
pub(super) fn networks(region: &str) -> [&str; 5] {
    ["vpc", "v2", "regions", region, "private-networks"]
}

/// Where public keys are.
pub(super) const SSH_KEYS: [&str; 3] = ["iam", "v1alpha1", "ssh-keys"];

/// One path after the other.
pub(super) fn join<'a>(base: &[&'a str], rest: &[&'a str]) -> Vec<&'a str> {
    [base, rest].concat()
}

impl Looking {
    /// One thing.
    pub(super) async fn one<T: DeserializeOwned>(&self, doing: &str, path: &[&str]) -> Result<T, Unread> {
        let answer = self.http.get(doing, path, &[]).await.map_err(Unread::Failed)?;
        on_read(doing, &answer)?;
        read(doing, &answer).map_err(Unread::Failed)
    }

    /// A whole list, page after page. One that changes meanwhile is read anew: something could have slipped from a page
    /// that was still to come to one that was there before.
    pub(super) async fn all<T: DeserializeOwned>(
        &self,
        doing: &str,
        path: &[&str],
        query: &[(&str, &str)],
        name: &str,
    ) -> Result<Vec<T>, Error> {
        for _ in 0..ATTEMPTS {
            if let Some(all) = self.try_all(doing, path, query, name).await? {
                let typed = all.into_iter().map(serde_json::from_value).collect::<Result<_, _>>();
                return typed.map_err(|_| odd(doing, name));
            }
        }
        Err(Error::transient(format!("{doing}: the list changes faster than it can be read")))
    }

    async fn try_all(
        &self,
        doing: &str,
        path: &[&str],
        query: &[(&str, &str)],
        name: &str,
    ) -> Result<Option<Vec<Json>>, Error> {
        let (mut all, mut total) = (Vec::new(), None);
        for page in 1_usize.. {
            let number = page.to_string();
            let query = [query, &[("page", &*number), ("page_size", PAGE)]].concat();
            let answer = self.http.get(doing, path, &query).await?;
            on_read(doing, &answer)?;
            let mut body: Json = read(doing, &answer)?;
            let Json::Array(items) = body[name].take() else { return Err(odd(doing, name)) };
            let count = body["total_count"].as_u64();
            if page > 1 && count != total {
                return Ok(None);
            }
            total = count;
            let is_last = items.is_empty();
            all.extend(items);
            match total {
                // A list without a count has no pages.
                None => return Ok(Some(all)),
                Some(total) if all.len() as u64 >= total => return Ok(Some(all)),
                Some(_) if is_last => return Ok(None),
                Some(_) => {}
            }
        }
        Ok(None)
    }

    /// All servers of the project in a zone.
    pub(super) async fn servers(&self, doing: &str, zone: &str) -> Result<Vec<Server>, Error> {
        let query = [("project_id", &*self.account.project_id)];
        self.all(doing, &join(&macs(zone), &["servers"]), &query, "servers").await
    }

    /// One server of the project; none if it is certainly gone. An answer that only says "not allowed" is what the vendor
    /// says of deleted servers, too: so the list decides.
    pub(super) async fn server(&self, zone: &str, id: &str) -> Result<Option<Server>, Error> {
        let doing = format!("cannot look at server `{id}`");
        match self.one::<Server>(&doing, &join(&macs(zone), &["servers", id])).await {
            Ok(server) if server.project_id == self.account.project_id => Ok(Some(server)),
            Ok(server) => {
                let message = format!("server `{id}` belongs to another project, `{}`", server.project_id);
                Err(Error::permanent(message).help("check `project_id` of the provider"))
            }
            Err(Unread::Gone(_)) => Ok(None),
            Err(Unread::Failed(error)) => Err(error),
            Err(Unread::Perhaps(error)) => {
                let listed = self.servers(&doing, zone).await?;
                if listed.iter().any(|server| server.id == id) { Err(error) } else { Ok(None) }
            }
        }
    }

    /// The systems that can be installed in a zone.
    pub(super) async fn systems(&self, zone: &str) -> Result<Vec<Os>, Error> {
        self.all("cannot list the systems", &join(&macs(zone), &["os"]), &[], "os").await
    }
}

impl Acting {
    /// Sends one request, once.
    pub(super) async fn send(
        &self,
        doing: &str,
        verb: Verb,
        path: &[&str],
        body: Option<&Json>,
    ) -> Result<Answer, Unmade> {
        match self.http.send(doing, verb, path, body).await {
            Outcome::Answered(answer) => on_write(doing, &answer).map(|()| answer),
            Outcome::NotSent(error) => Err(Unmade::Refused(error)),
            Outcome::Unsettled(error) => Err(Unmade::Unsettled(error)),
        }
    }

    /// Makes something, and reads what came of it.
    pub(super) async fn make<T: DeserializeOwned>(
        &self,
        doing: &str,
        path: &[&str],
        body: &Json,
    ) -> Result<T, Error> {
        read(doing, &self.send(doing, Verb::Post, path, Some(body)).await?)
    }

    /// Removes something; that it is gone already is success.
    pub(super) async fn remove(&self, doing: &str, path: &[&str]) -> Result<(), Error> {
        match self.send(doing, Verb::Delete, path, None).await {
            Ok(_) | Err(Unmade::Gone(_)) => Ok(()),
            Err(unmade) => Err(unmade.into()),
        }
    }
}

fn read<T: DeserializeOwned>(doing: &str, answer: &Answer) -> Result<T, Error> {
    answer.json().map_err(|mut error| {
        error.message = format!("{doing}: {}", error.message);
        error
    })
}

/// A list that is none, or holds something else. What it holds is not repeated: it may be secret.
fn odd(doing: &str, name: &str) -> Error {
    let error = Error::permanent(format!("{doing}: the answer has no `{name}` that can be understood"));
    error.help("check `api_url` of the provider; the vendor may have changed its API")
}
