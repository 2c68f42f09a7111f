//! CSV as RFC 4180 has it, with the strictness about quotes that Terraform shows.

/// The records of a text. A record may be longer or shorter than the others; blank lines are no records.
pub(super) fn records(text: &str) -> Result<Vec<Vec<String>>, String> {
    let text = text.replace("\r\n", "\n");
    let text = text.strip_suffix('\r').unwrap_or(&text);
    let mut records = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while !rest.is_empty() {
        let start = rest;
        if let Some(after) = rest.strip_prefix('\n') {
            rest = after;
            line += 1;
            continue;
        }
        let mut record = Vec::new();
        loop {
            let (field, after) = match rest.strip_prefix('"') {
                Some(quoted) => self::quoted(quoted),
                None => plain(rest),
            }
            .map_err(|problem| format!("{problem} (in the record that starts in line {line} of the text)"))?;
            record.push(field);
            let Some(next) = after.strip_prefix(',') else {
                rest = after.strip_prefix('\n').unwrap_or(after);
                break;
            };
            rest = next;
        }
        line += start[..start.len() - rest.len()].matches('\n').count();
        records.push(record);
    }
    Ok(records)
}

/// A field without quotes, and what follows it.
fn plain(text: &str) -> Result<(String, &str), String> {
    let end = text.find([',', '\n']).unwrap_or(text.len());
    let (field, rest) = text.split_at(end);
    if field.contains('"') {
        return Err("a field with a quote in it must be quoted, and the quote doubled".into());
    }
    Ok((field.to_owned(), rest))
}

/// A field after its opening quote, and what follows its closing quote.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let mut field = String::new();
    let mut rest = text;
    loop {
        let Some((part, after)) = rest.split_once('"') else {
            return Err("a closing quote is missing".into());
        };
        field.push_str(part);
        let Some(more) = after.strip_prefix('"') else {
            if after.is_empty() || after.starts_with([',', '\n']) {
                return Ok((field, after));
            }
            return Err("text follows a closing quote; a quote within quotes is doubled".into());
        };
        field.push('"');
        rest = more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_as_terraform_reads_them() {
        let check = |text: &str, expected: &[&[&str]]| {
            assert_eq!(records(text).unwrap(), expected, "{text:?}");
        };
        check("a,b\n1,2\n3,4", &[&["a", "b"], &["1", "2"], &["3", "4"]]);
        check("a,b\r\n1,2\r\n", &[&["a", "b"], &["1", "2"]]);
        check("a\n\"x\"\"y\"\n", &[&["a"], &["x\"y"]]);
        check("a\n\"x\r\ny\"\n", &[&["a"], &["x\ny"]]);
        check("a\n x \n", &[&["a"], &[" x "]]);
        check("a\n\n\n1\n", &[&["a"], &["1"]]);
        check("a,b\n,\n", &[&["a", "b"], &["", ""]]);
        check("a\n1\r2\n", &[&["a"], &["1\r2"]]);
        check("a\n1\r", &[&["a"], &["1"]]);
        check("a\n\"\"\n", &[&["a"], &[""]]);
        check("a\n\"\"\"\"", &[&["a"], &["\""]]);
        check("a\n  \n", &[&["a"], &["  "]]);
        check("\"a\nb\"\n1", &[&["a\nb"], &["1"]]);
        check("\n\n", &[]);
    }

    #[test]
    fn quotes_out_of_place_are_refused() {
        for text in ["a\nx\"y\n", "a\n\"x\"y\n", "a\n\"x\n", "a\n \"x\"\n", "a\n\"1\" "] {
            assert!(records(text).is_err(), "{text:?}");
        }
    }
}
