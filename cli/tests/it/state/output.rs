//! `fleet output`.

use serde_json::{Value as Json, json};

use super::on_both;

const OUTPUTS: &str = r#"
resource "core_value" "v" {
  input = "a \"b\"\n"
}

variable "password" {
  sensitive = true
  default   = "pass-word"
}

output "text" { value = core_value.v.output }
output "number" { value = 123456789012345678901 }
output "list" { value = ["x", 1, true] }
output "password" {
  value     = var.password
  sensitive = true
}
"#;

#[test]
fn outputs_come_from_the_state() {
    on_both(OUTPUTS, |kept| {
        assert_eq!(kept.fleet(["output"]).ok(), "");
        assert_eq!(kept.fleet(["output", "--json"]).ok(), "{}\n");
        let complaint = kept.fleet(["output", "text"]).failed();
        assert!(complaint.contains("help: outputs are stored by `fleet apply`"), "{complaint}");
        kept.apply();

        let all = kept.fleet(["output"]).ok();
        assert!(all.contains("number = 123456789012345678901\n"), "{all}");
        assert!(all.contains("password = (sensitive value)\n"), "{all}");
        let json = kept.fleet(["output", "--json"]).ok();
        assert!(json.contains("\"value\": 123456789012345678901\n"), "{json}");
        let json: Json = serde_json::from_str(&json).unwrap();
        assert_eq!(json["text"], json!({"sensitive": false, "type": "string", "value": "a \"b\"\n"}));
        assert_eq!(json["password"], json!({"sensitive": true}));
        assert_eq!(json["list"]["value"], json!(["x", 1, true]));

        assert_eq!(kept.fleet(["output", "--raw", "text"]).ok(), "a \"b\"\n");
        assert_eq!(kept.fleet(["output", "--raw", "number"]).ok(), "123456789012345678901");
        assert_eq!(kept.fleet(["output", "text", "--json"]).ok(), "\"a \\\"b\\\"\\n\"\n");
        assert_eq!(kept.fleet(["output", "list"]).ok(), "[\n  \"x\",\n  1,\n  true,\n]\n");

        let complaint = kept.fleet(["output", "--raw", "list"]).failed();
        assert!(complaint.contains("help: use `--json`"), "{complaint}");
        let complaint = kept.fleet(["output", "txt"]).failed();
        assert!(complaint.contains("help: did you mean `text`?"), "{complaint}");
        for args in
            [&["output", "password"][..], &["output", "--raw", "password"], &["output", "password", "--json"]]
        {
            let ran = kept.site.fleet_words(args);
            assert!(ran.stdout.is_empty());
            let complaint = ran.failed();
            assert!(complaint.contains("is sensitive, and sensitive values are never stored"), "{complaint}");
            assert!(complaint.contains("help: ask the secret or the resource"), "{complaint}");
        }
    });
}
