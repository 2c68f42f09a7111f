//! Which cluster is meant, and who asks: the `provider` block, completed from the usual places.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fleet_derive::Schema;
use fleet_engine::resource::Error;
use kube::Config;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;

/// Who owns the fields that are applied, unless somebody says otherwise.
const FIELD_MANAGER: &str = "fleet";

/// A Kubernetes cluster.
///
/// The way there is a kubeconfig: its text in `kubeconfig`, a file in `kubeconfig_path`, or else the files that
/// `KUBECONFIG` names, or `~/.kube/config`. Programs that a kubeconfig names for logging in are run. With `in_cluster`, the
/// account of the pod is used that fleet runs in.
///
/// Objects are written by server-side apply. Every field has an owner there: fleet's is called `fleet`, and a field of
/// somebody else is not changed without `force`.
///
/// The cluster is of Kubernetes 1.22 or newer, which drains Nodes by `policy/v1`; 1.28 or newer tells `fleet secrets check` whom it
/// takes a kubeconfig for.
///
/// ```hcl
/// secret "cluster" {
///   from = "env:CLUSTER_KUBECONFIG"
/// }
///
/// provider "kubernetes" {
///   kubeconfig = secret.cluster
///   namespace  = "ci"
/// }
/// ```
#[derive(Clone, Schema)]
pub struct Settings {
    /// The text of a kubeconfig.
    #[fleet(secret)]
    pub kubeconfig: Option<String>,
    /// The path of a kubeconfig.
    pub kubeconfig_path: Option<String>,
    /// The context of the kubeconfig; its current one if this is left out.
    pub context: Option<String>,
    /// Whether the account of the pod is used that fleet runs in.
    #[fleet(default = false)]
    pub in_cluster: bool,
    /// The namespace of objects that name none; that of the context if this is left out.
    pub namespace: Option<String>,
    /// Who owns the fields that are applied; `fleet` if this is left out.
    pub field_manager: Option<String>,
}

/// A cluster, with nothing left out.
pub(super) struct Cluster {
    pub(super) config: Config,
    pub(super) namespace: String,
    pub(super) manager: String,
}

impl Settings {
    /// Completes the settings.
    pub(super) async fn cluster(
        self,
        directory: &Path,
        environment: &BTreeMap<String, String>,
        account: &Path,
    ) -> Result<Cluster, Error> {
        let config = match (&self.kubeconfig, &self.kubeconfig_path, self.in_cluster) {
            (None, None, true) => {
                let mut config = self.load(of_pod(environment, account)?).await?;
                if let Ok(namespace) = std::fs::read_to_string(account.join("namespace")) {
                    namespace.trim().clone_into(&mut config.default_namespace);
                }
                config
            }
            (_, _, true) => return Err(only_one("in_cluster")),
            (Some(_), Some(_), _) => return Err(only_one("kubeconfig")),
            // What is wrong with its text is not repeated: it is secret.
            (Some(text), None, false) => {
                let parsed = Kubeconfig::from_yaml(text);
                let parsed = parsed.map_err(|_| Error::permanent("`kubeconfig` holds no kubeconfig"))?;
                self.load(parsed).await?
            }
            (None, path, false) => {
                let paths = paths(path.as_deref(), directory, environment)?;
                self.load(read(&paths)?).await?
            }
        };
        let namespace = self.namespace.unwrap_or_else(|| config.default_namespace.clone());
        let manager = self.field_manager.unwrap_or_else(|| FIELD_MANAGER.to_owned());
        Ok(Cluster { config, namespace, manager })
    }

    async fn load(&self, kubeconfig: Kubeconfig) -> Result<Config, Error> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let loaded = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        loaded.map_err(|_| {
            let named =
                self.context.as_ref().map_or("its current context".to_owned(), |name| format!("`{name}`"));
            Error::permanent(format!("the kubeconfig cannot be used with {named}"))
                .help("check that the context, its cluster and its user are there, and the files they name")
        })
    }
}

/// How a pod reaches the cluster that it is in, as its account. The token is a file that is written anew all the time.
fn of_pod(environment: &BTreeMap<String, String>, account: &Path) -> Result<Kubeconfig, Error> {
    let place = |name: &str| account.join(name).display().to_string();
    let (host, port) = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT");
    let (Some(host), Some(port), true) =
        (environment.get(host), environment.get(port), account.join("token").exists())
    else {
        let error = Error::permanent("there is no account of a pod here");
        return Err(error.help("`in_cluster` works in a pod with an account; elsewhere give a kubeconfig"));
    };
    let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
    let parsed = serde_json::from_value(json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "pod",
        "clusters": [{ "name": "pod", "cluster": { "server": format!("https://{host}:{port}"), "certificate-authority": place("ca.crt") } }],
        "users": [{ "name": "pod", "user": { "tokenFile": place("token") } }],
        "contexts": [{ "name": "pod", "context": { "cluster": "pod", "user": "pod" } }],
    }));
    parsed.map_err(|_| Error::permanent("the account of this pod cannot be used"))
}

fn only_one(name: &str) -> Error {
    Error::permanent(format!("`{name}` and another way to the cluster are given"))
        .help("give one of `kubeconfig`, `kubeconfig_path` and `in_cluster`")
}

/// The files that together are the kubeconfig.
fn paths(
    path: Option<&str>,
    directory: &Path,
    environment: &BTreeMap<String, String>,
) -> Result<Vec<PathBuf>, Error> {
    let home = environment.get("HOME").map(PathBuf::from);
    let resolve = |text: &str| match (text.strip_prefix("~/"), &home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => directory.join(text),
    };
    if let Some(path) = path {
        return Ok(vec![resolve(path)]);
    }
    if let Some(list) = environment.get("KUBECONFIG").filter(|list| !list.is_empty()) {
        return Ok(std::env::split_paths(list).map(|path| directory.join(path)).collect());
    }
    let usual = home.map(|home| home.join(".kube/config")).filter(|path| path.exists());
    usual.map(|path| vec![path]).ok_or_else(|| {
        Error::permanent("provider `kubernetes` has no kubeconfig, and the variable `KUBECONFIG` is not set")
            .help("set `KUBECONFIG`, or write `kubeconfig` in `provider \"kubernetes\" { … }`")
    })
}

fn read(paths: &[PathBuf]) -> Result<Kubeconfig, Error> {
    let mut whole = Kubeconfig::default();
    for path in paths {
        let part = Kubeconfig::read_from(path);
        let merged = part.and_then(|part| whole.merge(part));
        whole = merged.map_err(|_| {
            let message = format!("{} is no kubeconfig that can be read", path.display());
            Error::permanent(message).help("check that the file is there and that it is YAML")
        })?;
    }
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_kubeconfig_is_looked_for() {
        let environment = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let find = |path: Option<&str>, pairs: &[(&str, &str)]| {
            let found = paths(path, Path::new("/site"), &environment(pairs)).map_err(|error| error.message);
            found.map(|paths| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>())
        };
        assert_eq!(find(Some("a"), &[("KUBECONFIG", "/b")]).unwrap(), ["/site/a"]);
        assert_eq!(find(Some("~/a"), &[("HOME", "/home/x")]).unwrap(), ["/home/x/a"]);
        assert_eq!(find(None, &[("KUBECONFIG", "/b:c")]).unwrap(), ["/b", "/site/c"]);
        assert!(find(None, &[("HOME", "/nowhere")]).unwrap_err().contains("KUBECONFIG"));
    }

    #[tokio::test]
    async fn in_a_pod_its_account_is_used() {
        let directory = tempfile::tempdir().unwrap();
        let account = directory.path();
        let mut environment = BTreeMap::new();
        let settings = |more: fn(&mut Settings)| {
            let mut settings = Settings {
                kubeconfig: None,
                kubeconfig_path: None,
                context: None,
                in_cluster: true,
                namespace: None,
                field_manager: None,
            };
            more(&mut settings);
            settings
        };
        let refused = |error: Error, expected: &str| assert!(error.message.contains(expected), "{error}");
        let found = settings(|_| ()).cluster(account, &environment, account).await;
        refused(found.err().unwrap(), "no account of a pod");
        for (name, value) in [("KUBERNETES_SERVICE_HOST", "10.0.0.1"), ("KUBERNETES_SERVICE_PORT", "6443")] {
            environment.insert(name.to_owned(), value.to_owned());
        }
        let found = settings(|_| ()).cluster(account, &environment, account).await;
        refused(found.err().unwrap(), "no account of a pod");
        for (name, text) in
            [("token", "t"), ("namespace", "ci\n"), ("ca.crt", include_str!("standing/until-2031.pem"))]
        {
            std::fs::write(account.join(name), text).unwrap();
        }
        let found = settings(|_| ())
            .cluster(account, &environment, account)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.config.cluster_url.to_string(), "https://10.0.0.1:6443/");
        assert_eq!((&*found.namespace, &*found.manager), ("ci", FIELD_MANAGER));
        assert_eq!(found.config.root_cert.map(|all| all.len()), Some(1));
        assert_eq!(found.config.auth_info.token_file, Some(account.join("token").display().to_string()));
        let named = settings(|settings| settings.namespace = Some("other".to_owned()));
        let found =
            named.cluster(account, &environment, account).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.namespace, "other");
        environment.insert("KUBERNETES_SERVICE_HOST".to_owned(), "fd00::1".to_owned());
        let found = settings(|_| ())
            .cluster(account, &environment, account)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.config.cluster_url.to_string(), "https://[fd00::1]:6443/");
        let both = settings(|settings| settings.kubeconfig_path = Some("x".to_owned()));
        let found = both.cluster(account, &environment, account).await;
        refused(found.err().unwrap(), "`in_cluster` and another way");
    }
}
