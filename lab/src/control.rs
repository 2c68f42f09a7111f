//! The lab's own HTTP address, for whoever looks at a world or breaks it from outside.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::clock::Pace;
use crate::fault::Fault;
use crate::machine::Disturbance;
use crate::scaleway::{Os, Rules, Seconds, ServerStatus, Stock};
use crate::world::World;

/// What the routes share.
#[derive(Clone)]
pub(crate) struct Control {
    pub(crate) world: Arc<World>,
    /// Somebody asked the lab to stop.
    pub(crate) stop: Arc<Notify>,
}

/// How the clock is moved.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// Time goes by in another way from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// Then it jumps forward by so much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advance: Option<Seconds>,
}

/// What is changed about a server behind the API's back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerEdit {
    /// What the API says it is doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ServerStatus>,
    /// What it is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its tags, which only the vendor writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Whether the API keeps its password to itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets_sealed: Option<bool>,
    /// Whether the machine is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<bool>,
    /// What happens to the machine, of which the API knows nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disturb: Option<Disturbance>,
}

/// What is changed about what can be ordered and installed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CatalogueEdit {
    /// Systems that are taken away, by name.
    pub retire: Vec<String>,
    /// Systems that are new.
    pub release: Vec<Os>,
    /// How many of a type are left.
    pub stock: std::collections::BTreeMap<String, Stock>,
}

#[derive(Deserialize)]
struct After {
    #[serde(default)]
    after: u64,
}

pub(crate) fn router(control: Control) -> Router {
    Router::new()
        .route("/lab", get(summary))
        .route("/lab/world", get(world))
        .route("/lab/servers", get(servers))
        .route("/lab/servers/{server}", get(server).patch(edit_server))
        .route("/lab/requests", get(requests))
        .route("/lab/faults", get(faults).post(add_fault).delete(clear_faults))
        .route("/lab/faults/{id}", delete(clear_fault))
        .route("/lab/clock", get(clock).post(move_clock))
        .route("/lab/rules", get(rules).put(set_rules))
        .route("/lab/catalogue", get(catalogue).patch(edit_catalogue))
        .route("/lab/stop", post(stop))
        .with_state(control)
}

async fn summary(State(control): State<Control>) -> Json<Value> {
    let state = control.world.state();
    let servers: Vec<Value> = state.scaleway.servers.all().map(|server| brief(&control, server)).collect();
    Json(json!({
        "time": control.world.clock.time(),
        "pace": control.world.clock.pace(),
        "servers": servers,
        "faults": state.faults.all(),
        "requests": state.log.after(0).len(),
        "troubles": state.troubles,
    }))
}

fn brief(control: &Control, server: &crate::scaleway::Server) -> Value {
    let up = control.world.machine(&server.id).is_some_and(|machine| machine.is_up());
    json!({
        "id": server.id, "name": server.name, "type": server.model, "os": server.os.name, "zone": server.zone,
        "status": server.status, "ip": server.ip, "is_up": up, "installs": server.installs,
        "deletable_at": server.deletable_at,
    })
}

async fn world(State(control): State<Control>) -> Json<Value> {
    Json(json!(*control.world.state()))
}

async fn servers(State(control): State<Control>) -> Json<Value> {
    let ids: Vec<String> =
        control.world.state().scaleway.servers.all().map(|server| server.id.clone()).collect();
    let mut shown = Vec::new();
    for id in ids {
        shown.extend(control.world.inspect(&id).await);
    }
    Json(Value::Array(shown))
}

fn no_server(server: &str) -> Response {
    refuse(StatusCode::NOT_FOUND, &format!("there is no server `{server}` in the lab"))
}

fn refuse(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "error": message }))).into_response()
}

async fn server(State(control): State<Control>, Path(server): Path<String>) -> Response {
    match control.world.inspect(&server).await {
        Some(found) => Json(found).into_response(),
        None => no_server(&server),
    }
}

async fn edit_server(
    State(control): State<Control>,
    Path(server): Path<String>,
    Json(edit): Json<ServerEdit>,
) -> Response {
    let found = control.world.find(&server);
    let Some(id) = found else { return no_server(&server) };
    control.world.edit_server(&id, edit).await;
    match control.world.inspect(&id).await {
        Some(found) => Json(found).into_response(),
        None => no_server(&server),
    }
}

async fn requests(State(control): State<Control>, Query(query): Query<After>) -> Json<Value> {
    Json(json!(control.world.state().log.after(query.after)))
}

async fn faults(State(control): State<Control>) -> Json<Value> {
    Json(json!(control.world.state().faults.all()))
}

async fn add_fault(State(control): State<Control>, Json(fault): Json<Fault>) -> Json<Value> {
    let id = control.world.state().faults.set(fault);
    control.world.save();
    Json(json!({ "id": id }))
}

async fn clear_faults(State(control): State<Control>) -> Json<Value> {
    let cleared = control.world.state().faults.clear(None);
    control.world.save();
    Json(json!({ "cleared": cleared }))
}

async fn clear_fault(State(control): State<Control>, Path(id): Path<u64>) -> Response {
    let cleared = control.world.state().faults.clear(Some(id));
    control.world.save();
    if cleared == 0 {
        return refuse(StatusCode::NOT_FOUND, &format!("there is no fault {id}"));
    }
    Json(json!({ "cleared": cleared })).into_response()
}

async fn clock(State(control): State<Control>) -> Json<Value> {
    Json(json!({ "time": control.world.clock.time(), "pace": control.world.clock.pace() }))
}

async fn move_clock(State(control): State<Control>, Json(change): Json<Move>) -> Response {
    if let Some(Pace::Times(speed)) = change.pace
        && !(speed.is_finite() && speed > 0.0)
    {
        return refuse(StatusCode::BAD_REQUEST, "time goes forward: the factor must be above 0");
    }
    if let Some(pace) = change.pace {
        control.world.clock.set_pace(pace);
    }
    if let Some(advance) = change.advance {
        control.world.clock.advance(advance.0).await;
    }
    control.world.save();
    clock(State(control)).await.into_response()
}

async fn rules(State(control): State<Control>) -> Json<Value> {
    Json(json!(control.world.state().scaleway.rules))
}

async fn set_rules(State(control): State<Control>, Json(rules): Json<Rules>) -> Json<Value> {
    control.world.edit(|scaleway, _| scaleway.rules = rules).await;
    self::rules(State(control)).await
}

async fn catalogue(State(control): State<Control>) -> Json<Value> {
    Json(json!(control.world.state().scaleway.catalogue))
}

async fn edit_catalogue(State(control): State<Control>, Json(edit): Json<CatalogueEdit>) -> Response {
    let known = control.world.state().scaleway.catalogue.clone();
    if let Some(name) = edit.retire.iter().find(|name| !known.os.iter().any(|os| os.name == **name)) {
        return refuse(StatusCode::NOT_FOUND, &format!("the catalogue has no system `{name}`"));
    }
    if let Some(name) = edit.stock.keys().find(|name| !known.stock.contains_key(*name)) {
        return refuse(StatusCode::NOT_FOUND, &format!("the catalogue has no type `{name}`"));
    }
    let change = |scaleway: &mut crate::scaleway::Scaleway, _| {
        for name in &edit.retire {
            scaleway.catalogue.retire(name);
        }
        scaleway.catalogue.os.extend(edit.release);
        scaleway.catalogue.stock.extend(edit.stock);
    };
    control.world.edit(change).await;
    catalogue(State(control)).await.into_response()
}

async fn stop(State(control): State<Control>) -> Json<Value> {
    control.stop.notify_one();
    Json(json!({ "stopping": true }))
}
