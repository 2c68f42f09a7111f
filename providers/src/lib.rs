//! The providers: one folder each, one file a kind.
//!
//! [`Builtin`] is all of them together, as the engine wants to see them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fleet_engine::attributes::Misfit;
use fleet_engine::provider::{Reader, Readers, Reading, Session, Writer, Writers, Writing};
use fleet_engine::resource::{BoxFuture, Error};
use fleet_engine::schema::{Catalog, Entry, Sort};
use fleet_lang::Value;

pub mod core;

/// All providers that come with fleet, working from one directory.
pub struct Builtin {
    directory: PathBuf,
    entries: BTreeMap<Sort, BTreeMap<&'static str, Entry>>,
}

impl Builtin {
    /// The providers; relative paths in their arguments start at `directory`.
    #[must_use]
    pub fn new(directory: PathBuf) -> Builtin {
        let resources = core::KINDS.iter().map(|kind| (kind.name(), kind.entry(core::NAME))).collect();
        Builtin { directory, entries: [(Sort::Resource, resources)].into() }
    }
}

impl Catalog for Builtin {
    fn find(&self, sort: Sort, name: &str) -> Option<&Entry> {
        self.entries.get(&sort)?.get(name)
    }

    fn names(&self, sort: Sort) -> Vec<&str> {
        self.entries.get(&sort).into_iter().flat_map(|entries| entries.keys().copied()).collect()
    }
}

impl Readers for Builtin {
    fn normalize(&self, kind: &str, object: &Value) -> Result<Value, Misfit> {
        match core::KINDS.iter().find(|k| k.name() == kind) {
            Some(kind) => kind.normalize(object),
            None => Err(Misfit::new("", format!("there is no kind `{kind}`"))),
        }
    }

    fn reader<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, Result<Box<dyn Reader>, Error>> {
        Box::pin(async move {
            known(session)?;
            let handle = core::Looking::new(self.directory.clone());
            Ok(Box::new(Reading { handle, kinds: core::KINDS }) as Box<dyn Reader>)
        })
    }
}

impl Writers for Builtin {
    fn writer<'a>(&'a self, session: &'a Session) -> BoxFuture<'a, Result<Box<dyn Writer>, Error>> {
        Box::pin(async move {
            known(session)?;
            let handle = core::Acting::new(self.directory.clone());
            Ok(Box::new(Writing { handle, kinds: core::KINDS }) as Box<dyn Writer>)
        })
    }
}

/// State may name a provider that this build does not have.
fn known(session: &Session) -> Result<(), Error> {
    if &*session.provider == core::NAME {
        Ok(())
    } else {
        Err(Error::permanent(format!("there is no provider `{}`", session.provider)))
    }
}
