//! An agent that serves one key, in this process: the key never touches a disk, and no other program ever holds it.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use fleet_engine::host::reach::Secret;
use fleet_engine::resource::Error;
use rsa::pkcs1v15::SigningKey;
use rsa::signature::{SignatureEncoding, Signer};
use rsa::{BigUint, RsaPrivateKey};
use ssh_agent_lib::agent::{Session, listen};
use ssh_agent_lib::error::AgentError;
use ssh_agent_lib::proto::signature::RSA_SHA2_256;
use ssh_agent_lib::proto::{Identity, SignRequest};
use ssh_key::private::{KeypairData, RsaKeypair};
use ssh_key::sha2::{Sha256, Sha512};
use ssh_key::{Algorithm, HashAlg, PrivateKey, PublicKey, Signature};
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

/// All agents of a run: one for each key.
pub(crate) struct Agents {
    directory: PathBuf,
    /// By fingerprint.
    all: HashMap<String, Agent>,
}

struct Agent {
    socket: PathBuf,
    public: PathBuf,
    task: JoinHandle<()>,
}

/// The one key.
#[derive(Clone)]
struct Key(PrivateKey);

impl Agents {
    pub(crate) fn new(directory: &Path) -> Agents {
        Agents { directory: directory.to_owned(), all: HashMap::new() }
    }

    /// Serves a key: the socket, and a file with the public part.
    pub(crate) fn serve(&mut self, identity: &Secret) -> Result<(PathBuf, PathBuf), Error> {
        let key = read(identity)?;
        let name = key.public_key().fingerprint(HashAlg::Sha256).to_string();
        if let Some(agent) = self.all.get(&name) {
            return Ok((agent.socket.clone(), agent.public.clone()));
        }
        let number = self.all.len();
        let socket = self.directory.join(format!("a{number}"));
        let public = self.directory.join(format!("a{number}.pub"));
        let unserved =
            |error: std::io::Error| Error::permanent(format!("the private key cannot be served: {error}"));
        let text = PublicKey::from(key.public_key().key_data().clone()).to_openssh();
        let text =
            text.map_err(|error| Error::permanent(format!("the private key cannot be used: {error}")))?;
        fs::write(&public, format!("{text}\n")).map_err(unserved)?;
        let listener = UnixListener::bind(&socket).map_err(unserved)?;
        let task = tokio::spawn(async move {
            let _ = listen(listener, Key(key)).await;
        });
        self.all.insert(name, Agent { socket: socket.clone(), public: public.clone(), task });
        Ok((socket, public))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads a private key. What is wrong with it is said without repeating any of it.
fn read(Secret(text): &Secret) -> Result<PrivateKey, Error> {
    let help = "give the private key as OpenSSH writes it, from `-----BEGIN OPENSSH PRIVATE KEY-----` on; \
                `ssh-keygen -p -f FILE` rewrites older forms";
    // A value from a store of secrets may have lost its last line end, and the format insists on it.
    let text = format!("{}\n", text.trim().replace("\r\n", "\n"));
    let key = PrivateKey::from_openssh(&text)
        .map_err(|error| Error::permanent(format!("the private key cannot be read: {error}")).help(help))?;
    if key.is_encrypted() {
        return Err(Error::permanent("the private key is encrypted by a passphrase")
            .help("give it without one (`ssh-keygen -p -N '' -f COPY`), or leave it to your own agent"));
    }
    match key.algorithm() {
        Algorithm::Ed25519 | Algorithm::Ecdsa { .. } | Algorithm::Rsa { .. } => Ok(key),
        other => Err(Error::permanent(format!("private keys of the type {other} are not served"))
            .help("use one of the type ed25519, or leave this one to your own agent")),
    }
}

#[ssh_agent_lib::async_trait]
impl Session for Key {
    async fn request_identities(&mut self) -> Result<Vec<Identity>, AgentError> {
        let credential = self.0.public_key().key_data().clone().into();
        Ok(vec![Identity { credential, comment: "fleet".to_owned() }])
    }

    async fn sign(&mut self, request: SignRequest) -> Result<Signature, AgentError> {
        if request.credential.key_data() != self.0.public_key().key_data() {
            return Err(AgentError::Failure);
        }
        match self.0.key_data() {
            KeypairData::Rsa(pair) => by_rsa(pair, &request),
            _ => self.0.try_sign(&request.data).map_err(AgentError::other),
        }
    }
}

/// Which digest is used with RSA, whoever asks decides.
fn by_rsa(pair: &RsaKeypair, request: &SignRequest) -> Result<Signature, AgentError> {
    let number = |part: &ssh_key::Mpint| BigUint::try_from(part).map_err(AgentError::other);
    let primes = vec![number(&pair.private.p)?, number(&pair.private.q)?];
    let (n, e, d) = (number(&pair.public.n)?, number(&pair.public.e)?, number(&pair.private.d)?);
    let key = RsaPrivateKey::from_components(n, e, d, primes).map_err(AgentError::other)?;
    let (hash, signature) = if request.flags & RSA_SHA2_256 != 0 {
        (HashAlg::Sha256, SigningKey::<Sha256>::new(key).sign(&request.data).to_vec())
    } else {
        (HashAlg::Sha512, SigningKey::<Sha512>::new(key).sign(&request.data).to_vec())
    };
    Signature::new(Algorithm::Rsa { hash: Some(hash) }, signature).map_err(AgentError::other)
}
