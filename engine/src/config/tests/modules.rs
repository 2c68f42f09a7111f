//! Directories, files and calls.

use fleet_lang::outside::Memory;

use super::{check, check_help, findings, load_all};

#[track_caller]
fn check_all(outside: &Memory, expected: &[&str]) {
    let (_, sources, diagnostics) = load_all(outside);
    assert_eq!(findings(&diagnostics, &sources), expected);
}

fn call(source: &str) -> String {
    format!("module \"m\" {{\n  source = \"{source}\"\n}}\n")
}

#[test]
fn directories_without_configuration() {
    check_all(&Memory::new(), &["- no configuration"]);
    check_all(&Memory::new().file("other.hcl", "}").file(".hidden.fleet.hcl", "}"), &["- no configuration"]);
    let mut sources = fleet_syntax::Sources::default();
    let (config, diagnostics) = crate::config::load(&Memory::new(), "gone".as_ref(), &mut sources);
    assert_eq!(findings(&diagnostics, &sources), ["- directory `gone` not found"]);
    assert!(config.root().variables.is_empty());
}

#[test]
fn files_that_are_no_text() {
    let outside = Memory::new()
        .file("a.fleet.hcl", b"locals {\n  a = \"\xff\"\n}".to_vec())
        .file("b.fleet.hcl", "locals {\n  b = }\n}")
        .file("c.fleet.hcl", "wat {}")
        .link("d.fleet.hcl", "gone");
    let (_, sources, diagnostics) = load_all(&outside);
    let found = findings(&diagnostics, &sources);
    assert_eq!(found[..2], ["- cannot read `d.fleet.hcl`", "a.fleet.hcl:2:8 invalid UTF-8"]);
    assert!(found[2].starts_with("b.fleet.hcl:2:"), "{found:?}");
    assert_eq!(found.last().unwrap(), "c.fleet.hcl:1:1 unknown block `wat`");
}

#[test]
fn files_are_read_in_name_order() {
    let outside = Memory::new()
        .file("b.fleet.hcl", "variable \"x\" {}\nvariable \"y\" {}")
        .file("a.fleet.hcl", "variable \"y\" {}\nvariable \"z\" {}");
    let (config, sources, diagnostics) = load_all(&outside);
    assert_eq!(findings(&diagnostics, &sources), ["b.fleet.hcl:2:1 variable `y` is declared twice"]);
    assert_eq!(config.root().variables.keys().map(|name| &**name).collect::<Vec<_>>(), ["y", "z", "x"]);
}

#[test]
fn sources() {
    check("module \"m\" {}", &["1:1 missing argument `source`"]);
    check("module \"m\" {\n source = var.x\n}", &["2:11 reference in a constant"]);
    check("module \"m\" {\n source = \"./gone\"\n}", &["2:11 directory `gone` not found"]);
    check(
        "module \"m\" {\n source = \"./m\"\n version = \"1\"\n wat {}\n}",
        &["2:11 directory `m` not found", "3:2 module with a version", "4:2 block in a module call"],
    );
    let remote = "copy the module into this repository and call it by its relative path";
    for (source, help) in [
        ("modules/x", "write `\"./modules/x\"`"),
        ("/modules/x", "write the path relative to this module, starting with `./` or `../`"),
        ("git::https://example.test/x.git", remote),
        ("example.test/owner/name", remote),
        ("git@example.test:owner/name", remote),
    ] {
        check_help(&call(source), help);
    }
    let outside = Memory::new().file("main.fleet.hcl", call("./empty")).file("empty/README.md", "");
    check_all(&outside, &["2:12 no configuration"]);
}

#[test]
fn a_directory_is_loaded_once() {
    let outside = Memory::new()
        .file(
            "main.fleet.hcl",
            "module \"a\" {\n source = \"./x\"\n}\nmodule \"b\" {\n source = \"./y/../x/\"\n}",
        )
        .file("x/main.fleet.hcl", "wat {}\nmodule \"y\" {\n source = \"../y\"\n}")
        .file("y/main.fleet.hcl", "");
    let (config, sources, diagnostics) = load_all(&outside);
    assert_eq!(findings(&diagnostics, &sources), ["x/main.fleet.hcl:1:1 unknown block `wat`"]);
    assert_eq!(config.modules.len(), 3);
    let root = config.root();
    assert_eq!(root.calls["a"].module, root.calls["b"].module);
    let x = config.module(root.calls["a"].module.unwrap());
    assert_eq!(config.module(x.calls["y"].module.unwrap()).dir.to_str(), Some("y"));
}

#[test]
fn modules_below_and_beside_the_root() {
    let outside = Memory::new().file("a/main.fleet.hcl", call("../b")).file("b/main.fleet.hcl", "");
    let mut sources = fleet_syntax::Sources::default();
    let (config, diagnostics) = crate::config::load(&outside, "./a/.".as_ref(), &mut sources);
    assert_eq!(findings(&diagnostics, &sources), [""; 0]);
    let dirs: Vec<_> = config.modules.iter().map(|module| module.dir.to_str().unwrap()).collect();
    assert_eq!(dirs, ["a", "b"]);
    let (config, diagnostics) = crate::config::load(&outside, "/site/a".as_ref(), &mut sources);
    assert_eq!(findings(&diagnostics, &sources), [""; 0]);
    assert_eq!(config.modules[1].dir.to_str(), Some("/site/b"));
}

#[test]
fn calls_in_a_circle() {
    let outside = Memory::new().file("main.fleet.hcl", call("./."));
    let (config, sources, diagnostics) = load_all(&outside);
    assert_eq!(findings(&diagnostics, &sources), ["1:1 module calls itself"]);
    assert_eq!(diagnostics[0].detail, "The calls lead in a circle: `.` → `.`.");
    assert!(config.root().calls["m"].module.is_none());

    let outside = Memory::new()
        .file(
            "main.fleet.hcl",
            call("./a")
                + "fleet \"f\" {\npool = 1\nsize = 1\nhostname = 1\nmodule \"n\" {\nsource = \"./b\"\n}\n}",
        )
        .file("a/main.fleet.hcl", call("../b"))
        .file("b/main.fleet.hcl", call("../c"))
        .file("c/main.fleet.hcl", call("../a"));
    let (config, sources, diagnostics) = load_all(&outside);
    assert_eq!(findings(&diagnostics, &sources), ["c/main.fleet.hcl:1:1 module calls itself"]);
    assert_eq!(diagnostics[0].detail, "The calls lead in a circle: `a` → `b` → `c` → `a`.");
    let related: Vec<&str> = diagnostics[0].related.iter().map(|(_, note)| &**note).collect();
    assert_eq!(related, ["calls `b`", "calls `c`"]);
    assert!(config.root().fleets["f"].calls["n"].module.is_some());
}

#[test]
fn links_do_not_lead_round_and_round() {
    let outside = Memory::new().file("main.fleet.hcl", call("./again")).link("again", ".");
    check_all(&outside, &["1:1 module calls itself"]);
    let outside = Memory::new()
        .file("main.fleet.hcl", "module \"a\" {\n source = \"./x\"\n}\nmodule \"b\" {\n source = \"./y\"\n}")
        .file("x/main.fleet.hcl", "")
        .link("y", "x");
    let (config, _, diagnostics) = load_all(&outside);
    assert_eq!((config.modules.len(), diagnostics), (2, vec![]));
}

#[test]
fn blocks_of_the_root_only() {
    let outside = Memory::new().file("main.fleet.hcl", call("./x")).file(
        "x/main.fleet.hcl",
        "settings {}\nsecret \"s\" {\nfrom = \"\"\n}\npool \"k\" \"p\" {}\nimport {\nto = k.a\nid = 1\n}\nprovider \"p\" {}",
    );
    check_all(
        &outside,
        &[
            "x/main.fleet.hcl:1:1 `settings` in a module",
            "x/main.fleet.hcl:2:1 `secret` in a module",
            "x/main.fleet.hcl:5:1 `pool` in a module",
            "x/main.fleet.hcl:6:1 `import` in a module",
        ],
    );
}

#[test]
fn many_blocks() {
    let mut text = String::new();
    for n in 0..20_000 {
        text += &format!(
            "resource \"core_value\" \"r{n}\" {{\n  input = local.l{n}\n}}\nlocals {{\n  l{n} = {n}\n}}\n"
        );
    }
    let mut calls = String::new();
    for n in 0..20_000 {
        calls += &format!("module \"m{n}\" {{\n  source = \"./m\"\n}}\n");
    }
    let outside = Memory::new()
        .file("main.fleet.hcl", text)
        .file("calls.fleet.hcl", calls)
        .file("m/main.fleet.hcl", call("../."));
    let (config, _, diagnostics) = load_all(&outside);
    assert_eq!(config.root().resources.len(), 20_000);
    assert_eq!(config.root().calls.len(), 20_000);
    assert_eq!(diagnostics.len(), 1);
}
