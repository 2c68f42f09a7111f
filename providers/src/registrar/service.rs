//! The way to a service of CI that takes a token and answers in JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use fleet_engine::finding::table;
use fleet_engine::host::reach::Secret;
use fleet_engine::resource::Error;
use fleet_transport::http::{self, Answer, Class, Outcome, Reader, Verb, Writer};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often a list is read that changes while it is read.
const READINGS: usize = 4;

/// The most that is asked for at once.
const PAGE: &str = "100";

/// What is particular about a service.
#[derive(Debug)]
pub(crate) struct Manner {
    /// What people call it.
    pub(crate) name: &'static str,
    /// The name of its provider, by which its variables begin in capitals.
    pub(crate) provider: &'static str,
    /// Where it is unless somebody says otherwise; none if everybody has an own one.
    pub(crate) home: Option<&'static str>,
    /// Where its API is on a server.
    pub(crate) api: &'static str,
    /// The header that carries the token.
    pub(crate) header: &'static str,
    /// What stands before the token there.
    pub(crate) before: &'static str,
    /// The header by which it names a request.
    pub(crate) request_id: &'static str,
    /// What to do about a token that is not taken.
    pub(crate) not_taken: &'static str,
    /// What to do about one that may not do this.
    pub(crate) not_allowed: &'static str,
    /// How it names the size of a page.
    pub(crate) page_size: &'static str,
    /// The header that tells how many there are on all pages.
    pub(crate) total: &'static str,
    /// From which version on it makes runners.
    pub(crate) since: &'static str,
}

/// What the settings of a provider say.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) url: Option<String>,
    pub(crate) api_url: Option<String>,
    pub(crate) token: Option<String>,
}

/// The environment variables of a service. Some of them are secret.
#[derive(Clone)]
pub(crate) struct Variables(BTreeMap<String, String>);

/// As whom, and where: with nothing left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    /// Where people see it.
    url: String,
    api_url: String,
    token: Secret,
}

/// Looks. It has no way to change anything.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    manner: &'static Manner,
    /// Where people see it.
    url: String,
    reader: Reader,
}

/// Changes something.
#[derive(Clone, Debug)]
pub(crate) struct Changing {
    manner: &'static Manner,
    writer: Writer,
}

/// Why a service did not do something.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It is not there, or may not be seen.
    NotFound(Error),
    /// Something else.
    Other(Error),
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        match refusal {
            Refusal::NotFound(error) | Refusal::Other(error) => error,
        }
    }
}

impl Manner {
    /// The name of one of its variables.
    fn variable(&self, name: &str) -> String {
        format!("{}_{name}", self.provider.to_uppercase())
    }

    /// Completes what its settings say from its variables.
    pub(crate) fn account(&self, variables: &Variables, said: Said) -> Result<Account, Error> {
        let clean = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let known = |said: Option<String>, variable: &str| {
            said.and_then(clean).or_else(|| variables.0.get(variable).cloned().and_then(clean))
        };
        let or_else = |said: Option<String>, attribute: &str| {
            let variable = self.variable(&attribute.to_uppercase());
            known(said, &variable).ok_or_else(|| {
                let provider = self.provider;
                Error::permanent(format!(
                    "provider `{provider}` has no `{attribute}`, and `{variable}` is not set"
                ))
                .help(format!(
                    "write `{attribute}` in `provider \"{provider}\" {{ … }}`, or set `{variable}`"
                ))
            })
        };
        let server = |url: String| url.trim_end_matches('/').trim_end_matches(self.api).to_owned();
        let url = or_else(said.url, "url").or_else(|error| self.home.map(str::to_owned).ok_or(error))?;
        let url = server(url);
        let reached = known(said.api_url, &self.variable("API_URL")).map_or_else(|| url.clone(), server);
        let token = Secret(or_else(said.token, "token")?);
        Ok(Account { url, api_url: format!("{reached}{}", self.api), token })
    }
}

impl Variables {
    /// Those of a service.
    pub(crate) fn of(manner: &Manner, environment: &BTreeMap<String, String>) -> Variables {
        let own = environment.iter().filter(|(name, _)| name.starts_with(&manner.variable("")));
        Variables(own.map(|(name, value)| (name.clone(), value.clone())).collect())
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variables").finish_non_exhaustive()
    }
}

/// Connects; nothing is sent yet.
pub(crate) fn connect(manner: &'static Manner, account: &Account) -> Result<(Asking, Changing), Error> {
    let (reader, writer) = http::connect(&http::Options {
        name: manner.name,
        url: &account.api_url,
        header: manner.header,
        credential: &Secret(format!("{}{}", manner.before, account.token.0)),
        headers: &[("accept", "application/json")],
        request_id: manner.request_id,
        timeout: PATIENCE,
    })?;
    Ok((Asking { manner, url: account.url.clone(), reader }, Changing { manner, writer }))
}

impl Asking {
    /// Refuses the address of a place on another server: what is there has the same names, and is something else.
    pub(crate) fn check_server(&self, url: &str) -> Result<(), Error> {
        if authority(url).eq_ignore_ascii_case(authority(&self.url)) {
            return Ok(());
        }
        let Manner { provider, name, .. } = self.manner;
        Err(Error::permanent(format!("{url} is not at {}, which is the {name} of this provider", self.url))
            .help(format!(
                "correct the address, or use a `provider \"{provider}\"` whose `url` is that server"
            )))
    }

    /// Something; none if it is not there.
    pub(crate) async fn find<T: DeserializeOwned>(
        &self,
        doing: &str,
        path: &[&str],
    ) -> Result<Option<T>, Error> {
        match understand(self.manner, doing, self.reader.get(doing, path, &[]).await?) {
            Ok(answer) => json_of(doing, &answer).map(Some),
            Err(Refusal::NotFound(_)) => Ok(None),
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Something that has to be there.
    pub(crate) async fn get<T: DeserializeOwned>(&self, doing: &str, path: &[&str]) -> Result<T, Error> {
        let answer = understand(self.manner, doing, self.reader.get(doing, path, &[]).await?)?;
        json_of(doing, &answer)
    }

    /// A whole list. It is read again if something moved from one page to another meanwhile.
    pub(crate) async fn all<T: DeserializeOwned>(
        &self,
        doing: &str,
        path: &[&str],
        query: &[(&str, &str)],
        number: fn(&T) -> i64,
    ) -> Result<Vec<T>, Error> {
        for _ in 0..READINGS {
            let (items, total) = self.pages(doing, path, query).await?;
            let known: BTreeSet<i64> = items.iter().map(number).collect();
            if known.len() == items.len() && total.is_none_or(|total| total == items.len()) {
                return Ok(items);
            }
        }
        Err(Error::transient(format!("{doing}: the list changed while it was read, {READINGS} times")))
    }

    /// All pages of a list as they are now, and how many things are said to be on them, where it is said.
    async fn pages<T: DeserializeOwned>(
        &self,
        doing: &str,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<(Vec<T>, Option<usize>), Error> {
        let (mut all, mut total) = (Vec::new(), None);
        for page in 1_usize.. {
            let number = page.to_string();
            let mut asked = vec![(self.manner.page_size, PAGE), ("page", &*number)];
            asked.extend(query);
            let answer = understand(self.manner, doing, self.reader.get(doing, path, &asked).await?)?;
            let items: Vec<T> = json_of(doing, &answer)?;
            let is_last =
                items.is_empty() || answer.header("link").is_none_or(|link| !link.contains("rel=\"next\""));
            all.extend(items);
            total = answer.header(self.manner.total).and_then(|total| total.parse().ok());
            if is_last {
                break;
            }
        }
        Ok((all, total))
    }
}

impl Changing {
    /// Sends a change. The engine looks before it tries again, so what got no answer may be sent anew.
    pub(crate) async fn send(
        &self,
        doing: &str,
        verb: Verb,
        path: &[&str],
        body: Option<&Json>,
    ) -> Result<Answer, Refusal> {
        match self.writer.send(doing, verb, path, body).await {
            Outcome::Answered(answer) => {
                let is_unknown = verb == Verb::Post && matches!(answer.status, 404 | 405);
                let since = self.manner.since;
                let hint = |error: Error| {
                    error.help(format!(
                        "check the address, and that the token may see it; and see that it is {since} or newer"
                    ))
                };
                understand(self.manner, doing, answer).map_err(|refusal| match refusal {
                    refusal if !is_unknown => refusal,
                    Refusal::NotFound(error) => Refusal::NotFound(hint(error)),
                    Refusal::Other(error) => Refusal::Other(hint(error)),
                })
            }
            Outcome::NotSent(error) | Outcome::Unsettled(error) => Err(Refusal::Other(error)),
        }
    }

    /// Deletes something; it may be gone already.
    pub(crate) async fn delete(&self, doing: &str, path: &[&str]) -> Result<(), Error> {
        match self.send(doing, Verb::Delete, path, None).await {
            Ok(_) | Err(Refusal::NotFound(_)) => Ok(()),
            Err(refusal) => Err(refusal.into()),
        }
    }
}

/// The host and the port of an address.
fn authority(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    rest.split('/').next().unwrap_or(rest)
}

/// What an answer holds.
pub(crate) fn json_of<T: DeserializeOwned>(doing: &str, answer: &Answer) -> Result<T, Error> {
    answer.json().map_err(|mut error| {
        error.message = format!("{doing}: {}", error.message);
        error
    })
}

/// What an answer means; `Ok` if it has what was asked for.
fn understand(manner: &Manner, doing: &str, answer: Answer) -> Result<Answer, Refusal> {
    let after = match answer.class() {
        Class::Done => return Ok(answer),
        Class::Later(after) => Some(after),
        Class::Refused => None,
    };
    let said = answer.clean(&answer.told().as_ref().map(words).unwrap_or_default());
    let said = if said.is_empty() { format!("it answered {}", answer.status) } else { said };
    let message = format!("{doing}: {said}{}", answer.request());
    let refused = |help: &str| Error::permanent(message.clone()).help(help);
    Err(match (answer.status, after) {
        (_, Some(after)) => Refusal::Other(after.into_iter().fold(Error::transient(message), Error::after)),
        (401, _) => Refusal::Other(refused(manner.not_taken).known(&table::EXPIRED_CREDENTIAL)),
        (403, _) => Refusal::Other(refused(manner.not_allowed)),
        (404, _) => {
            Refusal::NotFound(refused("it is not there, or the token may not see it: check the address"))
        }
        (400 | 409 | 422, _) => {
            Refusal::Other(refused("nothing was done: what is asked for has to be put right"))
        }
        _ => Refusal::Other(refused("check the `url` of the provider")),
    })
}

/// What a service says, in one line, in any of the forms that they have for it.
fn words(body: &Json) -> String {
    match body {
        Json::String(text) => text.clone(),
        Json::Array(items) => {
            items.iter().map(words).filter(|it| !it.is_empty()).collect::<Vec<_>>().join(", ")
        }
        Json::Object(fields) => {
            let known = ["message", "error_description", "error"].iter().find_map(|name| fields.get(*name));
            match known {
                Some(said) => words(said),
                None => fields
                    .iter()
                    .map(|(name, said)| format!("{name} {}", words(said)))
                    .collect::<Vec<_>>()
                    .join(", "),
            }
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MANNER: Manner = Manner {
        name: "Forge",
        provider: "forge",
        home: None,
        api: "/api/v4",
        header: "x",
        before: "",
        request_id: "x",
        not_taken: "",
        not_allowed: "",
        page_size: "limit",
        total: "x-total-count",
        since: "",
    };

    #[test]
    fn settings_go_before_variables() {
        let environment = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Variables::of(&MANNER, &pairs.collect())
        };
        let set = environment(&[("FORGE_TOKEN", "env"), ("FORGE_URL", "https://git.example.com/")]);
        let none = environment(&[("TOKEN", "env"), ("FORGERY", "env")]);
        assert!(none.0.is_empty() && !format!("{set:?}").contains("env"));
        let of = |manner: &Manner, variables: &Variables, url: Option<&str>, token: Option<&str>| {
            let (url, token) = (url.map(str::to_owned), token.map(str::to_owned));
            manner.account(variables, Said { url, token, api_url: None })
        };
        let account = |url: &str, token: &str| Account {
            url: url.trim_end_matches("/api/v4").into(),
            api_url: url.into(),
            token: Secret(token.into()),
        };
        let found = of(&MANNER, &set, None, None).unwrap();
        assert_eq!(found, account("https://git.example.com/api/v4", "env"));
        let said = of(&MANNER, &set, Some("https://a.example.com/api/v4"), Some(" x\n")).unwrap();
        assert_eq!(said, account("https://a.example.com/api/v4", "x"));
        for (url, token, expected) in
            [(Some("https://a.example.com"), Some(" "), "FORGE_TOKEN"), (None, Some("x"), "FORGE_URL")]
        {
            assert!(of(&MANNER, &none, url, token).unwrap_err().help.unwrap().contains(expected));
        }
        let known = Manner { home: Some("https://forge.example.com"), ..MANNER };
        let found = of(&known, &none, None, Some("x")).unwrap();
        assert_eq!(found, account("https://forge.example.com/api/v4", "x"));
        let behind = environment(&[("FORGE_API_URL", "http://10.0.0.7:3000/"), ("FORGE_TOKEN", "x")]);
        let found = of(&known, &behind, None, None).unwrap();
        assert_eq!(
            (&*found.url, &*found.api_url),
            ("https://forge.example.com", "http://10.0.0.7:3000/api/v4")
        );
    }

    #[test]
    fn a_complaint_is_one_line_whatever_its_form() {
        for (body, expected) in [
            (json!({ "message": "401 Unauthorized" }), "401 Unauthorized"),
            (
                json!({ "error": "insufficient_scope", "error_description": "too little", "scope": "api" }),
                "too little",
            ),
            (
                json!({ "message": { "tag_list": ["can't be blank", "too few"] } }),
                "tag_list can't be blank, too few",
            ),
            (json!({ "error": "name is missing" }), "name is missing"),
            (json!(7), ""),
        ] {
            assert_eq!(words(&body), expected);
        }
    }
}
