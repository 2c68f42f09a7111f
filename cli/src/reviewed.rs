//! A plan that was saved and reviewed: whether it is still what would be done.
//!
//! The plan is made again from what is there now, with the same options and at the same moment. Only if it comes out the
//! same, and everything that it relied on is as it was, it is applied.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::UNIX_EPOCH;

use fleet_engine::address::{ScopePath, Target};
use fleet_engine::document::{self, Document, Fact, Header, Moved, Step};
use fleet_engine::plan::{Goal, Options};

use crate::{Env, Failure, publish};

/// A plan that somebody approved.
pub(crate) struct Reviewed {
    document: Document,
    /// Whether what is not affected by what moved is done nevertheless.
    partial: bool,
}

/// What a fresh plan says about a reviewed one.
pub(crate) enum Verdict {
    /// It is the same.
    Same,
    /// These have moved, in words; the rest can be planned without them.
    Without(Vec<Target>, String),
}

impl Reviewed {
    /// Reads it from its file.
    pub(crate) fn read(env: &Env, path: &Path, partial: bool) -> Result<Reviewed, Failure> {
        Ok(Reviewed { document: publish::read(env, path)?, partial })
    }

    /// What the user asked for when it was made.
    pub(crate) fn options(&self) -> Result<Options, Failure> {
        let asked = &self.document.header.options;
        let targets = |words: &[String]| words.iter().map(|word| target(word)).collect::<Result<_, _>>();
        Ok(Options {
            goal: match self.document.goal {
                document::Goal::Converge => Goal::Converge,
                document::Goal::Destroy => Goal::Destroy,
                document::Goal::RefreshOnly => Goal::RefreshOnly,
            },
            targets: targets(&asked.target)?,
            excludes: targets(&asked.exclude)?,
            replace: targets(&asked.replace)?,
            refresh: !asked.without_looking,
            resolve_secrets: asked.resolve_secrets,
            imports: Vec::new(),
            ignore_rollout: asked.ignore_rollout,
            hosts: asked.host.clone(),
            exclude_hosts: asked.exclude_host.clone(),
            machines: BTreeMap::new(),
            accepted: asked.accept_host_key.iter().filter_map(|slot| ScopePath::parse(slot)).collect(),
        })
    }

    /// The moment when it was made, in nanoseconds since 1970.
    pub(crate) fn planned_at(&self) -> Result<i128, Failure> {
        let read = humantime::parse_rfc3339(&self.document.header.planned_at);
        let since = read.ok().and_then(|then| then.duration_since(UNIX_EPOCH).ok());
        since.map(|since| since.as_nanos() as i128).ok_or_else(|| Failure::new("the plan has no date"))
    }

    /// Compares it with one that was made just now.
    pub(crate) fn compare(&self, now: &Document, found: &[Fact]) -> Result<Verdict, Failure> {
        self.same_origin(&now.header)?;
        let moved = document::moved(&self.document.facts, found);
        if moved.is_empty() {
            return self.same_steps(&self.document.steps, &now.steps).map(|()| Verdict::Same);
        }
        let names: Vec<String> = moved.iter().map(ToString::to_string).collect();
        if !self.partial {
            let summary = format!("the plan does not fit any more, nothing was done: {}", names.join("; "));
            let help = "plan again, or use `--partial` to do what is not affected";
            return Err(Failure::new(summary).help(help));
        }
        let addresses: BTreeSet<&str> = moved.iter().map(|Moved { address, .. }| &**address).collect();
        let targets = addresses.into_iter().map(target).collect::<Result<_, _>>()?;
        Ok(Verdict::Without(targets, names.join("; ")))
    }

    /// Whether a plan without what moved does nothing that was not approved.
    pub(crate) fn covers(&self, now: &Document) -> Result<(), Failure> {
        let approved: BTreeMap<_, _> =
            self.document.steps.iter().map(|step| ((&step.address, step.deposed), step)).collect();
        let of_now =
            now.steps.iter().filter_map(|step| approved.get(&(&step.address, step.deposed)).copied());
        self.same_steps(&of_now.cloned().collect::<Vec<_>>(), &now.steps)
    }

    fn same_origin(&self, now: &Header) -> Result<(), Failure> {
        let then = &self.document.header;
        let refuse = |what: &str| Err(Failure::new(format!("{what}, nothing was done")).help("plan again"));
        if then.configuration != now.configuration {
            return refuse("the configuration is not the one that was planned");
        }
        if then.variables != now.variables {
            return refuse("other variables were given than when it was planned");
        }
        match (&then.lineage, &now.lineage) {
            (Some(then), Some(now)) if then != now => refuse("the plan was made for another state"),
            (Some(_), None) => refuse("the state that the plan was made for is gone"),
            _ => Ok(()),
        }
    }

    #[expect(clippy::unused_self, reason = "it reads as a part of the comparison")]
    fn same_steps(&self, then: &[Step], now: &[Step]) -> Result<(), Failure> {
        let differs = then.iter().zip(now).find(|(then, now)| then != now).map(|(then, _)| then);
        let more = if then.len() > now.len() { then.get(now.len()) } else { now.get(then.len()) };
        let Some(step) = differs.or(more) else { return Ok(()) };
        let summary = format!("something else would be done to {} now, nothing was done", step.address);
        Err(Failure::new(summary).help("plan again: a variable or the configuration's surroundings changed"))
    }
}

fn target(word: &str) -> Result<Target, Failure> {
    Target::parse(word)
        .ok_or_else(|| Failure::new(format!("the plan speaks of `{word}`, which is no address")))
}
