//! What is done to objects, and what is answered.

use std::time::SystemTime;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::access::{Bearer, User, account_name};
use super::admission;
use super::books::{Books, stamp};
use super::kinds::Kind;
use super::managed::{self, Manager};
use super::patch;
use super::refusal::{Cause, Refusal};
use super::route::{Call, Request};
use super::select::Selector;
use crate::clock::Time;

/// What is answered: a status and a body.
pub(super) type Answer = (u16, Value);

/// Something that is done.
pub(super) struct Turn<'a> {
    pub(super) call: &'a Call,
    pub(super) request: &'a Request,
    pub(super) user: &'a User,
    pub(super) now: Time,
}

impl Books {
    /// Does what is asked; everything but watches, which go on.
    pub(super) fn perform(&mut self, turn: &Turn<'_>) -> Result<Answer, Refusal> {
        let call = turn.call;
        match (call.verb, call.sub.map(|sub| sub.name)) {
            ("get", _) => self.found(call).map(|object| (200, object)),
            ("list", _) => self.list(call).map(|list| (200, list)),
            ("create", Some("eviction")) => self.evict(turn),
            ("create", Some("token")) => self.request_token(turn),
            ("create", _) if turn.call.kind.kind == "SelfSubjectReview" => Ok((201, turn.who_asks())),
            ("create", _) => self.create(turn),
            ("update", _) => self.replace(turn),
            ("patch", _) => self.patch(turn),
            ("delete", _) => self.delete(turn),
            ("deletecollection", _) => self.delete_all(turn),
            _ => Err(Refusal::no_such_verb()),
        }
    }

    pub(super) fn found(&self, call: &Call) -> Result<Value, Refusal> {
        let found = self.get(call.kind, call.namespace.as_deref(), &call.name);
        found.cloned().ok_or_else(|| Refusal::not_found(call.kind, &call.name))
    }

    fn list(&self, call: &Call) -> Result<Value, Refusal> {
        let selector = Selector::of(call)?;
        let all = self.all(call.kind, call.namespace.as_deref()).filter(|object| selector.takes(object));
        let name = |object: &Value| {
            let metadata = &object["metadata"];
            let part = |name: &str| metadata[name].as_str().unwrap_or_default().to_owned();
            format!("{}/{}", part("namespace"), part("name"))
        };
        let begins_after = match call.parameter("continue").filter(|token| !token.is_empty()) {
            None => None,
            Some(token) => {
                let (version, after) = token.split_once(' ').unwrap_or_default();
                if version.parse().ok().and_then(|version| self.since(version)).is_none() {
                    return Err(Refusal::expired(
                        "The provided continue parameter is too old to display a consistent list result.",
                    ));
                }
                Some(after.to_owned())
            }
        };
        let mut items: Vec<Value> = all
            .filter(|object| begins_after.as_ref().is_none_or(|after| name(object) > *after))
            .cloned()
            .collect();
        let limit =
            call.parameter("limit").and_then(|limit| limit.parse::<usize>().ok()).filter(|limit| *limit > 0);
        let mut metadata = json!({ "resourceVersion": self.version().to_string() });
        if let Some(limit) = limit.filter(|limit| items.len() > *limit) {
            metadata["remainingItemCount"] = json!(items.len() - limit);
            items.truncate(limit);
            let last = items.last().map(name).unwrap_or_default();
            metadata["continue"] = json!(format!("{} {last}", self.version()));
        }
        let kind = format!("{}List", call.kind.kind);
        Ok(
            json!({ "kind": kind, "apiVersion": call.kind.api_version(), "metadata": metadata, "items": items }),
        )
    }

    fn create(&mut self, turn: &Turn<'_>) -> Result<Answer, Refusal> {
        let mut object = turn.object()?;
        if object["metadata"]["name"].as_str().is_none_or(str::is_empty)
            && let Some(start) = object["metadata"]["generateName"].as_str().map(str::to_owned)
        {
            let tail: String = self.uid().chars().filter(char::is_ascii_alphanumeric).take(5).collect();
            object["metadata"]["name"] = json!(format!("{start}{tail}"));
        }
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let by = turn.manager(false);
        if self.get(turn.call.kind, turn.call.namespace.as_deref(), &name).is_some() {
            return Err(Refusal::already_exists(turn.call.kind, &name));
        }
        let object = self.make(turn, object, |kind, empty, object, now| {
            managed::update(kind, empty, object, &by, now);
            Ok(())
        })?;
        Ok((201, object))
    }

    /// Keeps a new object. Who owns its fields is said by `own`.
    fn make(
        &mut self,
        turn: &Turn<'_>,
        mut object: Value,
        own: impl FnOnce(&str, &Value, &mut Value, &str) -> Result<(), Refusal>,
    ) -> Result<Value, Refusal> {
        let (kind, namespace) = (turn.call.kind, turn.call.namespace.as_deref());
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        self.check_namespace(turn, &name)?;
        let now = stamp(turn.now);
        let metadata = &mut object["metadata"];
        metadata["uid"] = json!(self.uid());
        metadata["creationTimestamp"] = json!(now);
        if let Some(namespace) = namespace {
            metadata["namespace"] = json!(namespace);
        }
        for field in ["resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"] {
            metadata.as_object_mut().and_then(|map| map.remove(field));
        }
        // A Node tells its own status from the beginning; of others, controllers do.
        if kind.has_status() && kind.kind != "Node" {
            object.as_object_mut().and_then(|map| map.remove("status"));
        }
        turn.check_types(&object)?;
        self.check_account(turn, &object, &name)?;
        self.check_runtime(turn, &object, &name)?;
        let plain = object.clone();
        admission::complete(kind, &mut object);
        admission::check(kind, None, &object)?;
        self.check_binding(turn, &object, &name)?;
        if let Some(generation) = admission::generation(kind, None, &object) {
            object["metadata"]["generation"] = json!(generation);
        }
        // Only what was sent has an owner, not what was filled in.
        let mut owned = plain;
        own(kind.kind, &json!({ "metadata": {} }), &mut owned, &now)?;
        object["metadata"]["managedFields"] = owned["metadata"]["managedFields"].clone();
        if object["metadata"]["managedFields"].is_null() {
            object["metadata"].as_object_mut().and_then(|map| map.remove("managedFields"));
        }
        Ok(self.put(kind, object))
    }

    /// Nothing is made in a namespace that is being deleted.
    pub(super) fn check_namespace(&self, turn: &Turn<'_>, name: &str) -> Result<(), Refusal> {
        let (Some(namespace), Some(kind)) = (&turn.call.namespace, Kind::named("Namespace")) else {
            return Ok(());
        };
        let found = self.get(kind, None, namespace).ok_or_else(|| Refusal::not_found(kind, namespace))?;
        if found["metadata"]["deletionTimestamp"].is_null() {
            return Ok(());
        }
        let why =
            format!("unable to create new content in namespace {namespace} because it is being terminated");
        Err(Refusal::terminating(turn.call.kind, name, &why, namespace))
    }

    /// A pod runs as an account, which has to be there.
    fn check_account(&self, turn: &Turn<'_>, object: &Value, name: &str) -> Result<(), Refusal> {
        let (kind, Some(accounts)) = (turn.call.kind, Kind::named("ServiceAccount")) else { return Ok(()) };
        let account = object["spec"]["serviceAccountName"].as_str().unwrap_or("default");
        let namespace = turn.call.namespace.as_deref();
        if kind.kind != "Pod" || self.get(accounts, namespace, account).is_some() {
            return Ok(());
        }
        let within = namespace.unwrap_or_default();
        let why = format!(
            "error looking up service account {within}/{account}: serviceaccount \"{account}\" not found"
        );
        Err(Refusal::not_admitted(kind, name, &why))
    }

    /// A pod that says how it is to be run says what is known.
    fn check_runtime(&self, turn: &Turn<'_>, object: &Value, name: &str) -> Result<(), Refusal> {
        let (kind, Some(classes)) = (turn.call.kind, Kind::named("RuntimeClass")) else { return Ok(()) };
        let Some(class) = object["spec"]["runtimeClassName"].as_str() else { return Ok(()) };
        if kind.kind != "Pod" || self.get(classes, None, class).is_some() {
            return Ok(());
        }
        let why = format!("pod rejected: RuntimeClass \"{class}\" not found");
        Err(Refusal::not_admitted(kind, name, &why))
    }

    fn check_binding(&self, turn: &Turn<'_>, object: &Value, name: &str) -> Result<(), Refusal> {
        let kind = turn.call.kind;
        let is_binding = matches!(kind.kind, "ClusterRoleBinding" | "RoleBinding");
        if !is_binding || self.may_bind(turn.user, object, turn.call.namespace.as_deref()) {
            return Ok(());
        }
        let why =
            format!("user \"{}\" is attempting to grant RBAC permissions not currently held", turn.user.name);
        Err(Refusal::not_admitted(kind, name, &why))
    }

    fn replace(&mut self, turn: &Turn<'_>) -> Result<Answer, Refusal> {
        let before = self.found(turn.call)?;
        let object = turn.object()?;
        let by = turn.manager(false);
        self.change(turn, &before, object, |kind, before, after, now| {
            managed::update(kind, before, after, &by, now);
        })
    }

    fn patch(&mut self, turn: &Turn<'_>) -> Result<Answer, Refusal> {
        let content = turn.request.content_type.split(';').next().unwrap_or_default().trim();
        if content.starts_with("application/apply-patch") {
            return self.apply(turn);
        }
        let before = self.found(turn.call)?;
        let (mut after, wish) = (before.clone(), turn.json()?);
        match content {
            "application/merge-patch+json" => patch::merge(&mut after, &wish),
            "application/strategic-merge-patch+json" => {
                patch::strategic(turn.call.kind.kind, &mut after, &wish);
            }
            "application/json-patch+json" => patch::json(&mut after, &wish).map_err(Refusal::bad_request)?,
            other => return Err(Refusal::unsupported(other)),
        }
        // A patch that names no version is for whatever is there.
        if wish["metadata"]["resourceVersion"].is_null() {
            after["metadata"].as_object_mut().and_then(|map| map.remove("resourceVersion"));
        }
        let by = turn.manager(false);
        self.change(turn, &before, after, |kind, before, after, now| {
            managed::update(kind, before, after, &by, now);
        })
    }

    fn apply(&mut self, turn: &Turn<'_>) -> Result<Answer, Refusal> {
        let (call, by) = (turn.call, turn.manager(true));
        if by.name.is_empty() {
            return Err(Refusal::bad_request(
                "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
            ));
        }
        let mut wish = turn.object()?;
        if !wish["metadata"]["managedFields"].is_null() {
            return Err(Refusal::bad_request("metadata.managedFields must be nil"));
        }
        wish["metadata"]["name"] = json!(call.name);
        let (force, now) = (call.flag("force"), stamp(turn.now));
        let kind = call.kind.kind;
        let Some(before) = self.get(call.kind, call.namespace.as_deref(), &call.name).cloned() else {
            if call.sub.is_some() {
                return Err(Refusal::not_found(call.kind, &call.name));
            }
            // Whoever names an object wants no other one.
            if let Some(uid) = wish["metadata"]["uid"].as_str() {
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(Refusal::precondition(call.kind, &call.name, &why));
            }
            // What is not there is made, which takes more than a patch. Who may not do so is told nothing more.
            if self.authorize_verb(turn.user, call, "create").is_err() {
                return Err(Refusal::not_admitted(call.kind, &call.name, ""));
            }
            let applied = wish.clone();
            let object = self.make(turn, wish, |kind, empty, object, now| {
                let made = managed::apply(kind, empty, &applied, &by, force, now);
                *object = made.map_err(|conflicts| Refusal::conflicts(&conflicts))?;
                Ok(())
            })?;
            return Ok((201, object));
        };
        if let Some(uid) = wish["metadata"]["uid"].as_str()
            && before["metadata"]["uid"] != *uid
        {
            return Err(Refusal::precondition(call.kind, &call.name, "uid mismatch"));
        }
        let version = wish["metadata"]["resourceVersion"].clone();
        let after = managed::apply(kind, &before, &wish, &by, force, &now);
        let mut after = after.map_err(|conflicts| Refusal::conflicts(&conflicts))?;
        match version.as_str() {
            Some(version) => after["metadata"]["resourceVersion"] = json!(version),
            None => {
                after["metadata"].as_object_mut().and_then(|map| map.remove("resourceVersion"));
            }
        }
        self.change(turn, &before, after, |_, _, _, _| ())
    }

    /// Keeps a changed object. Who owns its fields is said by `own`.
    fn change(
        &mut self,
        turn: &Turn<'_>,
        before: &Value,
        mut after: Value,
        own: impl FnOnce(&str, &Value, &mut Value, &str),
    ) -> Result<Answer, Refusal> {
        let kind = turn.call.kind;
        let name = before["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let version = after["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        if !version.is_empty() && before["metadata"]["resourceVersion"] != version {
            return Err(Refusal::outdated(kind, &name));
        }
        turn.check_types(&after)?;
        keep_what_is_fixed(before, &mut after);
        // The status has a path of its own, at which nothing else is changed.
        if turn.call.sub.is_some_and(|sub| sub.name == "status") {
            let (status, metadata) = (after["status"].clone(), after["metadata"]["managedFields"].clone());
            after = before.clone();
            put_field(&mut after, "status", status);
            put_field(&mut after["metadata"], "managedFields", metadata);
        } else if kind.has_status() {
            put_field(&mut after, "status", before["status"].clone());
        }
        admission::complete(kind, &mut after);
        admission::check(kind, Some(before), &after)?;
        if before["subjects"] != after["subjects"] {
            self.check_binding(turn, &after, &name)?;
        }
        if let Some(generation) = admission::generation(kind, Some(before), &after) {
            after["metadata"]["generation"] = json!(generation);
        }
        own(kind.kind, before, &mut after, &stamp(turn.now));
        after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
        if after == *before {
            return Ok((200, after));
        }
        let after = self.put(kind, after);
        self.remove_if_free(kind, &after);
        Ok((200, after))
    }

    fn request_token(&mut self, turn: &Turn<'_>) -> Result<Answer, Refusal> {
        let account = self.found(turn.call)?;
        let mut asked = turn.json()?;
        let seconds = asked["spec"]["expirationSeconds"].as_u64().unwrap_or(3600);
        if seconds < 600 {
            return Err(Refusal::bad_request("may not specify a duration less than 10 minutes"));
        }
        let end = turn.now.after(std::time::Duration::from_secs(seconds));
        let token = self.give_token(&account, None, Some(end));
        asked["status"] = json!({ "token": token, "expirationTimestamp": stamp(end) });
        Ok((201, asked))
    }

    /// Makes a token for an account, which is good as long as the Secret that holds it.
    pub(super) fn give_token(&mut self, account: &Value, secret: Option<&str>, end: Option<Time>) -> String {
        let part = |name: &str| account["metadata"][name].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (part("namespace"), part("name"));
        // Clients read in it whose it is, and until when it is good.
        let user = account_name(&namespace, &name);
        let mut claims = json!({ "iss": "https://kubernetes.default.svc", "sub": user });
        if let Some(end) = end {
            claims["exp"] = json!(
                SystemTime::from(end).duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
            );
        }
        let part_of = |json: &Value| BASE64_URL_SAFE_NO_PAD.encode(json.to_string());
        let head = json!({ "alg": "RS256", "kid": "lab" });
        let token = format!("{}.{}.{}", part_of(&head), part_of(&claims), self.secret().replace('.', "-"));
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated".to_owned(),
        ];
        let bearer = Bearer {
            user,
            groups: groups.to_vec(),
            account: Some((namespace, name, part("uid"))),
            secret: secret.map(str::to_owned),
            expires_at: end,
        };
        self.bearers.insert(token.clone(), bearer);
        token
    }
}

/// What no write changes.
fn keep_what_is_fixed(before: &Value, after: &mut Value) {
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "name",
        "namespace",
        "generation",
    ] {
        put_field(&mut after["metadata"], field, before["metadata"][field].clone());
    }
}

/// Puts a value in a field; null takes it away.
fn put_field(map: &mut Value, name: &str, value: Value) {
    let Some(map) = map.as_object_mut() else { return };
    if value.is_null() {
        map.remove(name);
    } else {
        map.insert(name.to_owned(), value);
    }
}

impl Turn<'_> {
    pub(super) fn json(&self) -> Result<Value, Refusal> {
        let body = &self.request.body;
        if self.request.content_type.contains("protobuf") {
            return Err(Refusal::unsupported(&self.request.content_type));
        }
        serde_json::from_slice(body)
            .map_err(|error| Refusal::bad_request(format!("the body is no JSON: {error}")))
    }

    /// Whoever asks is told who that is.
    fn who_asks(&self) -> Value {
        let user = json!({ "username": self.user.name, "groups": self.user.groups });
        json!({ "kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "status": { "userInfo": user } })
    }

    /// What is of another type cannot be read, and how that is said depends on how it was sent.
    fn check_types(&self, object: &Value) -> Result<(), Refusal> {
        let Some(wrong) = admission::mistyped(self.call.kind, object) else { return Ok(()) };
        let Call { kind, namespace, name, .. } = self.call;
        if self.request.content_type.starts_with("application/apply-patch") {
            let place = format!(
                "{}/{name}; /{}, Kind={}",
                namespace.as_deref().unwrap_or_default(),
                kind.version,
                kind.kind
            );
            return Err(Refusal::untyped(&format!("failed to create typed patch object ({place}): {wrong}")));
        }
        if self.call.verb == "patch" {
            let cause = Cause::invalid("patch", &json!("..."), &wrong);
            return Err(Refusal::invalid(kind, name, &[cause]));
        }
        Err(Refusal::bad_request(format!(
            "{} in version \"{}\" cannot be handled as a {}: {wrong}",
            kind.kind, kind.version, kind.kind
        )))
    }

    /// The object that was sent, which must be of the kind and in the place of the path.
    fn object(&self) -> Result<Value, Refusal> {
        let object = self.json()?;
        let (kind, call) = (self.call.kind, self.call);
        let (sent, version) = (&object["kind"], &object["apiVersion"]);
        if !object["metadata"].is_object() || *sent != kind.kind || *version != *kind.api_version() {
            let message = format!(
                "the object provided is unrecognized (must be of type {}): {version} {sent}",
                kind.kind
            );
            return Err(Refusal::bad_request(message));
        }
        let namespace = object["metadata"]["namespace"].as_str();
        if namespace.is_some_and(|namespace| call.namespace.as_deref() != Some(namespace)) && kind.namespaced
        {
            return Err(Refusal::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        let name = object["metadata"]["name"].as_str();
        if !call.name.is_empty() && name.is_some_and(|name| name != call.name) {
            return Err(Refusal::bad_request("the name of the object does not match the name on the URL"));
        }
        Ok(object)
    }

    /// Who writes: as it says, or by the name of its program.
    fn manager(&self, applies: bool) -> Manager {
        let program = self.request.user_agent.split('/').next().unwrap_or_default();
        let default = if applies { "" } else { program };
        let name = self.call.parameter("fieldManager").unwrap_or(default).to_owned();
        let status = self.call.sub.is_some_and(|sub| sub.name == "status");
        Manager { name, applies, api_version: self.call.kind.api_version(), status }
    }
}
