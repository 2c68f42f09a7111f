//! What GitHub's errors mean.
//!
//! Bodies are told apart by their status alone: their form differs, and some come from something in between.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fleet_engine::finding::table;
use fleet_engine::resource::Error;
use fleet_transport::http::{Answer, Class, Outcome};
use serde::Deserialize;
use serde_json::Value as Json;

/// How long to leave GitHub alone where it does not say.
const A_WHILE: Duration = Duration::from_secs(60);

/// The most of a text that is repeated.
const LONGEST: usize = 400;

/// Why something was not answered, or not done.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The credential is of no use (any more).
    Credential(Error),
    /// It is not there, or nobody may see it.
    NotFound(Error),
    /// Something of the same name is there.
    Exists(Error),
    /// It cannot be done as it is: the request is wrong, or something has to end first.
    Invalid(Error),
    /// Anything else, tried again where that may help.
    Other(Error),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    message: String,
    errors: Vec<Json>,
}

/// What an answer means; `Ok` if it has what was asked for.
pub(super) fn understand(doing: &str, answer: Answer) -> Result<Answer, Refusal> {
    if answer.class() == Class::Done {
        return Ok(answer);
    }
    let body: Body = answer.told().unwrap_or_default();
    let said = answer.clean(&body.words());
    let said = if said.is_empty() { format!("it answered {}", answer.status) } else { said };
    let message = format!("{doing}: {said}{}", answer.request());
    let header = |name: &str| answer.header(name);
    let is_used_up =
        header("x-ratelimit-remaining").as_deref() == Some("0") || header("retry-after").is_some();
    let is_limit = said.to_lowercase().contains("rate limit");
    Err(match answer.status {
        401 => Refusal::Credential(Error::permanent(message).known(&table::EXPIRED_CREDENTIAL)),
        429 => Refusal::Other(limited(message, &answer)),
        403 if is_used_up || is_limit => Refusal::Other(limited(message, &answer)),
        403 => {
            let needed = header("x-accepted-github-permissions");
            let help = match needed {
                Some(needed) => format!("the credentials need the permission `{needed}`"),
                None => "the credentials lack a permission: organisations need `Self-hosted runners`, read and write".into(),
            };
            Refusal::Other(Error::permanent(message).help(help))
        }
        404 => {
            let help = "it is not there, or the credentials may not see it: check the address, and where the App is installed";
            Refusal::NotFound(Error::permanent(message).help(help))
        }
        409 => Refusal::Exists(Error::permanent(message).help("choose another name, or remove what has it")),
        410 => Refusal::Other(
            Error::permanent(message).help("the server does not know this version of the API any more"),
        ),
        422 => Refusal::Invalid(Error::permanent(message)),
        _ => match answer.class() {
            Class::Later(after) => {
                Refusal::Other(after.into_iter().fold(Error::transient(message), Error::after))
            }
            Class::Done | Class::Refused => {
                Refusal::Other(Error::permanent(message).help("check `api_url` of the provider"))
            }
        },
    })
}

/// What became of a request that changes something. The engine looks before it tries again, so what is unsettled may be.
pub(super) fn settle(doing: &str, outcome: Outcome) -> Result<Answer, Refusal> {
    match outcome {
        Outcome::Answered(answer) => understand(doing, answer),
        Outcome::NotSent(error) | Outcome::Unsettled(error) => Err(Refusal::Other(error)),
    }
}

/// Too much was asked. GitHub says when it may be asked again in one of two ways, or in none.
fn limited(message: String, answer: &Answer) -> Error {
    let number = |name: &str| answer.header(name)?.trim().parse::<u64>().ok();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let reset = number("x-ratelimit-reset").map(|reset| Duration::from_secs(reset).saturating_sub(now));
    let after = number("retry-after").map(Duration::from_secs).or(reset).unwrap_or(A_WHILE);
    Error::transient(message).after(after)
}

impl Body {
    /// What GitHub says, in one line.
    fn words(&self) -> String {
        let detail = |error: &Json| match error {
            Json::String(text) => Some(text.clone()),
            error => {
                let text = |name: &str| error[name].as_str().map(str::to_owned);
                text("message").or_else(|| Some(format!("{} {}", text("field")?, text("code")?)))
            }
        };
        let details: Vec<String> = self.errors.iter().filter_map(detail).collect();
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
        let words = format!("{}{details}", self.message);
        words.trim().chars().filter(|c| !c.is_control()).take(LONGEST).collect()
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        match refusal {
            Refusal::Credential(error)
            | Refusal::NotFound(error)
            | Refusal::Exists(error)
            | Refusal::Invalid(error)
            | Refusal::Other(error) => error,
        }
    }
}
