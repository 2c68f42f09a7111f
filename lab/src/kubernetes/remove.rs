//! How objects go: finalizers, grace, budgets.

use std::time::Duration;

use serde_json::{Value, json};

use super::books::{Books, stamp};
use super::kinds::Kind;
use super::perform::{Answer, Turn};
use super::refusal::Refusal;
use super::select::Selector;
use crate::clock::Time;

impl Books {
    pub(super) fn delete(&mut self, turn: &Turn<'_>) -> Result<Answer, Refusal> {
        let object = self.found(turn.call)?;
        let options = turn.options()?;
        self.check_preconditions(turn, &object, &options)?;
        let grace = options["gracePeriodSeconds"].as_u64();
        let grace = grace.or_else(|| turn.call.parameter("gracePeriodSeconds")?.parse().ok());
        Ok((200, self.begin_removal(turn.call.kind, &object, grace, turn.now)))
    }

    pub(super) fn delete_all(&mut self, turn: &Turn<'_>) -> Result<Answer, Refusal> {
        let selector = Selector::of(turn.call)?;
        let (kind, namespace) = (turn.call.kind, turn.call.namespace.as_deref());
        let all: Vec<Value> =
            self.all(kind, namespace).filter(|object| selector.takes(object)).cloned().collect();
        for object in &all {
            self.begin_removal(kind, object, None, turn.now);
        }
        let list = format!("{}List", kind.kind);
        let metadata = json!({ "resourceVersion": self.version().to_string() });
        Ok((
            200,
            json!({ "kind": list, "apiVersion": kind.api_version(), "metadata": metadata, "items": all }),
        ))
    }

    fn check_preconditions(&self, turn: &Turn<'_>, object: &Value, options: &Value) -> Result<(), Refusal> {
        for (field, shown) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
            let wanted = &options["preconditions"][field];
            let is = &object["metadata"][field];
            if !wanted.is_null() && wanted != is {
                let part = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let why = format!(
                    "Precondition failed: {shown} in precondition: {}, {shown} in object meta: {}",
                    part(wanted),
                    part(is)
                );
                return Err(Refusal::precondition(turn.call.kind, &turn.call.name, &why));
            }
        }
        Ok(())
    }

    /// Begins to remove an object; what is answered. One that nobody holds is gone at once.
    pub(super) fn begin_removal(
        &mut self,
        kind: &'static Kind,
        object: &Value,
        grace: Option<u64>,
        now: Time,
    ) -> Value {
        // A pod on a node has time to end.
        let has_grace = kind.kind == "Pod" && object["spec"]["nodeName"].is_string();
        let usual = object["spec"]["terminationGracePeriodSeconds"].as_u64().unwrap_or(30);
        let grace = if has_grace { grace.unwrap_or(usual) } else { 0 };
        let is_held = grace > 0 || !finalizers(object).is_empty() || kind.kind == "Namespace";
        if !is_held {
            self.remove(kind, object);
            let details = json!({
                "name": object["metadata"]["name"], "group": kind.group, "kind": kind.plural,
                "uid": object["metadata"]["uid"],
            });
            return json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details });
        }
        let mut object = object.clone();
        let shorter =
            object["metadata"]["deletionGracePeriodSeconds"].as_u64().is_none_or(|last| grace < last);
        if shorter {
            object["metadata"]["deletionTimestamp"] = json!(stamp(now.after(Duration::from_secs(grace))));
            object["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
            if kind.kind == "Namespace" {
                object["status"]["phase"] = json!("Terminating");
            }
            return self.put(kind, object);
        }
        object
    }

    /// Takes an object away whose removal was begun, if nobody holds it any more.
    pub(super) fn remove_if_free(&mut self, kind: &'static Kind, object: &Value) {
        let metadata = &object["metadata"];
        let waits = metadata["deletionGracePeriodSeconds"].as_u64().is_some_and(|grace| grace > 0);
        let is_namespace = kind.kind == "Namespace";
        if !metadata["deletionTimestamp"].is_null()
            && finalizers(object).is_empty()
            && !waits
            && !is_namespace
        {
            self.remove(kind, object);
        }
    }

    pub(super) fn evict(&mut self, turn: &Turn<'_>) -> Result<Answer, Refusal> {
        let pod = self.found(turn.call)?;
        let wish = turn.json()?;
        // An eviction is something that is made.
        self.check_namespace(turn, &turn.call.name)?;
        self.check_preconditions(turn, &pod, &wish["deleteOptions"])?;
        let success =
            json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 });
        let is_over = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        if is_over || !pod["metadata"]["deletionTimestamp"].is_null() {
            self.begin_removal(turn.call.kind, &pod, None, turn.now);
            return Ok((201, success));
        }
        let budgets = self.budgets_of(&pod);
        if budgets.len() > 1 {
            return Err(Refusal::internal(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            ));
        }
        if let Some(budget) = budgets.first()
            && self.allowed(budget) == 0
        {
            return Err(Refusal::budget(budget["metadata"]["name"].as_str().unwrap_or_default()));
        }
        let grace = wish["deleteOptions"]["gracePeriodSeconds"].as_u64();
        self.begin_removal(turn.call.kind, &pod, grace, turn.now);
        Ok((201, success))
    }

    fn budgets_of(&self, pod: &Value) -> Vec<Value> {
        let Some(kind) = Kind::named("PodDisruptionBudget") else { return Vec::new() };
        let namespace = pod["metadata"]["namespace"].as_str();
        let covers = |budget: &&Value| Selector::of_labels(&budget["spec"]["selector"]).takes(pod);
        self.all(kind, namespace).filter(covers).cloned().collect()
    }

    /// How many pods a budget lets go now.
    pub(super) fn allowed(&self, budget: &Value) -> u64 {
        let selector = Selector::of_labels(&budget["spec"]["selector"]);
        let pods = Kind::named("Pod").into_iter().flat_map(|kind| {
            self.all(kind, budget["metadata"]["namespace"].as_str()).filter(|pod| selector.takes(pod))
        });
        let is_healthy = |pod: &&Value| {
            pod["metadata"]["deletionTimestamp"].is_null() && pod["status"]["phase"] == "Running"
        };
        let pods: Vec<&Value> = pods.collect();
        let healthy = pods.iter().copied().filter(is_healthy).count() as u64;
        let needed =
            match (budget["spec"]["minAvailable"].as_u64(), budget["spec"]["maxUnavailable"].as_u64()) {
                (Some(least), _) => least,
                (None, Some(most)) => (pods.len() as u64).saturating_sub(most),
                (None, None) => 1,
            };
        healthy.saturating_sub(needed)
    }
}

pub(super) fn finalizers(object: &Value) -> Vec<Value> {
    object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default()
}

impl Turn<'_> {
    fn options(&self) -> Result<Value, Refusal> {
        if self.request.body.is_empty() { Ok(Value::Null) } else { self.json() }
    }
}
