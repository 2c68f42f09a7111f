//! Root, where somebody else is logged in.

use std::time::Duration;

use fleet_engine::cure;
use fleet_engine::finding::table;
use fleet_engine::host::reach::Secret;
use fleet_engine::resource::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::failure::{cut, short};
use crate::road::{Channel, Ended, Road};
use crate::script::{Frame, LOADER, Root};
use crate::shell::{End, Exchange, Shell};

/// Starts the loader, `$0`, as root without a password. Its name hands on what stands before every path.
const FREE: &str = r#"p=${FLEET_ROOT:-/bin/sh}; if [ "$(id -u)" = 0 ]; then exec /bin/sh -c "$0" "$p"; fi; exec sudo -n /bin/sh -c "$0" "$p""#;
/// Starts `$0` as root, by the password.
const PAID: &str = r#"exec sudo -k -S -p "" /bin/sh -c "$0" "$1" "${FLEET_ROOT:-/bin/sh}""#;
/// Says that it is root, and starts the loader.
const READY: &str = r#"echo fleet-root; exec /bin/sh -c "$0" "$1""#;
const GREETING: &[u8] = b"fleet-root\n";
/// How long `sudo` may take. It makes those wait who gave a wrong password.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is known of the ways to root on one host.
#[derive(Default)]
pub(crate) struct Sudo {
    /// Why it takes a password, if it does.
    denied: Option<String>,
    /// Whether the password was taken, if it was tried. One that was wrong is not tried again: accounts lock.
    password: Option<Result<(), Error>>,
    shell: Option<Shell>,
    /// Whether the shell was opened by the password.
    by_password: bool,
    /// Whether root did something by it, which may have been to take the password away.
    worked: bool,
}

/// Who wants something of root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// Somebody who only looks, for whom no password is spent.
    Looker,
    /// Somebody who works.
    Worker,
}

impl Sudo {
    /// Whether root can be had by somebody who only looks, as far as anybody knows.
    pub(crate) fn is_free(&self) -> bool {
        self.denied.is_none() || self.worked
    }

    /// Why somebody who only looks cannot be root.
    pub(crate) fn unseen(&self) -> Error {
        let why = self.denied.as_deref().map(|why| format!(" ({})", short(why))).unwrap_or_default();
        Error::permanent(format!("it cannot be seen without root, and root takes a password here{why}"))
            .help("let the user of the connection use `sudo` without a password; planning never sends one")
            .needs_root()
            .known(&table::ROOT_NEEDS_PASSWORD)
    }

    /// What is known of it by another connection: a password that was tried is not tried again.
    pub(crate) fn elsewhere(&self) -> Sudo {
        Sudo { password: self.password.clone(), ..Sudo::default() }
    }

    /// The shell is of no use any more.
    pub(crate) fn forget_shell(&mut self) {
        self.shell = None;
    }

    /// Asks root, or lets it work. An error means that nothing was done.
    pub(crate) async fn exchange(
        &mut self,
        road: &Road,
        root: &Root,
        password: Option<&Secret>,
        who: Who,
        body: &Frame,
        patience: Duration,
    ) -> Result<Exchange, Error> {
        let works = who == Who::Worker;
        if !works && self.worked {
            // The way without a password is tried once more.
            (self.shell, self.denied, self.worked) = (None, None, false);
        }
        if self.shell.is_none() && self.is_free() {
            let channel = road.open(&["/bin/sh", "-c", FREE, LOADER]).await?;
            let mut shell = Shell::over(channel, root.handed_on());
            let exchange = shell.exchange(body, works, patience).await;
            match &exchange.end {
                End::Cut(why) if exchange.hello.is_none() && why.contains("sudo") => {
                    (self.denied, self.worked) = (Some(why.clone()), false);
                }
                _ => {
                    (self.shell, self.denied) = (Some(shell), None);
                    (self.by_password, self.worked) = (false, false);
                    return Ok(exchange);
                }
            }
        }
        if who == Who::Looker && (self.by_password || !self.is_free()) {
            return Err(self.unseen());
        }
        if self.shell.is_none() {
            self.shell = Some(Shell::over(self.by_password(road, password).await?, root.handed_on()));
            self.by_password = true;
        }
        self.worked |= works && self.by_password;
        match &mut self.shell {
            Some(shell) => Ok(shell.exchange(body, works, patience).await),
            None => Err(self.unseen()),
        }
    }

    /// Opens a shell by the password.
    async fn by_password(&mut self, road: &Road, password: Option<&Secret>) -> Result<Channel, Error> {
        let why = self.denied.as_deref().map(short).unwrap_or_default().to_owned();
        let Some(Secret(password)) = password else {
            return Err(refused(&why).help(
                "let the user of the connection use `sudo` without a password, or give its password as a secret",
            ));
        };
        // The line must end, or some versions of sudo take it for no answer.
        let end = if cure::is_there("end-of-line") { "\n" } else { "" };
        let line = format!("{password}{end}");
        if self.password.is_none() || !cure::is_there("one-try") {
            // A try that ends with its first line: `sudo` would take whatever follows a wrong password for another.
            let words = ["sudo", "-k", "-S", "-p", "", "/bin/sh", "-c", ":"];
            let channel = road.open(&words).await?;
            // From here on it may have arrived, whatever becomes of the answer or of whoever waits for it.
            self.password = Some(Err(untold("")));
            self.password = Some(match timeout(PATIENCE, channel.fed(line.as_bytes())).await {
                Err(_) => Err(untold(": `sudo` did not answer")),
                Ok(Ended { status: Some(0), .. }) => Ok(()),
                Ok(Ended { status: None, complaint }) => Err(untold(&because(&complaint))),
                Ok(Ended { status: Some(_), complaint }) => Err(refused(&complaint).help(
                    "see that the password is right and that the user may use `sudo`; it is not tried again in this run. After several \
                     wrong ones macOS locks the account, and refuses the right one without a reason: wait some minutes in which nobody \
                     tries, or restart it",
                )),
            });
        }
        if let Some(Err(error)) = &self.password {
            return Err(error.clone());
        }
        let mut channel = road.open(&["/bin/sh", "-c", PAID, READY, LOADER]).await?;
        let greeted = async {
            channel.stdin.write_all(line.as_bytes()).await.ok()?;
            channel.stdin.flush().await.ok()?;
            let mut said = Vec::new();
            while !said.ends_with(GREETING) {
                said.push(channel.stdout.read_u8().await.ok()?);
            }
            Some(())
        };
        match timeout(PATIENCE, greeted).await {
            Ok(Some(())) => Ok(channel),
            // The password is known to be right, so that a connection that broke is no refusal.
            _ => match timeout(PATIENCE, channel.ended()).await {
                Ok(Ended { status: Some(_), complaint }) => Err(refused(&complaint)
                    .help("see what `sudo` notes on the host; it took the same password a moment before")),
                Ok(Ended { status: None, complaint }) => Err(cut(&complaint)),
                Err(_) => Err(cut("`sudo` did not answer")),
            },
        }
    }
}

fn refused(why: &str) -> Error {
    Error::permanent(format!("`sudo` refused to become root{}", because(why)))
}

/// The password was sent, and nobody knows whether it was right.
fn untold(why: &str) -> Error {
    Error::permanent(format!("the password for `sudo` was sent, but nobody knows whether it was taken{why}"))
        .help(
            "it is not sent again in this run, because accounts lock; see that it is right, then apply again",
        )
}

fn because(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(": {}", short(why)) }
}
