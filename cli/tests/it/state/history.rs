//! `fleet state history`.

use fleet_test_provider::{Fault, Operation};
use serde_json::{Value as Json, json};

use super::{Kept, on_both, servers};

fn history(kept: &Kept) -> Vec<Json> {
    serde_json::from_str(&kept.fleet(["state", "history", "--json", "--details"]).ok()).unwrap()
}

#[test]
fn the_history_tells_who_did_what_and_how_it_ended() {
    let two_in_a_row = servers(1)
        + "resource \"test_server\" \"b\" {\n  name = \"b\"\n  description = test_server.a[0].id\n}\n";
    on_both(&two_in_a_row, |kept| {
        assert_eq!(kept.fleet(["state", "history"]).ok(), "");
        kept.world.breaks(Operation::Create, 1.., Fault::Refused);
        kept.fleet(["apply", "--auto-approve"]).failed();
        kept.world.mend();
        kept.apply();
        kept.fleet(["state", "mv", "test_server.b", "test_server.c"]).ok();
        let runs = history(kept);
        let commands: Vec<&str> = runs.iter().map(|run| run["command"].as_str().unwrap()).collect();
        assert_eq!(commands, ["fleet state mv", "fleet apply", "fleet apply"]);
        let [moved, applied, failed] = &runs[..] else { unreachable!() };
        assert_eq!(
            (&failed["failed"], &failed["skipped"], &failed["unknown"]),
            (&1.into(), &1.into(), &0.into())
        );
        assert_eq!(applied["counts"], json!({"created": 2}));
        assert_eq!((&applied["failed"], &applied["skipped"]), (&0.into(), &0.into()));
        assert_eq!(moved["changes"], json!([{"address": "test_server.c", "change": "moved"}]));
        assert_eq!(moved["serial_to"], kept.state().serial);

        let text = kept.fleet(["state", "history"]).ok();
        let ends: Vec<&str> = text.lines().map(|line| line.split_once("fleet ").unwrap().1).collect();
        assert_eq!(ends[0], "state mv: 1 moved, after 0s");
        assert!(ends[1].starts_with("apply: 2 created, after "), "{text}");
        assert!(ends[2].starts_with("apply: 1 failed, 1 not begun, after "), "{text}");
        let text = kept.fleet(["state", "history", "--details", "--limit", "1"]).ok();
        assert_eq!(text.lines().last(), Some("    test_server.c: moved"));
        assert_eq!(text.lines().count(), 2);

        // What is imported was not made.
        kept.fleet(["state", "rm", "test_server.a"]).ok();
        kept.fleet(["import", "test_server.a[0]", &kept.world.server("a-0").id.unwrap(), "--auto-approve"])
            .ok();
        let [imported, forgotten] = &history(kept)[..2] else { unreachable!() };
        assert_eq!(
            (&imported["command"], &imported["counts"]),
            (&"fleet import".into(), &json!({"recorded": 1}))
        );
        assert_eq!(
            (&forgotten["command"], &forgotten["counts"]),
            (&"fleet state rm".into(), &json!({"forgotten": 1}))
        );
    });
}
