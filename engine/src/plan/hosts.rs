//! `--host` and `--exclude-host`: hosts by their slots or names → targets.

use std::borrow::Cow;

use fleet_syntax::{Diagnostic, Diagnostics, Severity, nearest};

use super::Options;
use super::look::Looker;
use crate::address::{Item, ScopePath, Target};
use crate::diff::get;
use crate::expand::{Surroundings, expand};
use crate::outline::Outline;

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
