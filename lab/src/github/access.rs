//! Who asks GitHub: people with a personal token, and Apps.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Github, TOKEN, inside, refuse, scope};
use crate::clock::Time;
use crate::desk::{Ask, Reply};

/// How long the token of an installation is good for.
const GOOD_FOR: Duration = Duration::from_secs(3600);
/// No claim of an App may reach further ahead.
const FURTHEST: u64 = 600;
/// What an App must be allowed to, to see and change the runners of an organisation.
pub(super) const PERMISSION: &str = "organization_self_hosted_runners";
/// The same, as GitHub names it to whoever lacks it.
pub(super) const PERMISSION_SHOWN: &str = "organization_self_hosted_runners=write";

/// What GitHub knows of those who ask.
#[derive(Debug)]
pub(super) struct Books {
    personal: Vec<Personal>,
    apps: Vec<App>,
    tokens: Vec<Token>,
    /// Groups of runners, by their place in the list: number 1 is the one that everybody has.
    pub(super) groups: Vec<String>,
    /// What agents for one job are started with.
    pub(super) configurations: Vec<String>,
    made: u64,
}

/// A personal token.
#[derive(Clone, Debug)]
pub struct Personal {
    /// What is sent.
    pub token: String,
    /// Whose it is.
    pub login: String,
    /// When it is good no more.
    pub expires_at: Option<Time>,
}

/// An App that is installed at an organisation.
#[derive(Clone, Debug)]
pub struct App {
    /// Its number.
    pub id: u64,
    /// The number of its installation.
    pub installation: u64,
    /// Where it is installed.
    pub account: String,
    /// Its private key, as GitHub gives it: PKCS#1.
    pub pkcs1: String,
    /// The same as PKCS#8.
    pub pkcs8: String,
    /// Whether it may look at runners and change them; an App that may not is told so.
    pub may_run: bool,
    public: Vec<u8>,
}

/// The token of an installation.
#[derive(Clone, Debug)]
struct Token {
    token: String,
    app: u64,
    expires_at: Time,
}

/// Whoever asked, once that is known.
pub(super) enum Caller {
    /// A person, who may do everything.
    Person,
    /// An App, which may do what it was given, where it is installed.
    App { account: String, may_run: bool },
}

#[derive(Deserialize)]
struct Claims {
    iss: Value,
    iat: u64,
    exp: u64,
}

impl Default for Books {
    fn default() -> Books {
        let lab = Personal { token: TOKEN.into(), login: "lab".into(), expires_at: None };
        let groups = vec!["Default".to_owned()];
        Books {
            personal: vec![lab],
            apps: Vec::new(),
            tokens: Vec::new(),
            groups,
            configurations: Vec::new(),
            made: 1000,
        }
    }
}

/// A text between the lines that say what it is.
fn pem(label: &str, der: &[u8]) -> String {
    let encoded = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> =
        encoded.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

impl Github {
    /// Makes an App, with a key of its own, and installs it at an organisation.
    ///
    /// # Panics
    ///
    /// If this machine cannot make a key.
    #[must_use]
    pub fn install_app(&self, account: &str) -> App {
        let pair = KeyPair::generate(KeySize::Rsa2048).expect("a key can be made");
        let whole = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).expect("a key can be written");
        // PKCS#8 has the key of PKCS#1 at its end, behind a head of 26 bytes.
        let bytes = whole.as_ref();
        let mut books = self.books();
        books.made += 2;
        let app = App {
            id: books.made,
            installation: books.made + 1,
            account: account.to_owned(),
            pkcs1: pem("RSA PRIVATE KEY", &bytes[26..]),
            pkcs8: pem("PRIVATE KEY", bytes),
            may_run: true,
            public: pair.public_key().as_ref().to_vec(),
        };
        books.apps.push(app.clone());
        app
    }

    /// Lets an App look at runners and change them, or not.
    pub fn allow_app(&self, id: u64, may_run: bool) {
        if let Some(app) = self.books().apps.iter_mut().find(|app| app.id == id) {
            app.may_run = may_run;
        }
    }

    /// Gives somebody a personal token.
    pub fn add_personal(&self, personal: Personal) {
        self.books().personal.push(personal);
    }

    /// Adds a group of runners; its number.
    pub fn add_group(&self, name: &str) -> u64 {
        let mut books = self.books();
        books.groups.push(name.to_owned());
        books.groups.len() as u64
    }

    /// Every token that it gave to installations: what nobody may see.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let books = self.books();
        let tokens = books.tokens.iter().map(|token| &token.token);
        tokens.chain(&books.configurations).cloned().collect()
    }

    /// Takes back all tokens of installations.
    pub fn revoke_tokens(&self) {
        self.books().tokens.clear();
    }

    /// Who asks about runners.
    pub(super) fn caller(&self, ask: &Ask, now: Time) -> Result<Caller, Reply> {
        let bad = || refuse(401, "Bad credentials");
        let sent =
            ask.header("authorization").and_then(|header| header.strip_prefix("Bearer ")).ok_or_else(bad)?;
        let books = self.books();
        if books
            .personal
            .iter()
            .any(|known| known.token == sent && known.expires_at.is_none_or(|end| now < end))
        {
            return Ok(Caller::Person);
        }
        let token = books
            .tokens
            .iter()
            .find(|known| known.token == sent && now < known.expires_at)
            .ok_or_else(bad)?;
        let app = books.apps.iter().find(|app| app.id == token.app).ok_or_else(bad)?;
        Ok(Caller::App { account: app.account.clone(), may_run: app.may_run })
    }

    /// What a person may know of himself.
    pub(super) fn as_user(&self, ask: &Ask, now: Time) -> Result<Reply, Reply> {
        let sent =
            ask.header("authorization").and_then(|header| header.strip_prefix("Bearer ")).unwrap_or_default();
        let books = self.books();
        let is_good = |known: &&Personal| known.token == sent && known.expires_at.is_none_or(|end| now < end);
        let Some(known) = books.personal.iter().find(is_good) else {
            return Err(refuse(401, "Bad credentials"));
        };
        let reply = Reply::json(200, &json!({ "login": known.login }));
        Ok(match known.expires_at {
            // `2026-12-01 10:00:00 UTC`
            Some(end) => {
                let (date, time) = end
                    .to_string()
                    .split_once('T')
                    .map(|(d, t)| (d.to_owned(), t.to_owned()))
                    .unwrap_or_default();
                reply.with("github-authentication-token-expiration", format!("{date} {} UTC", &time[..8]))
            }
            None => reply,
        })
    }

    /// What an App asks as itself.
    pub(super) fn as_app(&self, operation: &str, ask: &Ask, now: Time) -> Result<Reply, Reply> {
        let app = self.signed(ask)?;
        let segments = ask.segments();
        let path = inside(&segments);
        let installation = |app: &App| {
            let given =
                if app.may_run { json!({ PERMISSION: "write" }) } else { json!({ "metadata": "read" }) };
            json!({ "id": app.installation, "account": { "login": app.account }, "permissions": given, "suspended_at": null })
        };
        match operation {
            "get_app" => {
                Ok(Reply::json(200, &json!({ "id": app.id, "slug": "fleet-lab", "name": "fleet-lab" })))
            }
            "get_installation" => {
                let (url, _) = scope(path).ok_or_else(|| refuse(404, "Not Found"))?;
                let is_there = url.split('/').nth(3) == Some(&*app.account);
                if is_there {
                    Ok(Reply::json(200, &installation(&app)))
                } else {
                    Err(refuse(404, "Not Found"))
                }
            }
            _ => {
                if path.get(2).and_then(|id| id.parse().ok()) != Some(app.installation) {
                    return Err(refuse(404, "Integration not found"));
                }
                let mut books = self.books();
                books.made += 1;
                let number = books.made;
                let token = format!("ghs_lab{number}{}", uuid::Uuid::new_v4().simple());
                let expires_at = now.after(GOOD_FOR);
                books.tokens.push(Token { token: token.clone(), app: app.id, expires_at });
                let body = json!({
                    "token": token, "expires_at": expires_at, "permissions": installation(&app)["permissions"],
                    "repository_selection": "all",
                });
                Ok(Reply::json(201, &body))
            }
        }
    }

    /// The App that signed a request. Its claims are about real time, whatever the clock of the lab says.
    fn signed(&self, ask: &Ask) -> Result<App, Reply> {
        let header = ask.header("authorization").and_then(|header| header.strip_prefix("Bearer "));
        let sent = header.ok_or_else(|| refuse(401, "A JSON web token could not be decoded"))?;
        let mut rules = Validation::new(Algorithm::RS256);
        rules.validate_exp = false;
        rules.required_spec_claims.clear();
        let books = self.books();
        let signer = books.apps.iter().find_map(|app| {
            let key = DecodingKey::from_rsa_der(&app.public);
            let claims = jsonwebtoken::decode::<Claims>(sent, &key, &rules).ok()?.claims;
            Some((app.clone(), claims))
        });
        let Some((app, claims)) = signer else {
            return Err(refuse(401, "A JSON web token could not be decoded"));
        };
        let issuer = claims.iss.as_str().map(str::to_owned).unwrap_or_else(|| claims.iss.to_string());
        if issuer != app.id.to_string() {
            return Err(refuse(401, "'Issuer' claim ('iss') must be an Integer"));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if claims.exp <= now || claims.exp > now + FURTHEST {
            return Err(refuse(401, "'Expiration time' claim ('exp') is too far in the future"));
        }
        if claims.iat > now {
            return Err(refuse(
                401,
                "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
            ));
        }
        Ok(app)
    }
}
