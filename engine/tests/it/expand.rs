//! Blocks become instances.

use fleet_engine::expand::Depth;
use fleet_lang::Value;

use crate::site::{Site, check_blocks, check_errors, check_instances};

#[test]
fn count_and_for_each_make_instances() {
    check_instances(
        r#"
        resource "core_value" "one" { input = "x" }
        resource "core_value" "many" {
          count = 2
          input = count.index
        }
        resource "core_value" "none" { count = 0 }
        resource "core_value" "map" {
          for_each = { a = 1, b = 2 }
          input    = "${each.key}=${each.value}"
        }
        resource "core_value" "set" {
          for_each = toset(["y", "x"])
          input    = each.value
        }
        "#,
        &[
            r#"core_value.many[0] = 0"#,
            r#"core_value.many[1] = 1"#,
            r#"core_value.map["a"] = "a=1""#,
            r#"core_value.map["b"] = "b=2""#,
            r#"core_value.one = "x""#,
            r#"core_value.set["x"] = "x""#,
            r#"core_value.set["y"] = "y""#,
        ],
    );
}

#[test]
fn references_between_blocks_carry_values() {
    check_instances(
        r#"
        locals {
          base = "b"
          both = "${local.base}${core_value.a.input}"
        }
        resource "core_value" "a" { input = "a" }
        resource "core_value" "b" { input = local.both }
        resource "core_value" "c" {
          count = 2
          input = core_value.d[count.index].input
        }
        resource "core_value" "d" {
          count = 2
          input = "d${count.index}"
        }
        resource "core_value" "all" { input = core_value.d[*].input }
        resource "core_value" "later" { input = core_value.a.id }
        "#,
        &[
            "core_value.a = \"a\"",
            "core_value.all = [\n  \"d0\",\n  \"d1\",\n]",
            "core_value.b = \"ba\"",
            "core_value.c[0] = \"d0\"",
            "core_value.c[1] = \"d1\"",
            "core_value.d[0] = \"d0\"",
            "core_value.d[1] = \"d1\"",
            "core_value.later = (known after apply)",
        ],
    );
}

fn modules(root: &str, child: &str) -> Site {
    Site::new(&[("main.fleet.hcl", root), ("child/main.fleet.hcl", child)])
}

const CHILD: &str = r#"
    variable "name" { type = string }
    variable "n" {
      type    = number
      default = 1
    }
    resource "core_value" "v" {
      count = var.n
      input = "${var.name}${count.index}"
    }
    output "all" { value = core_value.v[*].input }
    output "dir" { value = path.module }
"#;

#[test]
fn modules_repeat_and_give_outputs() {
    let root = r#"
        module "one" {
          source = "./child"
          name   = "one"
        }
        module "two" {
          source   = "./child"
          for_each = toset(["x", "y"])
          name     = each.key
          n        = 2
        }
        output "one" { value = module.one.all }
        output "x" { value = module.two["x"].all }
        output "every" { value = [for m in module.two : m.all[1]] }
        output "dir" { value = module.one.dir }
    "#;
    let site = modules(root, CHILD);
    let (expansion, diagnostics) = site.expand(Depth::Instances, &[]);
    assert_eq!(site.tell(&diagnostics), Vec::<String>::new());
    let mut addresses: Vec<String> = expansion.instances.iter().map(|i| i.address.to_string()).collect();
    addresses.sort();
    assert_eq!(
        addresses,
        [
            r#"module.one.core_value.v[0]"#,
            r#"module.two["x"].core_value.v[0]"#,
            r#"module.two["x"].core_value.v[1]"#,
            r#"module.two["y"].core_value.v[0]"#,
            r#"module.two["y"].core_value.v[1]"#,
        ]
    );
    let text = |list: &[&str]| Value::tuple(list.iter().map(|s| Value::from(*s)).collect::<Vec<_>>());
    let outputs: Vec<(String, Value)> =
        expansion.outputs().map(|(output, value)| (output.name.name.to_string(), value)).collect();
    assert_eq!(
        outputs,
        [
            ("one".to_owned(), text(&["one0"])),
            ("x".to_owned(), text(&["x0", "x1"])),
            ("every".to_owned(), text(&["x1", "y1"])),
            ("dir".to_owned(), Value::from("child")),
        ]
    );
}

#[test]
fn inputs_of_modules_are_checked() {
    let root = r#"
        module "m" {
          source = "./child"
          nmae   = "x"
        }
        module "n" {
          source = "./child"
          name   = "x"
          n      = "many"
        }
    "#;
    let site = modules(root, CHILD);
    let (_, diagnostics) = site.expand(Depth::Instances, &[]);
    assert_eq!(
        site.tell(&diagnostics),
        [
            "main:2:9 missing input `name`",
            "main:4:11 unknown input `nmae`",
            "main:9:20 unsuitable value for `var.n`",
        ]
    );
}

#[test]
fn the_number_of_instances_must_be_one() {
    check_errors(
        r#"
        resource "core_value" "a" { count = -1 }
        resource "core_value" "b" { count = 1.5 }
        resource "core_value" "c" { count = "x" }
        resource "core_value" "d" { count = null }
        resource "core_value" "e" { count = sensitive(1) }
        resource "core_value" "f" { for_each = ["a"] }
        resource "core_value" "g" { for_each = toset([1]) }
        resource "core_value" "h" { for_each = null }
        resource "core_value" "i" { for_each = sensitive({ a = 1 }) }
        resource "core_value" "j" { for_each = { a = sensitive(1) } }
        resource "core_value" "k" { count = 1e9 }
        "#,
        &[
            "main:2:45 invalid `count`",
            "main:3:45 invalid `count`",
            "main:4:45 invalid `count`",
            "main:5:45 invalid `count`",
            "main:6:45 sensitive value in `count`",
            "main:7:48 invalid `for_each`",
            "main:8:48 invalid `for_each`",
            "main:9:48 invalid `for_each`",
            "main:10:48 sensitive value in `for_each`",
            "main:12:45 invalid `count`",
        ],
    );
}

#[test]
fn an_unknown_number_of_instances_is_left_for_later() {
    let site = Site::one(
        r#"
        resource "core_value" "a" {}
        resource "core_value" "b" {
          for_each = toset([core_value.a.id])
          input    = each.key
        }
        resource "core_value" "c" { input = core_value.b["x"].input }
        "#,
    );
    let (expansion, diagnostics) = site.expand(Depth::Instances, &[]);
    assert_eq!(site.tell(&diagnostics), Vec::<String>::new());
    let deferred = expansion.deferred.iter().map(|d| (d.address.to_string(), d.awaits.as_deref()));
    assert_eq!(deferred.collect::<Vec<_>>(), [("core_value.b".to_owned(), Some("core_value.a.id"))]);
    let addresses: Vec<String> = expansion.instances.iter().map(|i| i.address.to_string()).collect();
    assert_eq!(addresses, ["core_value.a", "core_value.c"]);
}

#[test]
fn one_mistake_in_many_instances_is_told_once() {
    check_errors(
        r#"
        resource "core_value" "a" {
          count = 3
          input = upper(count.index > 5 ? "x" : [])
        }
        "#,
        &["main:4:43 inconsistent conditional results (core_value.a[0] and 2 more)"],
    );
}

#[test]
fn blocks_are_checked_without_values() {
    check_blocks(
        r#"
        variable "n" { type = number }
        variable "names" { type = list(string) }
        resource "core_value" "a" {
          count = var.n
          input = count.index + "x"
        }
        resource "core_value" "b" {
          for_each = toset(var.names)
          input    = core_value.a[*].inptu
        }
        resource "core_valeu" "c" { input = nope.nope }
        output "o" { value = var.n + var.names }
        "#,
        &[
            "main:6:33 unsuitable operand (core_value.a)",
            "main:10:38 unsupported attribute `inptu`",
            "main:12:18 unknown resource kind `core_valeu`",
            "main:12:45 undeclared resource `nope.nope`",
            "main:13:38 unsuitable operand",
        ],
    );
}

#[test]
fn validations_and_conditions() {
    let text = r#"
        variable "n" {
          type    = number
          default = 0
          validation {
            condition     = var.n > 1
            error_message = "n is ${var.n}"
          }
        }
        resource "core_value" "a" {
          input = 1 / var.n
          lifecycle {
            precondition {
              condition     = var.n > 2
              error_message = "too small"
            }
            postcondition {
              condition     = self.input < 5
              error_message = "too large"
            }
          }
        }
        check "c" {
          assert {
            condition     = core_value.a.input == 1
            error_message = "not one"
          }
        }
        output "o" {
          value = 1
          precondition {
            condition     = var.n == 4
            error_message = "not four"
          }
        }
    "#;
    let site = Site::one(text);
    let at = |n: i64| {
        let (_, diagnostics) = site.expand(Depth::Instances, &[("n", Value::from(n))]);
        site.tell(&diagnostics)
    };
    assert_eq!(at(0), ["main:6:29 invalid value for `var.n`"]);
    assert_eq!(
        at(2),
        [
            "main:14:31 precondition does not hold (core_value.a)",
            "main:25:29 check `c` does not hold",
            "main:32:29 precondition of output `o` does not hold",
        ]
    );
    assert_eq!(at(4), ["main:25:29 check `c` does not hold"]);
}

#[test]
fn sensitive_values_do_not_slip_out() {
    check_errors(
        r#"
        variable "s" {
          default   = "x"
          sensitive = true
        }
        output "a" { value = "-${var.s}-" }
        output "b" {
          value     = var.s
          sensitive = true
        }
        "#,
        &["main:6:30 sensitive value in output `a`"],
    );
}

#[test]
fn the_root_module_has_no_ephemeral_outputs() {
    check_blocks(
        r#"
        variable "a" {
          ephemeral = true
          default   = "s"
        }
        output "a" {
          value     = var.a
          ephemeral = true
        }
        output "b" {
          value     = 1
          ephemeral = true
        }
        "#,
        &[
            "main:6:9 ephemeral output `a` of the root module",
            "main:10:9 ephemeral output `b` of the root module",
        ],
    );
}
