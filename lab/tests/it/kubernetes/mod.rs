//! The API server over real HTTPS.

mod access;
mod life;
mod objects;

use std::time::Duration;

use fleet_lab::{Lab, Options};
use reqwest::{Certificate, Method};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";

/// How objects are applied.
const APPLY: &str = "application/apply-patch+yaml";

/// A lab, and a client that trusts its server.
struct Api {
    lab: Lab,
    client: reqwest::Client,
    token: String,
}

/// An answer.
#[derive(Debug)]
struct Reply {
    status: u16,
    body: Value,
    retry_after: Option<String>,
}

impl Reply {
    /// What it says: the status, and the reason of a refusal.
    fn reason(&self) -> (u16, &str) {
        (self.status, self.body["reason"].as_str().unwrap_or_default())
    }
}

impl Api {
    fn start() -> Api {
        let lab = Lab::start(Options { macs: 0, ..Options::default() }).unwrap();
        let authority = Certificate::from_pem(lab.kubernetes().authority().as_bytes()).unwrap();
        let client = reqwest::Client::builder().no_proxy().add_root_certificate(authority);
        let client = client.timeout(Duration::from_secs(20)).build().unwrap();
        let token = lab.kubernetes().admin_token().to_owned();
        Api { lab, client, token }
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.lab.kubernetes().url())).bearer_auth(&self.token)
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Reply {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let retry_after =
            response.headers().get("retry-after").map(|after| after.to_str().unwrap().to_owned());
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Reply { status, body, retry_after }
    }

    async fn get(&self, path: &str) -> Reply {
        self.send(self.request(Method::GET, path)).await
    }

    async fn post(&self, path: &str, body: &Value) -> Reply {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    async fn put(&self, path: &str, body: &Value) -> Reply {
        self.send(self.request(Method::PUT, path).json(body)).await
    }

    async fn patch(&self, path: &str, kind: &str, body: &Value) -> Reply {
        let request = self.request(Method::PATCH, path).header("content-type", kind).body(body.to_string());
        self.send(request).await
    }

    async fn merge(&self, path: &str, body: &Value) -> Reply {
        self.patch(path, "application/merge-patch+json", body).await
    }

    async fn delete(&self, path: &str) -> Reply {
        self.send(self.request(Method::DELETE, path)).await
    }

    /// Time goes by, and everything happens that is due.
    fn advance(&self, seconds: u64) {
        self.lab.advance(Duration::from_secs(seconds));
    }
}

fn map(name: &str, data: Value) -> Value {
    let mut map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } });
    map["data"] = data;
    map
}

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}
