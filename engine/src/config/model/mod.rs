//! What a configuration says: plain data, every item with its place, expressions as the parser left them.
//!
//! A block that is partly wrong is still here with what could be read of it, so that the names it declares can be
//! referred to without a second complaint. Where a required expression is missing, an
//! [`ExprKind::Invalid`](fleet_syntax::tree::ExprKind::Invalid) stands in: it evaluates to an unknown without a word.

mod fleet;
mod resource;

use std::path::PathBuf;
use std::sync::Arc;

use fleet_lang::{Constraint, Marks, Type, Value};
use fleet_syntax::Span;
use fleet_syntax::tree::{Attribute, Body, Expr, Ident};
use foldhash::fast::FixedState;
use indexmap::IndexMap;

pub use fleet::{
    Backend, Connection, Fleet, Health, Pool, PoolHost, Return, Rollout, Secret, Settings, Slots,
};
pub use resource::{
    AttributePath, Condition, IgnoreChanges, Lifecycle, Mode, PathKey, ProviderRef, Repeat, Resource,
    ResourceId,
};

/// Items by name, listed in the order they were written, files in name order.
pub type Named<T> = IndexMap<Arc<str>, T, FixedState>;

/// A whole configuration: every module directory once, however often it is called.
///
/// Calls form a graph without loops from module to module ([`Call::module`]); the tree of calls, which can be
/// exponentially larger, is what a walk over that graph sees.
#[derive(Debug)]
pub struct Config {
    /// The directories. The root is the first.
    pub modules: Vec<Module>,
}

/// Names one module directory of a [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleId(pub u32);

/// The content of one module directory.
#[derive(Debug, Default)]
pub struct Module {
    /// The directory, relative to where the command works, in its shortest form: `.` for that place itself.
    pub dir: PathBuf,
    /// `variable` blocks.
    pub variables: Named<Variable>,
    /// The attributes of all `locals` blocks.
    pub locals: Named<Local>,
    /// `output` blocks.
    pub outputs: Named<Output>,
    /// `resource` and `data` blocks outside fleets.
    pub resources: IndexMap<ResourceId, Resource, FixedState>,
    /// `module` blocks outside fleets.
    pub calls: Named<Call>,
    /// `provider` blocks by name and alias.
    pub providers: IndexMap<(Arc<str>, Option<Arc<str>>), Provider>,
    /// `check` blocks.
    pub checks: Named<Check>,
    /// `moved` blocks.
    pub moved: Vec<Moved>,
    /// `removed` blocks.
    pub removed: Vec<Removed>,
    /// `import` blocks; in the root module only.
    pub imports: Vec<Import>,
    /// The `settings` block; in the root module only.
    pub settings: Option<Settings>,
    /// `secret` blocks; in the root module only.
    pub secrets: Named<Secret>,
    /// `pool` blocks by name, whatever their type; in the root module only.
    pub pools: Named<Pool>,
    /// `fleet` blocks; in the root module only.
    pub fleets: Named<Fleet>,
    /// Whether a file or a block of it could not be read, so that what seems to be missing may well have been written.
    pub incomplete: bool,
}

/// `variable "name" { … }`
#[derive(Debug)]
pub struct Variable {
    /// The name.
    pub name: Ident,
    /// What it accepts; none if it does not say, which is not quite the same as `any`: see
    /// [`values`](crate::config::values).
    pub constraint: Option<Constraint>,
    /// The value it has when none is given, converted but without marks.
    pub default: Option<Value>,
    /// What it is for.
    pub description: Option<Arc<str>>,
    /// What must hold for a value.
    pub validations: Vec<Condition>,
    /// Whether its value must not be shown.
    pub sensitive: bool,
    /// Whether its value must not be stored.
    pub ephemeral: bool,
    /// Whether it may be null; if not, null means the default.
    pub nullable: bool,
    /// `variable "name"`
    pub header: Span,
}

/// One attribute of a `locals` block.
#[derive(Debug)]
pub struct Local {
    /// The name.
    pub name: Ident,
    /// The value.
    pub value: Expr,
}

/// `output "name" { … }`
#[derive(Debug)]
pub struct Output {
    /// The name.
    pub name: Ident,
    /// The value.
    pub value: Expr,
    /// What it is.
    pub description: Option<Arc<str>>,
    /// Whether its value must not be shown.
    pub sensitive: bool,
    /// Whether its value must not be stored.
    pub ephemeral: bool,
    /// What must hold before it is recorded.
    pub preconditions: Vec<Condition>,
    /// References to what must be done before.
    pub depends_on: Vec<Expr>,
    /// `output "name"`
    pub header: Span,
}

/// `module "name" { … }`
#[derive(Debug)]
pub struct Call {
    /// The name.
    pub name: Ident,
    /// Where the module is; none if that is not a local path, which has been reported.
    pub source: Option<Source>,
    /// The module it calls; none if that could not be loaded, which has been reported.
    pub module: Option<ModuleId>,
    /// The inputs: every argument that is not one of the others here.
    pub inputs: Named<Attribute>,
    /// `count` or `for_each`.
    pub repeat: Option<Repeat>,
    /// References to what must be done before.
    pub depends_on: Vec<Expr>,
    /// Provider configurations handed over: the name inside the module, and which of ours it is.
    pub providers: Vec<(ProviderRef, ProviderRef)>,
    /// `module "name"`
    pub header: Span,
}

/// Where the module of a call is.
#[derive(Clone, Debug)]
pub struct Source {
    /// The path relative to the calling module, starting with `./` or `../`.
    pub path: Arc<str>,
    /// Where that is said.
    pub span: Span,
}

/// `provider "name" { … }`
#[derive(Debug)]
pub struct Provider {
    /// The name.
    pub name: Ident,
    /// The name that tells several configurations of one provider apart.
    pub alias: Option<Ident>,
    /// Its settings, for the provider's schema.
    pub body: Body,
    /// `provider "name"`
    pub header: Span,
}

/// `check "name" { … }`: assertions that only warn.
#[derive(Debug)]
pub struct Check {
    /// The name.
    pub name: Ident,
    /// A `data` block that only the assertions here can see.
    pub data: Option<Resource>,
    /// What should hold.
    pub assertions: Vec<Condition>,
    /// `check "name"`
    pub header: Span,
}

/// `moved { from = …, to = … }`
#[derive(Debug)]
pub struct Moved {
    /// The old address, a plain reference.
    pub from: Expr,
    /// The new address, a plain reference.
    pub to: Expr,
    /// `moved`
    pub header: Span,
}

/// `removed { from = … }`: what no longer stands in the configuration, on purpose.
#[derive(Debug)]
pub struct Removed {
    /// The address without instance keys, a plain reference.
    pub from: Expr,
    /// Whether the thing itself goes too, or is only forgotten.
    pub destroy: bool,
    /// `removed`
    pub header: Span,
}

/// `import { to = …, id = … }`
#[derive(Debug)]
pub struct Import {
    /// The address that takes it; an index may use `each.key`.
    pub to: Expr,
    /// What the provider knows it by.
    pub id: Expr,
    /// Several at once.
    pub for_each: Option<Expr>,
    /// The provider configuration to use.
    pub provider: Option<ProviderRef>,
    /// `import`
    pub header: Span,
}

impl Module {
    /// All calls, those in fleets included.
    pub fn all_calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.values().chain(self.fleets.values().flat_map(|fleet| fleet.calls.values()))
    }

    /// All calls, those in fleets included.
    pub(super) fn all_calls_mut(&mut self) -> impl Iterator<Item = &mut Call> {
        self.calls.values_mut().chain(self.fleets.values_mut().flat_map(|fleet| fleet.calls.values_mut()))
    }
}

impl Variable {
    /// The type of its value, as far as it is known.
    #[must_use]
    pub fn ty(&self) -> Type {
        self.constraint.as_ref().map_or(Type::Any, |constraint| constraint.ty.clone())
    }

    /// What must be remembered about its value.
    #[must_use]
    pub fn marks(&self) -> Marks {
        let sensitive = if self.sensitive { Marks::SENSITIVE } else { Marks::NONE };
        let ephemeral = if self.ephemeral { Marks::EPHEMERAL } else { Marks::NONE };
        sensitive | ephemeral
    }

    /// The value it has where no value can be known yet.
    #[must_use]
    pub fn unknown(&self) -> Value {
        Value::awaiting(self.ty(), format!("var.{}", self.name.name)).mark(self.marks())
    }
}

impl Config {
    /// The root module.
    pub const ROOT: ModuleId = ModuleId(0);

    /// The root module.
    #[must_use]
    pub fn root(&self) -> &Module {
        self.module(Config::ROOT)
    }

    /// The module of that name.
    #[must_use]
    pub fn module(&self, id: ModuleId) -> &Module {
        &self.modules[id.0 as usize]
    }
}
