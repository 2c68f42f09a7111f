//! The agent that makes a Mac a Node: whichever program is called `tart-kubelet` and runs for launchd, with the flags that it
//! was started with and what the kubeconfig that they name said then.

use std::sync::Weak;

use serde_json::Value;

use crate::kubernetes::{Kubelet, Kubelets, Pods};
use crate::mac::{Mac, Tools, tailscale};

/// What the program is called.
pub(super) const PROGRAM: &str = "/tart-kubelet";

/// How labels begin that are the agent's alone.
const OWN_LABELS: &str = "tuist.dev/";

impl Kubelets for Tools {
    fn running(&self) -> Vec<Kubelet> {
        self.all().iter().filter_map(|mac| agent(mac)).collect()
    }

    fn serve(&self, pods: Weak<dyn Pods>) {
        self.clusters().push(pods);
    }
}

/// What stands in the kubeconfig that a program is told of when it is started. Nobody reads it again later.
pub(in crate::mac) fn kubeconfig(mac: &Mac, arguments: &[String]) -> Option<Vec<u8>> {
    let path = flag(arguments, "kubeconfig")?;
    std::fs::read(mac.root().join(path.trim_start_matches('/'))).ok()
}

/// What a flag says.
fn flag<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    arguments.iter().find_map(|word| word.strip_prefix("--")?.strip_prefix(name)?.strip_prefix('='))
}

/// The agent of a Mac, if one runs that was started with a kubeconfig that it can read.
pub(super) fn agent(mac: &Mac) -> Option<Kubelet> {
    let (arguments, kubeconfig) = {
        let live = mac.live();
        let mut processes = live.as_ref()?.launchd.processes();
        let (_, process) = processes.find(|(_, process)| process.program.ends_with(PROGRAM))?;
        (process.arguments.clone(), process.kubeconfig.clone()?)
    };
    let flag = |name: &str| flag(&arguments, name).map(str::to_owned);
    // Kubeconfigs of fleet are JSON; another is none that this agent can read.
    let kubeconfig: Value = serde_json::from_slice(&kubeconfig).ok()?;
    let labels = flag("node-labels").unwrap_or_default();
    let labels = labels.split(',').filter_map(|pair| pair.split_once('='));
    let address = match (flag("node-ip"), flag("node-ip-source").as_deref()) {
        (Some(address), _) => Some(address),
        (None, Some("tailscale")) => address_in_tailnet(mac),
        (None, _) => mac.addresses().first().map(ToString::to_string),
    };
    Some(Kubelet {
        node: flag("node-name")?,
        token: kubeconfig["users"][0]["user"]["token"].as_str()?.to_owned(),
        address,
        provider_id: flag("provider-id"),
        labels: labels.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        own_labels: Some(OWN_LABELS.to_owned()),
    })
}

/// Its address in the tailnet, while it is in.
fn address_in_tailnet(mac: &Mac) -> Option<String> {
    let backend = tailscale::daemon(mac)?.backend(mac);
    backend.running().map(|device| device.address.to_string())
}
