//! HTTP on loopback, down to connections that end without an answer.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{Request, Response};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::gate::{Awaited, Gate, Pass, When};

/// No request is longer.
const LARGEST: usize = 1 << 20;

/// The connection has to end without an answer.
#[derive(Clone, Copy, Debug)]
struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection is cut on purpose")
    }
}

impl std::error::Error for Cut {}

/// Answers requests for ever. What the handler answers with none, gets no answer: the connection is cut. A request is
/// carried out to its end, whether or not anybody still waits for the answer.
pub(crate) async fn serve<H, F>(listener: TcpListener, gate: Gate, handler: H)
where
    H: Fn(Request<Bytes>) -> F + Send + Sync + 'static,
    F: Future<Output = Option<Response<Body>>> + Send + 'static,
{
    let handler = Arc::new(handler);
    loop {
        // Whoever connects and is gone again is no reason to stop.
        let Ok((stream, _)) = listener.accept().await else { continue };
        tokio::spawn(answer(stream, gate.clone(), Arc::clone(&handler)));
    }
}

/// The same behind TLS.
pub(crate) async fn serve_tls<H, F>(listener: TcpListener, acceptor: TlsAcceptor, gate: Gate, handler: H)
where
    H: Fn(Request<Bytes>) -> F + Send + Sync + 'static,
    F: Future<Output = Option<Response<Body>>> + Send + 'static,
{
    let handler = Arc::new(handler);
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (acceptor, gate, handler) = (acceptor.clone(), gate.clone(), Arc::clone(&handler));
        tokio::spawn(async move {
            // Who does not trust the server goes away.
            if let Ok(stream) = acceptor.accept(stream).await {
                answer(stream, gate, handler).await;
            }
        });
    }
}

/// Answers what comes over one connection.
async fn answer<S, H, F>(stream: S, gate: Gate, handler: Arc<H>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Fn(Request<Bytes>) -> F + Send + Sync + 'static,
    F: Future<Output = Option<Response<Body>>> + Send + 'static,
{
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let (gate, handler) = (gate.clone(), Arc::clone(&handler));
        async move {
            let (head, body) = request.into_parts();
            let body = to_bytes(Body::new(body), LARGEST).await.map_err(|_| Cut)?;
            let happens = gate.pass(Pass::of(&head));
            if let Some(Awaited { when: When::Before, act, .. }) = happens {
                act();
                return Err(Cut);
            }
            let carried_out = tokio::spawn(handler(Request::from_parts(head, body))).await;
            if let Some(Awaited { act, .. }) = happens {
                act();
                return Err(Cut);
            }
            carried_out.ok().flatten().ok_or(Cut)
        }
    });
    // A connection that ends in an error ended: that is all there is to know.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}
