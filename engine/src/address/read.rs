//! Many addresses from their texts, as a state holds them: what they share is held once.

use std::sync::Arc;

use super::{Address, Item, Key, ScopePath, ScopeStep, Target};
use foldhash::{HashMap, HashSet};

/// Reads addresses. Those in one scope share it, and all of them their words.
#[derive(Debug, Default)]
pub struct Reader {
    words: HashSet<Arc<str>>,
    /// The scopes read so far, by their text.
    scopes: HashMap<Box<str>, ScopePath>,
}

impl Reader {
    /// A word, held once.
    pub fn word(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.words.get(text) {
            return known.clone();
        }
        let word: Arc<str> = text.into();
        self.words.insert(word.clone());
        word
    }

    /// Reads the name of one instance, as it prints itself.
    pub fn address(&mut self, text: &str) -> Option<Address> {
        let Target { scope, item, key } = self.target(text)?;
        Some(Address { scope, item: item?, key })
    }

    /// Reads a scope, as it prints itself; the outermost has no name.
    pub fn scope(&mut self, text: &str) -> Option<ScopePath> {
        if text.is_empty() {
            return Some(ScopePath::default());
        }
        let target = self.target(text)?;
        target.item.is_none().then_some(target.scope)
    }

    /// Reads what may be meant, as it prints itself.
    pub fn target(&mut self, text: &str) -> Option<Target> {
        // What takes more than a look at each character is left to the parser of expressions.
        self.plain(text).or_else(|| Target::parse(text))
    }

    fn plain(&mut self, text: &str) -> Option<Target> {
        let mut cursor = Cursor { rest: text };
        let mut steps = Vec::new();
        let mut scope_len = 0;
        loop {
            let word = cursor.name()?;
            let step: fn(Arc<str>, Option<Key>) -> ScopeStep = match word {
                "module" => ScopeStep::Module,
                "fleet" => ScopeStep::Fleet,
                "null" | "true" | "false" => return None,
                _ => {
                    let scope = self.known_scope(&text[..scope_len], &steps);
                    let mut names = || {
                        let name = cursor.after_dot()?;
                        Some(self.word(name))
                    };
                    let item = match word {
                        "host" => Item::Host,
                        "data" => Item::Data(names()?, names()?),
                        _ => {
                            let name = names()?;
                            Item::Resource(self.word(word), name)
                        }
                    };
                    let key = cursor.key()?.map(PlainKey::key);
                    return cursor.rest.is_empty().then_some(Target { scope, item: Some(item), key });
                }
            };
            steps.push((step, cursor.after_dot()?, cursor.key()?));
            scope_len = text.len() - cursor.rest.len();
            if cursor.rest.is_empty() {
                return Some(Target { scope: self.known_scope(text, &steps), item: None, key: None });
            }
            cursor.rest = cursor.rest.strip_prefix('.')?;
        }
    }

    fn known_scope(&mut self, text: &str, steps: &[PlainStep<'_>]) -> ScopePath {
        if steps.is_empty() {
            return ScopePath::default();
        }
        if let Some(known) = self.scopes.get(text) {
            return known.clone();
        }
        let steps = steps.iter().map(|(step, name, key)| step(self.word(name), key.map(PlainKey::key)));
        let path = ScopePath(steps.collect());
        self.scopes.insert(text.into(), path.clone());
        path
    }
}

type PlainStep<'t> = (fn(Arc<str>, Option<Key>) -> ScopeStep, &'t str, Option<PlainKey<'t>>);

/// A key without anything to be replaced in it.
#[derive(Clone, Copy)]
enum PlainKey<'t> {
    Index(u64),
    Text(&'t str),
}

impl PlainKey<'_> {
    fn key(self) -> Key {
        match self {
            PlainKey::Index(index) => Key::Index(index),
            PlainKey::Text(text) => Key::Text(text.into()),
        }
    }
}

/// What is left of a text.
struct Cursor<'t> {
    rest: &'t str,
}

impl<'t> Cursor<'t> {
    fn name(&mut self) -> Option<&'t str> {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let len = self.rest.bytes().take_while(is_part).count();
        let first = self.rest.bytes().next().filter(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        first?;
        let (name, rest) = self.rest.split_at(len);
        self.rest = rest;
        Some(name)
    }

    fn after_dot(&mut self) -> Option<&'t str> {
        self.rest = self.rest.strip_prefix('.')?;
        self.name()
    }

    /// The key that follows, `Some(None)` if none does, `None` if it is not plain.
    fn key(&mut self) -> Option<Option<PlainKey<'t>>> {
        let Some(rest) = self.rest.strip_prefix('[') else { return Some(None) };
        let (key, rest) = if let Some(rest) = rest.strip_prefix('"') {
            let (text, rest) = rest.split_once("\"]")?;
            let is_plain =
                |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\' | b'$' | b'%');
            (text.bytes().all(is_plain).then_some(PlainKey::Text(text))?, rest)
        } else {
            let (digits, rest) = rest.split_once(']')?;
            let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.len() < 19;
            let is_plain = is_plain && (digits == "0" || !digits.starts_with('0'));
            (PlainKey::Index(digits.parse().ok().filter(|_| is_plain)?), rest)
        };
        self.rest = rest;
        Some(Some(key))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::address;
    use super::*;

    proptest! {
        #[test]
        fn it_reads_what_the_parser_of_expressions_reads(
            addresses in prop::collection::vec(address(), 1..6),
            noise in "[a-z.\\[\\]\"0-9$\\\\ -]{0,12}",
        ) {
            let mut reader = Reader::default();
            for address in addresses {
                let text = address.to_string();
                prop_assert_eq!(reader.target(&text), Target::parse(&text));
                prop_assert_eq!(reader.address(&text), Some(address.clone()));
                prop_assert_eq!(reader.scope(&address.scope.to_string()), Some(address.scope));
                for text in [noise.clone(), format!("{text}{noise}"), format!("{noise}{text}")] {
                    prop_assert_eq!(reader.target(&text), Target::parse(&text), "{}", text);
                }
            }
        }
    }

    #[test]
    fn what_is_shared_is_held_once() {
        let mut reader = Reader::default();
        let a = reader.address("module.m[\"k\"].core_value.a").unwrap();
        let b = reader.address("module.m[\"k\"].core_value.b[2]").unwrap();
        assert!(std::ptr::eq(a.scope.steps(), b.scope.steps()));
        let (Item::Resource(a, _), Item::Resource(b, _)) = (a.item, b.item) else {
            panic!("they are resources")
        };
        assert!(Arc::ptr_eq(&a, &b));
    }
}
