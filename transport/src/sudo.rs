//! Root, where somebody else is logged in.

use std::time::Duration;

use fleet_engine::host::reach::Secret;
use fleet_engine::resource::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::failure::{cut, short};
use crate::road::{Channel, Road};
use crate::script::{Frame, LOADER};
use crate::shell::{End, Exchange, Shell};

/// Starts the loader, `$0`, as root without a password.
const FREE: &str = r#"if [ "$(id -u)" = 0 ]; then exec /bin/sh -c "$0"; fi; exec sudo -n /bin/sh -c "$0""#;
/// Says that it is root, and starts the loader.
const READY: &str = r#"echo fleet-root; exec /bin/sh -c "$0""#;
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
        self.denied.is_none()
    }

    /// Why somebody who only looks cannot be root.
    pub(crate) fn unseen(&self) -> Error {
        let why = self.denied.as_deref().map(|why| format!(" ({})", short(why))).unwrap_or_default();
        Error::permanent(format!("it cannot be seen without root, and root takes a password here{why}"))
            .help("let the user of the connection use `sudo` without a password; planning never sends one")
    }

    /// The shell is of no use any more.
    pub(crate) fn forget_shell(&mut self) {
        self.shell = None;
    }

    /// Asks root, or lets it work. An error means that nothing was done.
    pub(crate) async fn exchange(
        &mut self,
        road: &Road,
        root: &str,
        password: Option<&Secret>,
        who: Who,
        body: &Frame,
        patience: Duration,
    ) -> Result<Exchange, Error> {
        let works = who == Who::Worker;
        if self.shell.is_none() && self.is_free() {
            let channel = road.open(&["/bin/sh", "-c", FREE, LOADER]).await?;
            let mut shell = Shell::over(channel, root);
            let exchange = shell.exchange(body, works, patience).await;
            match &exchange.end {
                End::Cut(why) if exchange.hello.is_none() && why.contains("sudo") => {
                    self.denied = Some(why.clone());
                }
                _ => {
                    self.shell = Some(shell);
                    self.by_password = false;
                    return Ok(exchange);
                }
            }
        }
        if who == Who::Looker && (self.by_password || !self.is_free()) {
            return Err(self.unseen());
        }
        if self.shell.is_none() {
            self.shell = Some(Shell::over(self.by_password(road, password).await?, root));
            self.by_password = true;
        }
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
        let line = format!("{password}\n");
        if self.password.is_none() {
            // A try that ends with its first line: `sudo` would take whatever follows a wrong password for another.
            let tried = road.feed(&["sudo", "-k", "-S", "-p", "", "/bin/sh", "-c", ":"], line.as_bytes());
            let ended = timeout(PATIENCE, tried).await.map_err(|_| cut("sudo did not answer"))??;
            self.password = Some(match ended.status {
                Some(0) => Ok(()),
                None => return Err(cut(&ended.complaint)),
                Some(_) => Err(refused(&ended.complaint).help(
                    "see that the password is right and that the user may use `sudo`; it is not tried again in this run",
                )),
            });
        }
        if let Some(Err(error)) = &self.password {
            return Err(error.clone());
        }
        let words = ["sudo", "-k", "-S", "-p", "", "/bin/sh", "-c", READY, LOADER];
        let mut channel = road.open(&words).await?;
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
            _ => {
                let ended = timeout(PATIENCE, channel.ended()).await;
                Err(refused(&ended.map(|ended| ended.complaint).unwrap_or_default()))
            }
        }
    }
}

fn refused(why: &str) -> Error {
    let why = if why.is_empty() { String::new() } else { format!(": {}", short(why)) };
    Error::permanent(format!("`sudo` refused to become root{why}"))
}
