//! The vendor's address: requests from HTTP to the world, and its answers back.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{Request as HttpRequest, Response, header};
use tokio::net::TcpListener;

use crate::gate::Gate;
use crate::http;
use crate::world::{Reply, Request, World};

/// What the vendor's gateway calls itself.
const GATEWAY: &str = "Scaleway API Gateway (fleet-lab)";

/// Answers the vendor's requests for ever.
pub(crate) async fn serve(listener: TcpListener, gate: Gate, world: Arc<World>) {
    http::serve(listener, gate, move |request| {
        let world = Arc::clone(&world);
        async move { answer(&world, &request).await }
    })
    .await;
}

async fn answer(world: &Arc<World>, request: &HttpRequest<Bytes>) -> Option<Response<Body>> {
    let secret = request.headers().get("x-auth-token").and_then(|value| value.to_str().ok());
    let reply = world
        .call(Request {
            method: request.method().as_str().to_owned(),
            path: request.uri().path().to_owned(),
            query: request.uri().query().map(str::to_owned),
            secret: secret.map(str::to_owned),
            body: request.body().to_vec(),
        })
        .await;
    let (status, id, kind, body) = match reply {
        Reply::Answer { answer, request_id } if answer.body.is_null() => {
            (answer.status, request_id, None, Body::empty())
        }
        Reply::Answer { answer, request_id } => {
            (answer.status, request_id, Some("application/json"), Body::from(answer.body.to_string()))
        }
        Reply::Plain { status, request_id } => {
            (status, request_id, Some("text/plain"), Body::from(format!("{status}\n")))
        }
        Reply::Cut => return None,
        Reply::Never => return std::future::pending().await,
    };
    let mut response =
        Response::builder().status(status).header(header::SERVER, GATEWAY).header("x-request-id", id);
    if let Some(kind) = kind {
        response = response.header(header::CONTENT_TYPE, kind);
    }
    response.body(body).ok()
}
