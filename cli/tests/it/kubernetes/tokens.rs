//! The work of the controller that fills the Secrets of tokens, for real clusters in which none runs: a bare API server can be
//! tested against, too. Where the controller runs, there is nothing left to do here.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};

use super::{Cluster, kubectl};

/// How long the controller of the cluster has for a Secret.
const LOOKS: usize = 6;
const PAUSE: Duration = Duration::from_millis(500);

/// Fills Secrets until it is dropped.
pub(super) struct Tokens {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Tokens {
    /// Fills those in the namespace of a cluster.
    pub(super) fn fill(cluster: &Cluster) -> Tokens {
        let ends = Arc::new(AtomicBool::new(false));
        let (over, namespace) = (Arc::clone(&ends), cluster.namespace.clone());
        let cache = cluster.site.path().join("kubectl-cache");
        std::fs::create_dir_all(&cache).unwrap();
        // Tests change their kubeconfig.
        let kubeconfig = cache.join("kubeconfig-of-tokens");
        std::fs::copy(&cluster.kubeconfig, &kubeconfig).unwrap();
        let thread = std::thread::spawn(move || {
            let here = Here { kubeconfig, cache, namespace };
            let mut seen: Vec<BTreeSet<String>> = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let empty = here.empty();
                let is_late = |uid: &str| seen.len() >= LOOKS && seen.iter().all(|seen| seen.contains(uid));
                empty.iter().filter(|secret| is_late(uid(secret))).for_each(|secret| here.fill(secret));
                seen.push(empty.iter().map(|secret| uid(secret).to_owned()).collect());
                if seen.len() > LOOKS {
                    seen.remove(0);
                }
                std::thread::sleep(PAUSE);
            }
        });
        Tokens { ends, thread: Some(thread) }
    }
}

impl Drop for Tokens {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.take().into_iter().for_each(|thread| thread.join().unwrap_or_default());
    }
}

fn uid(object: &Json) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

struct Here {
    kubeconfig: PathBuf,
    cache: PathBuf,
    namespace: String,
}

impl Here {
    fn json(&self, words: &[&str], input: &str) -> Option<Json> {
        let ran = kubectl(&self.kubeconfig, &self.cache, words, input);
        serde_json::from_slice(&ran.stdout).ok()
    }

    /// The Secrets that wait for a token.
    fn empty(&self) -> Vec<Json> {
        let kind = "type=kubernetes.io/service-account-token";
        let words = ["-n", &*self.namespace, "get", "secrets", "--field-selector", kind, "-o", "json"];
        let mut list = self.json(&words, "").unwrap_or_default();
        let all = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        all.into_iter().filter(|secret| secret["data"]["token"].is_null()).collect()
    }

    /// Asks for a token of the account and puts it into the Secret.
    fn fill(&self, secret: &Json) {
        let account = secret["metadata"]["annotations"]["kubernetes.io/service-account.name"].as_str();
        let (Some(account), Some(name)) = (account, secret["metadata"]["name"].as_str()) else { return };
        let words = ["-n", &*self.namespace, "get", "serviceaccount", account, "-o", "json"];
        let Some(found) = self.json(&words, "") else { return };
        let bound = json!({ "apiVersion": "v1", "kind": "Secret", "name": name, "uid": uid(secret) });
        let asked = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": { "expirationSeconds": 3600, "boundObjectRef": bound },
        });
        let path = format!("/api/v1/namespaces/{}/serviceaccounts/{account}/token", self.namespace);
        let given = self.json(&["create", "--raw", &path, "-f", "-"], &asked.to_string());
        let Some(token) = given.as_ref().and_then(|given| given["status"]["token"].as_str()) else { return };
        let view = self.json(&["config", "view", "--raw", "--minify", "--flatten", "-o", "json"], "");
        let view = view.unwrap_or_default();
        let authority = view["clusters"][0]["cluster"]["certificate-authority-data"].as_str();
        let (encoded, namespace) = (BASE64_STANDARD.encode(token), BASE64_STANDARD.encode(&self.namespace));
        let mut whole = secret.clone();
        whole["metadata"]["annotations"]["kubernetes.io/service-account.uid"] = json!(uid(&found));
        whole["data"] = json!({ "token": encoded, "namespace": namespace });
        // A cluster that is believed without proof has none.
        if let Some(authority) = authority {
            whole["data"]["ca.crt"] = json!(authority);
        }
        // If somebody was faster, there is nothing left to do, or it is done in the next round.
        let words = ["replace", "--validate=false", "-f", "-"];
        kubectl(&self.kubeconfig, &self.cache, &words, &whole.to_string());
    }
}
