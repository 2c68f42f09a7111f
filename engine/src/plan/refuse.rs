//! What kinds refuse, found without looking at anything.

use fleet_lang::Value;
use fleet_syntax::{Diagnostic, Diagnostics};

use super::{normal, normal_data};
use crate::attributes::Misfit;
use crate::config::model::Mode;
use crate::expand::{ArgumentsOnly, Block, Instance, Settle};
use crate::provider::Readers;

/// Knows arguments only, and asks kinds whether those that are wholly known can be.
pub struct Refusals<'a> {
    readers: &'a dyn Readers,
    /// What is refused, once for all instances of a block that it is the same for.
    pub found: Diagnostics,
}

impl<'a> Refusals<'a> {
    /// Nothing is asked yet.
    #[must_use]
    pub fn new(readers: &'a dyn Readers) -> Refusals<'a> {
        Refusals { readers, found: Diagnostics::new() }
    }
}

impl Settle for Refusals<'_> {
    fn settle(&mut self, instance: &Instance, block: &Block<'_>) -> Value {
        let kind = &block.resource.kind.name;
        let normal = match block.resource.mode {
            Mode::Managed => normal(self.readers, kind, &instance.declared),
            Mode::Data => normal_data(self.readers, kind, &instance.declared),
        };
        if let Err(Misfit { attribute, message }) = normal {
            let name = attribute.split('.').next().unwrap_or_default();
            let written = block.resource.body.attributes.iter().find(|written| *written.name.name == *name);
            let span = written.map_or(instance.span, |written| written.value.span);
            let detail = format!("`{attribute}`: {message}.");
            if !self.found.iter().any(|known| known.span == Some(span) && known.detail == detail) {
                let problem = Diagnostic::error(span, "this value cannot be", detail);
                self.found.push(problem.at(instance.address.to_string()));
            }
        }
        ArgumentsOnly.settle(instance, block)
    }
}
