//! `kubernetes_manifest`: any object, by server-side apply.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::resource::{ApiKind, At, Change, Error, Resource, Weight};
use fleet_lang::Value;
use futures_util::future::join_all;
use serde_json::{Value as Json, json};

use super::client::{Acting, Looking, Place};
use super::json::{of_value, take, text, to_value};
use super::owned::{add_what_is_left, add_what_would_go, owned, seen};
use super::refusal::Refusal;
use super::wait::{PATIENCE, come_true, gone, is_true};

/// What the server writes into every object.
const SERVERS: [&str; 7] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "uid",
];

/// Any object of a cluster, as a manifest describes it.
///
/// It is written by server-side apply: only the fields of the manifest are fleet's, and what others write elsewhere in the
/// object is left alone. A plan asks the server what an apply would make of the manifest, so that defaults and other
/// spellings are no differences. A field that somebody else owns is a conflict: the plan fails and names the owner, unless
/// `force` takes the field over. A field that is not in the manifest any more goes, unless somebody else owns it, too. Where an
/// admission webhook of the cluster cannot say what it would do, a plan compares the manifest with what is there as it is.
///
/// Another `kind`, name or namespace is another object. An object that is being deleted is as good as gone; if a finalizer
/// holds it back, its name is told.
///
/// ```hcl
/// resource "kubernetes_manifest" "settings" {
///   manifest = {
///     apiVersion = "v1"
///     kind       = "ConfigMap"
///     metadata   = { name = "settings", labels = { team = "ci" } }
///     data       = { level = "info" }
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Manifest {
    /// The object. Its namespace stands in `namespace`, and `stringData` of Secrets in `data`.
    #[fleet(required)]
    manifest: Option<Value>,
    /// The namespace it is in; that of the manifest, and else that of the provider, if it is left out.
    #[fleet(replace, optional_computed)]
    namespace: Option<String>,
    /// Whether fields of other owners are taken over.
    #[fleet(default = false)]
    force: bool,
    /// The conditions of its status that have to be `True`; apply waits for them.
    #[fleet(default = Vec::new())]
    conditions: Vec<String>,
    /// How long these conditions, or its removal, are waited for.
    #[fleet(default = "5m")]
    timeout: String,
    /// The version of its kind, as in the manifest.
    #[fleet(replace, optional_computed)]
    api_version: Option<String>,
    /// Its kind, as in the manifest.
    #[fleet(replace, optional_computed)]
    kind: Option<String>,
    /// Its name, as in the manifest.
    #[fleet(replace, optional_computed)]
    name: Option<String>,
    /// Given by the cluster.
    #[fleet(computed)]
    uid: Option<String>,
}

impl Resource for Manifest {
    const NAME: &'static str = "kubernetes_manifest";
    const ID: Option<&'static str> = Some("`apiVersion/Kind/name`, or `apiVersion/Kind/namespace/name`");

    fn normalize(&mut self) -> Result<(), Misfit> {
        if humantime::parse_duration(&self.timeout).is_err() {
            return Err(Misfit::new("timeout", "a duration is a text with a unit, such as `5m`"));
        }
        let Some(mut object) = self.manifest.as_ref().map(of_value) else { return Ok(()) };
        let wrong = |why: &str| Misfit::new("manifest", why);
        for (path, name) in [
            (&["apiVersion"][..], "`apiVersion`"),
            (&["kind"], "`kind`"),
            (&["metadata", "name"], "`metadata.name`"),
        ] {
            if text(&object, path).is_empty() {
                return Err(wrong(&format!("{name} is needed")));
            }
        }
        if let Some(field) = SERVERS.iter().find(|field| !object["metadata"][**field].is_null()) {
            return Err(wrong(&format!("`metadata.{field}` is written by the server")));
        }
        if !object["status"].is_null() {
            return Err(wrong("`status` is written by whoever keeps the object"));
        }
        if let Some(Json::String(namespace)) = take(&mut object, "metadata", "namespace") {
            if self.namespace.as_ref().is_some_and(|said| *said != namespace) {
                return Err(Misfit::new("namespace", format!("the manifest says `{namespace}`")));
            }
            self.namespace = Some(namespace);
        }
        if object["kind"] == "Secret" {
            encode_texts(&mut object);
        }
        let said = |path: &[&str]| Some(text(&object, path).to_owned());
        self.api_version = said(&["apiVersion"]);
        self.kind = said(&["kind"]);
        self.name = said(&["metadata", "name"]);
        self.manifest = Some(to_value(&object));
        self.conditions.sort();
        self.conditions.dedup();
        Ok(())
    }
}

/// The server keeps no `stringData`.
fn encode_texts(secret: &mut Json) {
    let Some(Json::Object(plain)) = secret.as_object_mut().and_then(|map| map.remove("stringData")) else {
        return;
    };
    if !secret["data"].is_object() {
        secret["data"] = json!({});
    }
    for (name, value) in plain {
        secret["data"][name] = json!(BASE64_STANDARD.encode(value.as_str().unwrap_or_default()));
    }
}

/// Which object of which kind.
#[derive(Clone, Debug, PartialEq)]
struct Identity {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

impl Identity {
    fn of(wish: &Manifest, looking: &Looking) -> Result<Identity, Error> {
        let said = |part: &Option<String>| part.clone().filter(|text| !text.is_empty());
        let (api_version, kind, name) = (said(&wish.api_version), said(&wish.kind), said(&wish.name));
        let (Some(api_version), Some(kind), Some(name)) = (api_version, kind, name) else {
            return Err(Error::permanent("the manifest does not say which object it is"));
        };
        let namespace = said(&wish.namespace).unwrap_or_else(|| looking.namespace.to_string());
        Ok(Identity { api_version, kind, namespace, name })
    }

    /// What an `id` names: versions of groups have a slash in them.
    fn read(id: &str, looking: &Looking) -> Result<Identity, Error> {
        let words: Vec<&str> = id.split('/').collect();
        let is_core = words.first().is_some_and(|first| !first.contains('.') && first.starts_with('v'));
        let (api_version, rest) = match (is_core, words.as_slice()) {
            (true, [version, rest @ ..]) => ((*version).to_owned(), rest),
            (false, [group, version, rest @ ..]) => (format!("{group}/{version}"), rest),
            _ => (String::new(), &[][..]),
        };
        let (kind, namespace, name) = match rest {
            [kind, name] => (kind, &*looking.namespace, name),
            [kind, namespace, name] => (kind, *namespace, name),
            _ => {
                let error = Error::permanent(format!("`{id}` names no object"));
                return Err(error.help("write `v1/ConfigMap/ci/settings`, or `apps/v1/Deployment/ci/web`"));
            }
        };
        let (kind, namespace, name) = ((*kind).to_owned(), namespace.to_owned(), (*name).to_owned());
        Ok(Identity { api_version, kind, namespace, name })
    }

    /// Where it is; none if the cluster has no such kind.
    async fn place(&self, looking: &Looking) -> Result<Option<Place<'_>>, Error> {
        let found = looking.resource(&self.api_version, &self.kind).await?;
        Ok(found.map(|resource| resource.one(&self.namespace, &self.name)))
    }

    async fn needed_place(&self, looking: &Looking) -> Result<Place<'_>, Error> {
        self.place(looking).await?.ok_or_else(|| {
            let message = format!("the cluster has no kind `{}` in `{}`", self.kind, self.api_version);
            // Whoever defines it may just have been made.
            let error = Error::transient(message).after(Duration::from_secs(2));
            error.help("apply its CustomResourceDefinition first, with `depends_on`")
        })
    }
}

impl ApiKind for Manifest {
    type Reader = Looking;
    type Writer = Acting;

    async fn observe(reader: &Looking, batch: Vec<At<Manifest>>) -> Vec<Result<Option<Manifest>, Error>> {
        join_all(batch.into_iter().map(|at| observe(reader, at))).await
    }

    async fn apply(self, writer: &Acting, _: Change<Manifest>) -> Result<Manifest, Error> {
        let identity = Identity::of(&self, &writer.looking)?;
        let place = identity.needed_place(&writer.looking).await?;
        self.check_place(&place)?;
        if let Some(live) = writer.looking.get(&place).await?
            && !live["metadata"]["deletionTimestamp"].is_null()
        {
            gone(&writer.looking, &place, text(&live, &["metadata", "uid"]), self.patience()).await?;
        }
        let Some(wish) = self.object(&identity) else {
            return Err(Error::permanent("there is no manifest to apply"));
        };
        let made = writer.apply(&place, &wish, self.force).await.map_err(Error::from)?;
        come_true(&writer.looking, &place, &self.conditions, self.patience()).await?;
        let uid = text(&made, &["metadata", "uid"]).to_owned();
        Ok(Manifest { namespace: place.namespace(), uid: Some(uid), ..self })
    }

    async fn destroy(writer: &Acting, observed: Manifest) -> Result<(), Error> {
        let identity = Identity::of(&observed, &writer.looking)?;
        let Some(place) = identity.place(&writer.looking).await? else { return Ok(()) };
        let (uid, patience) = (observed.uid.clone().unwrap_or_default(), observed.patience());
        writer.delete(&place, &uid).await?;
        gone(&writer.looking, &place, &uid, patience).await
    }

    const REHEARSES: bool = true;

    async fn rehearse(self, reader: &Looking) -> Result<(), Error> {
        let identity = Identity::of(&self, reader)?;
        let Some(place) = identity.place(reader).await? else { return Ok(()) };
        self.check_place(&place)?;
        let Some(wish) = self.object(&identity) else { return Ok(()) };
        match reader.rehearse(&place, &wish, self.force).await {
            // What it is in may be made before it; and what nobody can rehearse, apply will show.
            Ok(_) | Err(Refusal::Gone(_) | Refusal::Later(_) | Refusal::Unrehearsed(_)) => Ok(()),
            // Its owner is asked by nobody else in the same run.
            Err(Refusal::Owned(error)) => Err(error.weighs(Weight::Always)),
            Err(Refusal::Failed(error)) if error.transient => Ok(()),
            // Whoever may only look plans for somebody who may do it.
            Err(Refusal::Failed(error)) if is_denied(&error) => {
                let help = "what is there was compared as it is written: a default or another spelling is shown as a difference";
                Err(error.help(help).weighs(Weight::Perhaps))
            }
            Err(Refusal::Ending(error) | Refusal::Failed(error)) => Err(error),
        }
    }
}

/// Whether a permission is missing to apply something.
fn is_denied(error: &Error) -> bool {
    [" cannot patch ", " cannot create "].iter().any(|verb| error.message.contains(verb))
}

async fn observe(reader: &Looking, at: At<Manifest>) -> Result<Option<Manifest>, Error> {
    let identity = match &at {
        At::Recorded(wish) | At::Declared(wish) | At::Begun { wish, .. } => Identity::of(wish, reader)?,
        At::Id(id) => Identity::read(id, reader)?,
    };
    let Some(place) = identity.place(reader).await? else { return Ok(None) };
    let Some(live) = reader.get(&place).await? else { return Ok(None) };
    let uid = text(&live, &["metadata", "uid"]).to_owned();
    if let At::Begun { except, .. } = &at
        && except.iter().any(|known| known.uid.as_ref() == Some(&uid))
    {
        return Ok(None);
    }
    let wish = match at {
        At::Recorded(wish) | At::Declared(wish) | At::Begun { wish, .. } => Some(wish),
        At::Id(_) => None,
    };
    let manifest = match wish.as_ref().and_then(|wish| wish.object(&identity)) {
        // What is being deleted is as good as gone.
        _ if !live["metadata"]["deletionTimestamp"].is_null() => None,
        Some(object) => Some(compared(reader, &place, &object, &live).await?),
        None => Some(ours(reader, &identity, &live)),
    };
    let manifest = manifest.map(|mut manifest| {
        take(&mut manifest, "metadata", "namespace");
        to_value(&manifest)
    });
    let asked = wish.as_ref().map_or(&[][..], |wish| &wish.conditions);
    Ok(Some(Manifest {
        manifest,
        namespace: place.namespace(),
        timeout: wish.as_ref().map_or_else(|| "5m".to_owned(), |wish| wish.timeout.clone()),
        force: wish.as_ref().is_some_and(|wish| wish.force),
        conditions: asked.iter().filter(|name| is_true(&live, name)).cloned().collect(),
        api_version: Some(identity.api_version),
        kind: Some(identity.kind),
        name: Some(identity.name),
        uid: Some(uid),
    }))
}

/// What is there of a wish, and what was ours before and is not wished any more.
async fn compared(reader: &Looking, place: &Place<'_>, wish: &Json, live: &Json) -> Result<Json, Error> {
    match reader.rehearse(place, wish, true).await {
        Ok(made) => {
            let mut found = seen(wish, &made, live);
            add_what_would_go(&mut found, &made, live);
            return Ok(found);
        }
        Err(Refusal::Failed(error)) if !error.transient => {}
        Err(Refusal::Gone(_) | Refusal::Ending(_) | Refusal::Unrehearsed(_)) => {}
        Err(refusal) => return Err(refusal.into()),
    }
    // Without a rehearsal, what is there is compared as it is.
    let mut found = seen(wish, wish, live);
    if let Some(owned) = owned(live, &reader.manager) {
        add_what_is_left(&mut found, wish, owned);
    }
    Ok(found)
}

/// What is ours of an object, of which nobody says what it should be; all of it if nothing is.
fn ours(reader: &Looking, identity: &Identity, live: &Json) -> Json {
    let mut object = owned(live, &reader.manager).unwrap_or_else(|| {
        let mut whole = live.clone();
        whole.as_object_mut().map(|map| map.remove("status"));
        for field in SERVERS {
            take(&mut whole, "metadata", field);
        }
        whole
    });
    object["apiVersion"] = json!(identity.api_version);
    object["kind"] = json!(identity.kind);
    object["metadata"]["name"] = json!(identity.name);
    object
}

impl Manifest {
    fn patience(&self) -> Duration {
        humantime::parse_duration(&self.timeout).unwrap_or(PATIENCE)
    }

    /// What spans the cluster is in no namespace.
    fn check_place(&self, place: &Place<'_>) -> Result<(), Error> {
        match &self.namespace {
            Some(namespace) if place.namespace().is_none() && !namespace.is_empty() => {
                let error = Error::permanent(format!("{place} is in no namespace, and not in `{namespace}`"));
                Err(error.help("leave `namespace` out"))
            }
            _ => Ok(()),
        }
    }

    /// The object that is sent.
    fn object(&self, identity: &Identity) -> Option<Json> {
        let mut object = of_value(self.manifest.as_ref()?);
        object["metadata"]["name"] = json!(identity.name);
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(json: &Json) -> Manifest {
        Manifest {
            manifest: Some(to_value(json)),
            namespace: None,
            force: false,
            conditions: vec!["b".into(), "a".into()],
            timeout: "5m".into(),
            api_version: None,
            kind: None,
            name: None,
            uid: None,
        }
    }

    #[test]
    fn a_manifest_says_which_object_it_is() {
        let mut secret = wish(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a", "namespace": "ci" }, "stringData": { "x": "y" },
        }));
        secret.normalize().unwrap();
        let normal = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" }, "data": { "x": "eQ==" },
        });
        assert_eq!(secret.manifest.as_ref().map(of_value), Some(normal));
        let said = [&secret.api_version, &secret.kind, &secret.namespace, &secret.name];
        assert_eq!(said.map(|part| part.as_deref().unwrap()), ["v1", "Secret", "ci", "a"]);
        assert_eq!(secret.conditions, ["a", "b"]);
        let again = secret.clone();
        secret.normalize().unwrap();
        assert_eq!(secret, again, "what is normal stays so");
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        let object = |metadata: Json| json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata });
        for (json, expected) in [
            (json!({ "kind": "Pod", "metadata": { "name": "a" } }), "`apiVersion`"),
            (json!({ "apiVersion": "v1", "metadata": { "name": "a" } }), "`kind`"),
            (object(json!({})), "`metadata.name`"),
            (object(json!({ "name": "a", "uid": "x" })), "`metadata.uid`"),
            (
                json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" }, "status": {} }),
                "`status`",
            ),
        ] {
            let misfit = wish(&json).normalize().unwrap_err();
            assert!(misfit.attribute == "manifest" && misfit.message.contains(expected), "{misfit}");
        }
        let mut elsewhere = wish(&object(json!({ "name": "a", "namespace": "x" })));
        elsewhere.namespace = Some("y".into());
        assert_eq!(elsewhere.normalize().unwrap_err().attribute, "namespace");
    }
}
