//! A server that keeps secrets, asked over HTTP: what is the same about all of them.

use std::time::Duration;

use fleet_engine::host::reach::Secret;
use fleet_engine::plan::chain;
use fleet_transport::http::{self, Answer, Reader};

use super::Missing;

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The most that is repeated of what others say, and of names that they know.
const LONGEST: usize = 300;
const MOST_NAMES: usize = 12;

/// Which server, and as whom.
pub(super) struct Options<'a> {
    /// What people call it.
    pub(super) name: &'static str,
    /// Where it is, and the variable that says so.
    pub(super) address: (&'static str, &'a str),
    /// The variable that usually says the credential, the header that carries it, and how it is written there.
    pub(super) credential: (&'static str, &'static str, Secret),
    /// What else every request says.
    pub(super) headers: &'a [(&'static str, &'a str)],
    /// The header by which it names a request in its own log.
    pub(super) request_id: &'static str,
}

/// The server, and who asks.
pub(super) struct Keeper {
    /// What people call it, and the variable that says where it is.
    name: &'static str,
    variable: &'static str,
    address: String,
    reader: Reader,
}

impl Keeper {
    /// Nothing is asked yet.
    pub(super) fn open(options: &Options<'_>) -> Result<Keeper, Missing> {
        let Options { name, address: (variable, address), credential, headers, request_id } = options;
        let (token, header, credential) = credential;
        let connected = http::connect(&http::Options {
            name,
            url: address,
            header,
            credential,
            headers,
            request_id,
            timeout: PATIENCE,
        });
        let (reader, _) = connected.map_err(|error| Missing {
            why: chain(&error),
            help: Some(error.help.unwrap_or_else(|| format!("check `{variable}` and `{token}`"))),
        })?;
        Ok(Keeper { name, variable, address: (*address).to_owned(), reader })
    }

    /// Asks for what is at a path, segment by segment. Whatever was answered is `Ok`.
    pub(super) async fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Answer, Missing> {
        let Keeper { name, variable, address, reader } = self;
        let doing = format!("cannot ask {name} at `{address}`");
        reader.get(&doing, path, query).await.map_err(|error| {
            let help = format!("see that {name} runs there and can be reached; `{variable}` says where");
            Missing::new(chain(&error)).help(help)
        })
    }
}

/// What a server said, to be put behind a message; nothing if it said nothing.
pub(super) fn said(answer: &Answer, text: &str) -> String {
    let said = brief(&answer.clean(text));
    if said.is_empty() { said } else { format!(": {said}") }
}

/// A text of others, fit to be repeated.
pub(super) fn brief(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

/// What to write instead of a name that is not known, each with a mark before it.
pub(super) fn instead(name: &str, known: &[&str], mark: &str) -> String {
    match fleet_syntax::nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{mark}{near}`?"),
        None if known.is_empty() => "it has none".to_owned(),
        None => {
            let more = if known.len() > MOST_NAMES { ", …" } else { "" };
            format!("it has `{}`{more}", known[..known.len().min(MOST_NAMES)].join("`, `"))
        }
    }
}
