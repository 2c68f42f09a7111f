//! The way to a service of CI that takes a token and answers in JSON.

use std::time::Duration;

use fleet_engine::finding::table;
use fleet_engine::host::reach::Secret;
use fleet_engine::resource::Error;
use fleet_transport::http::{self, Answer, Class, Outcome, Reader, Verb, Writer};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most that is asked for at once.
const PAGE: &str = "100";

/// What is particular about a service.
#[derive(Debug)]
pub(crate) struct Manner {
    /// What people call it.
    pub(crate) name: &'static str,
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
}

/// Looks. It has no way to change anything.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    manner: &'static Manner,
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

/// Connects; nothing is sent yet.
pub(crate) fn connect(
    manner: &'static Manner,
    url: &str,
    token: &Secret,
) -> Result<(Asking, Changing), Error> {
    let (reader, writer) = http::connect(&http::Options {
        name: manner.name,
        url,
        header: manner.header,
        credential: &Secret(format!("{}{}", manner.before, token.0)),
        headers: &[("accept", "application/json")],
        request_id: manner.request_id,
        timeout: PATIENCE,
    })?;
    Ok((Asking { manner, reader }, Changing { manner, writer }))
}

impl Asking {
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

    /// A whole list, page after page. It may be below a name of its own, or the whole answer.
    pub(crate) async fn all<T: DeserializeOwned>(
        &self,
        doing: &str,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Vec<T>, Error> {
        let mut all = Vec::new();
        for page in 1_usize.. {
            let number = page.to_string();
            let mut asked = vec![(self.manner.page_size, PAGE), ("page", &*number)];
            asked.extend(query);
            let answer = understand(self.manner, doing, self.reader.get(doing, path, &asked).await?)?;
            let items: Vec<T> = json_of(doing, &answer)?;
            let is_last =
                items.is_empty() || answer.header("link").is_none_or(|link| !link.contains("rel=\"next\""));
            all.extend(items);
            if is_last {
                break;
            }
        }
        Ok(all)
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
            Outcome::Answered(answer) => understand(self.manner, doing, answer),
            Outcome::NotSent(error) | Outcome::Unsettled(error) => Err(Refusal::Other(error)),
        }
    }
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
