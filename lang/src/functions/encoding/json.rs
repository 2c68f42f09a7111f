//! JSON ⇄ values. Numbers keep all of their digits, which is why this reader is our own.

use std::sync::Arc;

use crate::{Kind, Number, Value};

/// How deep arrays and objects may nest.
const MAX_DEPTH: u32 = 500;

/// Reads one JSON text. Arrays become tuples, objects objects; of two equal keys the last wins.
pub(in crate::functions) fn decode(text: &str) -> Result<Value, String> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let value = reader.value()?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.problem("the JSON text ends here, but more follows"));
    }
    Ok(value)
}

/// Writes a wholly known value as JSON without spaces.
pub(in crate::functions) fn encode(value: &Value, out: &mut String) -> Result<(), String> {
    match &value.kind {
        Kind::Null(_) => out.push_str("null"),
        Kind::Unknown(_) => return Err("a value that is not known yet cannot be written as JSON".into()),
        Kind::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Kind::Number(number) if number.is_infinite() => return Err("JSON has no infinity".into()),
        Kind::Number(number) => out.push_str(&number.to_string()),
        Kind::String(text) => quote(text, out),
        Kind::List(_) | Kind::Set(_) | Kind::Tuple(_) => {
            out.push('[');
            for (position, item) in value.items().into_iter().flatten().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                encode(item, out)?;
            }
            out.push(']');
        }
        Kind::Map(_) | Kind::Object(_) => {
            out.push('{');
            for (position, (key, item)) in value.entries().into_iter().flatten().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                quote(key, out);
                out.push(':');
                encode(item, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// Writes a JSON string that is also safe inside of HTML and JavaScript.
pub(in crate::functions) fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// A message with the place of the next character.
    fn problem(&self, message: &str) -> String {
        let before = &self.text[..self.at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{message} (line {line}, column {column} of the text)")
    }

    fn value(&mut self) -> Result<Value, String> {
        self.space();
        match self.peek() {
            None => Err(self.problem("a value is missing at the end of the text")),
            Some(b'{') => self.nested(Reader::object),
            Some(b'[') => self.nested(Reader::array),
            Some(b'"') => Ok(Value::from(self.string()?.as_str())),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => {
                for (word, value) in [("null", Value::null()), ("true", true.into()), ("false", false.into())]
                {
                    if self.text[self.at..].starts_with(word) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                Err(self.problem("this is not the start of a JSON value"))
            }
        }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Result<Value, String>) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.problem(&format!("the JSON text is nested more than {MAX_DEPTH} deep")));
        }
        self.at += 1;
        let value = inner(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn array(&mut self) -> Result<Value, String> {
        let mut items = Vec::new();
        self.space();
        if self.eat(b']') {
            return Ok(Value::tuple(items));
        }
        loop {
            items.push(self.value()?);
            self.space();
            if self.eat(b']') {
                return Ok(Value::tuple(items));
            }
            if !self.eat(b',') {
                return Err(self.problem("a `,` or the array's `]` is missing"));
            }
        }
    }

    fn object(&mut self) -> Result<Value, String> {
        let mut attributes = Vec::<(Arc<str>, Value)>::new();
        self.space();
        if self.eat(b'}') {
            return Ok(Value::object(attributes.into_iter().collect()));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.problem("a key in double quotes is missing"));
            }
            let key = super::normal(&self.string()?);
            self.space();
            if !self.eat(b':') {
                return Err(self.problem("the `:` after a key is missing"));
            }
            let value = self.value()?;
            attributes.push((key, value));
            self.space();
            if self.eat(b'}') {
                return Ok(Value::object(attributes.into_iter().collect()));
            }
            if !self.eat(b',') {
                return Err(self.problem("a `,` or the object's `}` is missing"));
            }
        }
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<Value, String> {
        let start = self.at;
        self.eat(b'-');
        let leading_zero = self.peek() == Some(b'0');
        let whole = self.digits();
        let mut good = whole == 1 || (whole > 1 && !leading_zero);
        if self.eat(b'.') {
            good &= self.digits() > 0;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            good &= self.digits() > 0;
        }
        let number = good.then(|| Number::parse(&self.text[start..self.at])).flatten();
        match number {
            Some(number) if !number.is_infinite() => Ok(number.into()),
            _ => {
                self.at = start;
                Err(self.problem(if good { "the number is too large" } else { "this is not a JSON number" }))
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|c: char| matches!(c, '"' | '\\' | '\0'..='\u{1f}')).unwrap_or(rest.len());
            out.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                None => return Err(self.problem("the string's closing quote is missing")),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => {
                    return Err(self.problem("a control character in a string must be written as an escape"));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let start = self.at;
        self.at += 2;
        let c = match self.text.as_bytes().get(start + 1) {
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(*c),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => match self.unit() {
                Some(high @ 0xD800..=0xDBFF) => self.low_surrogate(high),
                Some(unit) => char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER),
                None => {
                    self.at = start;
                    return Err(self.problem("four hexadecimal digits must follow `\\u`"));
                }
            },
            _ => {
                self.at = start;
                return Err(self.problem("JSON has no such escape"));
            }
        };
        Ok(c)
    }

    /// The four digits after a `\u`.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let unit =
            digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        unit.flatten()
    }

    /// The character of a surrogate pair whose first half has been read; half a pair is replaced.
    fn low_surrogate(&mut self, high: u32) -> char {
        let start = self.at;
        if self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            if let Some(low @ 0xDC00..=0xDFFF) = self.unit() {
                let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                return char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            }
        }
        self.at = start;
        char::REPLACEMENT_CHARACTER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text read and written again; nothing where it is refused.
    fn check(text: &str, expected: Option<&str>) {
        let written = decode(text).ok().map(|value| {
            let mut out = String::new();
            encode(&value, &mut out).unwrap();
            out
        });
        assert_eq!(written.as_deref(), expected, "{text}");
    }

    #[test]
    fn texts_read_and_written_again() {
        check("1", Some("1"));
        check("[]", Some("[]"));
        check("{}", Some("{}"));
        check("", None);
        check(" 1 ", Some("1"));
        check("1 2", None);
        check("[1,]", None);
        check(r#"{"a":1,"a":2}"#, Some(r#"{"a":2}"#));
        check(r#"{"a":1,}"#, None);
        check("{a:1}", None);
        check("'a'", None);
        check("nul", None);
        check("null", Some("null"));
        check("[null]", Some("[null]"));
        check("01", None);
        check("-", None);
        check("-0", Some("-0"));
        check("1.", None);
        check(".5", None);
        check("1e5", Some("100000"));
        check("1E+5", Some("100000"));
        check("1e-5", Some("0.00001"));
        check("1e1000000000", None);
        check("+1", None);
        check("0x1", None);
        check("Infinity", None);
        check("NaN", None);
        check(
            "123456789012345678901234567890.123456789012345678901234567890",
            Some("123456789012345678901234567890.12345678901234567890123456789"),
        );
        check(r#""a\u00e9\n\/\b\f""#, Some(r#""aé\n/\b\f""#));
        check(r#""\ud83d\ude00""#, Some(r#""😀""#));
        check(r#""\ud83d""#, Some(r#""�""#));
        check(r#""\ude00x""#, Some(r#""�x""#));
        check(r#""\ud83d\u0041""#, Some(r#""�A""#));
        check(r#""\x""#, None);
        check(r#""\u00g0""#, None);
        check("\"a\nb\"", None);
        check(r#""\u0000""#, Some(r#""\u0000""#));
        check(r#""e\u0301""#, Some(r#""é""#));
        check(r#"{"e\u0301":1,"\u00e9":2}"#, Some(r#"{"é":2}"#));
        check("\u{feff}1", None);
        check(r#"[1, "a", true, null, {"b": []}]"#, Some(r#"[1,"a",true,null,{"b":[]}]"#));
        check("// c\n1", None);
        check("\u{a0}1", None);
        check("truex", None);
        check(r#"{"a" 1}"#, None);
        check("{1:1}", None);
        check("[1 2]", None);
        check(r#""abc"#, None);
        check("[", None);
        check("]", None);
    }

    #[test]
    fn depth_is_bounded() {
        for open in ["[", "{\"a\":"] {
            assert!(decode(&open.repeat(1_000_000)).unwrap_err().contains("nested"));
        }
        assert!(decode(&format!("{}{}", "[".repeat(500), "]".repeat(500))).is_ok());
    }

    #[test]
    fn a_problem_names_its_place() {
        let problem = decode("{\n  \"é\": 01\n}").unwrap_err();
        assert_eq!(problem, "this is not a JSON number (line 2, column 8 of the text)");
    }
}
