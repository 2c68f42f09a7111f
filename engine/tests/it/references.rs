//! Names: found, not found, and going round in circles.

use crate::site::{Site, check_blocks, check_errors};
use fleet_engine::expand::Depth;

#[test]
fn undeclared_names_are_told_with_the_nearest() {
    let site = Site::one(
        r#"
        variable "region" {}
        locals { zone = "z" }
        resource "core_value" "alpha" {}
        output "a" { value = var.regoin }
        output "b" { value = local.zones }
        output "c" { value = core_value.alhpa.id }
        output "d" { value = module.nope.x }
        output "e" { value = data.core_value.alpha }
        output "f" { value = vars.region }
        output "g" { value = hello }
        output "h" { value = terraform.workspace }
        output "i" { value = count.index }
        output "j" { value = each.key }
        output "k" { value = self.x }
        output "l" { value = host.name }
        output "m" { value = path.modul }
        output "n" { value = [for x in ["a"] : x] }
        "#,
    );
    let (_, diagnostics) = site.expand(Depth::Blocks, &[]);
    let told = site.tell(&diagnostics);
    let told: Vec<String> = told
        .into_iter()
        .zip(&diagnostics)
        .map(|(line, d)| format!("{line} | {}", d.help.as_deref().unwrap_or("")))
        .collect();
    assert_eq!(
        told,
        [
            "main:5:34 undeclared variable `regoin` | did you mean `region`?",
            "main:6:36 undeclared local value `zones` | did you mean `zone`?",
            "main:7:30 undeclared resource `core_value.alhpa` | did you mean `core_value.alpha`?",
            "main:8:37 undeclared module call `nope` | ",
            "main:9:35 undeclared data block `data.core_value.alpha` | ",
            "main:10:30 undeclared resource `vars.region` | did you mean `var.region`?",
            "main:11:30 unknown name `hello` | for a text, write it in quotes: `\"hello\"`",
            "main:12:30 unknown name `terraform` | use a variable, such as `var.env`, to tell environments apart",
            "main:13:30 `count.index` has no meaning here | ",
            "main:14:30 `each` has no meaning here | ",
            "main:15:30 `self` has no meaning here | ",
            "main:16:30 `host` has no meaning here | ",
            "main:17:35 unknown name under `path` | ",
        ]
    );
}

#[test]
fn ignored_attributes_are_those_of_the_kind() {
    let site = Site::one(
        r#"
        resource "core_value" "a" {
          lifecycle { ignore_changes = [input, inptu["x"]] }
        }
        "#,
    );
    let (_, diagnostics) = site.expand(Depth::Blocks, &[]);
    assert_eq!(site.tell(&diagnostics), ["main:3:48 unknown attribute"]);
    assert_eq!(diagnostics[0].help.as_deref(), Some("did you mean `input`?"));
}

#[test]
fn keys_are_asked_for_where_there_are_several() {
    check_blocks(
        r#"
        resource "core_value" "a" { count = 2 }
        resource "core_value" "b" { for_each = {} }
        output "a" { value = core_value.a.id }
        output "b" { value = core_value.b.id }
        output "c" { value = core_value.a[0].id }
        output "d" { value = core_value.b["x"].id }
        output "e" { value = core_value.a }
        "#,
        &["main:4:43 missing instance key", "main:5:43 missing instance key"],
    );
}

#[test]
fn kind_and_name_are_near_each_for_itself() {
    let check = |written: &str, expected: Option<&str>| {
        let text = format!("resource \"core_value\" \"web\" {{}}\noutput \"a\" {{ value = {written} }}");
        let site = Site::one(&text);
        let (_, diagnostics) = site.expand(Depth::Blocks, &[]);
        assert_eq!(diagnostics[0].help.as_deref(), expected, "{written}");
    };
    check("core_value.wbe", Some("did you mean `core_value.web`?"));
    check("core_vlaue.web", Some("did you mean `core_value.web`?"));
    check("core_value.db", None);
}

#[test]
fn a_single_instance_has_no_key() {
    check_blocks(
        r#"
        resource "core_value" "a" { input = 1 }
        output "a" { value = core_value.a["input"] }
        output "b" { value = core_value.a[0].id }
        output "c" { value = core_value.a[*].id }
        "#,
        &["main:3:43 unexpected instance key", "main:4:43 unexpected instance key"],
    );
}

#[test]
fn a_wrong_reference_is_told_once() {
    check_errors(
        r#"
        resource "core_value" "a" { count = 2 }
        resource "core_value" "b" { for_each = { x = 1 } }
        resource "core_value" "c" {}
        output "a" { value = core_value.a.id }
        output "b" { value = core_value.b.id }
        output "c" { value = core_value.a[0].nope }
        output "d" { value = core_value.c[0].id }
        "#,
        &[
            "main:5:43 missing instance key",
            "main:6:43 missing instance key",
            "main:7:46 unsupported attribute `nope`",
            "main:8:43 unexpected instance key",
        ],
    );
}

fn cycle(text: &str) -> Vec<String> {
    let site = Site::one(text);
    let (_, diagnostics) = site.expand(Depth::Blocks, &[]);
    diagnostics.iter().map(|d| format!("{}: {}", d.summary, d.detail)).collect()
}

#[test]
fn cycles_are_told_as_a_path() {
    assert_eq!(
        cycle("locals {\n  a = local.b\n  b = local.c\n  c = local.a\n  d = local.a\n}"),
        ["cycle of references: Each of these needs the next to be known first: \
             local.a → local.b → local.c → local.a."]
    );
    assert_eq!(
        cycle("locals { a = local.a }"),
        ["reference to itself: Each of these needs the next to be known first: local.a → local.a."]
    );
    assert_eq!(
        cycle(
            "resource \"core_value\" \"a\" {\n  input = core_value.b.id\n}\n\
               resource \"core_value\" \"b\" {\n  depends_on = [core_value.a]\n}"
        ),
        ["cycle of references: Each of these needs the next to be known first: \
             core_value.a → core_value.b → core_value.a."]
    );
}

#[test]
fn modules_may_use_each_other_through_different_values() {
    let child = r#"
        variable "in" {}
        resource "core_value" "v" { input = var.in }
        output "constant" { value = "c" }
        output "made" { value = core_value.v.input }
    "#;
    let root = r#"
        module "a" {
          source = "./child"
          in     = module.b.constant
        }
        module "b" {
          source = "./child"
          in     = module.a.made
        }
        output "o" { value = module.b.made }
    "#;
    let site = Site::new(&[("main.fleet.hcl", root), ("child/main.fleet.hcl", child)]);
    let (_, diagnostics) = site.expand(Depth::Instances, &[]);
    assert_eq!(site.tell(&diagnostics), Vec::<String>::new());
}

#[test]
fn a_long_chain_is_no_recursion() {
    let mut text = String::from("locals {\n  x0 = 1\n");
    for i in 1..20_000 {
        text.push_str(&format!("  x{i} = local.x{} + 1\n", i - 1));
    }
    text.push_str("}\noutput \"o\" { value = local.x19999 }\n");
    let site = Site::one(&text);
    let (expansion, diagnostics) = site.expand(Depth::Instances, &[]);
    assert_eq!(site.tell(&diagnostics), Vec::<String>::new());
    let outputs: Vec<_> = expansion.outputs().map(|(_, value)| value).collect();
    assert_eq!(outputs, [fleet_lang::Value::from(20_000)]);
}
