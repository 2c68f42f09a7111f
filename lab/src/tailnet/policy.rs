//! The policy of a tailnet: HuJSON, which is JSON with comments and commas at the end, and the tests in it.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// What a tailnet begins with.
pub(super) const DEFAULT: &str = "// Everybody may do everything.\n{\n\t\"acls\": [\n\t\t{\"action\": \"accept\", \"src\": [\"*\"], \"dst\": [\"*:*\"]},\n\t],\n}\n";

/// What the API calls a text.
pub(super) fn etag(text: &str) -> String {
    let digest: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digest}\"")
}

/// A text as the server keeps it: tabs before lines, nothing behind them.
pub(super) fn formatted(text: &str) -> String {
    let line = |line: &str| {
        let rest = line.trim_start();
        let width: usize =
            line[..line.len() - rest.len()].chars().map(|c| if c == '\t' { 2 } else { 1 }).sum();
        format!("{}{}\n", "\t".repeat(width / 2), rest.trim_end())
    };
    text.trim_end().lines().map(line).collect()
}

/// The JSON in a text; or where it ends to be one.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '"' => {
                let mut end = 1;
                let bytes = rest.as_bytes();
                while end < bytes.len() && bytes[end] != b'"' {
                    end += if bytes[end] == b'\\' { 2 } else { 1 };
                }
                let end = (end + 1).min(rest.len());
                plain.push_str(&rest[..end]);
                end
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            ']' | '}' => {
                let open = plain.trim_end();
                if open.ends_with(',') {
                    plain.truncate(open.len() - 1);
                }
                plain.push(c);
                1
            }
            c => {
                plain.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    serde_json::from_str(&plain)
        .map_err(|error| format!("line {}, column {}: invalid policy", error.line(), error.column()))
}

/// What the tests of a policy say: whom it is about, and what is not as it should be.
pub(super) fn failing_tests(policy: &Value) -> Vec<(String, Vec<String>)> {
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let rules: Vec<(Vec<String>, Vec<String>)> = policy["acls"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|rule| (texts(&rule["src"]), texts(&rule["dst"])))
        .collect();
    let lets = |src: &str, target: &str| {
        let (host, port) = target.rsplit_once(':').unwrap_or((target, "*"));
        let is = |pattern: &str, value: &str| pattern == "*" || pattern.split(',').any(|one| one == value);
        rules.iter().any(|(sources, targets)| {
            sources.iter().any(|one| is(one, src))
                && targets
                    .iter()
                    .any(|one| one.rsplit_once(':').is_some_and(|(h, p)| is(h, host) && is(p, port)))
        })
    };
    let check = |test: &Value| {
        let src = test["src"].as_str().unwrap_or_default().to_owned();
        let accept = texts(&test["accept"]).into_iter().filter(|target| !lets(&src, target));
        let accept = accept.map(|target| format!("address \"{target}\": want: Accept, got: Drop"));
        let deny = texts(&test["deny"]).into_iter().filter(|target| lets(&src, target));
        let deny = deny.map(|target| format!("address \"{target}\": want: Drop, got: Accept"));
        let errors: Vec<String> = accept.chain(deny).collect();
        (src, errors)
    };
    let tests = policy["tests"].as_array().into_iter().flatten().map(check);
    tests.filter(|(_, errors)| !errors.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_json_with_comments_and_is_tested() {
        let text = "// a\n{\n  \"acls\": [ /* b */\n    {\"action\": \"accept\", \"src\": [\"tag:a\"], \"dst\": [\"tag:b:22,80\",]},\n  ],\n  \
                    \"tests\": [{\"src\": \"tag:a\", \"accept\": [\"tag:b:22\"], \"deny\": [\"tag:b:443\"]}],\n  \"u\": \"// no, \\\" comment\",\n}";
        let policy = parse(text).unwrap();
        assert_eq!(policy["u"], "// no, \" comment");
        assert_eq!(failing_tests(&policy), []);
        let broken = parse(&text.replace(":443", ":80")).unwrap();
        assert_eq!(failing_tests(&broken).len(), 1);
        assert!(parse("{\n  \"a\": \n}").unwrap_err().starts_with("line 3"));
        assert_eq!(formatted("{\n    \"a\": 1, \n}"), "{\n\t\t\"a\": 1,\n}\n");
        assert_eq!(failing_tests(&parse(DEFAULT).unwrap()), []);
    }
}
