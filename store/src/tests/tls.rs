//! PostgreSQL behind TLS, as the address asks for it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fleet_test_postgres::{PASSWORD, Server};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use super::holder;
use crate::connection::Connection;
use crate::{Backend, Database};

/// Makes an authority, writes its certificate, and returns what it signs with.
fn authority(path: &Path) -> Issuer<'static, KeyPair> {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    fs::write(path, params.self_signed(&key).unwrap().pem()).unwrap();
    Issuer::new(params, key)
}

/// A server that lets nobody in without TLS.
fn server(roots: &Path) -> Server {
    let issuer = authority(&roots.join("ours.pem"));
    authority(&roots.join("other.pem"));
    Server::start_with(|directory| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let file = |name: &str, text: String| {
            let path = directory.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            path.display().to_string()
        };
        vec![
            "ssl=on".into(),
            format!("ssl_cert_file={}", file("cert.pem", params.signed_by(&key, &issuer).unwrap().pem())),
            format!("ssl_key_file={}", file("key.pem", key.serialize_pem())),
            format!("hba_file={}", file("hba.conf", "hostssl all all 127.0.0.1/32 scram-sha-256\n".into())),
        ]
    })
}

#[tokio::test]
async fn the_address_says_how_safe_the_connection_is() {
    let roots = tempfile::tempdir().unwrap();
    let server = server(roots.path());
    let url = server.database();
    let root = |name: &str| format!("sslrootcert={}", roots.path().join(name).display());
    let backend = |options: &str| Backend::Postgres {
        url: format!("{url}?{options}"),
        name: "site".into(),
        recovery: PathBuf::new(),
    };
    for options in ["sslmode=require".to_owned(), format!("sslmode=verify-full&{}", root("ours.pem"))] {
        let backend = backend(&options);
        let mut connection = Connection::write(&backend).await.unwrap();
        let sql = "SELECT CAST(ssl AS TEXT) FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let rows = connection.rows(sql, &[]).await.unwrap();
        assert_eq!(rows[0].get::<String>(0).unwrap(), "true", "{options}");
        drop(Database::open(&backend, &holder(), None).await.unwrap());
    }
    for options in ["sslmode=disable".to_owned(), format!("sslmode=verify-full&{}", root("other.pem"))] {
        let error = crate::read(&backend(&options)).await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(text.contains("cannot open the state `site` in PostgreSQL"), "{text}");
        assert!(!text.contains(PASSWORD), "{text}");
    }
}
