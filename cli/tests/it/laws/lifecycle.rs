//! `lifecycle` arguments, `import` and `removed` blocks, `--replace`.

use fleet_test_provider::{Happened, Operation, Server};

use super::Lab;

/// A server, with these lines in its lifecycle.
fn server(name: &str, lifecycle: &str) -> String {
    format!(
        "resource \"test_server\" \"x\" {{\n  name = \"{name}\"\n  size = 2\n  labels = {{ a = \"1\" }}\n  ports = [1, 2]\n  \
         lifecycle {{\n    {lifecycle}\n  }}\n}}\n"
    )
}

fn changes(happened: &[Happened]) -> Vec<(Operation, &str)> {
    happened.iter().map(|happened| (happened.operation, happened.id.as_str())).collect()
}

#[test]
fn a_replacement_that_comes_first_leaves_no_moment_without_the_thing() {
    let check = |first: bool, expected: [(Operation, &str); 3]| {
        let text = server("web", &format!("create_before_destroy = {first}"));
        let dependent =
            "resource \"test_server\" \"y\" {\n  name = \"y\"\n  description = test_server.x.id\n}\n";
        let lab = Lab::applied(&format!("{text}{dependent}"));
        let before = lab.world.happened().len();
        lab.edit("\"web\"", "\"db\"");
        lab.check_plan(&[("test_server.x", "replace name"), ("test_server.y", "update description")]);
        lab.apply();
        assert_eq!(changes(&lab.world.happened()[before..]), expected);
        lab.check_converged();
        assert!(lab.state().deposed.is_empty());
    };
    use Operation::{Create, Delete, Update};
    // The dependent uses the new one before the old one goes.
    check(true, [(Create, "srv-000003"), (Update, "srv-000002"), (Delete, "srv-000001")]);
    check(false, [(Delete, "srv-000001"), (Create, "srv-000003"), (Update, "srv-000002")]);
}

#[test]
fn what_a_replacement_that_comes_first_needs_is_replaced_in_the_same_order() {
    // `y` is replaced first-new, because `x` is replaced: so the new `x` has to be there before the old one goes, too.
    let text = r#"
resource "test_server" "x" {
  name = "x1"
}
resource "test_server" "y" {
  name = "y-${test_server.x.id}"
  lifecycle {
    create_before_destroy = true
  }
}
"#;
    let lab = Lab::applied(text);
    let before = lab.world.happened().len();
    lab.edit("x1", "x2");
    lab.apply();
    use Operation::{Create, Delete};
    assert_eq!(
        changes(&lab.world.happened()[before..]),
        [(Create, "srv-000003"), (Create, "srv-000004"), (Delete, "srv-000002"), (Delete, "srv-000001")]
    );
    lab.check_converged();
}

#[test]
fn a_replacement_that_fails_keeps_the_old_one() {
    let lab = Lab::applied(&server("web", "create_before_destroy = true"));
    lab.edit("\"web\"", "\"db\"");
    lab.world.breaks(Operation::Create, 2.., fleet_test_provider::Fault::Refused);
    lab.run("apply", &[]).failed();
    assert_eq!(lab.world.server("web").id.as_deref(), Some("srv-000001"));
    lab.world.mend();
    lab.check_plan(&[("test_server.x", "replace name")]);
    // The new one is there, and the old one cannot be removed: it stays known.
    lab.world.breaks(Operation::Delete, 1.., fleet_test_provider::Fault::Refused);
    lab.run("apply", &[]).failed();
    assert_eq!(lab.world.servers().len(), 2);
    lab.world.mend();
    lab.check_plan(&[("test_server.x (deposed 1)", "destroy")]);
    lab.apply();
    lab.check_converged();
    assert_eq!(lab.world.servers().len(), 1);
}

#[test]
fn what_changes_replaces_what_is_triggered_by_it() {
    let check = |trigger: &str, edit: (&str, &str), expected: &[(&str, &str)]| {
        let text = format!(
            "resource \"test_server\" \"a\" {{\n  name = \"a\"\n  size = 1\n  description = \"one\"\n}}\n\
             resource \"core_file\" \"b\" {{\n  path = \"b\"\n  content = \"x\"\n  \
             lifecycle {{\n    replace_triggered_by = [{trigger}]\n  }}\n}}\n"
        );
        let lab = Lab::applied(&text);
        lab.check_converged();
        lab.edit(edit.0, edit.1);
        lab.check_plan(expected);
        lab.apply();
        lab.check_converged();
    };
    let resize = ("size = 1", "size = 2");
    let replaced = [("test_server.a", "update size"), ("core_file.b", "replace")];
    check("test_server.a", resize, &replaced);
    check("test_server.a.size", resize, &replaced);
    check("test_server.a.description", resize, &replaced[..1]);
    check(
        "test_server.a.description",
        ("name = \"a\"", "name = \"c\""),
        &[("test_server.a", "replace name"), ("core_file.b", "replace")],
    );
}

#[test]
fn what_is_ignored_may_differ() {
    let check = |ignored: &str, drift: fn(&mut Server), edit: (&str, &str), expected: Option<&str>| {
        let lab = Lab::applied(&server("web", &format!("ignore_changes = {ignored}")));
        lab.world.change("web", drift);
        let planned: Vec<_> = expected.map(|what| ("test_server.x", what)).into_iter().collect();
        let steps = lab.steps(&[]);
        let kept = |steps: &super::Steps| steps.values().all(|what| what == "record");
        assert!(if expected.is_some() { !kept(&steps) } else { kept(&steps) }, "{ignored}: {steps:?}");
        let odd = lab.world.server("web");
        lab.apply();
        lab.check_converged();
        if planned.is_empty() {
            assert_eq!(lab.world.server("web"), odd, "{ignored}");
        }
        lab.edit(edit.0, edit.1);
        lab.check_plan(&planned);
        lab.apply();
        lab.check_converged();
        if planned.is_empty() {
            assert_eq!(lab.world.server("web"), odd, "{ignored}");
        }
    };
    check("[size]", |server| server.size = 7, ("size = 2", "size = 3"), None);
    check("[ports]", |server| server.size = 7, ("size = 2", "size = 3"), Some("update size"));
    check("all", |server| server.ports.clear(), ("size = 2", "size = 3"), None);
    check("[ports[0]]", |server| server.ports[0] = 9, ("[1, 2]", "[3, 2]"), None);
    check("[ports[0]]", |server| server.ports[1] = 9, ("[1, 2]", "[1, 3]"), Some("update ports"));
    check("[labels[\"a\"]]", |server| server.labels.clear(), ("{ a = \"1\" }", "{ a = \"2\" }"), None);
    check(
        "[labels[\"a\"]]",
        |server| _ = server.labels.insert("b".into(), "1".into()),
        ("{ a = \"1\" }", "{ a = \"1\", c = \"1\" }"),
        Some("update labels"),
    );
}

#[test]
fn what_is_ignored_is_made_as_declared_at_first_and_when_made_anew() {
    let lab = Lab::applied(&server("web", "ignore_changes = [size]"));
    assert_eq!(lab.world.server("web").size, 2);
    lab.edit("size = 2", "size = 3");
    lab.edit("\"web\"", "\"db\"");
    lab.check_plan(&[("test_server.x", "replace name size")]);
    lab.apply();
    // What is new has no past to keep.
    assert_eq!(lab.world.server("db").size, 3);
    lab.check_converged();
}

#[test]
fn what_is_protected_is_neither_removed_nor_replaced() {
    let lab = Lab::applied(&server("web", "prevent_destroy = true"));
    let before = lab.reality();
    let refuse = |options: &[&str]| {
        let words: Vec<&str> = ["plan"].iter().chain(options).copied().collect();
        let complaint = lab.without_a_trace(|| lab.site.fleet_words(&words).failed());
        assert!(complaint.contains("protected from being destroyed"), "{complaint}");
    };
    refuse(&["--destroy"]);
    refuse(&["--replace", "test_server.x"]);
    lab.run("destroy", &[]).failed();
    lab.edit("\"web\"", "\"db\"");
    refuse(&[]);
    lab.run("apply", &[]).failed();
    assert_eq!(lab.reality(), before);
    lab.edit("\"db\"", "\"web\"");
    lab.edit("size = 2", "size = 3");
    lab.apply();
    lab.check_converged();
}

#[test]
fn what_is_imported_is_taken_in_and_then_kept() {
    let there = || Server { name: "old".into(), zone: "a".into(), size: 2, ..Server::default() };
    let text = "resource \"test_server\" \"x\" {\n  name = \"old\"\n  size = 2\n}\n";
    let import = "import {\n  to = test_server.x\n  id = \"srv-000002\"\n}\n";
    let lab = Lab::new(&format!("{text}{import}"));
    // Two of a name: only the id can tell which.
    lab.world.put(there());
    lab.world.put(there());
    let before = lab.world.servers();
    let plan = lab.without_a_trace(|| lab.plan(&[]));
    assert_eq!(plan["summary"]["import"], 1);
    assert_eq!(super::steps(&plan)["test_server.x"], "record");
    lab.apply();
    assert_eq!(lab.world.servers(), before);
    lab.check_converged();
    // The block may stay, or go.
    lab.write(text);
    lab.check_converged();
    lab.destroy();
    assert_eq!(lab.world.servers(), before[..1]);

    // What differs is changed in place.
    let lab = Lab::new(&format!("{text}{}", import.replace("000002", "000001")));
    lab.world.put(Server { size: 5, ..there() });
    lab.check_plan(&[("test_server.x", "update size")]);
    lab.apply();
    lab.check_converged();
    assert_eq!(lab.world.server("old").id.as_deref(), Some("srv-000001"));

    let lab = Lab::new(&format!("{text}{}", import.replace("000002", "none")));
    let complaint = lab.site.fleet(["plan"]).failed();
    assert!(complaint.contains("nothing to import"), "{complaint}");
}

#[test]
fn what_is_removed_from_the_configuration_goes_or_is_left_alone() {
    let check = |destroy: bool, expected: &str| {
        let lab = Lab::applied(&server("web", ""));
        lab.write(&format!(
            "removed {{\n  from = test_server.x\n  lifecycle {{\n    destroy = {destroy}\n  }}\n}}\n"
        ));
        lab.without_a_trace(|| lab.check_plan(&[("test_server.x", expected)]));
        lab.apply();
        lab.check_converged();
        assert_eq!(lab.world.servers().len(), usize::from(!destroy));
        assert!(lab.state().recorded.is_empty());
    };
    check(true, "destroy");
    check(false, "forget");
}

#[test]
fn what_is_to_be_replaced_is_made_anew_once() {
    let lab = Lab::applied(&server("web", ""));
    let replace = ["--replace", "test_server.x"];
    assert_eq!(lab.steps(&replace)["test_server.x"], "replace");
    lab.apply_with(&replace);
    assert_eq!(lab.world.server("web").id.as_deref(), Some("srv-000002"));
    lab.check_converged();
}
