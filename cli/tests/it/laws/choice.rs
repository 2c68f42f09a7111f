//! `--target`, `--exclude`, `--refresh-only` and `--refresh=false`: parts of a plan.

use super::{Lab, Steps};

/// Three servers in a row, and one that stands alone.
const ROW: &str = r#"
resource "test_server" "a" {
  name = "a"
}
resource "test_server" "b" {
  name        = "b"
  description = test_server.a.id
}
resource "test_server" "c" {
  name        = "c"
  description = test_server.b.id
}
resource "test_server" "alone" {
  name = "alone"
}
output "all" {
  value = [test_server.a.name, test_server.c.name, test_server.alone.name]
}
"#;

fn names(lab: &Lab) -> Vec<String> {
    let mut names: Vec<String> = lab.world.servers().into_iter().map(|server| server.name).collect();
    names.sort();
    names
}

#[test]
fn a_part_and_then_the_rest_is_all() {
    let all = Lab::applied(ROW);
    let check = |options: &[&str], expected: &[&str]| {
        let lab = Lab::new(ROW);
        lab.without_a_trace(|| lab.plan(options));
        lab.apply_with(options);
        assert_eq!(names(&lab), expected, "{options:?}");
        // The same part again is done.
        assert_eq!(lab.steps(options), Steps::new(), "{options:?}");
        lab.apply();
        lab.check_converged();
        let plain = |lab: &Lab| {
            let mut servers = lab.reality().without_ids().servers;
            servers.iter_mut().for_each(|server| server.description = None);
            servers
        };
        assert_eq!(plain(&lab), plain(&all), "{options:?}");
        assert_eq!(lab.state().outputs, all.state().outputs, "{options:?}");
        // Going, what depends on something goes with it.
        lab.run("destroy", options).ok();
        lab.destroy();
        assert!(lab.world.servers().is_empty());
    };
    check(&["--target", "test_server.a"], &["a"]);
    check(&["--target", "test_server.b"], &["a", "b"]);
    check(&["--target", "test_server.alone", "--target", "test_server.b"], &["a", "alone", "b"]);
    check(&["--exclude", "test_server.a"], &["alone"]);
    check(&["--exclude", "test_server.c"], &["a", "alone", "b"]);
    check(&["--exclude", "test_server.alone"], &["a", "b", "c"]);
}

#[test]
fn a_part_of_what_goes_takes_its_dependents_along() {
    let check = |options: &[&str], left: &[&str]| {
        let lab = Lab::applied(ROW);
        lab.run("destroy", options).ok();
        assert_eq!(names(&lab), left, "{options:?}");
        lab.apply();
        lab.check_converged();
        assert_eq!(names(&lab), ["a", "alone", "b", "c"]);
    };
    check(&["--target", "test_server.b"], &["a", "alone"]);
    check(&["--target", "test_server.a"], &["alone"]);
    check(&["--target", "test_server.c"], &["a", "alone", "b"]);
    check(&["--exclude", "test_server.b"], &["a", "b", "c"]);
    check(&["--exclude", "test_server.alone"], &["alone"]);
}

#[test]
fn what_is_left_out_is_left_alone_and_said() {
    let lab = Lab::applied(ROW);
    lab.world.change("alone", |server| server.size = 7);
    lab.world.change("a", |server| server.size = 7);
    let options = ["--target", "test_server.a"];
    let plan = lab.without_a_trace(|| lab.plan(&options));
    assert_eq!(super::steps(&plan), [("test_server.a".to_owned(), "update size".to_owned())].into());
    let left_out = plan["left_out"].as_array().unwrap();
    assert!(left_out.iter().any(|left| left["address"] == "test_server.alone"), "{plan}");
    lab.apply_with(&options);
    assert_eq!((lab.world.server("a").size, lab.world.server("alone").size), (1, 7));
    let complaint = lab.site.fleet(["plan", "--target", "test_server.nobody"]).failed();
    assert!(complaint.contains("unknown address"), "{complaint}");
}

#[test]
fn bringing_records_up_to_date_changes_nothing_else() {
    let lab = Lab::applied(ROW);
    let (converged, recorded) = (lab.reality(), lab.state());
    let refresh = ["--refresh-only"];
    // Nothing to do: nothing is said, nothing is done.
    assert_eq!(lab.steps(&refresh), Steps::new());
    lab.apply_with(&refresh);
    assert_eq!(lab.state(), recorded);

    lab.world.change("a", |server| server.size = 7);
    lab.world.remove("alone");
    let odd = lab.reality();
    let expected = [("test_server.a", "record"), ("test_server.alone", "forget")];
    let expected: Steps = expected.map(|(address, what)| (address.into(), what.into())).into();
    let plan = lab.without_a_trace(|| lab.plan(&refresh));
    let word = |what: &String| what.split(' ').next().unwrap().to_owned();
    let words: Steps =
        super::steps(&plan).iter().map(|(address, what)| (address.clone(), word(what))).collect();
    assert_eq!(words, expected);
    lab.apply_with(&refresh);
    assert_eq!(lab.reality(), odd);
    let now = lab.state();
    assert_eq!(now.recorded.len(), recorded.recorded.len() - 1);
    assert_eq!(lab.steps(&refresh), Steps::new());
    // What is declared and was never made is none of its business.
    lab.check_plan(&[("test_server.a", "update size"), ("test_server.alone", "create")]);
    lab.apply();
    lab.check_converged();
    assert_eq!(lab.reality().without_ids(), converged.without_ids());
}

#[test]
fn records_that_are_believed_are_not_looked_at() {
    let lab = Lab::applied(ROW);
    lab.world.change("a", |server| server.size = 7);
    let before = lab.world.seen().calls;
    assert_eq!(lab.steps(&["--refresh=false"]), Steps::new());
    assert_eq!(lab.world.seen().calls, before);
    lab.edit("name = \"alone\"", "name = \"alone\"\n  size = 3");
    let steps = lab.steps(&["--refresh=false"]);
    assert_eq!(steps, [("test_server.alone".to_owned(), "update size".to_owned())].into());
    lab.apply_with(&["--refresh=false"]);
    assert_eq!((lab.world.server("a").size, lab.world.server("alone").size), (7, 3));
}

#[test]
fn records_that_are_believed_stand_for_secrets_too() {
    let text = r#"
resource "test_server" "a" {
  name       = "a"
  password   = "first-password"
  join_token = "first-token"
}
"#;
    let lab = Lab::applied(text);
    assert_eq!(lab.steps(&["--refresh=false"]), Steps::new());
    lab.edit("first-password", "second-password");
    let steps = lab.steps(&["--refresh=false"]);
    assert_eq!(steps, [("test_server.a".to_owned(), "update password".to_owned())].into());
    lab.apply_with(&["--refresh=false"]);
    lab.check_converged();
    // What is gone is not changed.
    lab.world.remove("a");
    lab.edit("second-password", "third-password");
    let complaint = lab.run("apply", &["--refresh=false"]).failed();
    assert!(complaint.contains("it is not there any more"), "{complaint}");
}
