//! `kubernetes_node`: the Node that the agent of a Mac keeps.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, table};
use fleet_engine::provider::Journal;
use fleet_engine::resource::{ApiKind, At, Change, Disruption, Error, Resource, Touch};
use futures_util::future::join_all;
use serde_json::{Value as Json, json};

use super::account;
use super::client::{self, Acting, Looking};
use super::drain::{Cordon, cordon, drain, set_cordon, told};
use super::json::{metadata, text};
use super::owned;
use super::refusal::Refusal;
use super::wait::{PATIENCE, gone};

/// How often it is looked whether the agent made it ready, and with which pause.
const LOOKS: usize = 30;
const PAUSE: Duration = Duration::from_millis(500);

/// Labels that agents and the cluster write themselves.
const RESERVED: [&str; 2] = ["kubernetes.io", "k8s.io"];

/// The Node of a Mac, which its agent makes and keeps: here it is waited for, labelled, and removed in good order.
///
/// Nothing here makes a Node: the agent registers it. It counts as ready when its condition `Ready` is true and its agent
/// was heard of within `stale_after`, by the clock of the cluster; what is wrong otherwise, `trouble` says. A `provider_id` is filled in where the Node has none; one
/// that differs is told and left alone, because no cluster lets it be changed.
///
/// Labels are fleet's own fields of the Node. Those of `kubernetes.io` and `k8s.io` are the agent's and refused, and so is
/// what begins with one of `agent_labels`: an agent takes labels away that it thinks its own.
///
/// A Node that we cordoned to remove it, and that stayed after all, lets pods come again with the next apply, unless `cordoned`
/// says otherwise. A cordon of somebody else is theirs: it is told, and stays.
///
/// On the way out the Node is cordoned, its pods are evicted as their budgets allow (a pod that no controller keeps is gone for
/// good: nobody makes it again elsewhere), the authority of its agent is revoked,
/// and then it is deleted. Pods that are
/// still there at the deadline are told, and the Node stays, unless `delete_undrained` says otherwise.
///
/// ```hcl
/// resource "kubernetes_node" "mini" {
///   name        = "mini-0"
///   labels      = { "example.com/fleet" = "runners" }
///   provider_id = "scaleway://apple-silicon/fr-par-1/11111111-2222-3333-4444-555555555555"
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Node {
    /// The name of the Node: that of the Mac.
    #[fleet(replace)]
    name: String,
    /// Which machine it is, in the words of its vendor; what the agent says if it is left out.
    #[fleet(optional_computed)]
    provider_id: Option<String>,
    /// Labels that are fleet's.
    #[fleet(default = BTreeMap::new())]
    labels: BTreeMap<String, String>,
    /// How labels begin that the agent takes away unless it sets them itself.
    #[fleet(default = Vec::new())]
    agent_labels: Vec<String>,
    /// Whether it has to be ready; apply waits for that.
    #[fleet(default = true)]
    ready: bool,
    /// Whether new pods are kept from it.
    #[fleet(default = false)]
    cordoned: bool,
    /// For how long an agent is believed to be there after it was heard of.
    #[fleet(default = "2m")]
    stale_after: String,
    /// The account of its agent: `name` of its `kubernetes_node_identity`. What it may do is revoked before the Node is deleted,
    /// because an agent that still runs and may do so registers its Node anew.
    identity: Option<String>,
    /// For how long its pods are waited for when it goes.
    #[fleet(default = "5m")]
    drain_timeout: String,
    /// Whether it is deleted with the pods that are still there then.
    #[fleet(default = false)]
    delete_undrained: bool,
    /// Why it is not ready. It is found out, and cannot be wished for.
    trouble: Option<String>,
    /// Its addresses, by their type.
    #[fleet(computed)]
    addresses: Option<BTreeMap<String, String>>,
    /// Given by the cluster.
    #[fleet(computed)]
    uid: Option<String>,
}

impl Resource for Node {
    const NAME: &'static str = "kubernetes_node";
    const ID: Option<&'static str> = Some("the name of the Node");
    const WAITS_FOR_WORK: bool = true;
    const DETECTS: &'static [&'static Known] = &[&table::NODE_NOT_READY];

    fn normalize(&mut self) -> Result<(), Misfit> {
        if self.name.is_empty() {
            return Err(Misfit::new("name", "a name is needed"));
        }
        if self.trouble.is_some() {
            return Err(Misfit::new("trouble", "it is found out, and cannot be wished"));
        }
        for (name, given) in [("stale_after", &self.stale_after), ("drain_timeout", &self.drain_timeout)] {
            if humantime::parse_duration(given).is_err() {
                return Err(Misfit::new(name, "a duration is a text with a unit, such as `5m`"));
            }
        }
        for label in self.labels.keys() {
            let domain = label.split_once('/').map_or("", |(domain, _)| domain);
            let is_reserved =
                RESERVED.iter().any(|known| domain == *known || domain.ends_with(&format!(".{known}")));
            if is_reserved {
                let why = format!("`{label}` is for the agent and the cluster to write");
                return Err(Misfit::new("labels", why));
            }
            if let Some(start) = self.agent_labels.iter().find(|start| label.starts_with(start.as_str())) {
                let why = format!(
                    "the agent takes `{label}` away, as everything that begins with `{start}`: let the agent set it"
                );
                return Err(Misfit::new("labels", why));
            }
        }
        Ok(())
    }

    fn findings(&self) -> Vec<Finding> {
        self.trouble.iter().map(|trouble| table::NODE_NOT_READY.seen_by(trouble)).collect()
    }

    fn disrupts(touch: Touch<'_>) -> Disruption {
        if touch == Touch::Destroy { Disruption::Host } else { Disruption::Nothing }
    }
}

fn nodes() -> client::Resource {
    client::Resource::core("Node", "nodes", false)
}

fn leases() -> client::Resource {
    client::Resource::of("coordination.k8s.io/v1", "Lease", "leases", true)
}

/// What is heard of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pulse {
    /// What the condition `Ready` says, and the reason that it has; none if the Node has no such condition.
    ready: Option<(String, String)>,
    /// When it was last heard of.
    last: Option<SystemTime>,
    /// How long ago that was.
    age: Option<Duration>,
}

impl Pulse {
    fn of(node: &Json, lease: Option<&Json>, now: SystemTime) -> Pulse {
        let conditions = node["status"]["conditions"].as_array().into_iter().flatten();
        let ready = conditions.into_iter().find(|condition| condition["type"] == "Ready");
        let beats = [
            ready.map(|ready| text(ready, &["lastHeartbeatTime"])),
            lease.map(|lease| text(lease, &["spec", "renewTime"])),
        ];
        let beats = beats.into_iter().flatten().filter_map(|beat| humantime::parse_rfc3339(beat).ok());
        // A beat of which the clock knows nothing yet is one of now.
        let last = beats.max();
        let age = last.map(|last| now.duration_since(last).unwrap_or_default());
        let said = |ready: &Json, name: &str| text(ready, &[name]).to_owned();
        let ready = ready.map(|ready| (said(ready, "status"), said(ready, "reason")));
        Pulse { ready, last, age }
    }

    fn is_good(&self, stale_after: Duration) -> bool {
        self.trouble(stale_after).is_none()
    }

    /// What is wrong with it: the same for as long as it is the same.
    fn trouble(&self, stale_after: Duration) -> Option<String> {
        let heard = match (self.last, self.age) {
            (Some(_), Some(age)) if age <= stale_after => None,
            (Some(last), _) => {
                Some(format!("its agent was last heard of at {}", humantime::format_rfc3339_seconds(last)))
            }
            (None, _) => Some("its agent was never heard of".to_owned()),
        };
        let ready = match &self.ready {
            None => Some("it has no condition `Ready`".to_owned()),
            Some((status, _)) if status == "True" => None,
            Some((status, reason)) => Some(format!("its condition `Ready` is `{status}` ({reason})")),
        };
        let wrong: Vec<String> = ready.into_iter().chain(heard).collect();
        (!wrong.is_empty()).then(|| wrong.join(", and "))
    }
}

impl Node {
    fn duration(text: &str) -> Duration {
        humantime::parse_duration(text).unwrap_or(Duration::from_secs(120))
    }

    async fn see(&self, looking: &Looking) -> Result<Option<(Json, Pulse)>, Error> {
        let Some((node, now)) = looking.get_now(&nodes().one("", &self.name)).await? else { return Ok(None) };
        let lease = looking.get(&leases().one("kube-node-lease", &self.name)).await;
        // Not everybody may see these, and not every agent has one.
        let pulse = Pulse::of(&node, lease.ok().flatten().as_ref(), now);
        Ok(Some((node, pulse)))
    }

    fn stale_after(&self) -> Duration {
        Node::duration(&self.stale_after)
    }

    /// Gives a Node what it is to have, if it is still the one that was seen: whoever applies to one that is gone makes another.
    async fn put_right(&self, writer: &Acting, node: &Json) -> Result<(), Refusal> {
        let place = nodes().one("", &self.name);
        let uid = text(node, &["metadata", "uid"]);
        let mut wish = json!({ "apiVersion": "v1", "kind": "Node" });
        wish["metadata"] = metadata(&self.name, &self.labels);
        wish["metadata"]["uid"] = json!(uid);
        writer.apply(&place, &wish, true).await?;
        if let Some(id) = self.provider_id.as_ref().filter(|_| text(node, &["spec", "providerID"]).is_empty())
        {
            let patch = json!({ "metadata": { "uid": uid }, "spec": { "providerID": id } });
            writer.merge(&place, &patch).await?;
        }
        let cordon = Cordon::of(node, &writer.looking.manager);
        if self.is_cordoned_as(cordon) != self.cordoned {
            set_cordon(writer, &self.name, json!({ "uid": uid }), self.cordoned).await?;
        }
        Ok(())
    }

    /// What a cordon is to a wish: one of somebody else is as good as ours, and none of our business.
    fn is_cordoned_as(&self, cordon: Cordon) -> bool {
        match cordon {
            Cordon::None => false,
            Cordon::Ours => true,
            Cordon::Theirs => self.cordoned,
        }
    }

    /// Empties it and deletes it; what was left, in words, if anything was.
    async fn remove(&self, writer: &Acting) -> Result<Vec<String>, Error> {
        let place = nodes().one("", &self.name);
        let (uid, within) = (self.uid.clone().unwrap_or_default(), Node::duration(&self.drain_timeout));
        cordon(writer, &self.name).await?;
        let left = drain(writer, &self.name, within).await?;
        let begun = format!(
            "Node `{}` is cordoned and was drained for {} s, and these pods are still there: {}",
            self.name,
            within.as_secs(),
            told(&left)
        );
        if !left.is_empty() && !self.delete_undrained {
            return Err(Error::permanent(format!("{begun}; it was not deleted")).help(
                "let them end and run it again, give a longer `drain_timeout`, or set `delete_undrained = true` to delete the Node with them",
            ));
        }
        let mut stays = Vec::new();
        if let Some(identity) = &self.identity {
            stays.extend(account::revoke(writer, identity, None).await?);
        }
        writer.delete(&place, &uid).await?;
        gone(&writer.looking, &place, &uid, PATIENCE).await?;
        if !left.is_empty() {
            stays.push(format!(
                "Node `{}` was drained for {} s and was deleted with them, as `delete_undrained` says: these pods were still there: {}",
                self.name,
                within.as_secs(),
                told(&left)
            ));
        }
        Ok(stays)
    }

    /// What is wrong with a wish for the machine, given what the Node says.
    fn other_machine(&self, node: &Json) -> Option<Error> {
        let is = text(node, &["spec", "providerID"]);
        let wished = self
            .provider_id
            .as_deref()
            .filter(|wished| !wished.is_empty() && !is.is_empty() && *wished != is)?;
        let message = format!("Node `{}` is `{is}`, and not `{wished}`; that cannot be changed", self.name);
        Some(Error::permanent(message).help(
            "if it is the wrong machine, find out who registered it; else delete the Node, and its agent registers it anew",
        ))
    }
}

impl ApiKind for Node {
    type Reader = Looking;
    type Writer = Acting;

    async fn observe(reader: &Looking, batch: Vec<At<Node>>) -> Vec<Result<Option<Node>, Error>> {
        join_all(batch.into_iter().map(|at| observe(reader, at))).await
    }

    async fn apply(self, writer: &Acting, _: Change<Node>) -> Result<Node, Error> {
        let mut last = None;
        for look in 0..LOOKS {
            let Some((node, pulse)) = self.see(&writer.looking).await? else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            if look == 0 || last.is_none() {
                if let Some(error) = self.other_machine(&node) {
                    return Err(error);
                }
                if let Err(refusal) = self.put_right(writer, &node).await {
                    let is_same = |now: &(Json, Pulse)| now.0["metadata"]["uid"] == node["metadata"]["uid"];
                    if self.see(&writer.looking).await?.as_ref().is_some_and(is_same) {
                        return Err(refusal.into());
                    }
                    // It went meanwhile: its agent makes another one.
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            }
            if !self.ready || pulse.is_good(self.stale_after()) {
                return Ok(Node { uid: Some(text(&node, &["metadata", "uid"]).to_owned()), ..self });
            }
            last = Some(pulse);
            tokio::time::sleep(PAUSE).await;
        }
        Err(match last {
            Some(pulse) => Error::transient(format!(
                "Node `{}` is there: {}",
                self.name,
                pulse.trouble(self.stale_after()).unwrap_or_default()
            ))
            .help("look at the log of the agent on the Mac"),
            None => Error::transient(format!("there is no Node `{}` yet", self.name)).help(
                "its agent has to register it: see that it runs on the Mac, and that its kubeconfig is good",
            ),
        })
    }

    async fn destroy(writer: &Acting, observed: Node) -> Result<(), Error> {
        observed.remove(writer).await.map(drop)
    }

    async fn destroy_in_time(writer: &Acting, observed: Node, run: &dyn Journal) -> Result<(), Error> {
        observed.remove(writer).await?.into_iter().for_each(|left| run.warn(left));
        Ok(())
    }

    const REHEARSES: bool = true;

    async fn rehearse(self, reader: &Looking) -> Result<(), Error> {
        let node = reader.get(&nodes().one("", &self.name)).await?;
        node.and_then(|node| self.other_machine(&node)).map_or(Ok(()), Err)
    }
}

async fn observe(reader: &Looking, at: At<Node>) -> Result<Option<Node>, Error> {
    let asked = match at {
        At::Recorded(asked) | At::Declared(asked) | At::Begun { wish: asked, .. } => asked,
        At::Id(name) => Node {
            name: name.to_string(),
            provider_id: None,
            labels: BTreeMap::new(),
            agent_labels: Vec::new(),
            ready: true,
            cordoned: false,
            stale_after: "2m".to_owned(),
            identity: None,
            drain_timeout: "5m".to_owned(),
            delete_undrained: false,
            trouble: None,
            addresses: None,
            uid: None,
        },
    };
    let Some((node, pulse)) = asked.see(reader).await? else { return Ok(None) };
    let cordon = Cordon::of(&node, &reader.manager);
    if cordon == Cordon::Theirs && !asked.cordoned {
        reader.warn(format!("Node `{}` is cordoned, and not by fleet: no new pods come to it", asked.name));
    }
    let addresses = node["status"]["addresses"].as_array().into_iter().flatten();
    let addresses =
        addresses.map(|one| (text(one, &["type"]).to_owned(), text(one, &["address"]).to_owned()));
    Ok(Some(Node {
        provider_id: Some(text(&node, &["spec", "providerID"]).to_owned()).filter(|id| !id.is_empty()),
        labels: owned::labels(&node, &reader.manager, &asked.labels),
        ready: asked.ready && pulse.is_good(asked.stale_after()),
        // Of a Node that may be so, it is nobody's trouble.
        trouble: pulse.trouble(asked.stale_after()).filter(|_| asked.ready),
        cordoned: asked.is_cordoned_as(cordon),
        addresses: Some(addresses.collect()),
        uid: Some(text(&node, &["metadata", "uid"]).to_owned()),
        ..asked
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, labels: &[(&str, &str)]) -> Node {
        Node {
            name: name.to_owned(),
            provider_id: None,
            labels: labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            agent_labels: vec!["tuist.dev/".to_owned()],
            ready: true,
            cordoned: false,
            stale_after: "2m".to_owned(),
            identity: None,
            drain_timeout: "5m".to_owned(),
            delete_undrained: false,
            trouble: None,
            addresses: None,
            uid: None,
        }
    }

    #[test]
    fn labels_that_would_not_stay_are_refused() {
        for (label, expected) in [
            ("example.com/fleet", None),
            ("plain", None),
            ("kubernetes.io/role", Some("the agent and the cluster")),
            ("node-role.kubernetes.io/mac", Some("the agent and the cluster")),
            ("tuist.dev/fleet", Some("takes")),
        ] {
            let found = node("a", &[(label, "x")]).normalize().err().map(|misfit| misfit.message);
            assert_eq!(found.is_some(), expected.is_some(), "{label}");
            assert!(expected.is_none_or(|expected| found.unwrap_or_default().contains(expected)), "{label}");
        }
        let odd = Node { stale_after: "soon".to_owned(), ..node("a", &[]) }.normalize().unwrap_err();
        assert_eq!(odd.attribute, "stale_after");
    }

    #[test]
    fn the_pulse_is_the_youngest_beat_by_the_clock_of_the_cluster() {
        let at = |text: &str| humantime::parse_rfc3339(text).unwrap();
        let node = json!({ "status": { "conditions": [
            { "type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z" },
        ] } });
        let lease = json!({ "spec": { "renewTime": "2026-01-01T00:00:30.000000Z" } });
        let age =
            |lease: Option<&Json>, now: &str| Pulse::of(&node, lease, at(now)).age.map(|age| age.as_secs());
        assert_eq!(age(None, "2026-01-01T00:01:00Z"), Some(60));
        assert_eq!(age(Some(&lease), "2026-01-01T00:01:00Z"), Some(30));
        assert_eq!(age(Some(&lease), "2025-01-01T00:00:00Z"), Some(0), "a clock that is behind");
        let pulse = Pulse::of(&node, Some(&lease), at("2026-01-01T00:03:00Z"));
        assert!(pulse.is_good(Duration::from_secs(150)) && !pulse.is_good(Duration::from_secs(149)));
        assert!(!Pulse::of(&json!({}), None, at("2026-01-01T00:00:00Z")).is_good(Duration::MAX));
    }

    #[test]
    fn trouble_is_the_same_as_long_as_it_is_the_same() {
        let at = |text: &str| humantime::parse_rfc3339(text).unwrap();
        let node = |status: &str| {
            json!({ "status": { "conditions": [
                { "type": "Ready", "status": status, "reason": "R", "lastHeartbeatTime": "2026-01-01T00:00:00Z" },
            ] } })
        };
        let (soon, late, later) = ("2026-01-01T00:01:00Z", "2026-01-01T01:00:00Z", "2026-01-01T02:00:00Z");
        let (unready, silent) =
            ("its condition `Ready` is `False` (R)", "its agent was last heard of at 2026-01-01T00:00:00Z");
        for (node, now, expected) in [
            (node("True"), soon, None),
            (node("False"), soon, Some(unready.to_owned())),
            (node("True"), late, Some(silent.to_owned())),
            (node("True"), later, Some(silent.to_owned())),
            (node("False"), late, Some(format!("{unready}, and {silent}"))),
            (
                json!({}),
                soon,
                Some("it has no condition `Ready`, and its agent was never heard of".to_owned()),
            ),
        ] {
            assert_eq!(
                Pulse::of(&node, None, at(now)).trouble(Duration::from_secs(120)),
                expected,
                "{node} {now}"
            );
        }
    }

    #[test]
    fn another_machine_is_told() {
        let wish = Node { provider_id: Some("x://b".to_owned()), ..node("a", &[]) };
        let is = |id: &str| wish.other_machine(&json!({ "spec": { "providerID": id } }));
        assert!(is("").is_none() && is("x://b").is_none());
        let error = is("x://a").unwrap();
        assert!(error.message.contains("`x://a`") && error.message.contains("`x://b`") && !error.transient);
    }
}
