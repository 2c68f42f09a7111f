//! The pipelines under `examples/`: well-formed, and made of commands that exist.

use serde_json::Value as Json;

use crate::support::Site;

const GITHUB: &str = include_str!("../../../examples/pipelines/github.yml");

#[test]
fn the_pipeline_for_github_is_yaml_with_two_jobs() {
    let pipeline = pipeline();
    // `on` is a boolean to our YAML, as it is to Terraform's.
    assert!(pipeline["true"].get("pull_request").is_some(), "{}", pipeline["true"]);
    assert_eq!(pipeline["true"]["push"]["branches"][0], "main");
    for job in ["plan", "apply"] {
        let steps = pipeline["jobs"][job]["steps"].as_array().unwrap();
        assert!(steps.iter().all(|step| step["run"].is_string() != step["uses"].is_string()), "{steps:?}");
    }
    // What one job keeps is what the other fetches and applies.
    let kept = step(&pipeline, "plan", "Keep the plan for the merge")["with"].clone();
    let fetch = step(&pipeline, "apply", "Fetch the plan that was reviewed")["run"].clone();
    let apply = step(&pipeline, "apply", "Apply it")["run"].clone();
    assert!(fetch.as_str().unwrap().contains(&format!("--name {}", kept["name"].as_str().unwrap())));
    assert!(apply.as_str().unwrap().starts_with(&format!("fleet apply {}", kept["path"].as_str().unwrap())));
}

#[test]
fn the_settings_that_the_pipeline_tells_of_are_valid_and_get_their_secrets() {
    let told = GITHUB.lines().skip_while(|line| !line.starts_with("#   settings {"));
    let settings: String = told
        .take_while(|line| line.starts_with("#   "))
        .map(|line| line.trim_start_matches("#   ").to_owned() + "\n")
        .collect();
    let site = Site::empty();
    site.write("main.fleet.hcl", &settings);
    assert_eq!(site.fleet(["validate"]).ok(), "The configuration is valid.\n");
    let pipeline = pipeline();
    for name in settings.split("env:").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert_eq!(pipeline["env"][name], format!("${{{{ secrets.{name} }}}}"));
    }
}

fn pipeline() -> Json {
    let site = Site::empty();
    site.write("github.yml", GITHUB);
    let input = "jsonencode(yamldecode(file(\"github.yml\")))\n";
    let printed = site.fleet_with_input(["console"], input).ok();
    // The console prints a string, which is JSON again.
    let text: String = serde_json::from_str(printed.trim()).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn step<'a>(pipeline: &'a Json, job: &str, name: &str) -> &'a Json {
    let steps = pipeline["jobs"][job]["steps"].as_array().unwrap();
    steps.iter().find(|step| step["name"] == name).unwrap()
}
