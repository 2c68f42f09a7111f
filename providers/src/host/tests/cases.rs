//! The life of each kind, on a host of memory.

use fleet_engine::host::HostKind;
use fleet_engine::resource::{At, Change, Disruption, Error, Resource, Touch};
use fleet_lang::Value;

use super::Seen::{Changed, Gone, Nothing};
use super::memory::{FOR_ROOT, LINEAGE, Memory};
use super::{Case, World, changed, converge, laws, see};
use crate::host::common::sha256;
use crate::host::{archive, binary, block, command, directory, file, line, link, reboot, slot};

const SECRET: &str = "hunter2";

fn case<K>(wish: K) -> Case<'static, K> {
    Case { wish, others: Vec::new(), tampers: Vec::new(), secret: &[], always: false }
}

/// The same thing with some attributes changed.
fn with<K: HostKind, const N: usize>(thing: &K, attributes: [(&str, Value); N]) -> K {
    let mut entries = thing.to_value().entries().unwrap().clone();
    entries.extend(attributes.map(|(name, value)| (name.into(), value)));
    K::from_value(&Value::object(entries)).unwrap()
}

pub(super) fn files(world: &dyn World) {
    let path = "/etc/a b";
    let wish = file::sample(path, "one\n");
    let source = world.local("content", b"\xff\0");
    let from_source = [
        ("content", Value::null()),
        ("source", source.as_str().into()),
        ("source_sha256", sha256(b"\xff\0").as_str().into()),
    ];
    laws(
        world,
        Case {
            others: vec![
                with(&wish, [("content", "two".into())]),
                with(&wish, [("content", "".into()), ("mode", "600".into())]),
                with(&wish, [("validate", "test -f {}".into())]),
                with(&wish, from_source),
                wish.clone(),
            ],
            tampers: vec![
                (Box::new(|| world.put(path, b"two")), Changed(&["content"])),
                (Box::new(|| world.put(path, b"\xff")), Changed(&["content"])),
                (Box::new(|| world.put(path, b"one")), Changed(&["content"])),
                (Box::new(|| world.mode(path, 0o600)), Changed(&["mode"])),
                (Box::new(|| world.delete(path)), Gone),
            ],
            secret: &["content"],
            ..case(wish.clone())
        },
    );
}

#[test]
fn files_live_and_die() {
    files(&Memory::new());
}

#[test]
fn what_a_file_is_kept_as_is_mended() {
    let world = Memory::new();
    let wish = file::sample("/etc/a", "x");
    let wish = with(&wish, [("owner", "root".into()), ("group", "wheel".into())]);
    laws(
        &world,
        Case {
            tampers: vec![
                (Box::new(|| _ = world.owner("/etc/a", "eve", "wheel")), Changed(&["owner"])),
                (Box::new(|| _ = world.owner("/etc/a", "root", "staff")), Changed(&["group"])),
            ],
            ..case(wish)
        },
    );
}

#[test]
fn a_file_that_is_refused_stays_as_it_was() {
    let world = Memory::new();
    let wish = with(&file::sample("/etc/a", "x"), [("validate", "false {}".into())]);
    let at = At::Declared(wish.clone());
    assert!(converge(&world, &wish, &at).is_err());
    assert_eq!(see(&world, &at).unwrap(), None);
}

pub(super) fn binaries(world: &dyn World) {
    let path = "/etc/tool";
    let (source, newer) = (world.local("v1", b"\x7fELF\0"), world.local("v2", b"\x7fELF\x01"));
    let wish = binary::sample(path, &source, &sha256(b"\x7fELF\0"));
    let newer =
        [("source", newer.as_str().into()), ("source_sha256", sha256(b"\x7fELF\x01").as_str().into())];
    laws(
        world,
        Case {
            others: vec![with(&wish, newer), with(&wish, [("mode", "0700".into())])],
            tampers: vec![
                (Box::new(|| world.put(path, b"virus")), Changed(&["source_sha256"])),
                (Box::new(|| world.mode(path, 0o644)), Changed(&["mode"])),
                (Box::new(|| world.delete(path)), Gone),
            ],
            ..case(wish.clone())
        },
    );
}

#[test]
fn programs_live_and_die() {
    binaries(&Memory::new());
}

#[test]
fn another_program_than_the_one_that_was_planned_is_refused() {
    let world = Memory::new();
    let wish = binary::sample("/etc/tool", &world.local("v1", b"other"), &sha256(b"planned"));
    assert!(converge(&world, &wish, &At::Declared(wish.clone())).is_err());
}

pub(super) fn directories(world: &dyn World) {
    let path = "/etc/d";
    let wish = directory::sample(path, false);
    laws(
        world,
        Case {
            others: vec![with(&wish, [("mode", "0700".into())]), with(&wish, [("force", true.into())])],
            tampers: vec![
                (Box::new(|| world.mode(path, 0o700)), Changed(&["mode"])),
                (Box::new(|| world.delete(path)), Gone),
            ],
            ..case(wish.clone())
        },
    );
    for force in [true, false] {
        let wish = directory::sample(path, force);
        let record = converge(world, &wish, &At::Declared(wish.clone())).unwrap();
        world.put("/etc/d/full", b"");
        let removed = world.work(directory::Directory::remove(record.clone()).unwrap());
        assert_eq!((removed.is_ok(), see(world, &At::Recorded(record)).unwrap().is_none()), (force, force));
    }
    world.delete(path);
}

#[test]
fn directories_live_and_die() {
    directories(&Memory::new());
}

#[test]
fn a_directory_is_made_with_those_it_lies_in() {
    let world = Memory::new();
    let wish = directory::sample("/opt/a/b", false);
    converge(&world, &wish, &At::Declared(wish.clone())).unwrap();
    assert!(see(&world, &At::<directory::Directory>::Id("/opt/a".into())).unwrap().is_some());
}

pub(super) fn links(world: &dyn World) {
    let path = "/etc/l";
    let wish = link::sample(path, "a b");
    laws(
        world,
        Case {
            others: vec![with(&wish, [("target", "/else where".into())])],
            tampers: vec![
                (
                    Box::new(|| {
                        world.delete(path);
                        world.link(path, "c");
                    }),
                    Changed(&["target"]),
                ),
                (Box::new(|| world.delete(path)), Gone),
            ],
            ..case(wish.clone())
        },
    );
}

#[test]
fn links_live_and_die() {
    links(&Memory::new());
}

pub(super) fn shared_files(world: &dyn World) {
    let path = "/etc/hosts";
    let original = b"127.0.0.1 localhost\r\n\xff\n";
    world.put(path, original);
    let others_block = b"# BEGIN managed b\n2\n# END managed b\n";
    let wish = block::sample(path, "a", "1", &["old .*"]);
    let put = |parts: &[&[u8]]| world.put(path, &[&original[..], &parts.concat()].concat());
    let ours = b"# BEGIN managed a\n1\n# END managed a\n";
    laws(
        world,
        Case {
            others: vec![
                with(&wish, [("content", "".into())]),
                block::sample(path, "a", "1\n2\n", &["old .*", "older"]),
            ],
            tampers: vec![
                (Box::new(|| put(&[b"# BEGIN managed a\n2\n# END managed a\n"])), Changed(&["content"])),
                (Box::new(|| put(&[b"old 1\n", ours])), Changed(&["supersedes"])),
                (Box::new(|| put(&[ours, ours])), Changed(&["content"])),
                (Box::new(|| put(&[])), Gone),
            ],
            secret: &["content"],
            ..case(wish.clone())
        },
    );
    put(&[others_block]);
    let record = converge(world, &wish, &At::Declared(wish.clone())).unwrap();
    assert_eq!(world.content(path).unwrap(), [&original[..], others_block, ours].concat());
    world.work(block::Block::remove(record).unwrap()).unwrap();
    assert_eq!(world.content(path).unwrap(), [&original[..], others_block].concat());
    world.put(path, b"a\n# BEGIN managed a\n");
    let open = see(world, &At::Declared(wish)).unwrap_err();
    assert!(open.message.contains("has no end"), "{open}");
    world.delete(path);
}

#[test]
fn blocks_live_and_die() {
    shared_files(&Memory::new());
}

#[test]
fn a_block_makes_its_file() {
    let world = Memory::new();
    let wish = block::sample("/etc/new", "a", "1\n", &[]);
    converge(&world, &wish, &At::Declared(wish.clone())).unwrap();
    assert_eq!(world.content("/etc/new").unwrap(), b"# BEGIN managed a\n1\n# END managed a\n");
}

pub(super) fn lines(world: &dyn World) {
    let path = "/etc/ssh config";
    world.put(path, b"a\n\xff\r\n");
    let wish = line::sample(path, "Port 22", Some("#?Port .*"), true);
    laws(
        world,
        Case {
            others: vec![
                with(&wish, [("line", "Port 23".into())]),
                line::sample(path, "port 24", None, true),
                line::sample(path, "port 25", Some("#.*"), true),
                line::sample(path, "port 25", Some("#.*"), false),
                line::sample(path, "port 26", None, true),
            ],
            tampers: vec![
                (Box::new(|| world.put(path, b"a\n\xff\r\n#Port 22\n")), Changed(&["line"])),
                (Box::new(|| world.put(path, b"a\n\xff\r\nPort 22\nPort 22\n")), Changed(&["line"])),
                (Box::new(|| world.put(path, b"a\n\xff\r\n")), Gone),
            ],
            ..case(wish.clone())
        },
    );
    world.put(path, b"x\nold\n");
    let never = line::sample(path, "old", Some("older"), false);
    laws(
        world,
        Case {
            tampers: vec![
                (Box::new(|| world.put(path, b"x\nold\n")), Changed(&["present"])),
                (Box::new(|| world.put(path, b"older\nx\n")), Changed(&["present"])),
                (Box::new(|| world.put(path, b"y\n")), Nothing),
            ],
            always: true,
            ..case(never)
        },
    );
    assert_eq!(world.content(path).unwrap(), b"y\n");
    world.delete(path);
}

#[test]
fn lines_live_and_die() {
    lines(&Memory::new());
}

pub(super) fn archives(world: &dyn World) {
    let path = "/etc/app";
    let (source, digest) = world.archive("v1.tar", &[("top/a", "1"), ("top/b", "2")]);
    let (newer, newer_digest) = world.archive("v2.tar", &[("top/a", "3")]);
    let wish = archive::sample(path, &source, &digest);
    let newer = [("source", newer.as_str().into()), ("source_sha256", newer_digest.as_str().into())];
    let stripped = with(&wish, [("strip", 1.into())]);
    laws(
        world,
        Case {
            others: vec![with(&stripped, newer), wish.clone()],
            tampers: vec![
                (Box::new(|| world.put("/etc/app/a", b"x")), Changed(&["source_sha256"])),
                (Box::new(|| world.put("/etc/app/c", b"")), Changed(&["source_sha256"])),
                (Box::new(|| world.delete("/etc/app/a")), Changed(&["source_sha256"])),
                (Box::new(|| world.mode("/etc/app/a", 0o700)), Changed(&["source_sha256"])),
                (Box::new(|| world.delete(path)), Gone),
            ],
            ..case(stripped.clone())
        },
    );
}

#[test]
fn archives_live_and_die() {
    archives(&Memory::new());
}

pub(super) fn commands(world: &dyn World) {
    let path = world.real("/etc/zone");
    let wish = |zone: &str| {
        let (apply, destroy) = (format!("echo zone={zone} > {path}"), format!("rm -f {path}"));
        command::sample(&format!("cat {path}"), &[("zone", zone)], &apply, &destroy)
    };
    laws(
        world,
        Case {
            others: vec![wish("CET"), with(&wish("CET"), [("read", format!("cat  {path}").as_str().into())])],
            tampers: vec![
                (Box::new(|| world.put("/etc/zone", b"zone=CET\n")), Changed(&["wish"])),
                (Box::new(|| world.delete("/etc/zone")), Gone),
            ],
            secret: &["apply"],
            ..case(wish("UTC"))
        },
    );
}

#[test]
fn commands_live_and_die() {
    commands(&Memory::new());
}

#[test]
fn a_command_without_destroy_leaves_everything_as_it_is() {
    let world = Memory::new();
    let wish = command::sample("cat /etc/zone", &[], "echo zone=UTC > /etc/zone", "");
    let record = converge(&world, &wish, &At::Declared(wish.clone())).unwrap();
    let before = world.everything();
    world.work(command::Command::remove(record).unwrap()).unwrap();
    assert_eq!(world.everything(), before);
}

/// Asks and tells as the engine does, and says how often the host was started anew.
fn rebooted(world: &Memory, when: impl Into<Value>, record: &mut Option<reboot::Reboot>) -> u32 {
    let n_before = world.n_boots();
    let mut wish = reboot::sample(when);
    wish.normalize().unwrap();
    let at = record.clone().map_or_else(|| At::Declared(wish.clone()), At::Recorded);
    let found = see(world, &at).unwrap().expect("a host is always in some boot");
    *record = Some(found.clone());
    if !changed(&found, &wish).is_empty() {
        world.work(wish.clone().steps(Change::Update { from: found }).unwrap()).unwrap();
        let made = see(world, &At::Recorded(wish.clone())).unwrap().unwrap();
        assert_eq!(changed(&made, &wish), [""; 0]);
        *record = Some(made);
    }
    world.n_boots() - n_before
}

#[test]
fn a_host_is_started_anew_when_something_asks_for_it() {
    let (world, mut record) = (Memory::new(), None);
    assert_eq!(rebooted(&world, false, &mut record), 0);
    // As long as it is true, and no longer.
    assert_eq!(rebooted(&world, true, &mut record), 1);
    assert_eq!(rebooted(&world, false, &mut record), 0);
    assert_eq!(rebooted(&world, "true", &mut record), 1);
    assert_eq!(rebooted(&world, true, &mut record), 1);
    // Once for each new value.
    assert_eq!(rebooted(&world, "v1", &mut record), 1);
    assert_eq!(rebooted(&world, "v1", &mut record), 0);
    world.reboot();
    assert_eq!(rebooted(&world, "v1", &mut record), 0);
    assert_eq!(rebooted(&world, false, &mut record), 0);
    assert_eq!(rebooted(&world, "v1", &mut record), 0);
    assert_eq!(rebooted(&world, "v2", &mut record), 1);
    let gone = reboot::Reboot::left(record.unwrap(), &fleet_engine::host::Reply::default()).unwrap();
    assert_eq!(gone, None);
}

#[test]
fn only_a_reboot_disrupts_a_host() {
    assert_eq!(reboot::Reboot::disrupts(Touch::Update(&["when"])), Disruption::Host);
    assert_eq!(reboot::Reboot::disrupts(Touch::Destroy), Disruption::Nothing);
    assert_eq!(file::File::disrupts(Touch::Update(&["content"])), Disruption::Nothing);
}

#[test]
fn machines_are_taken_and_given_back() {
    let world = Memory::new();
    let wish = slot::sample("fleet.a[0]", "mini-a", Some(LINEAGE));
    let record = converge(&world, &wish, &At::Declared(wish.clone())).unwrap();
    assert_eq!(changed(&record, &wish), [""; 0]);
    let renamed = with(&record, [("name", "other".into())]);
    assert_eq!(renamed.clone().steps(Change::Update { from: record.clone() }).unwrap(), []);
    let strangers = slot::sample("fleet.a[0]", "mini-a", Some("another lineage"));
    let error: Error = see(&world, &At::Declared(strangers)).unwrap_err();
    assert!(error.message.contains(LINEAGE) && !error.transient, "{error}");
    for _ in 0..2 {
        world.work(slot::StaticHost::remove(record.clone()).unwrap()).unwrap();
        assert_eq!(see(&world, &At::Recorded(record.clone())).unwrap(), None);
    }
}

/// With `sudo`, everything is done by root; without, nothing is.
#[test]
fn root_does_what_root_is_asked_for() {
    fn check<K: HostKind + std::fmt::Debug + PartialEq>(world: &Memory, thing: &K) {
        assert!(see(world, &At::Declared(thing.clone())).is_err(), "{thing:?}");
        laws(world, case(with(thing, [("sudo", true.into())])));
    }
    let world = &Memory::new();
    let (source, digest) = world.archive("a.tar", &[("a", "1")]);
    let path = format!("{FOR_ROOT}/x");
    check(world, &file::sample(&path, "x"));
    check(world, &binary::sample(&path, &source, &digest));
    check(world, &directory::sample(&path, false));
    check(world, &directory::sample(&path, true));
    check(world, &link::sample(&path, "x"));
    check(world, &archive::sample(&path, &source, &digest));
    check(
        world,
        &command::sample(
            &format!("cat {path}"),
            &[],
            &format!("echo a=1 > {path}"),
            &format!("rm -f {path}"),
        ),
    );
    world.put(&path, b"a\n");
    check(world, &block::sample(&path, "b", "x\n", &[]));
    check(world, &line::sample(&path, "b", None, true));
}

/// What is in the way is named, never removed.
#[test]
fn what_is_in_the_way_is_an_error_with_help() {
    fn check<K: HostKind + std::fmt::Debug>(world: &Memory, thing: K, expected: &str) {
        let error = see(world, &At::Declared(thing)).unwrap_err();
        assert_eq!((error.message.as_str(), error.transient, error.help.is_some()), (expected, false, true));
    }
    let world = &Memory::new();
    check(world, file::sample("/etc", ""), "`/etc` is a directory, and should be a file");
    check(world, block::sample("/etc", "a", "", &[]), "`/etc` is a directory, and should be a file");
    check(world, link::sample("/etc", "x"), "`/etc` is a directory, and should be a link");
    world.link("/etc/l", "x");
    check(world, file::sample("/etc/l", ""), "`/etc/l` is a link, and should be a file");
    check(world, archive::sample("/etc/l", "a", "b"), "`/etc/l` is a link, and should be a directory");
    world.put("/etc/f", b"");
    check(world, directory::sample("/etc/f", false), "`/etc/f` is a file, and should be a directory");
    world.socket("/etc/s");
    let special = "`/etc/s` is something special, such as a socket or a device, and should be a file";
    check(world, binary::sample("/etc/s", "a", "b"), special);
}

#[test]
fn no_secret_is_in_a_question_or_in_what_is_shown_of_a_step() {
    fn check<K: HostKind + std::fmt::Debug + PartialEq>(secret: &'static [&'static str], thing: K) {
        let world = Memory::new();
        world.put("/etc/shared", b"");
        let shown = format!("{thing:?}").contains(SECRET);
        assert!(shown, "the search finds what is there");
        laws(&world, Case { secret, ..case(thing) });
        assert!(!world.log().contains(SECRET), "{}", world.log());
    }
    check(&["content"], file::sample("/etc/a", SECRET));
    check(&["content"], block::sample("/etc/shared", "b", SECRET, &[]));
    let apply = format!("echo password={SECRET} > /etc/a");
    check(&["apply"], command::sample("cat /etc/a", &[], &apply, "rm -f /etc/a"));
}

/// The sensitive arguments that a kind can take are those that it can be found without.
#[test]
fn what_is_needed_to_find_a_thing_cannot_be_secret() {
    fn check<K: HostKind>(thing: &K, name: &str, expected: bool) {
        let mut entries = thing.to_value().entries().unwrap().clone();
        entries.insert(name.into(), Value::null());
        assert_eq!(K::from_value(&Value::object(entries)).is_ok(), expected, "{name}");
    }
    check(&file::sample("/a", ""), "content", true);
    check(&file::sample("/a", ""), "path", false);
    check(&block::sample("/a", "b", "", &[]), "content", true);
    check(&block::sample("/a", "b", "", &[]), "name", false);
    check(&line::sample("/a", "b", None, true), "line", false);
    check(&command::sample("a", &[], "b", "c"), "apply", true);
    check(&command::sample("a", &[], "b", "c"), "read", false);
    check(&command::sample("a", &[], "b", "c"), "destroy", false);
}

#[test]
fn things_are_imported_by_their_path() {
    let world = Memory::new();
    world.put("/etc/a", b"x");
    world.mode("/etc/a", 0o600);
    let found = see(&world, &At::<file::File>::Id("/etc/a".into())).unwrap().unwrap();
    assert_eq!(changed(&found, &file::sample("/etc/a", "x")), ["mode"]);
    assert_eq!(see(&world, &At::<file::File>::Id("/etc/b".into())).unwrap(), None);
    assert!(see(&world, &At::<directory::Directory>::Id("/etc".into())).unwrap().is_some());
}

/// What was begun is none of those that are known.
#[test]
fn what_is_known_is_not_what_was_begun() {
    let world = Memory::new();
    let wish = file::sample("/etc/a", "x");
    let record = converge(&world, &wish, &At::Declared(wish.clone())).unwrap();
    let begun = At::Begun { wish, except: vec![record] };
    assert_eq!(see(&world, &begun).unwrap(), None);
}
