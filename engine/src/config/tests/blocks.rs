//! What is wrong with blocks. Which of these are errors was answered by Terraform where it has the block.

use super::{check, check_help, load_one};

#[test]
fn good_blocks() {
    for text in [
        "",
        "# only a comment",
        "variable \"a\" {}",
        "locals {}",
        "locals {\n a = 1\n b = local.a\n}\nlocals {\n c = 2\n}",
        "resource \"core_value\" \"a\" {}",
        "resource core_value a {}",
        "resource \"core_value\" \"a\" {}\ndata \"core_value\" \"a\" {}",
        "provider \"p\" {}\nprovider \"p\" {\n alias = \"x\"\n}\nprovider \"p\" {\n alias = \"y${1}\"\n}",
        "output \"a\" {\n value = null\n sensitive = \"true\"\n ephemeral = 1 == 2\n}",
        "removed {\n from = core_value.a\n lifecycle {}\n}",
        "check \"c\" {\n assert {\n condition = local.a\n error_message = \"\"\n }\n}",
        "variable \"self\" {}\nvariable \"each\" {}\nvariable \"ünï-ćode_1\" {}",
    ] {
        check(text, &[]);
    }
}

#[test]
fn top_level() {
    check("a = 1", &["1:1 argument outside a block"]);
    check("wat {}", &["1:1 unknown block `wat`"]);
    check("terraform {}", &["1:1 unknown block `terraform`"]);
    check_help("resurce \"a\" \"b\" {}", "did you mean `resource`?");
    check_help("rollout {}", "move `rollout` into a `fleet` block");
    check_help(
        "ephemeral \"a\" \"b\" {}",
        "write `secret \"name\" { from = … }` for what must never be stored, or set `ephemeral = true` on a variable or output",
    );
}

#[test]
fn labels_and_names() {
    check("variable {}", &["1:1 `variable` without a name"]);
    check("resource \"core_value\" {}", &["1:1 `resource` without a name"]);
    check("resource {}", &["1:1 `resource` without a kind"]);
    check("variable \"a\" \"b\" {}", &["1:14 label too many"]);
    check("locals \"a\" {}", &["1:8 label too many"]);
    check(
        "variable \"1a\" {}\nvariable \"a b\" {}\nvariable \"\" {}",
        &["1:10 `1a` is not a name", "2:10 `a b` is not a name", "3:10 `` is not a name"],
    );
    check(
        "resource \"core value\" \"a.b\" {}",
        &["1:10 `core value` is not a name", "1:23 `a.b` is not a name"],
    );
    check("resource \"var\" \"a\" {}", &["1:10 `var` is not a kind"]);
    check_help("pool \"x\" {}", "write `pool \"kind\" \"name\" { … }`");
}

#[test]
fn duplicates() {
    check("variable \"a\" {}\nvariable \"a\" {}", &["2:1 variable `a` is declared twice"]);
    check("locals {\n a = 1\n}\nlocals {\n a = 1\n}", &["5:2 local `a` is declared twice"]);
    check("data \"k\" \"a\" {}\ndata \"k\" \"a\" {}", &["2:1 `data.k.a` is declared twice"]);
    check("provider \"p\" {}\nprovider \"p\" {}", &["2:1 provider `p` is declared twice"]);
    check(
        "provider \"p\" {\n alias = \"x\"\n}\nprovider \"p\" {\n alias = \"x\"\n}",
        &["4:1 provider `p.x` is declared twice"],
    );
    check("pool \"x\" \"a\" {}\npool \"y\" \"a\" {}", &["2:1 pool `a` is declared twice"]);
    check("settings {}\nsettings {}", &["2:1 `settings` is declared twice"]);
    let (_, sources, diagnostics) = load_one("variable \"a\" {}\nvariable \"a\" {}");
    let (first, note) = &diagnostics[0].related[0];
    assert_eq!((sources.text(*first), &**note), ("variable \"a\"", "declared first here"));
}

#[test]
fn variables() {
    check(
        "variable \"source\" {}\nvariable \"count\" {}",
        &["1:10 variable named `source`", "2:10 variable named `count`"],
    );
    check("variable \"a\" {\n default = upper(\"x\")\n}", &["2:12 function call in a constant"]);
    check("variable \"a\" {\n default = var.b\n}", &["2:12 reference in a constant"]);
    check("variable \"a\" {\n default = [for x in [1, 2] : x + 1]\n}", &[]);
    check("variable \"a\" {\n type = number\n default = \"abc\"\n}", &["3:12 default does not fit the type"]);
    check("variable \"a\" {\n nullable = false\n default = null\n}", &["3:12 default is null"]);
    check(
        "variable \"a\" {\n bogus = 1\n wat {}\n}",
        &["2:2 unknown argument `bogus`", "3:2 unknown block `wat`"],
    );
    check_help("variable \"a\" {\n defualt = 1\n}", "did you mean `default`?");
    check("variable \"a\" {\n sensitive = var.b\n description = 5\n}", &["2:14 reference in a constant"]);
    check("variable \"a\" {\n sensitive = null\n}", &["2:14 unsuitable value"]);
    check(
        "variable \"a\" {\n validation {\n condition = true\n }\n}",
        &["2:2 missing argument `error_message`", "3:14 condition without a reference"],
    );
    check(
        "variable \"a\" {\n validation {\n condition = local.x\n error_message = \"\"\n }\n}",
        &["3:14 validation of something else"],
    );
}

#[test]
fn outputs() {
    check("output \"a\" {}", &["1:1 missing argument `value`"]);
    check("output \"a\" {\n value {}\n}", &["2:2 `value` is not a block"]);
    check("output \"a\" {\n value = 1\n deprecated = \"x\"\n}", &["3:2 unknown argument `deprecated`"]);
    check("output \"a\" {\n value = 1\n depends_on = core_value.a\n}", &["3:15 `depends_on` is not a list"]);
    check("output \"a\" {\n value = 1\n precondition = {}\n}", &["3:2 `precondition` is a block"]);
}

#[test]
fn resources() {
    let inside = |body: &str| format!("resource \"core_value\" \"a\" {{\n{body}\n}}");
    check(&inside("count = 1\nfor_each = {}"), &["3:1 both `count` and `for_each`"]);
    check(&inside("provider = p.x"), &[]);
    check(&inside("provider = p.x.y"), &["2:12 not a provider configuration"]);
    check_help(&inside("provider = \"p.x\""), "write it without quotes: `p.x`");
    check(&inside("provisioner \"local-exec\" {}"), &["2:1 unknown block `provisioner`"]);
    check(&inside("lifecycle {}\nlifecycle {}"), &["3:1 second `lifecycle` block"]);
    check(&inside("lifecycle = {}"), &["2:1 `lifecycle` is a block"]);
}

#[test]
fn depends_on() {
    let depends = |list: &str| format!("output \"a\" {{\n value = 1\n depends_on = {list}\n}}");
    check(
        &depends(
            "[core_value.a, core_value.a[0], core_value.a[\"k\"], data.k.b, data.k.b[0], var.x, local.x, module.m, \
                  module.m[0], module.m.out, module.m[0].out, fleet.f, fleet.f[0], pool.p, secret.s]",
        ),
        &[],
    );
    check(&depends("[core_value.a.id]"), &["3:16 part of an object"]);
    check(&depends("[core_value]"), &["3:16 not an object"]);
    check(&depends("[data.k]"), &["3:16 not an object"]);
    check(&depends("[path.module]"), &["3:16 `path` cannot be waited for"]);
    check(
        &depends("[upper(\"x\"), core_value.a[local.x], core_value.a[*]]"),
        &["3:16 not a plain reference", "3:28 not a plain reference", "3:51 not a plain reference"],
    );
    check_help(&depends("[\"core_value.a\"]"), "write it without quotes: `core_value.a`");
}

#[test]
fn lifecycles() {
    let inside = |body: &str| format!("resource \"core_value\" \"a\" {{\nlifecycle {{\n{body}\n}}\n}}");
    check(&inside("prevent_destroy = var.x"), &["3:19 reference in a constant"]);
    check(&inside("create_before_destroy = \"true\"\nprevent_destroy = 1 == 1"), &[]);
    check(&inside("create_before_destroy = 1"), &["3:25 unsuitable value"]);
    check(&inside("ignore_changes = all"), &[]);
    check(&inside("ignore_changes = [input, input[0], input[\"a\"].b]"), &[]);
    check(&inside("ignore_changes = input"), &["3:18 `ignore_changes` is not a list"]);
    check(&inside("ignore_changes = [input, all]"), &["3:26 `all` in a list"]);
    check(
        &inside("ignore_changes = [input[local.x], input.*]"),
        &["3:19 not a plain reference", "3:35 not a plain reference"],
    );
    check(&inside("ignore_changes = [input[1.5]]"), &["3:19 index out of range"]);
    check(
        &inside(
            "replace_triggered_by = [core_value.b, core_value.b[count.index], core_value.b[0].output, \
                 core_value.b.input[each.key]]",
        ),
        &[],
    );
    check(
        &inside("replace_triggered_by = [local.x, 1, data.k.x, core_value]"),
        &["3:25 not a resource", "3:34 not a resource", "3:37 not a resource", "3:47 not a resource"],
    );
    check(
        &inside("precondition {\ncondition = true\nerror_message = \"\"\n}"),
        &["4:13 condition without a reference"],
    );
    check(
        "data \"k\" \"a\" {\nlifecycle {\nprevent_destroy = true\n}\n}",
        &["3:1 `prevent_destroy` on data"],
    );
}

#[test]
fn checks() {
    check("check \"c\" {}", &["1:1 check without an assertion"]);
    let assertion = "assert {\ncondition = local.a\nerror_message = \"\"\n}";
    check(
        &format!("check \"c\" {{\ndata \"k\" \"a\" {{\ncount = 1\n}}\n{assertion}\n}}"),
        &["3:9 repeated data in a check"],
    );
    check(
        &format!("data \"k\" \"a\" {{}}\ncheck \"c\" {{\ndata \"k\" \"a\" {{}}\n{assertion}\n}}"),
        &["3:1 `data.k.a` is declared twice"],
    );
    check(
        &format!("check \"c\" {{\ndata \"k\" \"a\" {{}}\n{assertion}\n}}\ndata \"k\" \"a\" {{}}"),
        &["8:1 `data.k.a` is declared twice"],
    );
}

#[test]
fn refactoring() {
    check("moved {\n from = core_value.a\n}", &["1:1 missing argument `to`"]);
    check(
        "moved {\n from = core_value.a[each.key]\n to = module.a.core_value.b[\"k\"]\n}",
        &["2:9 not a plain reference"],
    );
    check("removed {}", &["1:1 missing argument `from`"]);
    check(
        "removed {\n from = core_value.a\n lifecycle {\n destroy = var.x\n}\n}",
        &["4:12 reference in a constant"],
    );
    check("import {\n to = core_value.a\n}", &["1:1 missing argument `id`"]);
    check(
        "import {\n to = core_value.a[each.key]\n id = each.value\n for_each = {}\n provider = p.x\n}",
        &[],
    );
}

#[test]
fn settings_and_secrets() {
    check("settings {\n required_version = \">= 0.1\"\n}", &[]);
    check("settings {\n required_version = \"> 99\"\n}", &["2:21 wrong version of fleet"]);
    check("settings {\n required_version = \"newest\"\n}", &["2:21 not a version requirement"]);
    check(
        "settings {\n backend {}\n backend \"x\" {}\n}",
        &["2:2 `backend` without a kind", "3:2 second `backend` block"],
    );
    check("settings {\n required_providers {}\n}", &["2:2 unknown block `required_providers`"]);
    check("secret \"a\" {}", &["1:1 missing argument `from`"]);
}

#[test]
fn pools() {
    check(
        "pool \"static\" \"desk\" {\n host \"a\" {}\n host \"a\" {}\n host {}\n}",
        &["3:2 host `a` is declared twice", "4:2 `host` without a name"],
    );
    check(
        "pool \"p\" \"a\" {\n return {\n method = \"burn\"\n wat = 1\n}\n}",
        &["3:11 unknown method of return", "4:2 unknown argument `wat`"],
    );
}

#[test]
fn fleets() {
    let inside =
        |body: &str| format!("fleet \"f\" {{\npool = pool.p\nsize = 1\nhostname = \"h\"\n{body}\n}}");
    check(&inside(""), &[]);
    check(
        "fleet \"f\" {}",
        &["1:1 missing argument `pool`", "1:1 fleet without a size", "1:1 missing argument `hostname`"],
    );
    check(&inside("hosts = []"), &["5:1 both `size` and `hosts`"]);
    check(&inside("count = 2"), &["5:1 `count` on a fleet"]);
    check(
        &inside("locals {\na = 1\n}\nfleet \"g\" {}"),
        &["5:1 `locals` in a fleet", "8:1 `fleet` in a fleet"],
    );
    check(
        &inside("connection {}\nrollout {\ncanaries = 1\n}\nhealth {}"),
        &[
            "5:1 `connection` without a kind",
            "7:1 unknown argument `canaries`",
            "9:1 missing argument `condition`",
        ],
    );
    check(&inside("resource \"k\" \"a\" {}\nresource \"k\" \"a\" {}"), &["6:1 `k.a` is declared twice"]);
    let outside = "resource \"k\" \"a\" {}\nmodule \"m\" {\nsource = \"./m\"\n}";
    let (_, sources, diagnostics) = load_one(&format!(
        "{}\n{outside}",
        inside("resource \"k\" \"a\" {}\ndata \"k\" \"a\" {}\nmodule \"m\" {\nsource = \"./m\"\n}")
    ));
    assert_eq!(
        super::findings(&diagnostics, &sources),
        [
            "5:1 `k.a` stands inside and outside of a fleet",
            "7:1 module `m` stands inside and outside of a fleet",
            "8:10 directory `m` not found",
            "13:10 directory `m` not found",
        ]
    );
}

#[test]
fn broken_blocks_still_declare_their_names() {
    let (config, _, diagnostics) = load_one(
        "variable \"a\" {\n type = \"string\"\n}\noutput \"b\" {}\nresource \"k\" \"c\" {\n provider = 1\n}\n\
         module \"d\" {}\nfleet \"e\" {}\npool \"p\" \"f\" \"g\" {}",
    );
    assert!(diagnostics.len() >= 6);
    let root = config.root();
    assert!(root.variables.contains_key("a") && root.outputs.contains_key("b"));
    assert!(root.calls.contains_key("d") && root.fleets.contains_key("e") && root.pools.contains_key("f"));
    assert!(root.resources.contains_key(&(crate::config::model::Mode::Managed, "k", "c")));
}

#[test]
fn what_could_not_be_parsed_is_not_missing() {
    let (_, sources, diagnostics) =
        load_one("output \"a\" {\n value = = 1\n}\noutput \"b\" {\n value 1\n}\noutput \"c\" {}");
    let lines: Vec<u32> = diagnostics
        .iter()
        .filter_map(|d| d.span)
        .map(|s| sources.get(s.file).position(s.start).line)
        .collect();
    assert_eq!(lines, [2, 5, 7], "{diagnostics:?}");
}
