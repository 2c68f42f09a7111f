//! Tree → configuration: the blocks of one module directory, every problem at once.
//!
//! A block that is partly wrong still declares its name with what could be read of it, so that one mistake makes one
//! complaint. Each sort of block has a function here or in a file of its own; [`fields`] takes blocks apart,
//! [`report`] collects what is wrong, [`reference`](mod@reference) reads the
//! arguments that name something instead of having a value.

mod call;
mod fields;
mod fleet;
mod pool;
mod refactor;
mod reference;
mod report;
mod resource;
mod settings;
mod value;

use std::collections::hash_map::{Entry, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use fleet_syntax::tree::{Block, Body};
use fleet_syntax::{Diagnostic, Diagnostics, Span, nearest};
use foldhash::fast::FixedState;
use indexmap::IndexMap;

use super::model::{Call, Local, Mode, Module, Named, Resource, ResourceId};
use report::Report;

/// Everything read from one directory.
pub(super) struct Read {
    /// Its content; no call knows its module yet.
    pub(super) module: Module,
    /// What is wrong with it.
    pub(super) diagnostics: Diagnostics,
}

/// The words that start a block of a file.
const BLOCKS: [&str; 15] = [
    "check", "data", "fleet", "import", "locals", "module", "moved", "output", "pool", "provider", "removed",
    "resource", "secret", "settings", "variable",
];

/// Those that only the root module may have.
const ROOT_BLOCKS: [&str; 5] = ["fleet", "import", "pool", "secret", "settings"];

/// Reads the files of one directory.
pub(super) fn module(dir: PathBuf, is_root: bool, bodies: Vec<Body>) -> Read {
    let mut reader = Reader {
        module: Module { dir, ..Module::default() },
        is_root,
        check_data: HashMap::new(),
        report: Report::default(),
    };
    for body in bodies {
        reader.file(body);
    }
    reader.shadowed();
    fleet::know_pools(&mut reader.module.fleets, &reader.module.pools);
    Read { module: reader.module, diagnostics: reader.report.diagnostics }
}

/// A directory being read.
struct Reader {
    module: Module,
    is_root: bool,
    /// The data of `check` blocks, which share the names of the module's own.
    check_data: HashMap<ResourceId, Span>,
    report: Report,
}

impl Reader {
    fn file(&mut self, body: Body) {
        self.module.incomplete |= body.incomplete;
        for attribute in body.attributes {
            let name = &attribute.name.name;
            let error = Diagnostic::error(
                attribute.name.span,
                "argument outside a block",
                "A file holds blocks only.",
            );
            self.report.push(error.help(format!("to give a value a name, write `locals {{ {name} = … }}`")));
        }
        // To grow on the way would move all that came before, again and again.
        let n_resources = body.blocks.iter().filter(|block| &*block.kind.name == "resource").count();
        self.module.resources.reserve(n_resources);
        for block in body.blocks {
            self.block(block);
        }
    }

    fn block(&mut self, block: Block) {
        let kind = block.kind.name.clone();
        if !self.is_root && ROOT_BLOCKS.contains(&&*kind) {
            let detail = format!("Only the root module may have a `{kind}` block.");
            let help = "move it to the root module; pass what this module needs of it through a variable";
            self.report
                .push(Diagnostic::error(block.header, format!("`{kind}` in a module"), detail).help(help));
        }
        match &*kind {
            "check" => self.check(block),
            "data" => self.resource(block, Mode::Data),
            "fleet" => self.fleet(block),
            "import" => self.import(block),
            "locals" => self.locals(block),
            "module" => self.call(block),
            "moved" => self.moved(block),
            "output" => self.output(block),
            "pool" => self.pool(block),
            "provider" => self.provider(block),
            "removed" => self.removed(block),
            "resource" => self.resource(block, Mode::Managed),
            "secret" => self.secret(block),
            "settings" => self.settings(block),
            "variable" => self.variable(block),
            _ => self.unknown(&block),
        }
    }

    fn unknown(&mut self, block: &Block) {
        self.module.incomplete = true;
        let kind = &block.kind.name;
        let help = match &**kind {
            "terraform" => "write `settings { … }`; providers are built in and need no `required_providers`".into(),
            "ephemeral" => "write `secret \"name\" { from = … }` for what must never be stored, or set `ephemeral = true` \
                            on a variable or output"
                .into(),
            "local" => "did you mean `locals`?".into(),
            "connection" | "rollout" | "health" => format!("move `{kind}` into a `fleet` block"),
            "host" | "return" => format!("move `{kind}` into a `pool` block"),
            "backend" => "move `backend` into the `settings` block".into(),
            "lifecycle" | "dynamic" => format!("move `{kind}` into a `resource` block"),
            "provisioner" => "describe the state the host should be in with resources in a `fleet` block".into(),
            kind => match nearest(kind, BLOCKS) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("a file may hold `{}`", BLOCKS.join("`, `")),
            },
        };
        let error = Diagnostic::error(
            block.header,
            format!("unknown block `{kind}`"),
            "No block starts with that word.",
        );
        self.report.push(error.help(help));
    }

    fn locals(&mut self, mut block: Block) {
        self.report.labels(&mut block, []);
        let attributes = std::mem::take(&mut block.body.attributes);
        for attribute in attributes {
            let local = Local { name: attribute.name, value: attribute.value };
            let (name, span) = (local.name.name.clone(), local.name.span);
            declare(&mut self.module.locals, &name, span, local, |l| l.name.span, "local", &mut self.report);
        }
        for block in &block.body.blocks {
            let name = &block.kind.name;
            let error =
                Diagnostic::error(block.header, "block in `locals`", "`locals` holds arguments only.");
            self.report.push(error.help(format!("write an object with an equals sign: `{name} = {{ … }}`")));
        }
    }

    fn resource(&mut self, block: Block, mode: Mode) {
        let Some(resource) = resource::resource(block, mode, &mut self.report) else { return };
        if let Some(first) = self.check_data.get(&resource.id()) {
            self.report.duplicate(&title(&resource), resource.header, *first);
            return;
        }
        declare_resource(&mut self.module.resources, resource, &mut self.report);
    }

    fn check(&mut self, block: Block) {
        let Some(check) = resource::check(block, &mut self.report) else { return };
        if let Some(data) = &check.data {
            let declared = self.module.resources.get(&data.id()).map(|r| r.header);
            match (declared, self.check_data.entry(data.id())) {
                (Some(first), _) => self.report.duplicate(&title(data), data.header, first),
                (None, Entry::Occupied(first)) => {
                    self.report.duplicate(&title(data), data.header, *first.get());
                }
                (None, Entry::Vacant(vacant)) => {
                    vacant.insert(data.header);
                }
            }
        }
        let (name, span) = (check.name.name.clone(), check.header);
        declare(&mut self.module.checks, &name, span, check, |c| c.header, "check", &mut self.report);
    }

    fn call(&mut self, block: Block) {
        if let Some(call) = call::call(block, &mut self.report) {
            declare_call(&mut self.module.calls, call, &mut self.report);
        }
    }

    fn fleet(&mut self, block: Block) {
        let Some(fleet) = fleet::fleet(block, &mut self.report) else { return };
        let (name, span) = (fleet.name.name.clone(), fleet.header);
        declare(&mut self.module.fleets, &name, span, fleet, |f| f.header, "fleet", &mut self.report);
    }

    /// Names resolve inside a fleet first and then outside, so that one name in both would hide the other.
    fn shadowed(&mut self) {
        let Module { fleets, resources, calls, .. } = &self.module;
        for fleet in fleets.values() {
            let inner = fleet.resources.iter();
            let both =
                inner.filter_map(|(id, inner)| Some((title(inner), inner.header, resources.get(id)?.header)));
            let inner = fleet.calls.iter();
            let calls = inner.filter_map(|(name, inner)| {
                Some((format!("module `{name}`"), inner.header, calls.get(name)?.header))
            });
            for (what, inner, outer) in both.chain(calls) {
                let detail = format!("In the fleet `{}` one would hide the other.", fleet.name.name);
                let error =
                    Diagnostic::error(inner, format!("{what} stands inside and outside of a fleet"), detail);
                self.report.push(error.related(outer, "the one outside").help("rename one of the two"));
            }
        }
    }
}

/// Adds an item under its name; of two, the first one stays.
fn declare<T>(
    items: &mut Named<T>,
    name: &Arc<str>,
    span: Span,
    item: T,
    place: impl Fn(&T) -> Span,
    what: &str,
    report: &mut Report,
) {
    match items.entry(name.clone()) {
        indexmap::map::Entry::Occupied(first) => {
            report.duplicate(&format!("{what} `{name}`"), span, place(first.get()));
        }
        indexmap::map::Entry::Vacant(vacant) => {
            vacant.insert(item);
        }
    }
}

fn declare_resource(
    items: &mut IndexMap<ResourceId, Resource, FixedState>,
    item: Resource,
    report: &mut Report,
) {
    match items.entry(item.id()) {
        indexmap::map::Entry::Occupied(first) => {
            report.duplicate(&title(&item), item.header, first.get().header);
        }
        indexmap::map::Entry::Vacant(vacant) => {
            vacant.insert(item);
        }
    }
}

fn declare_call(items: &mut Named<Call>, item: Call, report: &mut Report) {
    let (name, span) = (item.name.name.clone(), item.header);
    declare(items, &name, span, item, |c| c.header, "module", report);
}

/// How people refer to a resource.
fn title(resource: &Resource) -> String {
    let prefix = if resource.mode == Mode::Data { "data." } else { "" };
    format!("`{prefix}{}.{}`", resource.kind.name, resource.name.name)
}
