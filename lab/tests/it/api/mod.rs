//! The vendor's APIs over real HTTP.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod access;
mod catalogue;
mod control;
mod create;
mod faults;
mod keys;
mod life;
mod machines;
mod networks;
mod servers;
mod time;

use std::time::Duration;

use fleet_lab::scaleway::Rules;
use fleet_lab::{Lab, Options};
use reqwest::Method;
use serde_json::{Value, json};

/// The servers' part of the API.
const ZONE: &str = "/apple-silicon/v1alpha1/zones/fr-par-1";

/// A lab and a client with a key.
struct Api {
    lab: Lab,
    secret: String,
    client: reqwest::Client,
}

/// An answer.
#[derive(Debug)]
struct Reply {
    status: u16,
    body: Value,
    headers: reqwest::header::HeaderMap,
}

impl Reply {
    fn kind(&self) -> &str {
        self.body["type"].as_str().unwrap_or_default()
    }

    /// An argument was refused.
    #[track_caller]
    fn refuses(&self, argument: &str, reason: &str) {
        assert_eq!((self.status, self.kind()), (400, "invalid_arguments"), "{argument}");
        let detail = &self.body["details"][0];
        assert_eq!((&detail["argument_name"], &detail["reason"]), (&json!(argument), &json!(reason)));
    }
}

impl Api {
    fn start() -> Api {
        Api::with(Options::default())
    }

    fn with_rules(change: impl FnOnce(&mut Rules)) -> Api {
        let mut options = Options::default();
        change(&mut options.rules);
        Api::with(options)
    }

    fn with(options: Options) -> Api {
        let lab = Lab::start(options).unwrap();
        let secret = lab.secret_key().to_owned();
        let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(20)).build().unwrap();
        Api { lab, secret, client }
    }

    /// The same lab, asked with another key.
    fn with_key(&self, secret: &str) -> impl AsyncFn(Method, &str) -> Reply {
        async move |method: Method, path: &str| {
            let request = self.client.request(method, format!("{}{path}", self.lab.api_url()));
            read(request.header("X-Auth-Token", secret).send().await.unwrap()).await
        }
    }

    async fn try_send(&self, method: Method, path: &str, body: Option<Value>) -> reqwest::Result<Reply> {
        let mut request = self.client.request(method, format!("{}{path}", self.lab.api_url()));
        request = request.header("X-Auth-Token", &self.secret);
        if let Some(body) = body {
            request = request.json(&body);
        }
        Ok(read(request.send().await?).await)
    }

    async fn get(&self, path: &str) -> Reply {
        self.try_send(Method::GET, path, None).await.unwrap()
    }

    async fn post(&self, path: &str, body: Value) -> Reply {
        self.try_send(Method::POST, path, Some(body)).await.unwrap()
    }

    async fn put(&self, path: &str, body: Value) -> Reply {
        self.try_send(Method::PUT, path, Some(body)).await.unwrap()
    }

    async fn patch(&self, path: &str, body: Value) -> Reply {
        self.try_send(Method::PATCH, path, Some(body)).await.unwrap()
    }

    async fn delete(&self, path: &str) -> Reply {
        self.try_send(Method::DELETE, path, None).await.unwrap()
    }

    /// Orders a server.
    async fn order(&self, name: &str, model: &str) -> Reply {
        let project = self.lab.project_id();
        self.post(&format!("{ZONE}/servers"), json!({ "name": name, "type": model, "project_id": project }))
            .await
    }

    /// The path of the nth server that was there from the beginning.
    fn path(&self, index: usize) -> String {
        format!("{ZONE}/servers/{}", self.lab.servers()[index].id)
    }

    fn advance(&self, seconds: u64) {
        self.lab.advance(Duration::from_secs(seconds));
    }
}

async fn read(response: reqwest::Response) -> Reply {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Reply { status, body, headers }
}

/// The names of servers in a list.
fn names(list: &Value) -> Vec<&str> {
    list["servers"].as_array().unwrap().iter().map(|server| server["name"].as_str().unwrap()).collect()
}
