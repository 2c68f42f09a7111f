//! The provider `test`: settings, and the two sides of a connection.

use std::time::Duration;

use fleet_derive::Schema;
use fleet_engine::kind::{Data, Kind, Of};
use fleet_engine::provider::Provider;
use fleet_engine::resource::Error;
use reqwest::header::RETRY_AFTER;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};

use crate::data::ServerData;
use crate::server::Server;

/// The provider.
#[derive(Clone, Copy, Debug, Default)]
pub struct Test;

/// The test world: servers behind an API on this machine.
///
/// ```hcl
/// variable "token" {
///   type      = string
///   sensitive = true
/// }
///
/// provider "test" {
///   url   = "http://127.0.0.1:8080"
///   token = var.token
/// }
/// ```
#[derive(Clone, Schema)]
pub struct Settings {
    /// Where the world is.
    pub url: String,
    /// What it wants to be shown.
    #[fleet(secret)]
    pub token: String,
    /// How many milliseconds a call may take.
    #[fleet(default = 10_000)]
    pub timeout: i64,
}

/// Looks at the world. It has no way to ask for anything else than to look.
pub struct Looking(Calls);

/// Changes the world.
pub struct Acting(Calls);

struct Calls {
    client: Client,
    url: String,
    token: String,
}

impl Provider for Test {
    const NAME: &'static str = "test";
    const LIMIT: usize = 16;
    type Settings = Settings;
    type Reader = Looking;
    type Writer = Acting;
    const KINDS: &'static [&'static dyn Kind<Looking, Acting>] = &[&Of::<Server>::KIND];
    const DATA: &'static [&'static dyn Data<Looking>] = &[&Of::<ServerData>::KIND];

    async fn reader(&self, settings: Settings) -> Result<Looking, Error> {
        Calls::new(settings).map(Looking)
    }

    async fn writer(&self, settings: Settings) -> Result<Acting, Error> {
        Calls::new(settings).map(Acting)
    }
}

impl Looking {
    /// One server, if it is there.
    pub(crate) async fn server(&self, id: &str) -> Result<Option<Server>, Error> {
        let asked = format!("cannot look at server `{id}`");
        let reply = self.0.send(self.0.request(Method::GET, &format!("/servers/{id}")), &asked).await?;
        match reply {
            Some(reply) => read(reply, &asked).await.map(Some),
            None => Ok(None),
        }
    }

    /// All servers.
    pub(crate) async fn servers(&self) -> Result<Vec<Server>, Error> {
        let asked = "cannot list the servers";
        let reply = self.0.send(self.0.request(Method::GET, "/servers"), asked).await?;
        read(reply.ok_or_else(|| Error::permanent(asked))?, asked).await
    }
}

impl Acting {
    /// Makes a server; every call makes one more.
    pub(crate) async fn create(&self, wish: &Server) -> Result<Server, Error> {
        let asked = format!("cannot make server `{}`", wish.name);
        let reply = self.0.send(self.0.request(Method::POST, "/servers").json(wish), &asked).await?;
        read(reply.ok_or_else(|| Error::permanent(asked.clone()))?, &asked).await
    }

    /// Changes a server.
    pub(crate) async fn update(&self, id: &str, wish: &Server) -> Result<Server, Error> {
        let asked = format!("cannot change server `{id}`");
        let request = self.0.request(Method::PUT, &format!("/servers/{id}")).json(wish);
        let gone = || Error::permanent(format!("{asked}: it is not there"));
        read(self.0.send(request, &asked).await?.ok_or_else(gone)?, &asked).await
    }

    /// Removes a server, if it is there.
    pub(crate) async fn delete(&self, id: &str) -> Result<(), Error> {
        let request = self.0.request(Method::DELETE, &format!("/servers/{id}"));
        self.0.send(request, &format!("cannot remove server `{id}`")).await.map(|_| ())
    }
}

impl Calls {
    fn new(settings: Settings) -> Result<Calls, Error> {
        let timeout = u64::try_from(settings.timeout)
            .map_err(|_| Error::permanent("`timeout` is a number of milliseconds"))?;
        let client = Client::builder().timeout(Duration::from_millis(timeout)).no_proxy();
        // The world speaks plain HTTP; to load the certificates of the machine takes longer than all its calls.
        let client = client.tls_certs_only([]).build();
        let client = client.map_err(|error| Error::permanent("there is no HTTP client").because(error))?;
        Ok(Calls { client, url: settings.url, token: settings.token })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token)
    }

    /// Sends a request; `None` means that what it is about is not there.
    async fn send(&self, request: RequestBuilder, asked: &str) -> Result<Option<Response>, Error> {
        let reply = request.send().await.map_err(|error| lost(asked, error))?;
        let status = reply.status();
        if status.is_success() {
            return Ok(Some(reply));
        }
        if status == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let message = format!("{asked}: the world answered {status}");
        if status == StatusCode::UNAUTHORIZED {
            return Err(Error::permanent(message).help("check the `token` of the provider"));
        }
        if !(status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS) {
            return Err(Error::permanent(message));
        }
        let wait = reply.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let error = Error::transient(message);
        Err(wait.map_or(error.clone(), |seconds| error.after(Duration::from_secs(seconds))))
    }
}

async fn read<T: serde::de::DeserializeOwned>(reply: Response, asked: &str) -> Result<T, Error> {
    reply.json().await.map_err(|error| lost(asked, error))
}

/// Nobody knows whether the call had an effect.
fn lost(asked: &str, error: reqwest::Error) -> Error {
    Error::transient(asked).because(error.without_url())
}
