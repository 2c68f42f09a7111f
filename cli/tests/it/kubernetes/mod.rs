//! What lives in a cluster, through the command line.
//!
//! Nothing here knows which cluster that is: the lab's, or the one that `FLEET_TEST_KUBECONFIG` names. Reality is looked at
//! and changed behind our back with `kubectl`. Only what has to break on purpose is tried in the lab alone: see
//! `broken.rs`.

mod broken;
mod kinds;
mod kubectl;
mod macs;
mod manifest;
mod tokens;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

use fleet_engine::schema::{Catalog, Sort};
use fleet_lab::clock::Pace;
use fleet_lab::{Lab, Options};
use serde_json::{Value as Json, json};

use crate::support::{Ran, Site, providers};
use tokens::Tokens;

/// The known bad state that is found in a cluster.
pub(crate) const FOUND_THERE: &str = "pods-held-by-a-lost-agent";

/// A cluster with a namespace of its own for a test, and a directory with a configuration for it.
pub(crate) struct Cluster {
    pub(crate) site: Site,
    pub(crate) namespace: String,
    kubeconfig: PathBuf,
    /// None if it is a real cluster.
    lab: Option<Lab>,
    /// Fills the Secrets of tokens where nobody else does.
    tokens: Option<Tokens>,
}

impl Cluster {
    /// With this configuration, beside that of the provider.
    pub(crate) fn new(text: &str) -> Cluster {
        let site = Site::empty();
        let lab = match std::env::var_os("FLEET_TEST_KUBECONFIG") {
            Some(path) => {
                std::fs::copy(path, site.path().join("kubeconfig")).unwrap();
                None
            }
            None => {
                let options = Options { macs: 0, pace: Pace::Times(20.0), ..Options::default() };
                let lab = Lab::start(options).unwrap();
                site.write("kubeconfig", &lab.kubernetes().kubeconfig());
                Some(lab)
            }
        };
        // What other runs left behind in a real cluster may go on for a while.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros();
        let namespace = format!("fleet-test-{}-{now:x}", std::process::id());
        let kubeconfig = site.path().join("kubeconfig");
        let mut cluster = Cluster { site, namespace, kubeconfig, lab, tokens: None };
        let own =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": cluster.namespace } });
        cluster.create(&own);
        cluster.tokens = cluster.lab.is_none().then(|| Tokens::fill(&cluster));
        cluster.provider("");
        cluster.configure(text);
        cluster
    }

    /// Configures the provider, with more settings.
    pub(crate) fn provider(&self, more: &str) {
        let namespace = &self.namespace;
        self.site.write(
            "cluster.fleet.hcl",
            &format!(
                "provider \"kubernetes\" {{\n  kubeconfig_path = \"kubeconfig\"\n  namespace = \"{namespace}\"\n{more}}}\n"
            ),
        );
    }

    pub(crate) fn configure(&self, text: &str) {
        self.site.write("main.fleet.hcl", text);
    }

    /// The lab, for what has to break on purpose; none in a real cluster.
    pub(crate) fn lab(&self) -> Option<&Lab> {
        self.lab.as_ref()
    }

    /// The output of `kubectl`, which must have worked.
    #[track_caller]
    pub(crate) fn kubectl(&self, words: &[&str]) -> String {
        let output = self.kubectl_with(words, "");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "kubectl {words:?}: {out}{err}");
        out
    }

    /// What `kubectl` did with something on standard input.
    pub(crate) fn kubectl_with(&self, words: &[&str], input: &str) -> Output {
        kubectl(&self.kubeconfig, &self.site.path().join("kubectl-cache"), words, input)
    }

    /// Makes an object behind our back.
    #[track_caller]
    pub(crate) fn create(&self, object: &Json) {
        let made = self.kubectl_with(
            &["-n", &self.namespace, "create", "--validate=false", "-f", "-"],
            &object.to_string(),
        );
        assert!(made.status.success(), "{}", text(&made.stderr));
    }

    /// An object in the namespace; none if it is not there.
    pub(crate) fn object(&self, kind: &str, name: &str) -> Option<Json> {
        let words = ["-n", &*self.namespace, "get", kind, name, "--ignore-not-found", "-o", "json"];
        let out = self.kubectl(&words);
        (!out.trim().is_empty()).then(|| serde_json::from_str(&out).unwrap())
    }

    /// Changes an object behind our back.
    #[track_caller]
    pub(crate) fn patch(&self, kind: &str, name: &str, patch: &str) {
        self.kubectl(&["-n", &self.namespace, "patch", kind, name, "--type=merge", "-p", patch]);
    }

    pub(crate) fn run(&self, command: &str) -> Ran {
        self.site.fleet([command, "--auto-approve"])
    }

    /// The plan, as programs read it.
    #[track_caller]
    pub(crate) fn plan(&self, options: &[&str]) -> Json {
        let words: Vec<&str> = ["plan", "--json"].iter().chain(options).copied().collect();
        serde_json::from_str(&self.site.fleet_words(&words).ok()).unwrap()
    }

    /// What a plan does.
    #[track_caller]
    pub(crate) fn actions(&self, options: &[&str]) -> Vec<String> {
        let plan = self.plan(options);
        plan["steps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|step| step["action"].as_str().unwrap().to_owned())
            .collect()
    }

    /// The attributes that a plan changes.
    #[track_caller]
    pub(crate) fn changes(&self) -> Vec<String> {
        let plan = self.plan(&[]);
        let steps = plan["steps"].as_array().unwrap().iter();
        let changes = steps.flat_map(|step| step["changes"].as_array().cloned().unwrap_or_default());
        changes.map(|change| change["attribute"].as_str().unwrap_or_default().to_owned()).collect()
    }

    #[track_caller]
    pub(crate) fn check_converged(&self) {
        assert_eq!(self.site.fleet(["plan"]).ok(), "No changes.\n");
    }
}

/// Runs `kubectl`, which keeps what it learns in a directory.
fn kubectl(kubeconfig: &Path, cache: &Path, words: &[&str], input: &str) -> Output {
    use std::io::Write as _;
    let mut child = Command::new("kubectl")
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .arg("--cache-dir")
        .arg(cache)
        .args(words)
        .env("HOME", cache)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kubectl is installed: see `cargo xtask test`");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.tokens = None;
        if self.lab.is_none() {
            self.kubectl_with(&["delete", "namespace", &self.namespace, "--wait=false"], "");
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The example of a kind of the provider.
pub(crate) fn example(sort: Sort, name: &str) -> String {
    let catalog = providers(PathBuf::new());
    let doc = &catalog.find(sort, name).unwrap().schema.doc;
    let (_, rest) = doc.split_once("```hcl\n").unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}
