//! Patterns of names: `*` is any text, `?` one character, `[a-z]` and `[^a-z]` one of a class, `{a,b}` one of several
//! patterns, and `\` takes the meaning from the character after it.

/// What one name of a path must look like.
#[derive(Debug, PartialEq)]
pub(super) enum Name {
    /// `**`: any number of directories.
    Any,
    /// A name without anything special.
    Literal(String),
    /// A name with something special.
    Matching(Vec<Piece>),
}

#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Char(char),
    /// `?`
    One,
    /// `*`
    Many,
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
    Choice(Vec<Vec<Piece>>),
}

/// Braces within braces nest as deep as this.
const DEPTH_LIMIT: usize = 32;

impl Name {
    /// Reads one name of a pattern; the error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Name, String> {
        if text == "**" {
            return Ok(Name::Any);
        }
        let pieces = Reader { rest: text }.pieces(0)?;
        let literal: Option<String> =
            pieces.iter().map(|piece| if let Piece::Char(c) = piece { Some(*c) } else { None }).collect();
        Ok(literal.map_or(Name::Matching(pieces), Name::Literal))
    }

    /// Whether the whole name matches.
    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Name::Any => true,
            Name::Literal(text) => text == name,
            Name::Matching(pieces) => {
                let name: Vec<char> = name.chars().collect();
                let mut ends = vec![false; name.len() + 1];
                ends[0] = true;
                follow(pieces, &name, ends)[name.len()]
            }
        }
    }
}

/// Where in the name the pieces can end if they begin at one of the places given: so every piece is tried once at
/// every place, and no pattern takes more than its length times that of the name.
fn follow(pieces: &[Piece], name: &[char], mut places: Vec<bool>) -> Vec<bool> {
    for piece in pieces {
        places = match piece {
            Piece::Char(c) => advance(name, &places, |next| next == *c),
            Piece::One => advance(name, &places, |_| true),
            Piece::Class { negated, ranges } => advance(name, &places, |next| {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&next)) != *negated
            }),
            Piece::Many => {
                let first = places.iter().position(|here| *here).unwrap_or(places.len());
                (0..places.len()).map(|place| place >= first).collect()
            }
            Piece::Choice(options) => options
                .iter()
                .map(|option| follow(option, name, places.clone()))
                .reduce(|a, b| a.iter().zip(b).map(|(a, b)| *a || b).collect())
                .expect("a choice has at least one option"),
        };
    }
    places
}

fn advance(name: &[char], places: &[bool], takes: impl Fn(char) -> bool) -> Vec<bool> {
    let moved = name.iter().zip(places).map(|(c, here)| *here && takes(*c));
    std::iter::once(false).chain(moved).collect()
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    /// Reads up to the end, or within braces up to a `,` or `}` that is left for the caller.
    fn pieces(&mut self, depth: usize) -> Result<Vec<Piece>, String> {
        let mut pieces = Vec::new();
        while let Some(c) = self.peek() {
            if depth > 0 && matches!(c, ',' | '}') {
                break;
            }
            self.take();
            pieces.push(match c {
                '*' => Piece::Many,
                '?' => Piece::One,
                '[' => self.class()?,
                '{' => self.choice(depth + 1)?,
                '\\' => Piece::Char(self.escaped()?),
                c => Piece::Char(c),
            });
        }
        Ok(pieces)
    }

    /// Reads `a,b}`.
    fn choice(&mut self, depth: usize) -> Result<Piece, String> {
        if depth > DEPTH_LIMIT {
            return Err(format!("braces nest deeper than {DEPTH_LIMIT}"));
        }
        let mut options = Vec::new();
        loop {
            options.push(self.pieces(depth)?);
            match self.take() {
                Some(',') => {}
                Some(_) => return Ok(Piece::Choice(options)),
                None => {
                    return Err("`{` has no `}` in the same name; a choice cannot hold a slash".to_owned());
                }
            }
        }
    }

    /// Reads `a-z]`.
    fn class(&mut self) -> Result<Piece, String> {
        let negated = self.skip('^');
        let mut ranges = Vec::new();
        loop {
            if !ranges.is_empty() && self.skip(']') {
                return Ok(Piece::Class { negated, ranges });
            }
            let low = self.member()?;
            let high = if self.skip('-') { self.member()? } else { low };
            ranges.push((low, high));
        }
    }

    /// One character of a class.
    fn member(&mut self) -> Result<char, String> {
        match self.take() {
            None => Err("`[` has no `]` in the same name".to_owned()),
            Some(c @ ('-' | ']')) => Err(format!("`{c}` as a character of `[…]` must be written `\\{c}`")),
            Some('\\') => self.escaped(),
            Some(c) => Ok(c),
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        self.take().ok_or_else(|| "there is nothing after the last `\\`".to_owned())
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn skip(&mut self, c: char) -> bool {
        let found = self.rest.starts_with(c);
        if found {
            self.take();
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_match() {
        for (pattern, yes, no) in [
            ("a.txt", "a.txt", "b.txt A.TXT"),
            ("*.txt", "a.txt .txt", "a.tf"),
            ("?.txt", "a.txt é.txt", "ab.txt .txt"),
            ("{a,b}.txt", "a.txt b.txt", "c.txt ab.txt"),
            ("{a,b,}b.txt", "ab.txt b.txt bb.txt", "a.txt"),
            ("{{a,b},c}.txt", "a.txt b.txt c.txt", "{a.txt"),
            ("{*.txt,*.tf}", "x.txt x.tf", "x.md"),
            ("{}a", "a", "{}a"),
            ("[ab]", "a b", "c ab"),
            ("[a-c]x", "ax cx", "dx"),
            ("[^a]", "b", "a"),
            ("[!a]", "a !", "b"),
            ("[b-a]", "", "a b"),
            ("[\\]a]", "] a", "\\"),
            ("a[\\-]b", "a-b", "ab"),
            ("a}", "a}", "a"),
            ("a,b", "a,b", "a"),
            ("st\\*r", "st*r", "star"),
            ("st[*]r", "st*r", "star"),
            ("br\\{a,b\\}", "br{a,b}", "bra"),
            ("br{\\{a\\,b\\},zz}", "br{a,b} brzz", "bra"),
            ("com{\\,,x}ma", "com,ma comxma", "comma"),
            ("d**", "d deep", "e"),
            ("[[:alpha:]].x", "a].x [].x", "a.x"),
        ] {
            let name = Name::parse(pattern).unwrap();
            yes.split_whitespace().for_each(|text| assert!(name.matches(text), "{pattern} {text}"));
            no.split_whitespace().for_each(|text| assert!(!name.matches(text), "{pattern} {text}"));
        }
    }

    #[test]
    fn senseless_patterns_are_refused() {
        for pattern in ["a[]b]", "[a-]", "[-a]", "[]", "[a", "[", "[^", "{a", "{a,", "a\\", "[a\\", "a[+--]b"]
        {
            assert!(Name::parse(pattern).is_err(), "{pattern}");
        }
        assert!(Name::parse(&"{".repeat(100_000)).is_err());
    }

    #[test]
    fn hostile_patterns_take_no_time() {
        let name = Name::parse(&"{*a,a*}".repeat(200)).unwrap();
        assert!(!name.matches(&"a".repeat(150)));
    }

    proptest! {
        #[test]
        fn any_text_is_a_pattern_or_an_error(pattern in "[a{},*?\\[\\]^\\\\-]{0,16}", name in "[a{},-]{0,8}") {
            if let Ok(parsed) = Name::parse(&pattern) {
                parsed.matches(&name);
            }
        }

        #[test]
        fn an_escaped_name_matches_only_itself(name in "[a{},*?\\[\\]^\\\\-]{1,8}", other in "[a{},*?]{1,8}") {
            let escaped: String = name.chars().flat_map(|c| ['\\', c]).collect();
            let parsed = Name::parse(&escaped).unwrap();
            prop_assert!(parsed.matches(&name));
            prop_assert_eq!(parsed.matches(&other), name == other);
        }
    }
}
