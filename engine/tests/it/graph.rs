//! The graph: who depends on whom.

use fleet_engine::expand::Depth;
use fleet_engine::graph::{Format, build, render};

use crate::site::Site;

/// `from -> to` lines of the rendered graph.
fn edges(site: &Site) -> Vec<String> {
    let (expansion, diagnostics) = site.expand(Depth::Instances, &[]);
    assert_eq!(site.tell(&diagnostics), Vec::<String>::new());
    let graph = build(&expansion, &site.outside);
    assert!(!petgraph::algo::is_cyclic_directed(&graph.edges));
    let text = render(&graph, &expansion, Format::Dot);
    text.lines().filter(|line| line.contains("->")).map(|line| line.trim().replace('"', "")).collect()
}

#[test]
fn edges_follow_references_through_values() {
    let site = Site::one(
        r#"
        locals { x = core_value.a.id }
        resource "core_value" "a" {}
        resource "core_value" "b" { input = local.x }
        resource "core_value" "c" { depends_on = [core_value.b] }
        "#,
    );
    assert_eq!(edges(&site), ["core_value.b -> core_value.a", "core_value.c -> core_value.b"]);
}

#[test]
fn a_known_key_picks_one_instance() {
    let site = Site::one(
        r#"
        resource "core_value" "a" { count = 2 }
        resource "core_value" "b" {
          count = 2
          input = core_value.a[count.index].id
        }
        resource "core_value" "c" { input = core_value.a[*].id }
        "#,
    );
    assert_eq!(
        edges(&site),
        [
            "core_value.b[0] -> core_value.a[0]",
            "core_value.b[1] -> core_value.a[1]",
            "core_value.c -> core_value.a[0]",
            "core_value.c -> core_value.a[1]",
        ]
    );
}

#[test]
fn slots_of_a_fleet_do_not_depend_on_each_other() {
    let site = Site::one(
        r#"
        pool "cloud" "p" { prefix = "pool-" }
        fleet "f" {
          pool     = pool.p
          size     = 2
          hostname = "f-${host.key}"
          resource "host_note" "a" { text = host.name }
          resource "host_note" "b" { text = host_note.a.etag }
        }
        "#,
    );
    assert_eq!(
        edges(&site),
        [
            "fleet.f[0].host_note.a -> fleet.f[0].host",
            "fleet.f[0].host_note.b -> fleet.f[0].host",
            "fleet.f[0].host_note.b -> fleet.f[0].host_note.a",
            "fleet.f[1].host_note.a -> fleet.f[1].host",
            "fleet.f[1].host_note.b -> fleet.f[1].host",
            "fleet.f[1].host_note.b -> fleet.f[1].host_note.a",
        ]
    );
}

#[test]
fn many_to_many_stays_linear() {
    let n = 300;
    let site = Site::one(&format!(
        r#"
        resource "core_value" "a" {{ count = {n} }}
        resource "core_value" "b" {{
          count = {n}
          input = core_value.a[*].id
        }}
        "#
    ));
    let (expansion, _) = site.expand(Depth::Instances, &[]);
    let graph = build(&expansion, &site.outside);
    assert_eq!(expansion.instances.len(), 2 * n);
    assert!(graph.edges.edge_count() < 4 * n, "{} edges", graph.edges.edge_count());
}

#[test]
fn the_graph_is_written_in_three_ways() {
    let site = Site::one(
        r#"
        resource "core_value" "a" { for_each = toset(["x\"y"]) }
        resource "core_value" "b" { input = core_value.a["x\"y"].id }
        "#,
    );
    let (expansion, _) = site.expand(Depth::Instances, &[]);
    let graph = build(&expansion, &site.outside);
    insta::assert_snapshot!(render(&graph, &expansion, Format::Dot));
    insta::assert_snapshot!(render(&graph, &expansion, Format::Mermaid));
    insta::assert_snapshot!(render(&graph, &expansion, Format::Json));
}

/// A fleet of one slot with these resources in it; the edges to the host are of no interest.
fn edges_on_a_host(files: &[(&str, &str)], resources: &str) -> Vec<String> {
    let main = format!(
        "pool \"cloud\" \"p\" {{\n  prefix = \"pool-\"\n}}\nfleet \"f\" {{\n  pool = pool.p\n  size = 1\n  \
         hostname = \"f-${{host.key}}\"\n{resources}\n}}\n"
    );
    let site = Site::new(&[files, &[("main.fleet.hcl", &main)]].concat());
    let edges = edges(&site).into_iter().map(|edge| edge.replace("fleet.f[0].", ""));
    edges.filter(|edge| !edge.ends_with("-> host")).collect()
}

#[test]
fn kinds_bring_edges_of_their_own() {
    let check = |resources: &str, expected: &[&str]| {
        assert_eq!(edges_on_a_host(&[], resources), expected, "{resources}");
    };
    let notes = r#"
        resource "host_note" "a" { text = "" }
        resource "host_note" "b" { text = "" }
    "#;
    check(
        &format!("{notes}\nresource \"host_sudo\" \"s\" {{}}"),
        &["host_note.a -> host_sudo.s", "host_note.b -> host_sudo.s"],
    );
    check(
        &format!("{notes}\nresource \"host_end\" \"e\" {{}}"),
        &["host_end.e -> host_note.a", "host_end.e -> host_note.b"],
    );
    // A block has no order with itself, and of two that each come after the other only one does.
    check("resource \"host_end\" \"e\" {}\nresource \"host_end\" \"f\" {}", &["host_end.e -> host_end.f"]);
}

#[test]
fn a_reference_wins_over_the_edges_of_kinds() {
    let resources = r#"
        resource "host_note" "a" { text = "" }
        resource "host_note" "b" { text = "" }
        resource "host_sudo" "s" { text = host_note.a.etag }
    "#;
    assert_eq!(edges_on_a_host(&[], resources), ["host_note.b -> host_sudo.s", "host_sudo.s -> host_note.a"]);
}

#[test]
fn edges_of_kinds_hold_across_modules_on_one_host_and_not_beyond() {
    let module = ("m/main.fleet.hcl", "resource \"host_note\" \"a\" {\n  text = \"\"\n}\n");
    let resources = r#"
        resource "host_sudo" "s" {}
        resource "host_end" "e" {}
        module "m" { source = "./m" }
    "#;
    assert_eq!(
        edges_on_a_host(&[module], resources),
        ["host_end.e -> module.m.host_note.a", "module.m.host_note.a -> host_sudo.s"]
    );
    let two = r#"
        pool "cloud" "p" { prefix = "pool-" }
        fleet "f" {
          pool     = pool.p
          size     = 2
          hostname = "f-${host.key}"
          resource "host_sudo" "s" {}
        }
        fleet "g" {
          pool     = pool.p
          size     = 1
          hostname = "g-${host.key}"
          resource "host_note" "a" { text = "" }
        }
    "#;
    let edges = edges(&Site::one(two));
    assert!(edges.iter().all(|edge| edge.ends_with(".host")), "{edges:?}");
}
