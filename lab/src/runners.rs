//! Self-hosted runners, as GitHub keeps them: who is registered where, and with which token somebody may be.
//!
//! One [`Runners`] is shared by all Macs of a world. What an agent on a Mac does goes through [`Runners::register`] and
//! [`Runners::remove`]; what the API in [`github`](crate::github) serves comes from [`Runners::token`], [`Runners::list`],
//! [`Runners::change`] and [`Runners::delete`].
//!
//! A runner is online while its agent runs in the session at the screen of its Mac, with the credentials of its last
//! registration. Nobody tells it so: whoever asks looks at the Mac.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde::Serialize;

use crate::clock::Time;

/// How long a token is good for.
const GOOD_FOR: Duration = Duration::from_secs(3600);
/// What every runner on a Mac with Apple silicon has.
const DEFAULT_LABELS: [&str; 3] = ["self-hosted", "macOS", "ARM64"];

/// The runners of all organisations and repositories.
#[derive(Clone, Debug, Default)]
pub struct Runners {
    books: Arc<Mutex<Books>>,
}

#[derive(Debug, Default)]
struct Books {
    tokens: Vec<Token>,
    runners: Vec<Runner>,
    /// How many things were named so far.
    numbers: u64,
    agents: Option<Weak<dyn Agents>>,
}

/// The agents on the Macs.
pub trait Agents: std::fmt::Debug + Send + Sync {
    /// Whether the agent in a directory of a Mac runs with these credentials.
    fn is_listening(&self, mac: &str, directory: &str, client: &str) -> bool;

    /// The agent in a directory of a Mac has run the one job that it was for: it forgets who it is, and ends.
    fn end(&self, mac: &str, directory: &str);
}

/// A token by which a runner may be registered, or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Token {
    /// The secret.
    pub token: String,
    /// When it is good no more.
    pub expires_at: Time,
    /// Where runners may be registered with it, such as `https://github.com/example`.
    pub url: String,
    /// What for.
    pub purpose: Purpose,
}

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To register runners.
    Register,
    /// To remove them.
    Remove,
}

/// A runner that is registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Runner {
    /// Its number.
    pub id: u64,
    /// Its name, which is unique at its URL.
    pub name: String,
    /// Where it is registered.
    pub url: String,
    /// All its labels.
    pub labels: Vec<String>,
    /// Its system.
    pub os: &'static str,
    /// Whether its agent runs.
    pub online: bool,
    /// Whether it runs a job.
    pub busy: bool,
    /// The number of the group it is in; 1 is the one that everybody has.
    pub group: u64,
    /// Whether it is good for one job, and gone after it.
    pub ephemeral: bool,
    /// Which registration of it this is, by the name that its credentials have.
    #[serde(skip)]
    pub client: String,
    /// The Mac, and the directory of the agent there.
    #[serde(skip)]
    pub place: (String, String),
    /// Whether everybody on its Mac could read the token in the words of a process.
    pub token_was_visible: bool,
}

/// What an agent asks for when it is configured.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Where it is to be registered.
    pub url: String,
    /// The secret.
    pub token: String,
    /// Its name.
    pub name: String,
    /// Its labels beside the usual ones.
    pub labels: Vec<String>,
    /// Whether it takes the place of another by the same name.
    pub replace: bool,
    /// The Mac, and the directory of the agent there.
    pub place: (String, String),
    /// Whether the token came as a word of a process.
    pub token_is_visible: bool,
}

/// Why a runner is not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The token is wrong, too old, or for something else.
    Token,
    /// Somebody else has the name.
    Name,
}

impl Runners {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says where agents are looked at.
    pub(crate) fn watch(&self, agents: Weak<dyn Agents>) {
        self.books().agents = Some(agents);
    }

    /// A new token.
    #[must_use]
    pub fn token(&self, url: &str, purpose: Purpose, now: Time) -> Token {
        let mut books = self.books();
        let number = books.next();
        let token = Token {
            token: format!("A{number:04}LABTOKEN{}", uuid::Uuid::new_v4().simple()).to_uppercase(),
            expires_at: now.after(GOOD_FOR),
            url: url.trim_end_matches('/').to_owned(),
            purpose,
        };
        books.tokens.push(token.clone());
        token
    }

    /// Every token that there was: what nobody may see.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        self.books().tokens.iter().map(|token| token.token.clone()).collect()
    }

    /// Registers a runner.
    pub fn register(&self, wish: Wish, now: Time) -> Result<Runner, Refused> {
        let mut books = self.books();
        let url = wish.url.trim_end_matches('/').to_owned();
        if !books.lets(&url, &wish.token, Purpose::Register, now) {
            return Err(Refused::Token);
        }
        let known = books.runners.iter().position(|known| known.url == url && known.name == wish.name);
        if known.is_some() && !wish.replace {
            return Err(Refused::Name);
        }
        let mut labels: Vec<String> = DEFAULT_LABELS.map(str::to_owned).into();
        for label in wish.labels {
            if !labels.iter().any(|known| known.eq_ignore_ascii_case(&label)) {
                labels.push(label);
            }
        }
        let id = match known {
            Some(at) => books.runners[at].id,
            None => books.next(),
        };
        let runner = Runner {
            id,
            name: wish.name,
            url,
            labels,
            os: "macos",
            online: false,
            busy: false,
            group: known.map_or(1, |at| books.runners[at].group),
            ephemeral: false,
            client: uuid::Uuid::new_v4().to_string(),
            place: wish.place,
            token_was_visible: wish.token_is_visible,
        };
        match known {
            Some(at) => books.runners[at] = runner.clone(),
            None => books.runners.push(runner.clone()),
        }
        Ok(runner)
    }

    /// An agent removes its own registration.
    pub fn remove(&self, url: &str, token: &str, client: &str, now: Time) -> Result<(), Refused> {
        let mut books = self.books();
        if !books.lets(url.trim_end_matches('/'), token, Purpose::Remove, now) {
            return Err(Refused::Token);
        }
        books.runners.retain(|runner| runner.client != client);
        Ok(())
    }

    /// The runners that are registered somewhere, in the order of their numbers.
    #[must_use]
    pub fn list(&self, url: &str) -> Vec<Runner> {
        let (mut runners, agents) = {
            let books = self.books();
            let url = url.trim_end_matches('/');
            let runners: Vec<Runner> =
                books.runners.iter().filter(|runner| runner.url == url).cloned().collect();
            (runners, books.agents.as_ref().and_then(Weak::upgrade))
        };
        for runner in &mut runners {
            let (mac, directory) = &runner.place;
            runner.online =
                agents.as_ref().is_some_and(|agents| agents.is_listening(mac, directory, &runner.client));
        }
        runners.sort_by_key(|runner| runner.id);
        runners
    }

    /// The runners with a job whose agents are on a Mac.
    pub(crate) fn busy_at(&self, mac: &str) -> Vec<Runner> {
        let books = self.books();
        let all = books.runners.iter().filter(|runner| runner.busy && runner.place.0 == mac);
        all.cloned().collect()
    }

    /// Makes a record without an agent, for one that is told everything when it starts. None if somebody has the name.
    #[must_use]
    pub fn prepare(&self, url: &str, name: &str, labels: Vec<String>, group: u64) -> Option<Runner> {
        let mut books = self.books();
        let url = url.trim_end_matches('/').to_owned();
        if books.runners.iter().any(|known| known.url == url && known.name == name) {
            return None;
        }
        let runner = Runner {
            id: books.next(),
            name: name.to_owned(),
            url,
            labels,
            os: "unknown",
            online: false,
            busy: false,
            group,
            ephemeral: true,
            client: uuid::Uuid::new_v4().to_string(),
            place: (String::new(), String::new()),
            token_was_visible: false,
        };
        books.runners.push(runner.clone());
        Some(runner)
    }

    /// The agent of a runner for one job has been started somewhere. False if no runner has these credentials.
    pub(crate) fn come(&self, client: &str, place: (String, String), token_is_visible: bool) -> bool {
        let mut books = self.books();
        let found = books.runners.iter_mut().find(|runner| runner.client == client);
        found
            .map(|runner| {
                (runner.os, runner.place, runner.token_was_visible) = ("macos", place, token_is_visible);
            })
            .is_some()
    }

    /// A runner for one job has run it: it is forgotten here, and its agent ends. False if there is none of that number.
    pub fn end_job(&self, id: u64) -> bool {
        let (ended, agents) = {
            let mut books = self.books();
            let at = books.runners.iter().position(|runner| runner.id == id && runner.ephemeral);
            (at.map(|at| books.runners.remove(at)), books.agents.as_ref().and_then(Weak::upgrade))
        };
        if let (Some(runner), Some(agents)) = (&ended, agents) {
            agents.end(&runner.place.0, &runner.place.1);
        }
        ended.is_some()
    }

    /// Changes what is known of a runner: its labels, its group, whether it runs a job. False if there is none.
    pub fn change(&self, id: u64, change: impl FnOnce(&mut Runner)) -> bool {
        let mut books = self.books();
        books.runners.iter_mut().find(|runner| runner.id == id).map(change).is_some()
    }

    /// Forgets a runner, whatever its agent does; whether there was one.
    #[must_use]
    pub fn delete(&self, id: u64) -> bool {
        let mut books = self.books();
        let before = books.runners.len();
        books.runners.retain(|runner| runner.id != id);
        books.runners.len() < before
    }
}

impl Books {
    fn next(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    fn lets(&self, url: &str, token: &str, purpose: Purpose, now: Time) -> bool {
        self.tokens.iter().any(|known| {
            known.token == token && known.url == url && known.purpose == purpose && now < known.expires_at
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://github.com/example";

    fn wish(token: &Token) -> Wish {
        Wish {
            url: URL.into(),
            token: token.token.clone(),
            name: "mini".into(),
            labels: vec!["macos".into(), "builder".into()],
            replace: false,
            place: ("mac".into(), "/opt/actions-runner".into()),
            token_is_visible: false,
        }
    }

    #[test]
    fn a_token_is_for_one_thing_and_not_for_long() {
        let (runners, now) = (Runners::default(), Time::of_this_machine());
        let token = runners.token(URL, Purpose::Register, now);
        let late = now.after(GOOD_FOR);
        assert_eq!(runners.register(wish(&token), late).unwrap_err(), Refused::Token);
        let other = Wish { url: "https://github.com/other".into(), ..wish(&token) };
        assert_eq!(runners.register(other, now).unwrap_err(), Refused::Token);
        let removes = runners.token(URL, Purpose::Remove, now);
        assert_eq!(runners.register(wish(&removes), now).unwrap_err(), Refused::Token);
        let made = runners.register(wish(&token), now).unwrap();
        assert_eq!(made.labels, ["self-hosted", "macOS", "ARM64", "builder"]);
        assert_eq!(runners.remove(URL, &token.token, &made.client, now), Err(Refused::Token));
        runners.remove(URL, &removes.token, &made.client, now).unwrap();
        assert_eq!(runners.list(URL), []);
    }

    #[test]
    fn a_name_is_taken_over_only_by_who_says_so() {
        let (runners, now) = (Runners::default(), Time::of_this_machine());
        let token = runners.token(URL, Purpose::Register, now);
        let first = runners.register(wish(&token), now).unwrap();
        assert_eq!(runners.register(wish(&token), now).unwrap_err(), Refused::Name);
        let second = runners.register(Wish { replace: true, ..wish(&token) }, now).unwrap();
        assert_eq!(first.id, second.id);
        assert_ne!(first.client, second.client, "the old credentials are of no use any more");
        assert_eq!(runners.list(URL).len(), 1);
        assert!(runners.delete(first.id) && !runners.delete(first.id));
    }
}
