//! Secrets that a cluster keeps for whoever runs fleet: `k8s:NAMESPACE/NAME#KEY`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fleet_engine::host::reach::Secret;
use fleet_engine::resource::Error;
use fleet_engine::secret::InCluster;

use super::client::{Looking, Resource};

/// What a Secret has under a key.
pub(super) async fn read(looking: &Looking, place: &InCluster) -> Result<Secret, Error> {
    let InCluster { namespace, name, key } = place;
    let secrets = Resource::core("Secret", "secrets", true);
    let Some(found) = looking.get(&secrets.one(namespace, name)).await? else {
        let error = Error::permanent(format!("there is no Secret `{namespace}/{name}` in the cluster"));
        return Err(error.help(format!(
            "check which cluster the kubeconfig leads to, or make it: `kubectl create secret generic {name} -n {namespace} --from-file={key}=FILE`"
        )));
    };
    let data = found["data"].as_object();
    let Some(encoded) = data.and_then(|data| data.get(key)?.as_str()) else {
        let keys: Vec<String> = data.into_iter().flatten().map(|(known, _)| format!("`{known}`")).collect();
        let error = Error::permanent(format!("the Secret `{namespace}/{name}` has no key `{key}`"));
        return Err(match keys.is_empty() {
            true => error.help("it has no keys at all"),
            false => error.help(format!("its keys are {}", keys.join(", "))),
        });
    };
    let text = BASE64_STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(Secret).ok_or_else(|| {
        let error =
            Error::permanent(format!("what the Secret `{namespace}/{name}` has as `{key}` is no text"));
        error.help("keep it there as the text of its base64, and decode that where it is used")
    })
}
