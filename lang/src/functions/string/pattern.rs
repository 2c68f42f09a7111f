//! Regular expressions as Terraform's users write them: RE2's syntax, where `\d`, `\w`, `\s` and `\b` are ASCII,
//! `\Q…\E` quotes and an unfinished `{` is a brace.
//!
//! A pattern is translated, in one pass, to the syntax of the `regex` crate, which has other habits in classes
//! (`&&`, nesting), escapes and flags. Groups lose their names on the way, since RE2 allows names that the crate
//! does not (`(?P<1>…)`, the same name twice).

use regex::{Regex, RegexBuilder};

/// The largest count in `{n,m}`.
const MAX_REPEAT: u32 = 1000;

/// How deep groups may nest.
const MAX_DEPTH: u32 = 200;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    /// The compiled form.
    pub(super) regex: Regex,
    /// The name of every group, in order.
    pub(super) names: Vec<Option<String>>,
}

impl Pattern {
    /// Compiles a pattern, or says what is wrong with it.
    pub(super) fn new(text: &str) -> Result<Pattern, String> {
        let mut translator = Translator { rest: text, out: String::new(), names: Vec::new(), depth: 0 };
        translator.alternatives()?;
        if !translator.rest.is_empty() {
            return Err("it has a `)` without its `(`".into());
        }
        let regex =
            RegexBuilder::new(&translator.out).nest_limit(2 * MAX_DEPTH + 50).build().map_err(|error| {
                match error {
                    regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
                    other => other
                        .to_string()
                        .lines()
                        .last()
                        .unwrap_or_default()
                        .trim_start_matches("error: ")
                        .to_owned(),
                }
            })?;
        Ok(Pattern { regex, names: translator.names })
    }
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    names: Vec<Option<String>>,
    depth: u32,
}

impl<'a> Translator<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let first = chars.next();
        self.rest = chars.as_str();
        first
    }

    fn eat(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !keep(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Everything up to the end or an unmatched `)`.
    fn alternatives(&mut self) -> Result<(), String> {
        // What a repetition operator would repeat: nothing, something, or something that is repeated already.
        let mut repeatable = Repeatable::Nothing;
        loop {
            match self.peek() {
                None | Some(')') => return Ok(()),
                Some('|') => {
                    self.take();
                    self.out.push('|');
                    repeatable = Repeatable::Nothing;
                }
                Some('*' | '+' | '?') => self.repeat(&mut repeatable, None)?,
                Some('{') => match self.counts()? {
                    Some(counts) => self.repeat(&mut repeatable, Some(counts))?,
                    None => {
                        self.take();
                        self.literal('{');
                        repeatable = Repeatable::Once;
                    }
                },
                Some('(') => {
                    let is_group = self.group()?;
                    repeatable = if is_group { Repeatable::Once } else { Repeatable::Nothing };
                }
                Some('[') => {
                    self.class()?;
                    repeatable = Repeatable::Once;
                }
                Some('\\') if self.eat("\\Q") => {
                    let (quoted, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
                    self.rest = rest;
                    quoted.chars().for_each(|c| self.literal(c));
                    if !quoted.is_empty() {
                        repeatable = Repeatable::Once;
                    }
                }
                Some('\\') => {
                    self.escape()?;
                    repeatable = Repeatable::Once;
                }
                Some(c @ ('.' | '^' | '$')) => {
                    self.take();
                    self.out.push(c);
                    repeatable = Repeatable::Once;
                }
                Some(c) => {
                    self.take();
                    self.literal(c);
                    repeatable = Repeatable::Once;
                }
            }
        }
    }

    /// An operator: the next character, or counts that were read already.
    fn repeat(&mut self, repeatable: &mut Repeatable, counts: Option<String>) -> Result<(), String> {
        let operator = match counts {
            Some(counts) => counts,
            None => self.take().map(String::from).unwrap_or_default(),
        };
        match repeatable {
            Repeatable::Nothing => return Err(format!("there is nothing that `{operator}` could repeat")),
            Repeatable::Already => return Err(format!("`{operator}` cannot follow another repetition")),
            Repeatable::Once => *repeatable = Repeatable::Already,
        }
        self.out.push_str(&operator);
        if self.eat("?") {
            self.out.push('?');
        }
        Ok(())
    }

    /// `{n}`, `{n,}` or `{n,m}`; anything else after a `{` makes it an ordinary character.
    fn counts(&mut self) -> Result<Option<String>, String> {
        let Some((inner, rest)) = self.rest.strip_prefix('{').and_then(|text| text.split_once('}')) else {
            return Ok(None);
        };
        let is_count = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_digit())
                && (text == "0" || !text.starts_with('0'))
        };
        let (low, high) = match inner.split_once(',') {
            Some((low, high)) => (low, Some(high).filter(|high| !high.is_empty())),
            None => (inner, Some(inner)),
        };
        if !is_count(low) || !high.is_none_or(is_count) {
            return Ok(None);
        }
        let value = |text: &str| text.parse::<u32>().ok().filter(|count| *count <= MAX_REPEAT);
        let (Some(low), Some(high)) = (value(low), high.map_or(Some(MAX_REPEAT), value)) else {
            return Err(format!("a repetition goes up to {MAX_REPEAT} at most"));
        };
        if low > high {
            return Err(format!("`{{{inner}}}` counts down"));
        }
        self.rest = rest;
        Ok(Some(format!("{{{inner}}}")))
    }

    /// From `(` to its `)`, or flags for the rest of the surrounding group; whether it is a group.
    fn group(&mut self) -> Result<bool, String> {
        self.take();
        if self.eat("?P<") || self.eat("?<") {
            let name = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
            if name.is_empty() || !self.eat(">") {
                return Err("a group's name consists of letters, digits and `_`, as in `(?P<name>…)`".into());
            }
            self.names.push(Some(name.to_owned()));
            self.out.push('(');
        } else if self.eat("?") {
            let flags = self.take_while(|c| matches!(c, 'i' | 'm' | 's' | 'U' | '-'));
            if flags.ends_with('-') || flags.matches('-').count() > 1 {
                return Err(format!("`(?{flags}` has a `-` without flags after it"));
            }
            match self.take() {
                Some(')') => {
                    if !flags.is_empty() {
                        self.out.push_str(&format!("(?{flags})"));
                    }
                    return Ok(false);
                }
                Some(':') => self.out.push_str(&format!("(?{flags}:")),
                Some(other) => return Err(format!("`(?{flags}{other}` is not supported")),
                None => return Err("it has a `(` without its `)`".into()),
            }
        } else {
            self.names.push(None);
            self.out.push('(');
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("its groups are nested more than {MAX_DEPTH} deep"));
        }
        self.alternatives()?;
        self.depth -= 1;
        if !self.eat(")") {
            return Err("it has a `(` without its `)`".into());
        }
        self.out.push(')');
        Ok(true)
    }

    /// An escape outside of a class.
    fn escape(&mut self) -> Result<(), String> {
        if self.shorthand()? {
            return Ok(());
        }
        for (escape, written) in [("\\b", r"(?-u:\b)"), ("\\B", r"(?-u:\B)"), ("\\A", r"\A"), ("\\z", r"\z")]
        {
            if self.eat(escape) {
                self.out.push_str(written);
                return Ok(());
            }
        }
        let c = self.character()?;
        self.literal(c);
        Ok(())
    }

    /// `\d` and its like, which are classes of their own inside and outside of a class.
    fn shorthand(&mut self) -> Result<bool, String> {
        for (escape, written) in [
            ("\\d", "[0-9]"),
            ("\\D", "[^0-9]"),
            ("\\w", "[0-9A-Za-z_]"),
            ("\\W", "[^0-9A-Za-z_]"),
            ("\\s", r"[\t\n\x0C\r ]"),
            ("\\S", r"[^\t\n\x0C\r ]"),
        ] {
            if self.eat(escape) {
                self.out.push_str(written);
                return Ok(true);
            }
        }
        let negated = match () {
            () if self.eat("\\p") => false,
            () if self.eat("\\P") => true,
            () => return Ok(false),
        };
        let name = if self.eat("{") {
            let Some((name, rest)) = self.rest.split_once('}') else {
                return Err("it has a `\\p{` without its `}`".into());
            };
            self.rest = rest;
            name.to_owned()
        } else {
            self.take().map(String::from).unwrap_or_default()
        };
        let (negated, name) = match name.strip_prefix('^') {
            Some(name) => (!negated, name),
            None => (negated, name.as_str()),
        };
        let p = if negated { 'P' } else { 'p' };
        let is_category = CATEGORIES.split(' ').any(|category| category == name);
        let is_script = name.len() > 2
            && name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
        if name == "Any" || is_category {
            self.out.push_str(&format!("\\{p}{{{name}}}"));
        } else if is_script {
            self.out.push_str(&format!("\\{p}{{Script={name}}}"));
        } else {
            return Err(format!(
                "`{name}` is neither a Unicode category such as `Lu` nor a script such as `Greek`"
            ));
        }
        Ok(true)
    }

    /// One character written as itself or as an escape.
    fn character(&mut self) -> Result<char, String> {
        if !self.eat("\\") {
            return self.take().ok_or_else(|| "it has a `[` without its `]`".to_owned());
        }
        let Some(c) = self.take() else { return Err("it ends in a `\\`".into()) };
        let unknown = || format!("there is no escape `\\{c}`");
        let code = match c {
            'a' => 0x07,
            'f' => 0x0C,
            'n' => 0x0A,
            'r' => 0x0D,
            't' => 0x09,
            'v' => 0x0B,
            'x' => {
                let digits = if self.eat("{") {
                    let digits = self.take_while(|c| c.is_ascii_hexdigit());
                    if !self.eat("}") {
                        return Err(unknown());
                    }
                    digits
                } else {
                    let digits = self.rest.get(..2).ok_or_else(unknown)?;
                    self.rest = &self.rest[2..];
                    digits
                };
                u32::from_str_radix(digits, 16).map_err(|_| unknown())?
            }
            // A single digit would be a back-reference, except for `\0`.
            '0'..='7' if c == '0' || self.peek().is_some_and(|c| c.is_digit(8)) => {
                let mut code = c.to_digit(8).unwrap_or_default();
                for _ in 0..2 {
                    let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else { break };
                    self.take();
                    code = code * 8 + digit;
                }
                code
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => u32::from(c),
            _ => return Err(unknown()),
        };
        char::from_u32(code).ok_or_else(|| format!("{code:X} is not a Unicode character"))
    }

    /// From `[` to its `]`. The first `]` is an ordinary character, and so are `[`, `&`, `~` and most `-`.
    fn class(&mut self) -> Result<(), String> {
        self.take();
        self.out.push('[');
        if self.eat("^") {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            if !first && self.eat("]") {
                self.out.push(']');
                return Ok(());
            }
            first = false;
            if self.rest.starts_with("[:")
                && let Some(end) = self.rest.find(":]")
            {
                let (name, rest) = self.rest.split_at(end + 2);
                let plain = name.trim_start_matches("[:").trim_start_matches('^').trim_end_matches(":]");
                if !ASCII_CLASSES.split(' ').any(|class| class == plain) {
                    return Err(format!("there is no class `{name}`"));
                }
                self.out.push_str(name);
                self.rest = rest;
                continue;
            }
            if self.shorthand()? {
                continue;
            }
            let low = self.character()?;
            self.literal(low);
            if self.rest.starts_with('-') && !self.rest.starts_with("-]") {
                self.take();
                let high = self.character()?;
                if low > high {
                    return Err(format!("`{low}-{high}` counts down"));
                }
                self.out.push('-');
                self.literal(high);
            }
        }
    }

    /// A character that means itself, whatever the crate thinks of it.
    fn literal(&mut self, c: char) {
        if c.is_alphanumeric() {
            self.out.push(c);
        } else {
            self.out.push_str(&format!("\\x{{{:X}}}", u32::from(c)));
        }
    }
}

/// What a repetition operator finds before it.
enum Repeatable {
    Nothing,
    Once,
    Already,
}

const CATEGORIES: &str = "C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm \
                          So Z Zl Zp Zs";

const ASCII_CLASSES: &str =
    "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit";

#[cfg(test)]
mod tests;
