//! Two hundred servers that change all the time: in every round some of them are changed in place, replaced in both
//! orders, removed and made, and some depend on others.

use std::collections::BTreeSet;
use std::fmt::Write;

/// How many servers there are in every round.
pub(super) const SERVERS: usize = 200;

/// Groups of ten, all alike.
const GROUPS: usize = SERVERS / 10;

/// The configuration of a round.
pub(super) fn configuration(round: usize) -> String {
    let mut text = String::new();
    for group in 0..GROUPS {
        let mut add = |role: &str, name: String, rest: &str| {
            let head = format!("resource \"test_server\" \"{role}_{group}\" {{\n  name = \"{name}\"\n");
            writeln!(text, "{head}{rest}}}").unwrap();
        };
        let id_of = |role: &str| format!("test_server.{role}_{group}.id");
        let first_new = "  lifecycle {\n    create_before_destroy = true\n  }\n";
        for role in ["grows", "shrinks", "breathes"] {
            add(role, format!("{role}-{group}"), &format!("  size = {}\n", round + 1));
        }
        add("swaps", format!("swaps-{group}-{round}"), "");
        add("rolls", format!("rolls-{group}-{round}"), first_new);
        add("follows", format!("follows-{group}"), &format!("  description = {}\n", id_of("rolls")));
        add("hangs_on", format!("hangs-on-{group}"), &format!("  labels = {{ on = {} }}\n", id_of("swaps")));
        add("joins", format!("joins-{group}"), &format!("  join_token = \"token-{round}\"\n"));
        let zone = if round.is_multiple_of(2) { "a" } else { "b" };
        add("moves", format!("moves-{group}"), &format!("  zone = \"{zone}\"\n"));
        let turn = if round.is_multiple_of(2) { "even" } else { "odd" };
        add(turn, format!("{turn}-{group}"), "");
    }
    text
}

/// The names of all servers of a round.
pub(super) fn names(round: usize) -> BTreeSet<String> {
    let turn = if round.is_multiple_of(2) { "even" } else { "odd" };
    let fixed = ["grows", "shrinks", "breathes", "follows", "hangs-on", "joins", "moves", turn];
    let of_group = |group| {
        let fixed = fixed.map(|role| format!("{role}-{group}"));
        let new = ["swaps", "rolls"].map(|role| format!("{role}-{group}-{round}"));
        fixed.into_iter().chain(new)
    };
    (0..GROUPS).flat_map(of_group).collect()
}

/// The names of the servers that no round replaces.
pub(super) fn kept() -> BTreeSet<String> {
    let roles = ["grows", "shrinks", "breathes", "follows", "hangs-on", "joins"];
    (0..GROUPS).flat_map(|group| roles.map(|role| format!("{role}-{group}"))).collect()
}

/// How often a round asks the world for a change, if the one before was completed.
pub(super) fn changes(round: usize) -> usize {
    // Six of ten are changed; four go, and four come.
    if round == 0 { SERVERS } else { GROUPS * (6 + 4 + 4) }
}
