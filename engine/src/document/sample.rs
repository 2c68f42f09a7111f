//! A plan with something of everything.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use fleet_lang::{Entries, Marks, Type, Value};
use fleet_syntax::{Diagnostic, Sources, Span};

use crate::address::{Address, ScopePath, Target};
use crate::diff::Change;
use crate::document::{Context, Document, Header, Options};
use crate::plan::{Action, Deferred, LeftOut, OutputChange, Plan, Step, Why};
use crate::provider::Session;
use crate::schema::{Attribute, Catalog, Entry, Nested, Nesting, Place, Presence, Schema, Sort};
use crate::state::{Recorded, Sealed};

/// Must not be found in anything that is made of the plan.
pub(crate) const SECRET: &str = "hunter2 \"<é&>\" correct-horse";

pub(crate) fn address(text: &str) -> Address {
    Address::parse(text).unwrap_or_else(|| panic!("{text} is no address"))
}

fn target(text: &str) -> Target {
    (&address(text)).into()
}

pub(crate) fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::object(entries.map(|(name, value)| (name.into(), value)).into())
}

pub(crate) fn texts(items: &[&str]) -> Value {
    Value::list(Type::String, items.iter().map(|item| Value::from(*item)).collect())
}

pub(crate) fn recorded(kind: &str, value: Value) -> Recorded {
    Recorded {
        session: Session { provider: "core".into(), alias: None, scope: ScopePath::default() },
        kind: kind.into(),
        version: 1,
        value,
        sealed: BTreeMap::new(),
        depends_on: Arc::new([]),
        create_before_destroy: false,
        epoch: None,
    }
}

pub(crate) fn step(action: Action, why: Why, before: Option<Value>, after: Value) -> Step {
    Step {
        action,
        why,
        record: recorded("core_file", after),
        before,
        changes: Vec::new(),
        drift: Vec::new(),
        moved_from: None,
        declared_at: None,
        looked: true,
        recipes: BTreeMap::new(),
        lives_in_state: false,
    }
}

/// The attributes in which two objects differ, as the planner lists them.
pub(crate) fn changes(before: &Value, after: &Value, forcing: &[&str]) -> Vec<Change> {
    let (before, after) = (before.entries().unwrap(), after.entries().unwrap());
    let differs = |name: &&Arc<str>| before[*name] != after[*name];
    let change = |name: &Arc<str>| Change {
        name: name.clone(),
        before: before[name].clone().mark(after[name].marks_deep()),
        after: after[name].clone(),
        forces_replace: forcing.contains(&&**name),
    };
    after.keys().filter(differs).map(change).collect()
}

/// 200 lines, of which one may be another.
pub(crate) fn script(odd: &str) -> Value {
    let lines: Vec<String> = (1..=200)
        .map(|n| if n == 120 { format!("echo {odd}\n") } else { format!("echo step {n}\n") })
        .collect();
    Value::from(&*lines.concat())
}

fn file(path: &str, content: Value) -> Value {
    object([("content", content), ("mode", "0644".into()), ("path", path.into())])
}

/// Creates, a change in place of a long text, a replacement, a removal, a secret, something decided later, and the rest.
pub(crate) fn plan() -> Plan {
    let mut plan = Plan { extra_rounds: 1, ..Plan::default() };
    let mut add = |name: &str, step: Step| plan.steps.insert(address(name), step);

    let motd = object([
        ("content", Value::awaiting(Type::String, "core_value.greeting.output")),
        ("id", Value::awaiting(Type::String, "core_file.motd.id")),
        ("mode", "0644".into()),
        ("owner", Value::null()),
        ("path", "/etc/motd".into()),
    ]);
    add("core_file.motd", step(Action::Create, Why::Declared, None, motd));

    let pf = object([
        ("name", "ci.runners".into()),
        ("rules", texts(&["block drop out quick from <vm_sources> to <blocked_dst>"])),
        (
            "tables",
            Value::map(
                Type::list(Type::String),
                Entries::from([
                    ("blocked_dst".into(), texts(&["10.0.0.0/8", "172.16.0.0/12"])),
                    ("vm sources".into(), texts(&["192.168.64.0/22"])),
                ]),
            ),
        ),
    ]);
    let mut vanished = step(Action::Create, Why::Vanished, None, pf);
    vanished.record.kind = "macos_pf_anchor".into();
    add("fleet.runners[0].macos_pf_anchor.egress", vanished);

    for host in 0..2 {
        let before = file("/usr/local/bin/setup", script("old"));
        let after = file("/usr/local/bin/setup", script("new"));
        let mut update = step(Action::Update, Why::Declared, Some(before.clone()), after.clone());
        update.changes = changes(&before, &after, &[]);
        add(&format!("fleet.runners[{host}].core_file.setup"), update);
    }

    let before = object([
        ("id", "srv-1".into()),
        ("name", "old".into()),
        ("tags", texts(&["a", "b", "c"])),
        ("zone", "fr-par-1".into()),
    ]);
    let after = object([
        ("id", Value::awaiting(Type::String, "scaleway_server.one.id")),
        ("name", "old".into()),
        ("tags", texts(&["a", "x", "c", "d"])),
        ("zone", "fr-par-2".into()),
    ]);
    let replace = Action::Replace { create_first: true };
    let mut server = step(replace, Why::Declared, Some(before.clone()), after.clone());
    server.changes = changes(&before, &after, &["zone"]);
    server.changes.retain(|change| &*change.name != "id");
    server.record.kind = "scaleway_server".into();
    add("scaleway_server.one", server);

    let gone = file("/etc/old.conf", Value::from("a = 1\nb = 2\n"));
    add("core_file.old", step(Action::Destroy, Why::NotDeclared, Some(gone.clone()), gone));

    let before = object([("password", Value::from(SECRET)), ("user", "ci".into())]);
    let password = Value::from("another secret").mark(Marks::SENSITIVE);
    let after = object([("password", password), ("user", "runner".into())]);
    let mut login = step(Action::Update, Why::Declared, Some(before.clone()), after.clone());
    login.changes = changes(&before, &after, &[]);
    login.record.kind = "macos_login".into();
    login.record.sealed = [("password".into(), Sealed { digest: "00".into(), recipe: None })].into();
    add("macos_login.ci", login);

    let before =
        object([("content", "by hand".into()), ("mode", "0666".into()), ("path", "/etc/hosts".into())]);
    let after = file("/etc/hosts", "127.0.0.1 localhost\n".into());
    let mut hosts = step(Action::Update, Why::Declared, Some(before.clone()), after.clone());
    hosts.changes = changes(&before, &after, &[]);
    hosts.drift = changes(&file("/etc/hosts", "127.0.0.1 localhost\n".into()), &before, &[]);
    add("core_file.hosts", hosts);

    let policy = |port: u32, more: &str| {
        let text =
            format!(r#"{{"allow":[{{"port":{port},"from":"10.0.0.0/8"}},{{"port":22}}]{more},"name":"ci"}}"#);
        file("/etc/policy.json", Value::from(&*text))
    };
    let (before, after) = (policy(80, ""), policy(443, r#","strict":true"#));
    let mut json = step(Action::Update, Why::Declared, Some(before.clone()), after.clone());
    json.changes = changes(&before, &after, &[]);
    json.moved_from = Some(Box::new(address("core_file.rules")));
    add("core_file.policy", json);

    let kept = file("/etc/kept", "x".into());
    let mut moved = step(Action::Record, Why::Declared, Some(kept.clone()), kept.clone());
    moved.moved_from = Some(Box::new(address("core_file.a")));
    add("core_file.b", moved);
    let imported = Why::Imported("/etc/kept".into());
    add("core_file.imported", step(Action::Record, imported, Some(kept.clone()), kept.clone()));
    add("core_file.released", step(Action::Forget, Why::Released, Some(kept.clone()), kept.clone()));
    add("core_file.found", step(Action::Record, Why::Found, Some(kept.clone()), kept.clone()));
    for n in 0..3 {
        add(
            &format!("core_file.kept[{n}]"),
            step(Action::Keep, Why::Declared, Some(kept.clone()), kept.clone()),
        );
    }
    let id = Value::awaiting(Type::String, "scaleway_server.one.id");
    let read = step(Action::Read, Why::Declared, None, object([("path", id)]));
    add("data.core_file.later", Step { looked: false, ..read });
    let size = object([("path", "/etc/size".into()), ("size", 7.into())]);
    add("data.core_file.size", step(Action::Keep, Why::Declared, None, size));

    let older = object([("id", "srv-0".into())]);
    let older = step(Action::Destroy, Why::Deposed, Some(older.clone()), older);
    plan.deposed.insert(address("scaleway_server.two"), [(3, older)].into());
    plan.deferred = vec![Deferred {
        address: target("core_file.per_disk"),
        awaits: Some("scaleway_server.one.disks".into()),
    }];
    plan.left_out = (0..5)
        .map(|n| (target(&format!("core_file.many[{n}]")), LeftOut::NotTargeted))
        .chain([
            (target("core_file.x"), LeftOut::Excluded),
            (target("core_file.y"), LeftOut::DependsOn(target("core_file.x"))),
        ])
        .collect();
    let secret = Value::from(SECRET).mark(Marks::SENSITIVE);
    plan.outputs = [
        ("address".into(), OutputChange { before: Some("10.0.0.1".into()), after: Some("10.0.0.2".into()) }),
        ("gone".into(), OutputChange { before: Some(true.into()), after: None }),
        ("password".into(), OutputChange { before: None, after: Some(secret) }),
    ]
    .into();
    let on = |text: &str| Target { scope: ScopePath::default(), item: Some(address(text).item), key: None };
    plan.steps.get_mut(&address("core_file.motd")).unwrap().record.depends_on =
        [on("core_file.kept"), on("data.core_file.size")].into();
    plan
}

/// A catalogue that knows one kind, `test_vault`: `a` is sensitive, and so is the `password` of each block `login`.
pub(crate) struct Kinds;

static VAULT: LazyLock<Entry> = LazyLock::new(|| {
    let open = || Attribute::new(Type::Any, Presence::Optional);
    let secret = || Attribute { sensitive: true, ..open() };
    let schema = |attributes: [(&str, Attribute); 2]| Schema {
        attributes: attributes.map(|(name, attribute)| (name.into(), attribute)).into(),
        ..Schema::default()
    };
    let login = schema([("password", secret()), ("user", open())]);
    let login = Nested { nesting: Nesting::List, min: 0, max: None, schema: login };
    let mut vault = schema([("a", secret()), ("b", open())]);
    vault.blocks.insert("login".into(), login);
    Entry::new(vault, Place::Api, "test")
});

impl Catalog for Kinds {
    fn find(&self, _: Sort, name: &str) -> Option<&Entry> {
        (name == "test_vault").then(|| &*VAULT)
    }

    fn names(&self, _: Sort) -> Vec<&str> {
        vec!["test_vault"]
    }
}

/// A digest with a key, good enough for a test: it hides what is digested.
pub(crate) fn keyed(bytes: &[u8]) -> String {
    format!(
        "keyed:{}",
        bytes.iter().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(*byte)))
    )
}

pub(crate) fn document_of(plan: &Plan) -> Document {
    let mut sources = Sources::default();
    let file = sources.add("main.fleet.hcl", "\n\nresource \"x\" \"y\" {}\n");
    let span = Span { file, start: 2, end: 10 };
    let mut warning = Diagnostic::error(span, "this name is on its way out", "Use `path`.\nIt is shorter.");
    warning.severity = fleet_syntax::diagnostic::Severity::Warning;
    warning.help = Some("write `path = …`".to_owned());
    let header = Header {
        fleet: "0.1.0".to_owned(),
        planned_at: "2026-11-16T12:00:00Z".to_owned(),
        configuration: "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c".to_owned(),
        variables: vec!["env".to_owned()],
        lineage: Some("6f1c".to_owned()),
        serial: 41,
        options: Options { exclude: vec!["core_file.x".to_owned()], ..Options::default() },
    };
    let diagnostics = vec![warning];
    let (diagnostics, sources) = (&diagnostics, &sources);
    let context =
        Context { header, diagnostics, catalog: &Kinds, sources, keyed: Some(&keyed), with_facts: true };
    Document::of(plan, &context)
}
