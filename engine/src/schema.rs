//! What a kind's arguments are, as plain data, and the catalogue that knows all kinds.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_lang::{Entries, Type, Value};

use crate::attributes::Misfit;
use crate::finding::Known;
use crate::resource::Edge;

/// The arguments and nested blocks of something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// What it is, in Markdown; the first sentence is the summary.
    pub doc: String,
    /// Arguments and results by name.
    pub attributes: BTreeMap<Arc<str>, Attribute>,
    /// Nested blocks by the word they start with.
    pub blocks: BTreeMap<Arc<str>, Nested>,
}

/// One argument or result.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The type; `Any` takes every value as it is.
    pub ty: Type,
    /// Who gives the value.
    pub presence: Presence,
    /// What an omitted optional argument is reset to; null without one.
    pub default: Option<Value>,
    /// Whether the value must not be shown.
    pub sensitive: bool,
    /// Whether the value is sent but never stored or read back.
    pub write_only: bool,
    /// Whether this computed value is told when the thing is made, and never again: neither kept nor compared.
    pub told_once: bool,
    /// Whether it is of no use to people: plans do not show it.
    pub internal: bool,
    /// Whether a change needs a new object.
    pub forces_replace: bool,
    /// The arguments whose change may change this computed value, so that an update leaves it unknown until done.
    pub follows: Vec<Arc<str>>,
    /// The argument that this computed value equals, so that a plan knows it as soon as it knows the argument.
    pub copies: Option<Arc<str>>,
    /// What it is, in Markdown; the first sentence is the summary.
    pub doc: String,
}

/// Who gives the value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The user must.
    Required,
    /// The user may; otherwise it is the default.
    Optional,
    /// The user may; otherwise reality decides.
    OptionalComputed,
    /// Reality alone.
    Computed,
}

/// A nested block.
#[derive(Clone, Debug, PartialEq)]
pub struct Nested {
    /// How several of them make a value.
    pub nesting: Nesting,
    /// At least so many.
    pub min: usize,
    /// At most so many, if bounded.
    pub max: Option<usize>,
    /// What stands in it.
    pub schema: Schema,
}

/// How nested blocks make a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// At most one: an object, or null without the block.
    Single,
    /// A list of objects in source order.
    List,
    /// A set of objects.
    Set,
    /// A map of objects by the block's one label.
    Map,
}

/// What a provider can be asked to issue: whose the secret is, however that is to be made, as the shortest request for it; or why a
/// request is none, as a sentence.
pub type Requests = fn(&str) -> Result<String, String>;

/// Something the catalogue knows.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its arguments.
    pub schema: Schema,
    /// Where it lives.
    pub place: Place,
    /// The provider it belongs to.
    pub provider: Arc<str>,
    /// Grows when recorded values need to be rewritten.
    pub version: u32,
    /// Whether the record is all there is of it.
    pub lives_in_state: bool,
    /// Whether it takes a script of the user to look at it.
    pub runs_user_code: bool,
    /// Whether it lets the user of a connection be root without a password.
    pub gives_root: bool,
    /// Whether its successor is made before it goes when it is replaced.
    pub replaced_first: bool,
    /// Whether its removal waits itself for the work that runs on a host.
    pub waits_for_work: bool,
    /// Whether the other side can be asked beforehand whether it would take a wish.
    pub rehearses: bool,
    /// What the `id` of an `import` block is; `None` if it cannot be imported.
    pub id: Option<&'static str>,
    /// What it comes before or after, where no reference says so.
    pub edges: &'static [Edge],
    /// The known bad states that it can find in what it observed.
    pub detects: &'static [&'static Known],
    /// What is wrong with its arguments, as far as they are known and the schema cannot say.
    pub check: Option<fn(&Value) -> Vec<Misfit>>,
    /// Of a provider that issues secrets: why a request cannot be one.
    pub issues: Option<Requests>,
}

/// Where a kind lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Behind an API: may stand anywhere.
    Api,
    /// On a host: stands in a fleet or in a module called from one.
    Host,
}

/// The sorts of things a catalogue knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    /// Kinds of `resource`.
    Resource,
    /// Kinds of `data`.
    Data,
    /// Names of `provider`.
    Provider,
    /// Kinds of `pool`.
    Pool,
    /// Kinds of `connection`.
    Connection,
    /// Kinds of `backend`.
    Backend,
}

/// All kinds there are.
pub trait Catalog: Send + Sync {
    /// The entry of that sort and name.
    fn find(&self, sort: Sort, name: &str) -> Option<&Entry>;

    /// The names of all entries of a sort, for suggestions.
    fn names(&self, sort: Sort) -> Vec<&str>;
}

impl Entry {
    /// An entry with nothing special about it.
    #[must_use]
    pub fn new(schema: Schema, place: Place, provider: &str) -> Entry {
        Entry {
            schema,
            place,
            provider: provider.into(),
            version: 1,
            lives_in_state: false,
            runs_user_code: false,
            gives_root: false,
            replaced_first: false,
            waits_for_work: false,
            rehearses: false,
            id: None,
            edges: &[],
            detects: &[],
            check: None,
            issues: None,
        }
    }
}

impl Schema {
    /// The object that an empty body makes: defaults, and null where there is none.
    #[must_use]
    pub fn omitted(&self) -> Value {
        let attributes = self.attributes.iter().map(|(name, attribute)| (name.clone(), attribute.omitted()));
        let blocks = self.blocks.iter().map(|(name, nested)| (name.clone(), nested.omitted()));
        Value::object(attributes.chain(blocks).collect())
    }

    /// Whether some attribute is sensitive or never read back, whatever the values.
    #[must_use]
    pub fn has_secrets(&self) -> bool {
        self.attributes.values().any(|attribute| attribute.sensitive || attribute.write_only)
    }

    /// The type of the object that a body of this schema makes.
    #[must_use]
    pub fn ty(&self) -> Type {
        let attributes = self.attributes.iter().map(|(name, attribute)| (name.clone(), attribute.ty.clone()));
        let blocks = self.blocks.iter().map(|(name, nested)| (name.clone(), nested.ty()));
        Type::object(attributes.chain(blocks).collect())
    }
}

impl Nested {
    /// The type of the value that all blocks of this word make together.
    ///
    /// Blocks of an open type may differ in type, so that no list or map can hold them; their value is a tuple or an
    /// object, whose type depends on it.
    #[must_use]
    pub fn ty(&self) -> Type {
        let object = self.schema.ty();
        match self.nesting {
            Nesting::Single => object,
            _ if self.is_open() => Type::Any,
            Nesting::List => Type::list(object),
            Nesting::Set => Type::set(object),
            Nesting::Map => Type::map(object),
        }
    }

    /// The value without any block.
    #[must_use]
    pub fn omitted(&self) -> Value {
        let element = self.schema.ty();
        match self.nesting {
            Nesting::Single => Value::null_of(element),
            Nesting::Map if self.is_open() => Value::object(Entries::new()),
            Nesting::Map => Value::map(element, Entries::new()),
            _ if self.is_open() => Value::tuple(Vec::new()),
            Nesting::List => Value::list(element, Vec::new()),
            Nesting::Set => Value::set(element, Vec::new()),
        }
    }

    /// Whether something in it may be of any type.
    #[must_use]
    pub fn is_open(&self) -> bool {
        is_open(&self.schema.ty())
    }
}

fn is_open(ty: &Type) -> bool {
    match ty {
        Type::Any => true,
        Type::Bool | Type::Number | Type::String => false,
        Type::List(element) | Type::Set(element) | Type::Map(element) => is_open(element),
        Type::Tuple(elements) => elements.iter().any(is_open),
        Type::Object(object) => object.attributes.values().any(is_open),
    }
}

impl Attribute {
    /// An attribute with nothing special about it.
    #[must_use]
    pub fn new(ty: Type, presence: Presence) -> Attribute {
        Attribute {
            ty,
            presence,
            default: None,
            sensitive: false,
            write_only: false,
            told_once: false,
            internal: false,
            forces_replace: false,
            follows: Vec::new(),
            copies: None,
            doc: String::new(),
        }
    }

    /// The value of an argument that is not given.
    #[must_use]
    pub fn omitted(&self) -> Value {
        self.default.clone().unwrap_or_else(|| Value::null_of(self.ty.clone()))
    }
}

impl Presence {
    /// Whether the user may give a value.
    #[must_use]
    pub fn is_configurable(self) -> bool {
        self != Presence::Computed
    }

    /// Whether reality may give a value.
    #[must_use]
    pub fn is_computed(self) -> bool {
        matches!(self, Presence::Computed | Presence::OptionalComputed)
    }
}
