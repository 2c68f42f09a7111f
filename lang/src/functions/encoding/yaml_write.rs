//! Values → YAML, in the style of the emitter that Terraform uses: block collections, every string in double quotes or,
//! if it has several lines, as a literal block.
//!
//! The writer remembers where on a line it is, because indentation, the space before an indicator and the folding of
//! long strings all depend on it.

use crate::{Kind, Value};

/// Strings in double quotes are folded at the first space beyond this column.
const WIDTH: usize = 80;

/// A longer key, in bytes, is written after a `?` on lines of its own.
const SIMPLE_KEY: usize = 128;

/// Writes a wholly known value as one document.
pub(super) fn encode(value: &Value) -> Result<String, String> {
    let mut writer = Writer { out: String::new(), column: 0, blank: true, indenting: true };
    let is_collection = value.items().is_some() || value.entries().is_some();
    if is_collection {
        writer.node(value, None, false)?;
    } else {
        writer.scalar(value, 2)?;
    }
    if writer.column > 0 {
        writer.line_break();
    }
    // A bare word could go on in the next line, so its end is marked.
    if !is_collection && value.as_str().is_none() {
        writer.out.push_str("...\n");
    }
    Ok(writer.out)
}

struct Writer {
    out: String,
    column: usize,
    /// The last character was a space or a line break.
    blank: bool,
    /// The line has nothing but indentation and `-`, `?` and `:` on it.
    indenting: bool,
}

impl Writer {
    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
        self.blank = true;
        self.indenting = true;
    }

    /// Moves to a column, on a new line unless this one has come no further than that.
    fn indent(&mut self, to: usize) {
        if !self.indenting || self.column > to || (self.column == to && !self.blank) {
            self.line_break();
        }
        while self.column < to {
            self.put(' ');
        }
        self.blank = true;
        self.indenting = true;
    }

    fn word(&mut self, word: &str) {
        if !self.blank {
            self.put(' ');
        }
        word.chars().for_each(|c| self.put(c));
        self.blank = false;
        self.indenting = false;
    }

    /// `-`, `?` or `:` at the start of a line, after which a collection may start on the same line.
    fn mark(&mut self, mark: char) {
        let indenting = self.indenting;
        self.word(mark.encode_utf8(&mut [0; 4]));
        self.indenting = indenting;
    }

    /// A node inside a collection indented by `parent`, or the root. A sequence that is the value of a key is not
    /// indented further.
    fn node(&mut self, value: &Value, parent: Option<usize>, is_value: bool) -> Result<(), String> {
        let deeper = parent.map_or(0, |parent| parent + 2);
        if let Some(items) = value.items() {
            let at = if is_value && !self.indenting { parent.unwrap_or(0) } else { deeper };
            if items.is_empty() {
                self.word("[]");
            }
            for item in items {
                self.indent(at);
                self.mark('-');
                self.node(item, Some(at), false)?;
            }
        } else if let Some(entries) = value.entries() {
            if entries.is_empty() {
                self.word("{}");
            }
            for (key, item) in entries {
                self.indent(deeper);
                if key.len() <= SIMPLE_KEY && !key.contains(is_break) {
                    self.quoted(key, None);
                    self.put(':');
                } else {
                    self.mark('?');
                    self.string(key, deeper + 2);
                    self.indent(deeper);
                    self.mark(':');
                }
                self.node(item, Some(deeper), true)?;
            }
        } else {
            self.scalar(value, deeper)?;
        }
        Ok(())
    }

    fn scalar(&mut self, value: &Value, indent: usize) -> Result<(), String> {
        match &value.kind {
            Kind::Null(_) => self.word("null"),
            Kind::Bool(truth) => self.word(if *truth { "true" } else { "false" }),
            Kind::Number(number) => self.word(&number.to_string()),
            Kind::String(text) => self.string(text, indent),
            _ => return Err("a value that is not known yet cannot be written as YAML".into()),
        }
        Ok(())
    }

    fn string(&mut self, text: &str, indent: usize) {
        // A block cannot show unprintable characters, nor spaces at the end of a line.
        let fits_block = text.chars().all(is_printable)
            && !text.ends_with(' ')
            && !text.chars().zip(text.chars().skip(1)).any(|(c, next)| c == ' ' && is_break(next));
        if text.contains('\n') && fits_block {
            self.block(text, indent);
        } else {
            self.quoted(text, Some(indent));
        }
    }

    /// A literal block, whose lines are indented.
    fn block(&mut self, text: &str, indent: usize) {
        self.word("|");
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.put('2');
        }
        let without_last = text.strip_suffix(is_break);
        match without_last {
            None => self.put('-'),
            Some(rest) if rest.is_empty() || rest.ends_with(is_break) => self.put('+'),
            Some(_) => {}
        }
        self.line_break();
        for c in text.chars() {
            if c == '\n' {
                self.line_break();
            } else if is_break(c) {
                self.out.push(c);
                self.column = 0;
                self.indenting = true;
            } else {
                if self.column == 0 {
                    self.indent(indent);
                }
                self.put(c);
                self.blank = false;
                self.indenting = false;
            }
        }
    }

    /// A string in double quotes, folded if an indentation for its further lines is given.
    fn quoted(&mut self, text: &str, indent: Option<usize>) {
        self.word("\"");
        let mut after_space = false;
        let mut chars = text.chars().enumerate().peekable();
        while let Some((position, c)) = chars.next() {
            if !is_printable(c) || is_break(c) || matches!(c, '\u{feff}' | '"' | '\\') {
                escape(c).chars().for_each(|c| self.put(c));
                after_space = false;
                continue;
            }
            let fold = indent.filter(|_| {
                c == ' ' && !after_space && self.column > WIDTH && position > 0 && chars.peek().is_some()
            });
            match fold {
                Some(indent) => {
                    self.indent(indent);
                    if chars.peek().is_some_and(|(_, next)| *next == ' ') {
                        self.put('\\');
                    }
                }
                None => self.put(c),
            }
            after_space = c == ' ';
            self.blank = false;
            self.indenting = false;
        }
        self.put('"');
        self.blank = false;
        self.indenting = false;
    }
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

fn escape(c: char) -> String {
    match c {
        '\0' => "\\0".into(),
        '\u{7}' => "\\a".into(),
        '\u{8}' => "\\b".into(),
        '\t' => "\\t".into(),
        '\n' => "\\n".into(),
        '\u{b}' => "\\v".into(),
        '\u{c}' => "\\f".into(),
        '\r' => "\\r".into(),
        '\u{1b}' => "\\e".into(),
        '"' => "\\\"".into(),
        '\\' => "\\\\".into(),
        '\u{85}' => "\\N".into(),
        '\u{2028}' => "\\L".into(),
        '\u{2029}' => "\\P".into(),
        c if u32::from(c) <= 0xff => format!("\\x{:02X}", u32::from(c)),
        c if u32::from(c) <= 0xffff => format!("\\u{:04X}", u32::from(c)),
        c => format!("\\U{:08X}", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::*;

    /// The value, given as JSON, written as YAML.
    fn check(value: &str, expected: &str) {
        assert_eq!(encode(&json::decode(value).unwrap()).unwrap(), expected, "{value}");
    }

    #[test]
    fn documents_as_terraform_writes_them() {
        check(r#""a""#, "\"a\"\n");
        check(r#""""#, "\"\"\n");
        check("1", "1\n...\n");
        check("true", "true\n...\n");
        check("null", "null\n...\n");
        check("null", "null\n...\n");
        check("[]", "[]\n");
        check("{}", "{}\n");
        check("[[]]", "- []\n");
        check("[{}]", "- {}\n");
        check(r#"{"a":{},"b":[],"c":null}"#, "\"a\": {}\n\"b\": []\n\"c\": null\n");
        check(
            r#"[1,[2,[3,4]],{"a":1,"b":[1,{"c":2}]}]"#,
            "- 1\n- - 2\n  - - 3\n    - 4\n- \"a\": 1\n  \"b\":\n  - 1\n  - \"c\": 2\n",
        );
        check(r#"{"a":[1,2],"b":{"c":{"d":"e"}}}"#, "\"a\":\n- 1\n- 2\n\"b\":\n  \"c\":\n    \"d\": \"e\"\n");
        check(r#""a\nb""#, "|-\n  a\n  b\n");
        check(r#""a\nb\n""#, "|\n  a\n  b\n");
        check(r#""a\nb\n\n""#, "|+\n  a\n  b\n\n");
        check(r#"{"a":"x\ny","b":["p\nq\n"]}"#, "\"a\": |-\n  x\n  y\n\"b\":\n- |\n  p\n  q\n");
        check(r#"["p\nq\n","r"]"#, "- |\n  p\n  q\n- \"r\"\n");
        check(r#"{"a":{"b":"x\n  y\n"}}"#, "\"a\":\n  \"b\": |\n    x\n      y\n");
        check(r#"{"a":"  lead\nx"}"#, "\"a\": |2-\n    lead\n  x\n");
        check(r#"{"a":"\n"}"#, "\"a\": |2+\n\n");
        check(r#"{"a":"\nx"}"#, "\"a\": |2-\n\n  x\n");
        check(r#"{"a":"x \ny"}"#, "\"a\": \"x \\ny\"\n");
        check(r#"{"a":"x\ty\nz"}"#, "\"a\": \"x\\ty\\nz\"\n");
        check(r#"{"a":"x\ty"}"#, "\"a\": \"x\\ty\"\n");
        check(r#"{"a":"x\r\ny"}"#, "\"a\": \"x\\r\\ny\"\n");
        check(r#"{"a":"é\n😀"}"#, "\"a\": \"é\\n\\U0001F600\"\n");
        check(
            "{\"a\":\"é😀\\u0001\u{7f}\u{80}\u{85}\u{a0}\\u2028\\u2029\u{feff}�\u{e000}\"}",
            "\"a\": \"é\\U0001F600\\x01\\x7F\\x80\\N\u{a0}\\L\\P\\uFEFF�\u{e000}\"\n",
        );
        check(r#"{"a":"\"'\\/:#"}"#, "\"a\": \"\\\"'\\\\/:#\"\n");
        check(r#"{"a":"a\nb\u0001"}"#, "\"a\": \"a\\nb\\x01\"\n");
        check("{\"a\":\"a\\n\u{a0}b\"}", "\"a\": |-\n  a\n  \u{a0}b\n");
        check(r#"{"a\nb":1}"#, "? |-\n  a\n  b\n: 1\n");
        check(r#"{"":4,"1":1,"true":2,"x y":3}"#, "\"\": 4\n\"1\": 1\n\"true\": 2\n\"x y\": 3\n");
        check(
            "0.33333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333335",
            "0.33333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333333335\n...\n",
        );
        check(
            "10000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
            "10000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000\n...\n",
        );
        check("-0", "-0\n...\n");
        check("-1.5", "-1.5\n...\n");
        check(
            r#""word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12 word13 word14 word15 word16 word17 word18 word19 word20 word21 word22 word23 word24 word25 word26 word27 word28 word29 word30 word31 word32 word33 word34 word35 word36 word37 word38 word39 word40 word41 word42 word43 word44 word45 word46 word47 word48 word49 ""#,
            "\"word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12\n  word13 word14 word15 word16 word17 word18 word19 word20 word21 word22 word23 word24\n  word25 word26 word27 word28 word29 word30 word31 word32 word33 word34 word35 word36\n  word37 word38 word39 word40 word41 word42 word43 word44 word45 word46 word47 word48\n  word49 \"\n",
        );
        check(
            r#"{"a":"word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12 word13 word14 word15 word16 word17 word18 word19 word20 word21 word22 word23 word24 word25 word26 word27 word28 word29 word30 word31 word32 word33 word34 word35 word36 word37 word38 word39 word40 word41 word42 word43 word44 word45 word46 word47 word48 word49 "}"#,
            "\"a\": \"word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12\n  word13 word14 word15 word16 word17 word18 word19 word20 word21 word22 word23 word24\n  word25 word26 word27 word28 word29 word30 word31 word32 word33 word34 word35 word36\n  word37 word38 word39 word40 word41 word42 word43 word44 word45 word46 word47 word48\n  word49 \"\n",
        );
        check(
            r#"{"a":"word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12 word13 word14 word15 word16 word17 word18 word19 word20 word21 word22 word23 word24 word25 word26 word27 word28 word29 word30 word31 word32 word33 word34 word35 word36 word37 word38 word39 word40 word41 word42 word43 word44 word45 word46 word47 word48 word49 \nx"}"#,
            "\"a\": \"word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12\n  word13 word14 word15 word16 word17 word18 word19 word20 word21 word22 word23 word24\n  word25 word26 word27 word28 word29 word30 word31 word32 word33 word34 word35 word36\n  word37 word38 word39 word40 word41 word42 word43 word44 word45 word46 word47 word48\n  word49 \\nx\"\n",
        );
        check(
            r#"{"a":"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"}"#,
            "\"a\": \"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\"\n",
        );
        check(
            r#"{"word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12 word13 word14 word15 word16 word17 word18 word19 word20 word21 word22 word23 word24 word25 word26 word27 word28 word29 word30 word31 word32 word33 word34 word35 word36 word37 word38 word39 word40 word41 word42 word43 word44 word45 word46 word47 word48 word49 ":1}"#,
            "? \"word0 word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12\n  word13 word14 word15 word16 word17 word18 word19 word20 word21 word22 word23 word24\n  word25 word26 word27 word28 word29 word30 word31 word32 word33 word34 word35 word36\n  word37 word38 word39 word40 word41 word42 word43 word44 word45 word46 word47 word48\n  word49 \"\n: 1\n",
        );
        check(
            r#"{"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk":[1]}"#,
            "? \"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk\"\n: - 1\n",
        );
        check("[[1,2],[3]]", "- - 1\n  - 2\n- - 3\n");
        check("[[[1]]]", "- - - 1\n");
        check(r#"[{"a":1,"b":2},{"c":[{"d":1}]}]"#, "- \"a\": 1\n  \"b\": 2\n- \"c\":\n  - \"d\": 1\n");
        check(r#"{"a":1}"#, "\"a\": 1\n");
        check(r#"["a\nb"]"#, "- |-\n  a\n  b\n");
        check(r#"[["a\nb"]]"#, "- - |-\n    a\n    b\n");
        check(r#""---\na""#, "|-\n  ---\n  a\n");
        check("\"#x\\ny\"", "|-\n  #x\n  y\n");
        check(r#"" \n ""#, "\" \\n \"\n");
        check(r#""\n\n""#, "|2+\n\n\n");
        check(r#""a\n\n\nb""#, "|-\n  a\n\n\n  b\n");
        check(r#""a\n b\nc""#, "|-\n  a\n   b\n  c\n");
        check(r#""\ta\nb""#, "\"\\ta\\nb\"\n");
        check(r#""a\n\tb""#, "\"a\\n\\tb\"\n");
        check(r#""a\nb ""#, "\"a\\nb \"\n");
        check(r#""a \n""#, "\"a \\n\"\n");
        check(r#""\u2028\n""#, "|2+\n\u{2028}\n");
        check("\"a\u{85}b\\n\"", "\"a\\Nb\\n\"\n");
        check(r#""😀\n""#, "\"\\U0001F600\\n\"\n");
        check(r#"{"😀":1}"#, "\"\\U0001F600\": 1\n");
        check(r#"{"é":"é"}"#, "\"é\": \"é\"\n");
    }
}
