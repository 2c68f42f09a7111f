//! The agent that makes a Mac a Node: whichever program is called `tart-kubelet` and runs for launchd, with the flags that it
//! was started with and the kubeconfig that they name.

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

/// The agent of a Mac, if one runs with a kubeconfig that can be read.
pub(super) fn agent(mac: &Mac) -> Option<Kubelet> {
    let arguments = {
        let live = mac.live();
        let mut processes = live.as_ref()?.launchd.processes();
        processes.find(|(_, process)| process.program.ends_with(PROGRAM))?.1.arguments.clone()
    };
    let flag = |name: &str| {
        let given = arguments.iter().find_map(|word| word.strip_prefix(&format!("--{name}=")));
        given.map(str::to_owned)
    };
    let path = mac.root().join(flag("kubeconfig")?.trim_start_matches('/'));
    // Kubeconfigs of fleet are JSON; another is none that this agent can read.
    let kubeconfig: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let labels = flag("node-labels").unwrap_or_default();
    let labels = labels.split(',').filter_map(|pair| pair.split_once('='));
    let address = match flag("node-ip-source").as_deref() {
        Some("tailscale") => address_in_tailnet(mac),
        _ => mac.addresses().first().map(ToString::to_string),
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
