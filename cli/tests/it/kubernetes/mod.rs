//! What lives in a cluster, through the command line.
//!
//! Nothing here knows which cluster that is: the lab's, or the one that `FLEET_TEST_KUBECONFIG` names. Reality is looked at
//! and changed behind our back with `kubectl`. Two files are about the lab alone, wherever the others look: `broken.rs`, because
//! no real cluster breaks on purpose, and `macs.rs`, because no real cluster has the lab's Macs.

mod access;
mod broken;
mod fields;
mod kinds;
mod kubectl;
pub(crate) mod laws;
mod macs;
mod manifest;
mod nodes;
mod secrets;
mod tokens;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

use fleet_engine::schema::{Catalog, Sort};
use fleet_lab::clock::Pace;
use fleet_lab::{Lab, Options};
use serde_json::{Value as Json, json};

use crate::laws::search::{SHORTEST, Search};
use crate::support::{Ran, Site, providers};
use tokens::Tokens;

/// The known bad states that are found in a cluster.
pub(crate) const FOUND_THERE: [&str; 2] = ["node-not-ready", "pods-held-by-a-lost-agent"];

/// A cluster with a namespace of its own for a test, and a directory with a configuration for it.
pub(crate) struct Cluster {
    pub(crate) site: Site,
    pub(crate) namespace: String,
    kubeconfig: PathBuf,
    /// None if it is a real cluster.
    lab: Option<Lab>,
    /// Finds what the kubeconfig logs in with.
    login: Search,
    /// Fills the Secrets of tokens where nobody else does.
    tokens: Option<Tokens>,
}

impl Cluster {
    /// With this configuration, beside that of the provider.
    pub(crate) fn new(text: &str) -> Cluster {
        let Some(path) = std::env::var_os("FLEET_TEST_KUBECONFIG") else { return Cluster::in_lab(text) };
        let mut cluster = Cluster::at(&whole_kubeconfig(Path::new(&path)), None);
        cluster.tokens = Some(Tokens::fill(&cluster));
        cluster.configure(text);
        cluster
    }

    /// The lab's, for what has to break on purpose.
    pub(crate) fn in_lab(text: &str) -> Cluster {
        let options = Options { macs: 0, pace: Pace::Times(20.0), ..Options::default() };
        let lab = Lab::start(options).unwrap();
        let cluster = Cluster::at(&lab.kubernetes().kubeconfig(), Some(lab));
        cluster.configure(text);
        cluster
    }

    fn at(config: &str, lab: Option<Lab>) -> Cluster {
        let site = Site::empty();
        site.write("kubeconfig", config);
        // What other runs left behind in a real cluster may go on for a while.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros();
        let namespace = format!("fleet-test-{}-{now:x}", std::process::id());
        let kubeconfig = site.path().join("kubeconfig");
        let login = Search::new(&[]);
        let mut cluster = Cluster { site, namespace, kubeconfig, lab, login, tokens: None };
        cluster.login = cluster.find_login();
        cluster.create(
            &json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": cluster.namespace } }),
        );
        cluster.provider("");
        cluster
    }

    /// What the kubeconfig logs in with.
    fn find_login(&self) -> Search {
        let view = self.kubectl(&["config", "view", "--raw", "--minify", "--flatten", "-o", "json"]);
        let view: Json = serde_json::from_str(&view).unwrap();
        let user = &view["users"][0]["user"];
        let secrets: Vec<&str> =
            ["token", "password", "client-key-data"].iter().filter_map(|name| user[name].as_str()).collect();
        // What is too short would be found by chance.
        let secrets: Vec<&str> = secrets.into_iter().filter(|secret| secret.len() >= SHORTEST).collect();
        Search::new(&secrets)
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

    /// The API server of the lab's cluster.
    pub(crate) fn server(&self) -> &fleet_lab::kubernetes::Cluster {
        self.lab.as_ref().expect("it is in the lab").kubernetes()
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

    /// Runs a command, which must not tell anybody how to log in.
    #[track_caller]
    pub(crate) fn fleet(&self, words: &[&str]) -> Ran {
        let ran = self.site.fleet_words(words);
        self.login.check("stdout", ran.stdout.as_bytes());
        self.login.check("stderr", ran.stderr.as_bytes());
        ran
    }

    #[track_caller]
    pub(crate) fn run(&self, command: &str) -> Ran {
        self.fleet(&[command, "--auto-approve"])
    }

    /// The plan, as programs read it.
    #[track_caller]
    pub(crate) fn plan(&self, options: &[&str]) -> Json {
        let words: Vec<&str> = ["plan", "--json"].iter().chain(options).copied().collect();
        serde_json::from_str(&self.fleet(&words).ok()).unwrap()
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
        assert_eq!(self.fleet(&["plan"]).ok(), "No changes.\n");
    }
}

/// A kubeconfig that can lie anywhere: what it names as files is in it, or named with its whole path. A relative path starts
/// where the tests were called, or at the root of the workspace.
fn whole_kubeconfig(path: &Path) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let starts = std::env::var_os("PWD").map(PathBuf::from).into_iter().chain([root]);
    let found = starts.map(|start| start.join(path)).find(|path| path.exists());
    let found = found.unwrap_or_else(|| panic!("FLEET_TEST_KUBECONFIG: {} is not there", path.display()));
    let found = found.canonicalize().unwrap();
    let ran =
        kubectl(&found, &std::env::temp_dir(), &["config", "view", "--raw", "--flatten", "-o", "json"], "");
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let mut config: Json = serde_json::from_slice(&ran.stdout).unwrap();
    let directory = found.parent().unwrap();
    for user in config["users"].as_array_mut().into_iter().flatten() {
        let user = &mut user["user"];
        // These are run or read again and again, and stay files.
        for pointer in ["/tokenFile", "/exec/command"] {
            let Some(named) = user.pointer_mut(pointer) else { continue };
            let file = named.as_str().unwrap_or_default().to_owned();
            if pointer == "/tokenFile" || file.contains('/') {
                *named = json!(directory.join(file));
            }
        }
    }
    config.to_string()
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
        if !std::thread::panicking() {
            for path in walk(&self.site.path().join(".fleet")) {
                self.login.check(&path.display().to_string(), &std::fs::read(&path).unwrap());
            }
        }
        if self.lab.is_some() {
            return;
        }
        // Not in every cluster does what is in a namespace go with it.
        let name = &*self.namespace;
        let within = "configmaps,services,serviceaccounts,secrets,poddisruptionbudgets,rolebindings,roles";
        let selector = format!("fleet.dev/bootstrap-token={name}");
        for words in [
            &["-n", name, "delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false"][..],
            &["-n", name, "delete", within, "--all", "--wait=false"],
            &["-n", "kube-system", "delete", "secrets", "-l", &selector, "--wait=false"],
            &["delete", "namespace", name, "--wait=false"],
        ] {
            self.kubectl_with(words, "");
        }
        self.let_go(&["-n", name], "pods,configmaps");
        for spanning in self.names(&[], "clusterrolebindings,clusterroles,nodes") {
            if spanning.contains(name) {
                self.kubectl_with(&["delete", &spanning, "--ignore-not-found", "--wait=false"], "");
            }
        }
        self.finish_namespace();
    }
}

/// How long a cluster has to take a namespace away by itself.
const LOOKS: usize = 10;

impl Cluster {
    /// The objects of some kinds, as `kubectl` names them.
    fn names(&self, place: &[&str], kinds: &str) -> Vec<String> {
        let words: Vec<&str> = place.iter().copied().chain(["get", kinds, "-o", "name"]).collect();
        text(&self.kubectl_with(&words, "").stdout).lines().map(str::to_owned).collect()
    }

    /// What a test that failed still holds goes, too.
    fn let_go(&self, place: &[&str], kinds: &str) {
        for name in self.names(place, kinds) {
            let patch = ["patch", &*name, "--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#];
            let words: Vec<&str> = place.iter().copied().chain(patch).collect();
            self.kubectl_with(&words, "");
        }
    }

    /// In a bare cluster, nobody finishes a namespace that is being deleted.
    fn finish_namespace(&self) {
        let name = &*self.namespace;
        for _ in 0..LOOKS {
            std::thread::sleep(std::time::Duration::from_millis(500));
            if self.names(&[], "namespaces").iter().all(|found| *found != format!("namespace/{name}")) {
                return;
            }
        }
        let left = self.kubectl_with(&["get", "namespace", name, "-o", "json"], "");
        let Ok(mut left) = serde_json::from_slice::<Json>(&left.stdout) else { return };
        left["spec"]["finalizers"] = json!([]);
        let path = format!("/api/v1/namespaces/{name}/finalize");
        self.kubectl_with(&["replace", "--raw", &path, "-f", "-"], &left.to_string());
    }
}

/// All files under a directory; none if there is no such directory.
fn walk(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(walk(&path)),
            false => files.push(path),
        }
    }
    files
}

/// The text in a field of a Secret.
fn decoded(object: &Json, field: &str) -> String {
    use base64::Engine as _;
    let encoded = object["data"][field].as_str().unwrap_or_default();
    text(&base64::prelude::BASE64_STANDARD.decode(encoded).unwrap())
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
