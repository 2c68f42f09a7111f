//! The vendors of a world beside the one that rents machines out, each with its books and its desk.

use std::io;

use crate::clock::Clock;
use crate::connect::{self, Connect};
use crate::desk::{Books, Desk};
use crate::forgejo::{self, Forgejo};
use crate::gate::Gate;
use crate::github::{self, Github};
use crate::gitlab::{self, Gitlab};
use crate::machine::Factory;
use crate::tailnet::{self, Console};
use crate::vault::{self, Vault};

/// A vendor: what it knows, and where it is asked.
#[derive(Clone, Debug)]
pub struct Vendor<B> {
    /// What it knows.
    pub books: B,
    /// Where it is asked.
    pub desk: Desk,
}

/// All of them.
#[derive(Clone, Debug)]
pub struct Vendors {
    /// A Connect server of 1Password, which keeps secrets.
    pub connect: Vendor<Connect>,
    /// Forgejo, which keeps other runners.
    pub forgejo: Vendor<Forgejo>,
    /// GitHub, which keeps the runners of the Macs.
    pub github: Vendor<Github>,
    /// GitLab, which keeps other runners.
    pub gitlab: Vendor<Gitlab>,
    /// Tailscale, whose tailnet the Macs join.
    pub tailscale: Vendor<Console>,
    /// HashiCorp Vault, which keeps secrets.
    pub vault: Vendor<Vault>,
}

impl<B: Books> Vendor<B> {
    async fn open(books: B, clock: &Clock, gate: &Gate) -> io::Result<Vendor<B>> {
        Ok(Vendor { desk: Desk::open(books.clone(), clock.clone(), gate.clone()).await?, books })
    }
}

impl Vendors {
    /// All of them answer from now on, for as long as the runtime is there that this is called on.
    ///
    /// # Errors
    ///
    /// If nothing can listen on this machine.
    pub async fn open(factory: &dyn Factory, clock: &Clock, gate: &Gate) -> io::Result<Vendors> {
        Ok(Vendors {
            connect: Vendor::open(Connect::default(), clock, gate).await?,
            forgejo: Vendor::open(Forgejo::default(), clock, gate).await?,
            github: Vendor::open(Github::new(factory.runners()), clock, gate).await?,
            gitlab: Vendor::open(Gitlab::default(), clock, gate).await?,
            tailscale: Vendor::open(Console::new(factory.tailnet()), clock, gate).await?,
            vault: Vendor::open(Vault::default(), clock, gate).await?,
        })
    }

    /// What a program that uses them needs in its environment.
    pub fn environment(&self) -> impl Iterator<Item = (String, String)> {
        let variables = [
            ("FORGEJO_API_URL", self.forgejo.desk.url()),
            ("FORGEJO_TOKEN", forgejo::TOKEN),
            ("FORGEJO_URL", forgejo::URL),
            ("GITHUB_API_URL", self.github.desk.url()),
            ("GITHUB_TOKEN", github::TOKEN),
            ("GITLAB_API_URL", self.gitlab.desk.url()),
            ("GITLAB_TOKEN", gitlab::TOKEN),
            ("GITLAB_URL", gitlab::URL),
            ("OP_CONNECT_HOST", self.connect.desk.url()),
            ("OP_CONNECT_TOKEN", connect::TOKEN),
            ("TAILSCALE_API_KEY", tailnet::API_KEY),
            ("TAILSCALE_BASE_URL", self.tailscale.desk.url()),
            ("VAULT_ADDR", self.vault.desk.url()),
            ("VAULT_TOKEN", vault::ROOT_TOKEN),
        ];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter()
    }
}
