//! Conditions and checks: with what is there, and not with what was remembered or wished.

use crate::converge::site;

#[test]
fn conditions_are_asked_of_what_will_be_there() {
    // The content is left alone, so that what it was declared as says nothing.
    let text = |content: &str| {
        format!(
            r#"
resource "core_file" "left_alone" {{
  path    = "left.txt"
  content = "{content}"
  lifecycle {{
    ignore_changes = [content]
    postcondition {{
      condition     = self.content == "good"
      error_message = "The content is ${{self.content}}."
    }}
  }}
}}

resource "core_file" "user" {{
  path    = "user.txt"
  content = "x"
  lifecycle {{
    precondition {{
      condition     = core_file.left_alone.content == "good"
      error_message = "It is ${{core_file.left_alone.content}}."
    }}
  }}
}}

check "left_alone" {{
  assert {{
    condition     = core_file.left_alone.content == "good"
    error_message = "It is ${{core_file.left_alone.content}}."
  }}
}}
"#
        )
    };
    let site = site(&text("good"));
    site.fleet(["apply", "--auto-approve"]).ok();
    site.write("main.fleet.hcl", &text("bad"));
    site.fleet(["validate"]).ok();
    assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");

    // What was changed behind our back counts, and not what was recorded before.
    site.write("left.txt", "odd");
    let complaint = site.fleet(["plan"]).failed();
    for said in ["The content is odd.", "It is odd.", "check `left_alone` does not hold"] {
        assert!(complaint.contains(said), "{said} in {complaint}");
    }
    assert!(!complaint.contains("bad."), "{complaint}");
}

#[test]
fn a_check_that_can_be_asked_only_afterwards_is_told_afterwards() {
    let text = r#"
resource "core_value" "v" {}

check "id" {
  assert {
    condition     = core_value.v.id == "mine"
    error_message = "It has another id."
  }
}
"#;
    let site = site(text);
    let ran = site.fleet(["apply", "--auto-approve"]);
    assert!(ran.stderr.contains("check `id` does not hold"), "{}", ran.stderr);
    assert!(ran.stderr.contains("It has another id."), "{}", ran.stderr);
    ran.ok();
    // A plan that says it already says it once.
    let ran = site.fleet(["apply", "--auto-approve"]);
    assert_eq!((ran.stdout.matches("It has another id.").count(), &*ran.stderr), (1, ""), "{}", ran.stdout);
}
