//! `--host` and `--exclude-host`: hosts by their slots or names → targets.

use std::borrow::Cow;
use std::collections::BTreeSet;

use fleet_lang::Value;
use fleet_syntax::{Diagnostic, Diagnostics, Severity, nearest};

use super::look::{Looker, usable};
use super::make::Index;
use super::{Options, Sources};
use crate::address::{Item, ScopePath, Target};
use crate::diff::get;
use crate::expand::{Memory, Surroundings, expand};
use crate::observe::Observed;
use crate::outline::Outline;
use crate::state::State;

/// The same options, where hosts are targets like others.
pub(super) fn with_hosts<'o>(
    options: &'o Options,
    outline: &Outline<'_>,
    surroundings: &Surroundings<'_>,
    mut looker: Looker<'_>,
) -> Result<Cow<'o, Options>, Diagnostics> {
    if options.hosts.is_empty() && options.exclude_hosts.is_empty() {
        return Ok(Cow::Borrowed(options));
    }
    let (expansion, _) = expand(outline, surroundings, &mut looker);
    let hosts = expansion.instances.iter().filter(|instance| instance.address.item == Item::Host);
    let mut names: Vec<(String, ScopePath)> = Vec::new();
    for host in hosts {
        let named = ["name", "machine"].into_iter().filter_map(|name| {
            get(&host.value, name).as_str().map(|name| (name.to_owned(), host.address.scope.clone()))
        });
        names.extend(named);
        names.push((host.address.scope.to_string(), host.address.scope.clone()));
    }
    let mut problems = Diagnostics::new();
    let mut target = |text: &String| {
        let slot = ScopePath::slot_named(text);
        let known = names.iter().find(|(name, path)| name == text || slot.as_ref() == Some(path));
        if known.is_none() {
            problems.push(unknown_host(text, names.iter().map(|(name, _)| name.as_str())));
        }
        known.map(|(_, scope)| Target { scope: scope.clone(), item: None, key: None })
    };
    let mut options = options.clone();
    options.targets.extend(options.hosts.iter().filter_map(&mut target));
    options.excludes.extend(options.exclude_hosts.iter().filter_map(&mut target));
    if problems.is_empty() { Ok(Cow::Owned(options)) } else { Err(problems) }
}

/// The settings of the session with a host, by its slot or name.
pub fn way_to(sources: &Sources<'_, '_>, state: &State, host: &str) -> Result<Value, Diagnostics> {
    let options = Options { hosts: vec![host.to_owned()], ..Options::default() };
    let outline = Outline::of(sources.config, sources.surroundings.catalog);
    let memory = Memory::of(state, &options, &BTreeSet::new());
    let index: Index<'_> = state.recorded.iter().collect();
    let nothing = Observed::default();
    let looker = || Looker::new(state, &index, sources.readers, &options, &memory, &nothing);
    let chosen = with_hosts(&options, &outline, sources.surroundings, looker())?;
    let (expansion, problems) = expand(&outline, sources.surroundings, &mut looker());
    let slot = chosen.targets.first().map(|target| target.scope.clone()).unwrap_or_default();
    let session = expansion.session_with(slot);
    let settings = expansion.settings(sources.surroundings.catalog, &session).and_then(usable);
    settings.ok_or_else(|| match problems.is_empty() {
        true => vec![Diagnostic {
            detail: "How it is reached is not known yet.".into(),
            help: None,
            ..unknown_host(host, [].into_iter())
        }],
        false => problems,
    })
}

fn unknown_host<'n>(text: &str, known: impl Iterator<Item = &'n str>) -> Diagnostic {
    let near = nearest(text, known).map(|near| format!("did you mean `{near}`?"));
    Diagnostic {
        severity: Severity::Error,
        summary: "unknown host".into(),
        detail: format!("No slot of a fleet and no host is called `{text}`."),
        span: None,
        related: Vec::new(),
        address: None,
        help: near.or_else(|| Some("name a slot, such as `runners[0]`, or the name of a host".into())),
    }
}
