//! Configurations that nobody thought of: a model that can be edited and shrunk, and its text.

use std::fmt::Write;

use proptest::prelude::*;

/// A configuration: blocks of the root module, a module that is given what they say, and blocks that use both.
#[derive(Clone, Debug)]
pub(super) struct Config {
    pub(super) blocks: Vec<Block>,
    pub(super) module: Option<Module>,
    pub(super) after: Vec<Block>,
    /// What names of blocks begin with.
    pub(super) prefix: &'static str,
}

/// A module that is called.
#[derive(Clone, Debug)]
pub(super) struct Module {
    pub(super) repeat: Repeat,
    pub(super) blocks: Vec<Block>,
}

/// A resource or data.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Its own, whatever becomes of the others.
    pub(super) id: usize,
    pub(super) kind: Kind,
    pub(super) repeat: Repeat,
    /// Which of the blocks before it is used.
    pub(super) uses: Option<usize>,
    /// What is written in it, so that it can be changed.
    pub(super) content: u8,
    /// Part of the name of the thing, so that it can be replaced.
    pub(super) edition: u8,
    pub(super) create_before_destroy: bool,
    pub(super) ignores: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File {
        secret: bool,
    },
    Value {
        replaces: bool,
    },
    Server {
        secret: bool,
    },
    /// Data about the block that is used, if that is possible.
    Data,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    One,
    Count(usize),
    Each(Vec<&'static str>),
    /// For each id of the server that is used; these are not known before it is made.
    PerId,
}

/// What is done to a block between two applies.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    Keep,
    Drop,
    Rewrite,
    Replace,
    Repeat(Repeat),
    Reorder,
}

/// The value that is secret in all configurations.
pub(super) const SECRET: &str = "generated-secret-value";

pub(super) fn configs() -> impl Strategy<Value = Config> {
    let module = (repeat(), prop::collection::vec(block(), 0..3));
    let module = prop::option::of(module.prop_map(|(repeat, blocks)| Module { repeat, blocks }));
    (prop::collection::vec(block(), 1..5), module, prop::collection::vec(block(), 0..3)).prop_map(
        |(blocks, module, after)| {
            let mut config = Config { blocks, module, after, prefix: "b" };
            config.all().enumerate().for_each(|(id, block)| block.id = id);
            if let Some(module) = config.module.as_mut().filter(|module| module.repeat == Repeat::PerId) {
                module.repeat = Repeat::One;
            }
            config
        },
    )
}

/// As many edits as a configuration can have blocks.
pub(super) fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let edit = prop_oneof![
        4 => Just(Edit::Keep),
        2 => Just(Edit::Drop),
        2 => Just(Edit::Rewrite),
        2 => Just(Edit::Replace),
        2 => repeat().prop_map(Edit::Repeat),
        1 => Just(Edit::Reorder),
    ];
    prop::collection::vec(edit, 10)
}

fn repeat() -> impl Strategy<Value = Repeat> {
    prop_oneof![
        4 => Just(Repeat::One),
        2 => (0..3_usize).prop_map(Repeat::Count),
        2 => prop::sample::subsequence(vec!["k", "with space", "z"], 0..=3).prop_map(Repeat::Each),
        1 => Just(Repeat::PerId),
    ]
}

fn block() -> impl Strategy<Value = Block> {
    let kind = prop_oneof![
        3 => any::<bool>().prop_map(|secret| Kind::File { secret }),
        2 => any::<bool>().prop_map(|replaces| Kind::Value { replaces }),
        4 => any::<bool>().prop_map(|secret| Kind::Server { secret }),
        2 => Just(Kind::Data),
    ];
    let flags = (any::<bool>(), prop::bool::weighted(0.2));
    (kind, repeat(), prop::option::of(0..5_usize), 0..3_u8, flags).prop_map(
        |(kind, repeat, uses, content, (create_before_destroy, ignores))| {
            let repeat = if kind == Kind::Data { Repeat::One } else { repeat };
            Block { id: 0, kind, repeat, uses, content, edition: 0, create_before_destroy, ignores }
        },
    )
}

impl Config {
    /// All blocks.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Block> {
        let inner = self.module.iter_mut().flat_map(|module| module.blocks.iter_mut());
        self.blocks.iter_mut().chain(inner).chain(&mut self.after)
    }

    /// What becomes of it.
    pub(super) fn edited(&self, edits: &[Edit]) -> Config {
        let mut next = self.clone();
        let edit = |id: usize| &edits[id % edits.len()];
        let keep = |block: &Block| !matches!(edit(block.id), Edit::Drop);
        next.blocks.retain(keep);
        next.after.retain(keep);
        next.module.iter_mut().for_each(|module| module.blocks.retain(keep));
        for block in next.all() {
            match edit(block.id) {
                Edit::Rewrite => block.content += 1,
                Edit::Replace => block.edition += 1,
                Edit::Repeat(repeat) if block.kind != Kind::Data => block.repeat = repeat.clone(),
                Edit::Reorder => block.create_before_destroy ^= true,
                Edit::Keep | Edit::Drop | Edit::Repeat(_) => {}
            }
        }
        next
    }

    /// The texts of its files.
    pub(super) fn texts(&self) -> Vec<(&'static str, String)> {
        let mut root = Scope { prefix: self.prefix, known: Vec::new(), key: "", text: String::new() };
        let _ = writeln!(
            root.text,
            "variable \"secret\" {{\n  type = string\n  sensitive = true\n  default = \"{SECRET}\"\n}}"
        );
        self.blocks.iter().for_each(|block| root.add(block));
        let mut texts = Vec::new();
        if let Some(module) = &self.module {
            let given = root.known.last().map_or("\"none\"".to_owned(), |known| known.said.clone());
            let (repeat, key, said) = match &module.repeat {
                Repeat::Count(n) => (format!("count = {n}"), "count.index", "join(\",\", module.m[*].text)"),
                Repeat::Each(keys) => (
                    format!("for_each = toset({keys:?})"),
                    "each.key",
                    "join(\",\", values(module.m)[*].text)",
                ),
                Repeat::One | Repeat::PerId => (String::new(), "\"m\"", "module.m.text"),
            };
            let _ = writeln!(
                root.text,
                "module \"m\" {{\n  source = \"./modules/m\"\n  {repeat}\n  key = {key}\n  text = {given}\n  \
                 secret = var.secret\n}}"
            );
            root.known.push(Known { said: said.to_owned(), ids: None, one: None });
            let given = Known { said: "var.text".into(), ids: None, one: None };
            let mut inner =
                Scope { prefix: self.prefix, known: vec![given], key: "${var.key}-", text: String::new() };
            for (name, extra) in [("key", ""), ("text", ""), ("secret", "\n  sensitive = true")] {
                let _ = writeln!(inner.text, "variable \"{name}\" {{\n  type = string{extra}\n}}");
            }
            module.blocks.iter().for_each(|block| inner.add(block));
            let said = inner.known.last().map_or("", |known| &known.said);
            let _ = writeln!(inner.text, "output \"text\" {{\n  value = {said}\n}}");
            texts.push(("modules/m/main.fleet.hcl", inner.text));
        }
        self.after.iter().for_each(|block| root.add(block));
        for (number, known) in root.known.iter().enumerate() {
            let _ = writeln!(root.text, "output \"o{number}\" {{\n  value = {}\n}}", known.said);
        }
        let secret = "output \"secret\" {\n  value = var.secret\n  sensitive = true\n}\n";
        texts.push((super::MAIN, root.text + secret));
        texts
    }

    /// The `moved` blocks for blocks that were called otherwise.
    pub(super) fn moved_from(&self, prefix: &str) -> String {
        let inner = self.module.iter().flat_map(|module| &module.blocks);
        let inner = inner.flat_map(|block| self.modules().into_iter().map(move |module| (module, block)));
        let outer = self.blocks.iter().chain(&self.after).map(|block| (String::new(), block));
        let mut text = String::new();
        for (around, block) in outer.chain(inner) {
            let (id, now) = (block.id, self.prefix);
            if let Some(kind) = block.kind.word() {
                let at = format!("{around}{kind}");
                let _ = writeln!(text, "moved {{\n  from = {at}.{prefix}{id}\n  to = {at}.{now}{id}\n}}");
            }
        }
        text
    }

    /// Every instance of the module.
    fn modules(&self) -> Vec<String> {
        match self.module.as_ref().map(|module| &module.repeat) {
            Some(Repeat::Count(n)) => (0..*n).map(|at| format!("module.m[{at}].")).collect(),
            Some(Repeat::Each(keys)) => keys.iter().map(|key| format!("module.m[\"{key}\"].")).collect(),
            _ => vec!["module.m.".to_owned()],
        }
    }
}

impl Kind {
    /// The word for it; none for data.
    pub(super) fn word(self) -> Option<&'static str> {
        match self {
            Kind::File { .. } => Some("core_file"),
            Kind::Value { .. } => Some("core_value"),
            Kind::Server { .. } => Some("test_server"),
            Kind::Data => None,
        }
    }
}

/// A module that is being written.
struct Scope {
    prefix: &'static str,
    known: Vec<Known>,
    /// What makes names of things in it unique.
    key: &'static str,
    text: String,
}

/// Something that can be used.
struct Known {
    /// An expression for a text about it.
    said: String,
    /// An expression for the ids of servers.
    ids: Option<String>,
    /// Its address, if there is just one of it.
    one: Option<(Kind, String)>,
}

impl Scope {
    fn add(&mut self, block: &Block) {
        let used = block.uses.filter(|_| !self.known.is_empty()).map(|at| &self.known[at % self.known.len()]);
        let said = used.map_or("\"nobody\"".to_owned(), |known| known.said.clone());
        let name = format!("{}{}", self.prefix, block.id);
        if block.kind == Kind::Data {
            let about = used.and_then(|known| known.one.clone());
            self.add_data(&name, about);
            return;
        }
        let mut block = block.clone();
        let mut repeat = String::new();
        if block.repeat == Repeat::PerId {
            match used.and_then(|known| known.ids.clone()) {
                Some(ids) => repeat = format!("for_each = toset({ids})"),
                None => block.repeat = Repeat::One,
            }
        }
        let key = match &block.repeat {
            Repeat::One => "one",
            Repeat::Count(n) => {
                repeat = format!("count = {n}");
                "${count.index}"
            }
            Repeat::Each(keys) => {
                repeat = format!("for_each = toset({keys:?})");
                "${each.key}"
            }
            Repeat::PerId => "${each.key}",
        };
        let thing = format!("thing{}-{}-{}{key}", block.id, block.edition, self.key);
        let address = format!("{}.{name}", block.kind.word().unwrap_or_default());
        let (arguments, result, ignored) = arguments(&block, &thing, &said);
        let mut lifecycle = format!("create_before_destroy = {}", block.create_before_destroy);
        if block.ignores {
            let _ = write!(lifecycle, "\n    ignore_changes = [{ignored}]");
        }
        let header = address.replace('.', "\" \"");
        let _ = writeln!(
            self.text,
            "resource \"{header}\" {{\n  {repeat}\n  {arguments}\n  lifecycle {{\n    {lifecycle}\n  }}\n}}"
        );
        let each = |name: &str| match &block.repeat {
            Repeat::One => format!("[{address}.{name}]"),
            Repeat::Count(_) => format!("{address}[*].{name}"),
            Repeat::Each(_) | Repeat::PerId => format!("values({address})[*].{name}"),
        };
        let ids = matches!(block.kind, Kind::Server { .. }).then(|| each("id"));
        let one = (block.repeat == Repeat::One).then(|| (block.kind, address.clone()));
        self.known.push(Known { said: format!("join(\",\", {})", each(result)), ids, one });
    }

    fn add_data(&mut self, name: &str, about: Option<(Kind, String)>) {
        let (kind, argument, said) = match about {
            Some((Kind::Server { .. }, address)) => {
                ("test_server", format!("name = {address}.name"), format!("data.test_server.{name}.address"))
            }
            Some((Kind::File { secret: false }, address)) => {
                ("core_file", format!("path = {address}.path"), format!("data.core_file.{name}.content"))
            }
            _ => ("core_file", "path = \"outside\"".into(), format!("data.core_file.{name}.content")),
        };
        let _ = writeln!(self.text, "data \"{kind}\" \"{name}\" {{\n  {argument}\n}}");
        self.known.push(Known { said: format!("\"${{{said}}}\""), ids: None, one: None });
    }
}

/// The arguments of a resource, the result that others use, and what it ignores if it does.
fn arguments(block: &Block, thing: &str, said: &str) -> (String, &'static str, &'static str) {
    let content = block.content;
    match block.kind {
        Kind::File { secret: false } => {
            let mode = ["0644", "600", "0640"][usize::from(content % 3)];
            let text =
                format!("path = \"{thing}\"\n  mode = \"{mode}\"\n  content = \"{content} ${{{said}}}\"");
            (text, "content", "mode")
        }
        Kind::File { secret: true } => {
            let text = format!("path = \"{thing}\"\n  content = \"{content} ${{var.secret}} ${{{said}}}\"");
            (text, "path", "mode")
        }
        Kind::Value { replaces: false } => {
            (format!("input = {{ content = {content}, said = {said} }}"), "id", "input")
        }
        Kind::Value { replaces: true } => {
            let text = format!("input = \"{content}\"\n  triggers_replace = [{said}, \"{thing}\"]");
            (text, "output", "input")
        }
        Kind::Server { secret } => {
            let secret = if secret { "password = var.secret\n  join_token = var.secret\n  " } else { "" };
            let text = format!(
                "name = \"{thing}\"\n  {secret}size = {}\n  description = {said}\n  \
                 labels = {{ content = \"{content}\" }}\n  ports = [{content}, 80]",
                content + 1
            );
            (text, if content.is_multiple_of(2) { "address" } else { "id" }, "labels")
        }
        Kind::Data => unreachable!("data is written otherwise"),
    }
}
