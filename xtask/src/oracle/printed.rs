//! Printed values, taken apart again.
//!
//! Both programs print a value in the same form: brackets around indented lines, texts of several lines as heredocs.

/// Parts of a printed text: each starts at a line of exactly this indent that closes nothing.
pub(super) fn parts(text: &str, indent: usize) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut delimiter: Option<String> = None;
    for line in text.lines() {
        let content = line.trim_start();
        let starts = delimiter.is_none()
            && line.len() - content.len() == indent
            && !content.is_empty()
            && !content.starts_with([']', ')', '}']);
        match parts.last_mut() {
            Some(part) if !starts => {
                part.push('\n');
                part.push_str(line);
            }
            _ => parts.push(line.to_owned()),
        }
        delimiter = match delimiter {
            Some(open) => (content.trim_end_matches([',', ')']) != open).then_some(open),
            None => opened(content),
        };
    }
    parts
}

/// The elements of a printed tuple, without their indentation and commas.
pub(super) fn elements(text: &str) -> Option<Vec<String>> {
    let inner = text.trim_end().strip_prefix("[\n")?.strip_suffix("\n]")?;
    let parts = parts(inner, 2);
    Some(parts.into_iter().map(|part| outdent(part.strip_suffix(',').unwrap_or(&part))).collect())
}

/// The delimiter of the heredoc that starts at the end of a line.
fn opened(line: &str) -> Option<String> {
    let start = line.rfind("<<")?;
    let delimiter = line[start + 2..].trim_start_matches('-');
    let is_delimiter = delimiter.starts_with("EOT") && delimiter[3..].chars().all(|c| c == '_');
    (is_delimiter && (start == 0 || line[..start].ends_with("= "))).then(|| delimiter.to_owned())
}

fn outdent(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_tuple_falls_apart_into_its_elements() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(elements(text).expect(text), expected, "{text}");
        };
        check("[\n  1,\n  \"a\",\n]", &["1", "\"a\""]);
        check(
            "[\n  [\n    1,\n    2,\n  ],\n  {\n    \"a\" = 1\n  },\n]",
            &["[\n  1,\n  2,\n]", "{\n  \"a\" = 1\n}"],
        );
        check("[\n  tolist([\n    1,\n  ]),\n  3,\n]\n", &["tolist([\n  1,\n])", "3"]);
        check("[\n  <<-EOT\n  a\n  b,\n  EOT,\n  2,\n]", &["<<-EOT\na\nb,\nEOT", "2"]);
        check(
            "[\n  {\n    \"k\" = <<-EOT_\n    EOT\n  x\n    EOT_\n  },\n  2,\n]",
            &["{\n  \"k\" = <<-EOT_\n  EOT\nx\n  EOT_\n}", "2"],
        );
        assert_eq!(elements("1"), None);
    }
}
