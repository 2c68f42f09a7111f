//! The two sides of the server's API: [`Looking`] asks, [`Acting`] changes.
//!
//! One kind of request that looks like a change belongs to both: an apply that the server only rehearses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fleet_engine::resource::Error;
use http::{Method, Request};
use http_body_util::BodyExt as _;
use kube::Client;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value as Json, json};

use super::json::text;
use super::refusal::{Refusal, delicate, explain, no_json, of_status, too_slow};
use super::settings::Cluster;

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// As much of a list as is asked for at once.
const PAGE: &str = "500";

/// How often a list is begun anew that the server has forgotten in its middle.
const ATTEMPTS: usize = 4;

/// Looks at a cluster. It has no way to change anything.
#[derive(Clone)]
pub struct Looking {
    client: Client,
    /// The namespace of objects that name none.
    pub(super) namespace: Arc<str>,
    /// Who owns what is applied.
    pub(super) manager: Arc<str>,
    /// Where the server is.
    pub(super) server: Arc<str>,
    /// What the server is known by, as base64 of PEM.
    pub(super) authority: Option<Arc<str>>,
    /// The name that its certificate is for, if that is not how it is reached.
    pub(super) certified_name: Option<Arc<str>>,
    /// Whether it is believed to be the server without any proof.
    pub(super) is_unproven: bool,
    /// The kinds of each version of a group.
    known: Arc<Mutex<BTreeMap<String, Vec<Resource>>>>,
    /// What somebody should know of what was seen.
    warnings: Arc<Mutex<BTreeSet<String>>>,
}

/// Changes things in a cluster.
#[derive(Clone, Debug)]
pub struct Acting {
    pub(super) looking: Looking,
}

/// Where objects of a kind are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Resource {
    api_version: String,
    kind: String,
    plural: String,
    pub(super) namespaced: bool,
}

/// One object, or all of a kind.
#[derive(Clone, Debug)]
pub(super) struct Place<'a> {
    resource: Resource,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
    sub: Option<&'a str>,
}

/// Connects to a cluster; nothing is sent yet.
pub(super) fn connect(cluster: Cluster) -> Result<Acting, Error> {
    let Cluster { mut config, namespace, manager } = cluster;
    // The engine tries again, by its own rules; a change is sent once.
    config.default_retry = false;
    let server = config.cluster_url.to_string().trim_end_matches('/').into();
    let authority = config.root_cert.as_deref().map(|all| all.iter().map(|der| pem(der)).collect::<String>());
    let authority = authority.map(|pem| BASE64_STANDARD.encode(pem).into());
    let certified_name = config.tls_server_name.as_deref().map(Into::into);
    let is_unproven = config.accept_invalid_certs;
    let client = Client::try_from(config);
    let client = client.map_err(|error| Error::from(explain("cannot connect to the cluster", error)))?;
    let (namespace, manager) = (namespace.into(), manager.into());
    let looking = Looking {
        client,
        namespace,
        manager,
        server,
        authority,
        certified_name,
        is_unproven,
        known: Arc::default(),
        warnings: Arc::default(),
    };
    Ok(Acting { looking })
}

impl Resource {
    /// A kind of the core, which every cluster has.
    pub(super) fn core(kind: &str, plural: &str, namespaced: bool) -> Resource {
        Resource::of("v1", kind, plural, namespaced)
    }

    /// A kind that is known without asking.
    pub(super) fn of(api_version: &str, kind: &str, plural: &str, namespaced: bool) -> Resource {
        let owned = str::to_owned;
        Resource { api_version: owned(api_version), kind: owned(kind), plural: owned(plural), namespaced }
    }

    pub(super) fn one<'a>(&self, namespace: &'a str, name: &'a str) -> Place<'a> {
        let namespace = self.namespaced.then_some(namespace);
        Place { resource: self.clone(), namespace, name: Some(name), sub: None }
    }

    /// All objects, in a namespace or everywhere.
    pub(super) fn all<'a>(&self, namespace: Option<&'a str>) -> Place<'a> {
        Place { resource: self.clone(), namespace, name: None, sub: None }
    }
}

impl<'a> Place<'a> {
    /// Something at the path of an object.
    pub(super) fn sub(self, sub: &'a str) -> Place<'a> {
        Place { sub: Some(sub), ..self }
    }

    /// The namespace it is in; none if it spans the cluster.
    pub(super) fn namespace(&self) -> Option<String> {
        self.namespace.map(str::to_owned)
    }

    fn path(&self) -> String {
        let root = if self.resource.api_version.contains('/') { "apis" } else { "api" };
        let word = |word: &str| {
            utf8_percent_encode(word, NON_ALPHANUMERIC).to_string().replace("%2D", "-").replace("%2E", ".")
        };
        let mut path = format!("/{root}/{}", self.resource.api_version);
        if let Some(namespace) = self.namespace {
            path.push_str(&format!("/namespaces/{}", word(namespace)));
        }
        path.push_str(&format!("/{}", self.resource.plural));
        for part in self.name.into_iter().chain(self.sub) {
            path.push_str(&format!("/{}", word(part)));
        }
        path
    }
}

/// What kind of objects are called in messages: `ConfigMap "ci/settings"`.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        match self.name {
            Some(name) => write!(f, "{} `{namespace}{name}`", self.resource.kind),
            None => f.write_str(&self.resource.plural),
        }
    }
}

impl Looking {
    /// Remembers what somebody should know, although it is as it should be.
    pub(super) fn warn(&self, warning: String) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).insert(warning);
    }

    /// What somebody should know of what was seen so far.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Where objects of a kind are; none if the cluster has no such kind.
    pub(super) async fn resource(&self, api_version: &str, kind: &str) -> Result<Option<Resource>, Error> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(api_version).cloned();
        let all = match known {
            Some(all) => all,
            None => {
                let Some(all) = self.kinds(api_version).await? else { return Ok(None) };
                let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                known.insert(api_version.to_owned(), all.clone());
                all
            }
        };
        let found = all.into_iter().find(|resource| resource.kind == kind);
        if found.is_none() {
            // One may be added any time.
            self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(api_version);
        }
        Ok(found)
    }

    async fn kinds(&self, api_version: &str) -> Result<Option<Vec<Resource>>, Error> {
        let doing = format!("cannot see which kinds are in `{api_version}`");
        let root = if api_version.contains('/') { "apis" } else { "api" };
        let answer = self.call(&doing, Method::GET, &format!("/{root}/{api_version}"), "", None).await;
        let list = match answer {
            Ok((list, _)) => list,
            Err(Refusal::Gone(_)) => return Ok(None),
            Err(refusal) => return Err(refusal.into()),
        };
        let all = list["resources"].as_array().into_iter().flatten();
        let all = all.filter(|resource| !text(resource, &["name"]).contains('/'));
        Ok(Some(
            all.map(|resource| Resource {
                api_version: api_version.to_owned(),
                kind: text(resource, &["kind"]).to_owned(),
                plural: text(resource, &["name"]).to_owned(),
                namespaced: resource["namespaced"] == true,
            })
            .collect(),
        ))
    }

    /// One object; none if it is not there.
    pub(super) async fn get(&self, place: &Place<'_>) -> Result<Option<Json>, Error> {
        Ok(self.get_now(place).await?.map(|(object, _)| object))
    }

    /// The same, with what the clock of the server shows.
    pub(super) async fn get_now(&self, place: &Place<'_>) -> Result<Option<(Json, SystemTime)>, Error> {
        let doing = format!("cannot look at {place}");
        match self.call(&doing, Method::GET, &place.path(), "", None).await {
            Ok(found) => Ok(Some(found)),
            Err(Refusal::Gone(_)) => Ok(None),
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Who the server takes us for.
    pub(super) async fn who_asks(&self) -> Result<String, Error> {
        let doing = "cannot ask the cluster whom it takes the kubeconfig for";
        let (version, kind) = ("authentication.k8s.io/v1", "SelfSubjectReview");
        let place = Resource::of(version, kind, "selfsubjectreviews", false).all(None);
        let asked = json!({ "apiVersion": version, "kind": kind });
        match self.call(doing, Method::POST, &place.path(), "", Some(&asked)).await {
            Ok((review, _)) => Ok(text(&review, &["status", "userInfo", "username"]).to_owned()),
            // An old server knows no such question; but it would not have said so to a stranger.
            Err(Refusal::Gone(_)) => Ok(format!("somebody whom {} knows", self.server)),
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// What the clock of the server shows.
    pub(super) async fn now(&self) -> Result<SystemTime, Error> {
        let answer =
            self.call("cannot see the version of the server", Method::GET, "/version", "", None).await;
        Ok(answer.map_err(Error::from)?.1)
    }

    /// Waits until something happens to an object, at most so long. False if that cannot be told: the server does not let it be
    /// watched, has forgotten what happened since, or ended the watch.
    pub(super) async fn hears_of(&self, place: &Place<'_>, live: Option<&Json>, within: Duration) -> bool {
        let selector = format!("metadata.name={}", place.name.unwrap_or_default());
        let seconds = within.as_secs().max(1).to_string();
        let mut query = vec![("watch", "true"), ("fieldSelector", &*selector), ("timeoutSeconds", &*seconds)];
        if let Some(live) = live {
            query.push(("resourceVersion", text(live, &["metadata", "resourceVersion"])));
        }
        let all = Place { name: None, sub: None, ..place.clone() };
        let request = Request::builder().uri(path_with(&all.path(), &query)).body(Vec::new());
        let heard = async {
            let response = self.client.send(request.ok()?.map(kube::client::Body::from)).await.ok()?;
            let mut body = response.status().is_success().then(|| response.into_body())?;
            let mut line = Vec::new();
            while !line.contains(&b'\n') {
                line.extend_from_slice(&body.frame().await?.ok()?.into_data().ok()?);
            }
            let event = line.split(|byte| *byte == b'\n').next()?;
            let event: Json = serde_json::from_slice(event).ok()?;
            matches!(text(&event, &["type"]), "ADDED" | "MODIFIED" | "DELETED").then_some(())
        };
        // What nobody heard of in all that time did not happen.
        tokio::time::timeout(within, heard).await.is_ok_and(|heard| heard.is_some())
    }

    /// All objects of a kind that a selector takes, page after page. A list that the server has forgotten in its middle
    /// is begun anew.
    pub(super) async fn list(
        &self,
        place: &Place<'_>,
        selectors: &[(&str, &str)],
    ) -> Result<Vec<Json>, Error> {
        let doing = format!("cannot list the {place}");
        let mut last = None;
        for _ in 0..ATTEMPTS {
            match self.try_list(&doing, place, selectors).await {
                Err(Refusal::Failed(error)) if error.transient && error.message.contains("too old") => {
                    last = Some(error);
                }
                listed => return Ok(listed?),
            }
        }
        Err(last.unwrap_or_else(|| Error::transient(doing)))
    }

    async fn try_list(
        &self,
        doing: &str,
        place: &Place<'_>,
        selectors: &[(&str, &str)],
    ) -> Result<Vec<Json>, Refusal> {
        let (mut all, mut next) = (Vec::new(), String::new());
        loop {
            let mut query = vec![("limit", PAGE)];
            query.extend(selectors);
            if !next.is_empty() {
                query.push(("continue", &*next));
            }
            let (mut list, _) =
                self.call(doing, Method::GET, &path_with(&place.path(), &query), "", None).await?;
            let Json::Array(items) = list["items"].take() else { return Err(no_json(doing)) };
            all.extend(items);
            next = text(&list, &["metadata", "continue"]).to_owned();
            if next.is_empty() {
                return Ok(all);
            }
        }
    }

    /// What an apply would make of an object. Nothing is changed: the server only rehearses it.
    pub(super) async fn rehearse(
        &self,
        place: &Place<'_>,
        object: &Json,
        force: bool,
    ) -> Result<Json, Refusal> {
        self.patch_by_apply(place, object, force, true).await
    }

    async fn patch_by_apply(
        &self,
        place: &Place<'_>,
        object: &Json,
        force: bool,
        dry: bool,
    ) -> Result<Json, Refusal> {
        let manager = &*self.manager;
        let mut query = vec![("fieldManager", manager), ("force", if force { "true" } else { "false" })];
        if dry {
            query.push(("dryRun", "All"));
        }
        let doing = format!("cannot apply {place}");
        let path = path_with(&place.path(), &query);
        let kind = "application/apply-patch+yaml";
        let refused = match self.call(&doing, Method::PATCH, &path, kind, Some(object)).await {
            Ok((made, _)) => return Ok(made),
            Err(refused) => refused,
        };
        // Who may change an object and not make it is told neither who that is nor what is missing. Asked in the other way, the
        // server says it.
        if matches!(&refused, Refusal::Failed(error) if error.message.ends_with("is forbidden:")) {
            let all = Place { name: None, sub: None, ..place.clone() };
            let path = path_with(&all.path(), &[("fieldManager", manager), ("dryRun", "All")]);
            self.call(&doing, Method::POST, &path, "", Some(object)).await?;
        }
        Err(refused)
    }

    /// Sends one request, once; the answer, and what the clock of the server shows.
    async fn call(
        &self,
        doing: &str,
        method: Method,
        path: &str,
        content: &str,
        body: Option<&Json>,
    ) -> Result<(Json, SystemTime), Refusal> {
        let secrets = body.map(delicate).unwrap_or_default();
        let bytes = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let mut request =
            Request::builder().method(method).uri(path).header(http::header::ACCEPT, "application/json");
        if body.is_some() {
            let content = if content.is_empty() { "application/json" } else { content };
            request = request.header(http::header::CONTENT_TYPE, content);
        }
        let request = request.body(bytes).map_err(kube::Error::HttpError);
        let answered = async {
            let response = self.client.send(request?.map(kube::client::Body::from)).await?;
            let (head, body) = response.into_parts();
            let body = body.collect().await?.to_bytes();
            Ok::<_, kube::Error>((head, body))
        };
        let answered =
            tokio::time::timeout(PATIENCE, answered).await.map_err(|_| too_slow(doing, PATIENCE))?;
        let (head, body) = answered.map_err(|error| explain(doing, error))?;
        let date = head
            .headers
            .get(http::header::DATE)
            .and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
        let json = serde_json::from_slice::<Json>(&body);
        if head.status.is_success() {
            return Ok((json.map_err(|_| no_json(doing))?, date.unwrap_or_else(SystemTime::now)));
        }
        let code = head.status.as_u16();
        let status = json.ok().and_then(|json| serde_json::from_value::<kube::core::Status>(json).ok());
        let mut status = status.unwrap_or_default();
        status.code = code;
        let after =
            head.headers.get(http::header::RETRY_AFTER).and_then(|after| after.to_str().ok()?.parse().ok());
        Err(of_status(doing, &status, after.map(Duration::from_secs), &secrets))
    }
}

impl Acting {
    /// Applies an object, as the owner of its fields.
    pub(super) async fn apply(&self, place: &Place<'_>, object: &Json, force: bool) -> Result<Json, Refusal> {
        self.looking.patch_by_apply(place, object, force, false).await
    }

    /// Makes an object, or something at its path.
    pub(super) async fn create(
        &self,
        place: &Place<'_>,
        object: &Json,
        manager: &str,
    ) -> Result<Json, Refusal> {
        let path = path_with(&place.path(), &[("fieldManager", manager)]);
        let doing = format!("cannot make {place}");
        self.looking.call(&doing, Method::POST, &path, "", Some(object)).await.map(|(made, _)| made)
    }

    /// Changes some fields of an object, whoever owns them.
    pub(super) async fn merge(&self, place: &Place<'_>, patch: &Json) -> Result<Json, Refusal> {
        let path = path_with(&place.path(), &[("fieldManager", &*self.looking.manager)]);
        let doing = format!("cannot change {place}");
        let kind = "application/merge-patch+json";
        self.looking.call(&doing, Method::PATCH, &path, kind, Some(patch)).await.map(|(made, _)| made)
    }

    /// Begins to remove an object, if it is still the same; that it is gone already is success.
    pub(super) async fn delete(&self, place: &Place<'_>, uid: &str) -> Result<(), Error> {
        let mut options =
            json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background" });
        if !uid.is_empty() {
            options["preconditions"] = json!({ "uid": uid });
        }
        let doing = format!("cannot remove {place}");
        match self.looking.call(&doing, Method::DELETE, &place.path(), "", Some(&options)).await {
            Ok(_) | Err(Refusal::Gone(_)) => Ok(()),
            // Another of the same name is there: ours is gone.
            Err(Refusal::Failed(error))
                if !uid.is_empty() && error.message.contains("UID in precondition") =>
            {
                Ok(())
            }
            Err(refusal) => Err(refusal.into()),
        }
    }
}

/// A certificate as text.
fn pem(der: &[u8]) -> String {
    let encoded = BASE64_STANDARD.encode(der);
    let lines: Vec<&str> =
        encoded.as_bytes().chunks(64).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
}

fn path_with(path: &str, query: &[(&str, &str)]) -> String {
    let pair =
        |(name, value): &(&str, &str)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC));
    let pairs: Vec<String> = query.iter().map(pair).collect();
    format!("{path}?{}", pairs.join("&"))
}

/// The client holds what is secret.
impl fmt::Debug for Looking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Looking").field("server", &self.server).finish_non_exhaustive()
    }
}
