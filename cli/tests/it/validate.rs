//! `fleet validate` on whole configurations.

use fleet_cli::Exit;
use serde_json::Value;

use crate::support::{Ran, Site};

/// The configuration in a directory beside the tests.
fn directory(name: &str) -> String {
    format!("{}/tests/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn diagnostics(run: &Ran) -> Vec<Value> {
    assert_eq!(run.exit, Exit::Failed, "{}", run.stdout);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    answer["diagnostics"].as_array().unwrap().clone()
}

#[test]
fn ten_mistakes_in_two_files_are_ten_diagnostics() {
    let run = Site::empty().fleet(["-C", &directory("mistakes"), "validate", "--json"]);
    let told: Vec<String> = diagnostics(&run)
        .iter()
        .map(|d| {
            let (file, start) = (d["range"]["filename"].as_str().unwrap(), &d["range"]["start"]);
            let code = d["snippet"]["code"].as_str().unwrap();
            let from = d["snippet"]["highlight_start_offset"].as_u64().unwrap() as usize;
            let to = d["snippet"]["highlight_end_offset"].as_u64().unwrap() as usize;
            let (line, column) = (&start["line"], &start["column"]);
            format!("{file}:{line}:{column} {} `{}`", d["summary"].as_str().unwrap(), &code[from..to])
        })
        .collect();
    assert_eq!(
        told,
        [
            "network.fleet.hcl:4:13 unknown type `strng`",
            "network.fleet.hcl:9:12 unclosed `[` `[`",
            "network.fleet.hcl:14:3 unknown argument `inptu` `inptu`",
            "network.fleet.hcl:18:11 unknown function `cidrhots`",
            "network.fleet.hcl:22:37 expected a name after `.`, found `.` `.`",
            "runners.fleet.hcl:5:13 default does not fit the type `\"three\"`",
            "runners.fleet.hcl:9:15 undeclared variable `szie` `szie`",
            "runners.fleet.hcl:10:19 unclosed `${` `${`",
            "runners.fleet.hcl:13:1 `core_value.network` is declared twice `resource \"core_value\" \"network\"`",
            "runners.fleet.hcl:18:12 cycle of references `local.second`",
        ]
    );
}

#[test]
fn the_sample_fleet_lacks_nothing() {
    let told = Site::empty().fleet(["-C", &directory("sample"), "validate"]).ok();
    assert_eq!(told, "The configuration is valid.\n");
}

/// Values count as far as they are known: from the environment, from files and from defaults.
#[test]
fn values_that_are_known_are_checked() {
    let site = Site::empty();
    site.write(
        "main.fleet.hcl",
        "variable \"n\" {\n  type = number\n}\nresource \"core_value\" \"a\" {\n  count = var.n\n}\n",
    );
    assert_eq!(site.fleet(["validate"]).ok(), "The configuration is valid.\n");
    site.write("fleet.vars.hcl", "n = -1\n");
    let told = site.fleet(["validate"]).failed();
    assert!(told.contains("invalid `count`"), "{told}");
}
