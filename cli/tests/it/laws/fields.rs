//! Every field of every kind: changed in the file, changed behind our back.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use fleet_engine::schema::{Attribute, Catalog, Presence, Sort};
use fleet_test_provider::Server;

use super::examples::ELSEWHERE;
use super::{Lab, on_host};
use crate::support::providers;

/// A field of a kind, what it is at first and what it becomes.
type Field = (&'static str, &'static str, &'static str);

const FILE: &[Field] = &[
    ("path", r#""a.txt""#, r#""b.txt""#),
    ("content", r#""one\n""#, r#""one\ntwo\n""#),
    ("mode", r#""0600""#, r#""0640""#),
];

const VALUE: &[Field] =
    &[("input", "{ a = [1, 2] }", "{ a = [1, 3] }"), ("triggers_replace", r#"["one"]"#, r#"["two"]"#)];

const SERVER: &[Field] = &[
    ("name", r#""web""#, r#""db""#),
    ("zone", r#""b""#, r#""c""#),
    ("size", "2", "3"),
    ("image", r#""Base-2""#, r#""base-3""#),
    ("description", r#""front""#, r#""back""#),
    ("labels", r#"{ tier = "front", old = "yes" }"#, r#"{ tier = "back" }"#),
    ("ports", "[443, 80]", "[80, 443]"),
    ("routes", r#"{ "10.0.0.0/8" = ["a", "b"] }"#, r#"{ "10.0.0.0/8" = ["b", "a"] }"#),
    ("password", r#""first""#, r#""second""#),
    ("join_token", r#""third""#, r#""fourth""#),
];

/// The digest of what [`on_host::prepare`] puts there. It changes with its file only: see the law of sources.
const ARCHIVE: &str = r#"filesha256("one.tar.gz")"#;

const HOST_FILE: &[Field] = &[
    ("path", r#""/etc/a.conf""#, r#""/etc/b.conf""#),
    ("content", r#""one\n""#, r#""one\ntwo\n""#),
    ("mode", r#""0600""#, r#""0640""#),
    ("owner", r#""root""#, r#""daemon""#),
    ("group", r#""root""#, r#""daemon""#),
    ("sudo", "true", "false"),
    ("validate", r#""grep -q one {}""#, r#""test -s {}""#),
];

const HOST_SOURCE: &[Field] = &[
    ("path", r#""/etc/a.conf""#, r#""/etc/b.conf""#),
    ("source", r#""one.tar.gz""#, r#""copy.tar.gz""#),
    ("source_sha256", ARCHIVE, ARCHIVE),
];

const HOST_DIRECTORY: &[Field] = &[
    ("path", r#""/opt/a""#, r#""/opt/b""#),
    ("mode", r#""0700""#, r#""0750""#),
    ("owner", r#""root""#, r#""daemon""#),
    ("group", r#""root""#, r#""daemon""#),
    ("force", "true", "false"),
    ("sudo", "true", "false"),
];

const HOST_LINK: &[Field] = &[
    ("path", r#""/etc/current""#, r#""/etc/next""#),
    ("target", r#""a b""#, r#""c""#),
    ("sudo", "true", "false"),
];

const HOST_BLOCK: &[Field] = &[
    ("path", r#""/etc/hosts""#, r#""/etc/other""#),
    ("name", r#""one""#, r#""two""#),
    ("comment", r##""#""##, r#""//""#),
    ("content", r#""10.0.0.1 a\n""#, r#""10.0.0.1 b\n""#),
    ("supersedes", r#"["old .*"]"#, r#"["older .*"]"#),
    ("sudo", "true", "false"),
];

const HOST_LINE: &[Field] = &[
    ("path", r#""/etc/hosts""#, r#""/etc/other""#),
    ("line", r#""Port 22""#, r#""Port 23""#),
    ("matching", r##""#?Port .*""##, r#""Port .*""#),
    ("present", "true", "false"),
    ("sudo", "true", "false"),
];

const HOST_BINARY: &[Field] = &[
    ("path", r#""/opt/agent""#, r#""/opt/other""#),
    ("source", r#""one.tar.gz""#, r#""copy.tar.gz""#),
    ("source_sha256", ARCHIVE, ARCHIVE),
    ("mode", r#""0700""#, r#""0755""#),
    ("owner", r#""root""#, r#""daemon""#),
    ("group", r#""root""#, r#""daemon""#),
    ("sudo", "true", "false"),
];

const HOST_ARCHIVE: &[Field] = &[
    ("path", r#""/opt/app""#, r#""/opt/other""#),
    ("source", r#""one.tar.gz""#, r#""copy.tar.gz""#),
    ("source_sha256", ARCHIVE, ARCHIVE),
    ("strip", "1", "0"),
    ("sudo", "true", "false"),
];

const HOST_COMMAND: &[Field] = &[
    (
        "read",
        r#""cat ${abspath(path.root)}/root/etc/zone""#,
        r#""cat -- ${abspath(path.root)}/root/etc/zone""#,
    ),
    ("wish", r#"{ zone = "a" }"#, r#"{}"#),
    (
        "apply",
        r#""echo zone=a >${abspath(path.root)}/root/etc/zone""#,
        r#""printf 'zone=a\\n' >${abspath(path.root)}/root/etc/zone""#,
    ),
    (
        "destroy",
        r#""rm -f ${abspath(path.root)}/root/etc/zone""#,
        r#""rm -- ${abspath(path.root)}/root/etc/zone""#,
    ),
    ("sudo", "true", "false"),
];

/// Kinds whose file others write, too: what it is like afterwards depends on what it was like before.
const SHARED: [&str; 2] = ["host_block", "host_line"];

/// A reboot of this machine is out of the question; the laws of `host_reboot` are beside it.
const WITHOUT_FIELDS: [&str; 2] = ["host_reboot", "static_host"];

const KINDS: &[(&str, &[Field])] = &[
    ("core_file", FILE),
    ("core_value", VALUE),
    ("host_archive", HOST_ARCHIVE),
    ("host_binary", HOST_BINARY),
    ("host_block", HOST_BLOCK),
    ("host_command", HOST_COMMAND),
    ("host_directory", HOST_DIRECTORY),
    ("host_file", HOST_FILE),
    ("host_file", HOST_SOURCE),
    ("host_line", HOST_LINE),
    ("host_link", HOST_LINK),
    ("test_server", SERVER),
];

fn resource(kind: &str, fields: &[(&str, &str)]) -> String {
    let lines: String = fields.iter().map(|(name, value)| format!("  {name} = {value}\n")).collect();
    let block = format!("resource \"{kind}\" \"x\" {{\n{lines}}}\n");
    if kind.starts_with("host_") { on_host::fleet(&block) } else { block }
}

fn address(kind: &str) -> String {
    if kind.starts_with("host_") { format!("fleet.lab[\"here\"].{kind}.x") } else { format!("{kind}.x") }
}

/// All fields of a kind, one of them another.
fn with(kind: &str, fields: &[Field], changed: Option<&str>) -> String {
    let value = |(name, first, second): &Field| (*name, if changed == Some(name) { *second } else { *first });
    resource(kind, &fields.iter().map(value).collect::<Vec<_>>())
}

fn attribute(kind: &str, name: &str) -> Attribute {
    let catalog = providers(PathBuf::new());
    catalog.find(Sort::Resource, kind).unwrap().schema.attributes[name].clone()
}

#[test]
fn the_tables_know_every_field() {
    let catalog = providers(PathBuf::new());
    let mut names = catalog.names(Sort::Resource);
    names.retain(|name| !WITHOUT_FIELDS.contains(name) && !ELSEWHERE.iter().any(|it| name.starts_with(it)));
    assert_eq!(
        names,
        KINDS.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    );
    for kind in names {
        let schema = &catalog.find(Sort::Resource, kind).unwrap().schema;
        let all = schema.attributes.iter().filter(|(_, a)| a.presence.is_configurable());
        let all: BTreeSet<&str> = all.map(|(name, _)| &**name).collect();
        // A kind whose fields exclude each other has several tables.
        let tables = KINDS.iter().filter(|(name, _)| *name == kind).flat_map(|(_, fields)| *fields);
        assert_eq!(tables.map(|(name, ..)| *name).collect::<BTreeSet<_>>(), all, "{kind}");
    }
}

#[test]
fn each_field_that_changes_in_the_file_is_planned_alone() {
    for (kind, fields) in KINDS {
        for (name, ..) in fields.iter().filter(|(_, first, second)| first != second) {
            let lab = Lab::applied(&with(kind, fields, None));
            lab.check_converged();
            lab.write(&with(kind, fields, Some(name)));
            let verb = if attribute(kind, name).forces_replace { "replace" } else { "update" };
            let address = address(kind);
            lab.without_a_trace(|| lab.check_plan(&[(&address, &format!("{verb} {name}"))]));
            lab.apply();
            lab.check_converged();
            if SHARED.contains(kind) {
                continue;
            }
            let direct = Lab::applied(&with(kind, fields, Some(name)));
            assert_eq!(lab.reality().without_ids(), direct.reality().without_ids(), "{kind} {name}");
        }
    }
}

#[test]
fn each_field_that_is_left_out_goes_back_to_its_default_or_is_left_to_reality() {
    for (kind, fields) in KINDS {
        for (name, first, _) in *fields {
            let attribute = attribute(kind, name);
            // One of `content` and `source` is needed.
            let is_needed = *kind == "host_file" && (*name == "content" || name.starts_with("source"));
            if attribute.presence == Presence::Required || is_needed {
                continue;
            }
            let lab = Lab::applied(&with(kind, fields, None));
            let others: Vec<_> = fields.iter().filter(|(other, ..)| other != name).collect();
            let others: Vec<_> = others.into_iter().map(|(name, first, _)| (*name, *first)).collect();
            lab.write(&resource(kind, &others));
            let verb = if attribute.forces_replace { "replace" } else { "update" };
            let is_default =
                attribute.default.as_ref().is_some_and(|value| fleet_lang::print(value) == *first);
            if attribute.presence == Presence::OptionalComputed || is_default {
                lab.check_plan(&[]);
            } else {
                lab.check_plan(&[(&address(kind), &format!("{verb} {name}"))]);
            }
            lab.apply();
            lab.check_converged();
            // And it comes back.
            lab.write(&with(kind, fields, None));
            lab.apply();
            lab.check_converged();
        }
    }
}

/// What happens to a server behind our back, and what a plan makes of it.
type Drift = (&'static str, fn(&mut Server), &'static str);

const DRIFTS: &[Drift] = &[
    ("name", |server| server.name = "odd".into(), "replace name"),
    ("zone", |server| server.zone = "odd".into(), "replace zone"),
    ("size", |server| server.size = 9, "update size"),
    ("image", |server| server.image = Some("odd".into()), "update image"),
    ("description", |server| server.description = None, "update description"),
    ("labels", |server| _ = server.labels.insert("odd".into(), "yes".into()), "update labels"),
    ("ports", |server| server.ports.reverse(), "update ports"),
    ("routes", |server| server.routes.clear(), "update routes"),
    ("password", |server| server.password = Some("odd".into()), "update password"),
    ("address", |server| server.address = Some("10.9.9.9".into()), "record"),
    ("console_key", |server| server.console_key = Some("odd".into()), "record"),
];

#[test]
fn each_field_of_a_server_that_changes_behind_our_back_is_seen_and_mended() {
    for (name, change, expected) in DRIFTS {
        let lab = Lab::applied(&with("test_server", SERVER, None));
        let before = lab.reality();
        lab.world.change("web", change);
        let plan = lab.without_a_trace(|| lab.plan(&[]));
        let steps = super::steps(&plan);
        assert_eq!(steps, [("test_server.x".to_owned(), (*expected).to_owned())].into(), "{name}");
        let drift = plan["steps"][0]["drift"].as_array().unwrap();
        assert_eq!(drift.iter().map(|d| d["attribute"].as_str().unwrap()).collect::<Vec<_>>(), [*name]);

        // Only the record changes, and nothing is forgotten with it.
        let odd = lab.reality();
        lab.apply_with(&["--refresh-only"]);
        assert_eq!(lab.reality(), odd, "{name}");
        let planned = if *expected == "record" { vec![] } else { vec![("test_server.x", *expected)] };
        lab.check_plan(&planned);

        lab.apply();
        lab.check_converged();
        if *expected != "record" {
            assert_eq!(lab.reality().without_ids(), before.without_ids(), "{name}");
        }
    }
}

#[test]
fn each_field_of_a_file_that_changes_behind_our_back_is_seen_and_mended() {
    let check = |change: fn(&std::path::Path), expected: &str| {
        let lab = Lab::applied(&with("core_file", FILE, None));
        let before = lab.reality();
        change(&lab.site.path().join("a.txt"));
        lab.without_a_trace(|| lab.check_plan(&[("core_file.x", expected)]));
        let odd = lab.reality();
        lab.apply_with(&["--refresh-only"]);
        assert_eq!(lab.reality(), odd);
        lab.apply();
        lab.check_converged();
        assert_eq!(lab.reality(), before);
    };
    check(|path| fs::write(path, "odd").unwrap(), "update content");
    check(|path| fs::write(path, [0xff]).unwrap(), "update content");
    check(|path| fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap(), "update mode");
    check(|path| fs::remove_file(path).unwrap(), "create");
}

#[test]
fn what_vanished_is_made_again() {
    let lab = Lab::applied(&with("test_server", SERVER, None));
    let before = lab.reality();
    lab.world.remove("web");
    lab.without_a_trace(|| lab.check_plan(&[("test_server.x", "create")]));
    lab.apply();
    lab.check_converged();
    assert_eq!(lab.reality().without_ids(), before.without_ids());
    // What is gone already needs nobody to destroy it.
    lab.world.remove("web");
    lab.destroy();
    assert_eq!(lab.destroy(), "No changes.\n");
}

/// What happens to a thing on a host behind our back, given the root of the host; and what a plan makes of it.
type HostDrift = (&'static str, &'static [Field], fn(&Path), &'static str);

const HOST_DRIFTS: &[HostDrift] = &[
    ("host_file", HOST_FILE, |root| fs::write(root.join("etc/a.conf"), "odd").unwrap(), "update content"),
    ("host_file", HOST_FILE, |root| fs::write(root.join("etc/a.conf"), [0xff]).unwrap(), "update content"),
    ("host_file", HOST_FILE, |root| mode(&root.join("etc/a.conf"), 0o777), "update mode"),
    ("host_file", HOST_FILE, |root| own(&root.join("etc/a.conf"), Some(1), None), "update owner"),
    ("host_file", HOST_FILE, |root| own(&root.join("etc/a.conf"), None, Some(1)), "update group"),
    ("host_file", HOST_FILE, |root| fs::remove_file(root.join("etc/a.conf")).unwrap(), "create"),
    (
        "host_file",
        HOST_SOURCE,
        |root| fs::write(root.join("etc/a.conf"), "odd").unwrap(),
        "update source_sha256",
    ),
    ("host_directory", HOST_DIRECTORY, |root| mode(&root.join("opt/a"), 0o777), "update mode"),
    ("host_directory", HOST_DIRECTORY, |root| own(&root.join("opt/a"), Some(1), None), "update owner"),
    ("host_directory", HOST_DIRECTORY, |root| fs::remove_dir(root.join("opt/a")).unwrap(), "create"),
    ("host_link", HOST_LINK, |root| relink(&root.join("etc/current"), "odd"), "update target"),
    ("host_link", HOST_LINK, |root| fs::remove_file(root.join("etc/current")).unwrap(), "create"),
    (
        "host_block",
        HOST_BLOCK,
        |root| replace(&root.join("etc/hosts"), "10.0.0.1 a", "odd"),
        "update content",
    ),
    ("host_block", HOST_BLOCK, |root| append(&root.join("etc/hosts"), "\nold way\n"), "update supersedes"),
    ("host_block", HOST_BLOCK, |root| fs::write(root.join("etc/hosts"), "").unwrap(), "create"),
    ("host_line", HOST_LINE, |root| replace(&root.join("etc/hosts"), "Port 22", "Port 99"), "update line"),
    ("host_line", HOST_LINE, |root| append(&root.join("etc/hosts"), "\nPort 99\n"), "update line"),
    (
        "host_binary",
        HOST_BINARY,
        |root| fs::write(root.join("opt/agent"), "odd").unwrap(),
        "update source_sha256",
    ),
    ("host_binary", HOST_BINARY, |root| mode(&root.join("opt/agent"), 0o711), "update mode"),
    (
        "host_archive",
        HOST_ARCHIVE,
        |root| fs::write(root.join("opt/app/deep/a"), "odd").unwrap(),
        "update source_sha256",
    ),
    (
        "host_archive",
        HOST_ARCHIVE,
        |root| fs::write(root.join("opt/app/new"), "").unwrap(),
        "update source_sha256",
    ),
    ("host_archive", HOST_ARCHIVE, |root| fs::remove_dir_all(root.join("opt/app")).unwrap(), "create"),
    (
        "host_command",
        HOST_COMMAND,
        |root| fs::write(root.join("etc/zone"), "zone=b\n").unwrap(),
        "update wish",
    ),
    ("host_command", HOST_COMMAND, |root| fs::remove_file(root.join("etc/zone")).unwrap(), "create"),
];

fn mode(path: &Path, bits: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
}

fn own(path: &Path, owner: Option<u32>, group: Option<u32>) {
    std::os::unix::fs::chown(path, owner, group).unwrap();
}

fn relink(path: &Path, target: &str) {
    fs::remove_file(path).unwrap();
    std::os::unix::fs::symlink(target, path).unwrap();
}

fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

fn append(path: &Path, more: &str) {
    let text = fs::read_to_string(path).unwrap();
    fs::write(path, text + more).unwrap();
}

#[test]
fn each_field_on_a_host_that_changes_behind_our_back_is_seen_and_mended() {
    for (kind, fields, change, expected) in HOST_DRIFTS {
        let lab = Lab::applied(&with(kind, fields, None));
        let before = lab.reality();
        change(&lab.site.path().join("root"));
        let odd = lab.reality();
        lab.without_a_trace(|| lab.check_plan(&[(&address(kind), expected)]));
        lab.apply_with(&["--refresh-only"]);
        assert_eq!(lab.reality(), odd, "{kind}: {expected}");
        lab.apply();
        lab.check_converged();
        if !SHARED.contains(kind) {
            assert_eq!(lab.reality().without_ids(), before.without_ids(), "{kind}: {expected}");
        }
    }
}

#[test]
fn a_file_that_is_sent_is_sent_again_when_it_changes() {
    for (kind, fields) in
        [("host_file", HOST_SOURCE), ("host_binary", HOST_BINARY), ("host_archive", HOST_ARCHIVE)]
    {
        let lab = Lab::applied(&with(kind, fields, None));
        fs::copy(lab.site.path().join("two.tar.gz"), lab.site.path().join("one.tar.gz")).unwrap();
        lab.without_a_trace(|| lab.check_plan(&[(&address(kind), "update source_sha256")]));
        lab.apply();
        lab.check_converged();
    }
}
