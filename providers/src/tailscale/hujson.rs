//! HuJSON, as policies are written: JSON with comments, and commas behind the last of a list.
//!
//! The server formats what it is given. Two texts that say the same, comments included, are the same text.

/// The parts of a text: its words, its marks and its comments, without the space between them and commas that say nothing.
pub(super) fn parts(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { break };
        let end = match first {
            '"' => {
                let bytes = rest.as_bytes();
                let mut end = 1;
                while end < bytes.len() && bytes[end] != b'"' {
                    end += if bytes[end] == b'\\' { 2 } else { 1 };
                }
                end + 1
            }
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '{' | '}' | '[' | ']' | ',' | ':' => 1,
            other => {
                let is_end = |c: char| c.is_whitespace() || "{}[],:/\"".contains(c);
                rest.find(is_end).unwrap_or(rest.len()).max(other.len_utf8())
            }
        };
        let (part, further) = rest.split_at(floor(rest, end));
        if matches!(part, "}" | "]") {
            // A comma behind the last says nothing; comments may stand behind it.
            let mut words = (0..parts.len()).rev().filter(|at| !parts[*at].starts_with('/'));
            if let (Some(last), Some(before)) = (words.next(), words.next())
                && parts[last] == ","
                && !matches!(parts[before], "{" | "[" | ",")
            {
                parts.remove(last);
            }
        }
        parts.push(part.trim_end());
        rest = further;
    }
    parts
}

/// Whether two texts say the same, comments included.
pub(super) fn same(one: &str, other: &str) -> bool {
    parts(one) == parts(other)
}

/// The JSON in a text; or what is wrong with it, in words.
pub(super) fn check(text: &str) -> Result<(), String> {
    let plain: Vec<&str> = parts(text).into_iter().filter(|part| !part.starts_with('/')).collect();
    match serde_json::from_str::<serde_json::Value>(&plain.join(" ")) {
        Ok(value) if value.is_object() => Ok(()),
        Ok(_) => Err("a policy is an object, in braces".to_owned()),
        Err(_) => {
            Err("this is no HuJSON: JSON, in which comments and commas at the end may stand".to_owned())
        }
    }
}

/// The last place in a text that is not behind an index, and where a letter begins.
fn floor(text: &str, index: usize) -> usize {
    let mut at = index.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "// who\n{\n  \"acls\": [ /* all */\n    {\"src\": [\"*\"], \"n\": -1.5e3}, // trailing\n  ],\n}\n";

    #[test]
    fn space_and_last_commas_say_nothing_and_everything_else_does() {
        for same_text in [
            TEXT.replace("  ", "\t"),
            TEXT.replace("}, //", "} //"),
            TEXT.replace("],\n}", "]\n}"),
            format!("\u{feff}{TEXT}\n\n"),
            TEXT.replace('\n', "\r\n"),
        ] {
            assert!(same(TEXT, &same_text), "{same_text}");
        }
        for other in [
            TEXT.replace("who", "whom"),
            TEXT.replace("/* all */", ""),
            TEXT.replace("\"*\"", "\"a\""),
            TEXT.replace("[\"*\"]", "[\"*\", \"*\"]"),
            TEXT.replace("-1.5e3", "1.5e3"),
        ] {
            assert!(!same(TEXT, &other), "{other}");
        }
        assert!(!same("{\"a b\": 1}", "{\"ab\": 1}"));
    }

    #[test]
    fn what_is_no_policy_is_refused() {
        assert_eq!(check(TEXT), Ok(()));
        assert_eq!(check("{\"a\": \"// no comment, \\\" }\"}"), Ok(()));
        for text in ["", "[]", "{", "{\"a\" 1}", "{\"a\": é}", "\"", "{,}", "/* open"] {
            assert!(check(text).is_err(), "{text}");
        }
    }
}
