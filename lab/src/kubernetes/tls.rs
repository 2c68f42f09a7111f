//! The certificate of the server, which only the kubeconfigs of its own cluster trust.
//!
//! Clients send no token over a connection that is not encrypted, so this one is.

use std::io;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// What the server proves itself with.
pub(super) struct Identity {
    pub(super) acceptor: TlsAcceptor,
    /// What its clients have to know, as PEM.
    pub(super) authority: String,
}

/// Makes a certificate for this machine, signed by itself.
pub(super) fn make() -> io::Result<Identity> {
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned(), "kubernetes.default.svc".to_owned()];
    let params = CertificateParams::new(names).map_err(io::Error::other)?;
    let certificate = params.self_signed(&key).map_err(io::Error::other)?;
    let private = PrivateKeyDer::try_from(key.serialize_der()).map_err(io::Error::other)?;
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .map_err(io::Error::other)?;
    Ok(Identity { acceptor: TlsAcceptor::from(Arc::new(config)), authority: certificate.pem() })
}
