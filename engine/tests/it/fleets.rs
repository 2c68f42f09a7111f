//! Fleets: slots, hosts and what lives on them.

use fleet_engine::expand::Depth;

use crate::site::{Site, check_errors, check_instances};

const POOL: &str = r#"
    pool "cloud" "minis" { prefix = "pool-" }
"#;

#[test]
fn every_slot_has_its_host_and_resources() {
    check_instances(
        &format!(
            r#"{POOL}
            fleet "runners" {{
              pool     = pool.minis
              size     = 2
              hostname = "ci-${{host.key}}"
              connection "ssh" {{ user = "m1" }}
              resource "core_value" "name" {{ input = "${{host.name}}/${{host.index}}" }}
              resource "core_value" "again" {{ input = core_value.name.input }}
            }}
            output "names" {{ value = fleet.runners[*].host.name }}
            "#
        ),
        &[
            r#"fleet.runners[0].core_value.again = "ci-0/0""#,
            r#"fleet.runners[0].core_value.name = "ci-0/0""#,
            "fleet.runners[0].host",
            r#"fleet.runners[1].core_value.again = "ci-1/1""#,
            r#"fleet.runners[1].core_value.name = "ci-1/1""#,
            "fleet.runners[1].host",
        ],
    );
}

#[test]
fn a_fleet_can_be_referred_to_from_outside() {
    let site = Site::one(&format!(
        r#"{POOL}
        pool "static" "desk" {{
          host "mini-a" {{ address = "10.0.0.11" }}
          host "mini-b" {{ address = "10.0.0.12" }}
        }}
        fleet "runners" {{
          pool     = pool.minis
          size     = 2
          hostname = "ci-${{host.key}}"
          resource "core_value" "v" {{ input = host.key }}
        }}
        fleet "named" {{
          pool     = pool.desk
          hosts    = ["mini-b", "mini-a"]
          hostname = host.key
        }}
        output "all" {{ value = fleet.runners[*].host.name }}
        output "one" {{ value = fleet.runners[1].core_value.v.input }}
        output "named" {{ value = [for key, slot in fleet.named : "${{key}}=${{slot.host.name}}"] }}
        output "address" {{ value = fleet.named["mini-a"].host.address }}
        output "names" {{ value = fleet.named[*].host.name }}
        "#
    ));
    let (expansion, diagnostics) = site.expand(Depth::Instances, &[]);
    assert_eq!(site.tell(&diagnostics), Vec::<String>::new());
    let outputs: Vec<String> = expansion
        .outputs()
        .map(|(output, value)| format!("{} {}", output.name.name, fleet_lang::print::print(&value)))
        .collect();
    assert_eq!(
        outputs,
        [
            "all [\n  \"ci-0\",\n  \"ci-1\",\n]",
            "one \"1\"",
            "named [\n  \"mini-a=mini-a\",\n  \"mini-b=mini-b\",\n]",
            "address (known after apply)",
            "names [\n  \"mini-b\",\n  \"mini-a\",\n]",
        ]
    );
}

#[test]
fn hostnames_are_checked() {
    check_errors(
        &format!(
            r#"{POOL}
            fleet "same" {{
              pool     = pool.minis
              size     = 2
              hostname = "host"
            }}
            fleet "free" {{
              pool     = pool.minis
              size     = 1
              hostname = "pool-${{host.key}}"
            }}
            fleet "bad" {{
              pool     = pool.minis
              size     = 1
              hostname = "Mac_${{host.key}}"
            }}
            fleet "own" {{
              pool     = pool.minis
              size     = 1
              hostname = "x-${{host.address}}"
            }}
            "#
        ),
        &[
            "main:4:13 two hosts with one name (fleet.same[1].host)",
            "main:7:26 invalid hostname (fleet.same[0].host and 1 more)",
            "main:12:26 invalid hostname (fleet.free[0].host)",
            "main:17:26 invalid hostname (fleet.bad[0].host)",
            "main:22:31 a hostname cannot depend on its host",
        ],
    );
}

#[test]
fn host_kinds_need_a_host() {
    check_errors(
        r#"
        resource "host_note" "n" { text = "x" }
        "#,
        &["main:2:9 no host for this kind"],
    );
}

#[test]
fn a_module_called_in_a_fleet_runs_on_the_host_but_does_not_see_it() {
    let root = format!(
        r#"{POOL}
        fleet "f" {{
          pool     = pool.minis
          size     = 1
          hostname = "f-${{host.key}}"
          module "m" {{
            source = "./m"
            name   = host.name
          }}
          health {{ condition = module.m.ok }}
        }}
        "#
    );
    let module = r#"
        variable "name" { type = string }
        resource "host_note" "n" { text = var.name }
        output "ok" { value = true }
        output "seen" { value = host.name }
    "#;
    let site = Site::new(&[("main.fleet.hcl", &root), ("m/main.fleet.hcl", module)]);
    let (expansion, diagnostics) = site.expand(Depth::Instances, &[]);
    assert_eq!(site.tell(&diagnostics), ["m/main:5:33 `host` is not seen in a module"]);
    let addresses: Vec<String> = expansion.instances.iter().map(|i| i.address.to_string()).collect();
    assert_eq!(addresses, ["fleet.f[0].host", "fleet.f[0].module.m.host_note.n"]);
}

#[test]
fn what_belongs_to_the_root_stays_there() {
    let root = r#"
        secret "s" { from = "env:TOKEN" }
        output "stored" {
          value     = "-${secret.s}"
          sensitive = true
        }
        secret "t" { from = "nowhere:TOKEN" }
        module "m" { source = "./m" }
    "#;
    let site =
        Site::new(&[("main.fleet.hcl", root), ("m/main.fleet.hcl", "output \"o\" { value = secret.s }")]);
    let (_, diagnostics) = site.expand(Depth::Instances, &[]);
    assert_eq!(
        site.tell(&diagnostics),
        [
            "main:4:23 secret in output `stored`",
            "main:7:29 unknown source of a secret",
            "m/main:1:22 `secret` is not seen in a module"
        ]
    );
}

#[test]
fn a_name_outside_is_no_suggestion_for_one_inside() {
    let text = format!(
        r#"{POOL}
        resource "core_value" "alpha" {{}}
        fleet "f" {{
          pool     = pool.minis
          size     = 1
          hostname = "f-${{host.key}}"
          resource "core_value" "beta" {{}}
        }}
        output "a" {{ value = fleet.f[*].core_value.alhpa.id }}
        output "b" {{ value = fleet.f[*].core_value.bteta.id }}
        "#
    );
    let site = Site::one(&text);
    let (_, diagnostics) = site.expand(Depth::Instances, &[]);
    let helps: Vec<Option<&str>> = diagnostics.iter().map(|d| d.help.as_deref()).collect();
    assert_eq!(helps, [None, Some("did you mean `core_value.beta`?")]);
}
