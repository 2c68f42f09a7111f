//! Large contents: brought to the host on a channel of their own, into a file beside the ledger.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use fleet_engine::resource::Error;
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;
use tokio::sync::{Mutex, OnceCell, mpsc};
use tokio::time::timeout;

use crate::chance::hex;
use crate::failure::{cut, short};
use crate::road::Road;
use crate::script::Root;

/// What receives an upload: the ledger, a name for this run, a name for the file, and how it travels, a line each; then
/// the content. `p` stands before the path of the ledger. What other runs left behind goes.
const RECEIVER: &str = r#"umask 077; IFS= read -r b; b=$p$b; IFS= read -r r; IFS= read -r n; IFS= read -r z; for f in "$b".up-*; do case $f in "$b.up-$r-"*) ;; *) rm -f -- "$f";; esac; done; if [ "$z" = gzip ]; then exec gzip -dc >"$b.up-$r-$n"; else exec cat >"$b.up-$r-$n"; fi"#;

/// How much is read and sent at once.
const PIECE: usize = 256 << 10;
/// Without any progress for so long, the connection is taken for lost.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is brought to a host.
#[derive(Clone)]
pub(crate) enum Source {
    /// These bytes.
    Bytes(Arc<[u8]>),
    /// A file on this machine.
    File(String),
}

/// The digests of files on this machine, each found once in a run.
#[derive(Default)]
pub(crate) struct Digests(Mutex<HashMap<String, Looked>>);

/// A file that is looked at once, by whoever comes first.
type Looked = Arc<OnceCell<Result<Local, Error>>>;

/// What is known of a file on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Local {
    digest: String,
    pub(crate) is_gzip: bool,
}

impl Digests {
    /// Sees to it that a file is still what it was when somebody planned with it.
    pub(crate) async fn check(&self, path: &str, digest: &str) -> Result<Local, Error> {
        let cell = self.0.lock().await.entry(path.to_owned()).or_default().clone();
        let found = cell.get_or_init(|| async { look(path.to_owned()).await }).await.clone()?;
        if found.digest == digest {
            return Ok(found);
        }
        Err(Error::permanent(format!("`{path}` on this machine is not what it was when this was planned"))
            .help("plan again"))
    }
}

/// Brings something to the host.
pub(crate) async fn upload(
    road: &Road,
    root: &Root,
    ledger: &str,
    run: &str,
    name: &str,
    source: Source,
) -> Result<(), Error> {
    if ledger.contains('\n') {
        return Err(Error::permanent("nothing can be uploaded beside a ledger whose name has several lines"));
    }
    let (prefix, ledger) = match root {
        Root::Given(root) => ("p=", format!("{root}{ledger}")),
        Root::OfSession | Root::HandedOn => ("p=${FLEET_ROOT-}", ledger.to_owned()),
    };
    let mut channel = road.open(&["/bin/sh", "-c", &format!("{prefix}; {RECEIVER}")]).await?;
    let (sender, mut pieces) = mpsc::channel::<io::Result<Vec<u8>>>(4);
    let squeeze = matches!(road, Road::Ssh(_));
    let reading = tokio::task::spawn_blocking(move || read(&source, squeeze, &sender));
    let mut sent = 0_usize;
    let mut head = format!("{ledger}\n{run}\n{name}\n").into_bytes();
    let mut lost = false;
    while let Some(piece) = pieces.recv().await {
        let piece = piece.map_err(|error| {
            Error::permanent(format!("what is to be uploaded cannot be read: {error}")).because(error)
        })?;
        head.extend_from_slice(&piece);
        match timeout(PATIENCE, channel.stdin.write_all(&head)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => break,
            Err(_) => {
                lost = true;
                break;
            }
        }
        sent += head.len();
        head.clear();
    }
    drop(pieces);
    let _ = reading.await;
    tracing::debug!(sent, "uploaded");
    if lost {
        return Err(cut("nothing more could be sent"));
    }
    let Ok(ended) = timeout(PATIENCE, channel.ended()).await else { return Err(cut("no answer")) };
    match ended.status {
        Some(0) => Ok(()),
        None => Err(cut(&ended.complaint)),
        Some(status) => {
            let why = if ended.complaint.is_empty() {
                format!("status {status}")
            } else {
                short(&ended.complaint).to_owned()
            };
            let error = Error::permanent(format!("nothing can be uploaded to the host: {why}"));
            Err(if why.contains("No space left on device") {
                error.help("the disk of the host is full: make room there, then apply again")
            } else {
                error.help(format!("whoever is logged in must be able to write beside `{ledger}`"))
            })
        }
    }
}

/// The SHA-256 of bytes, in hexadecimal digits.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

async fn look(path: String) -> Result<Local, Error> {
    let name = path.clone();
    let reading = tokio::task::spawn_blocking(move || -> io::Result<Local> {
        let mut file = File::open(path)?;
        let (mut hash, mut piece, mut first) = (Sha256::new(), vec![0; PIECE], None);
        loop {
            let count = file.read(&mut piece)?;
            if count == 0 {
                break;
            }
            first.get_or_insert_with(|| is_gzip(&piece[..count]));
            hash.update(&piece[..count]);
        }
        Ok(Local { digest: hex(&hash.finalize()), is_gzip: first.unwrap_or_default() })
    });
    let read = reading.await.map_err(|error| Error::permanent("a file cannot be read").because(error))?;
    read.map_err(|error| {
        Error::permanent(format!("`{name}` on this machine cannot be read: {error}")).because(error)
    })
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// Reads a source piece by piece, compressed if the first piece shows that it helps; how it travels comes first.
fn read(source: &Source, squeeze: bool, sender: &mpsc::Sender<io::Result<Vec<u8>>>) {
    let ended = match source {
        Source::Bytes(bytes) => pass(&mut &bytes[..], squeeze, sender),
        Source::File(path) => File::open(path).and_then(|mut file| pass(&mut file, squeeze, sender)),
    };
    if let Err(error) = ended {
        let _ = sender.blocking_send(Err(error));
    }
}

fn pass(source: &mut dyn Read, squeeze: bool, sender: &mpsc::Sender<io::Result<Vec<u8>>>) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    let mut count = source.read(&mut piece)?;
    let squeeze = squeeze && helps(&piece[..count])?;
    let head: &[u8] = if squeeze { b"gzip\n" } else { b"plain\n" };
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let mut ready = head.to_vec();
    while count > 0 {
        if squeeze {
            encoder.write_all(&piece[..count])?;
            ready.append(encoder.get_mut());
        } else {
            ready.extend_from_slice(&piece[..count]);
        }
        if !ready.is_empty() && sender.blocking_send(Ok(std::mem::take(&mut ready))).is_err() {
            return Ok(());
        }
        count = source.read(&mut piece)?;
    }
    if squeeze {
        ready.extend(encoder.finish()?);
    }
    let _ = sender.blocking_send(Ok(ready));
    Ok(())
}

/// Whether a sample gets smaller by a tenth at least.
fn helps(sample: &[u8]) -> io::Result<bool> {
    let sample = &sample[..sample.len().min(PIECE / 4)];
    if sample.len() < 1024 || is_gzip(sample) {
        return Ok(false);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(sample)?;
    Ok(encoder.finish()?.len() < sample.len() / 10 * 9)
}
