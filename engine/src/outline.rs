//! Stage 2, expand: what there is, who uses whom and in which order; found once, walked as often as it takes.

use std::rc::Rc;

use fleet_syntax::Diagnostics;

use crate::config::model::Config;
use crate::order::{Order, order};
use crate::refactor;
use crate::reference::Use;
use crate::schema::Catalog;
use crate::scope::{NodeId, Scopes};

/// A configuration as the walks over it need it.
#[derive(Debug)]
pub struct Outline<'c> {
    /// The scopes and the nodes in them.
    pub scopes: Rc<Scopes<'c>>,
    /// What each node uses.
    pub uses: Rc<Vec<Vec<Use<'c>>>>,
    /// The nodes, each after those it uses.
    pub order: Vec<NodeId>,
    /// What is wrong, whatever the values.
    pub diagnostics: Diagnostics,
}

impl<'c> Outline<'c> {
    /// Finds out. Linear in blocks and references.
    #[must_use]
    pub fn of(config: &'c Config, catalog: &dyn Catalog) -> Outline<'c> {
        let mut diagnostics = Diagnostics::new();
        let scopes = Scopes::of(config, &mut diagnostics);
        refactor::check(&scopes, &mut diagnostics);
        let Order { uses, order } = order(&scopes, catalog, &mut diagnostics);
        Outline { scopes: Rc::new(scopes), uses: Rc::new(uses), order, diagnostics }
    }
}
