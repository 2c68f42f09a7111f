//! Keyed digests: what is kept of sensitive values, so that a change can be seen and the value cannot.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fleet_lang::{Marks, Type, Value};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::encode::to_text;
use crate::schema::Schema;
use crate::state::Sealed;

/// Makes keyed digests. The key never stands in state or plan.
#[derive(Clone)]
pub struct Sealer(Arc<[u8]>);

/// How each sensitive argument is made, by name: what tells one symbolic value from another.
pub type Recipes = BTreeMap<Arc<str>, Arc<str>>;

/// What it takes to compare sensitive values with those of the last apply.
#[derive(Clone, Copy)]
pub struct Seals<'a> {
    /// Makes digests.
    pub sealer: &'a Sealer,
    /// The digests of the last apply.
    pub recorded: &'a BTreeMap<Arc<str>, Sealed>,
    /// How the values are made now; none where that does not matter, because they are placeholders.
    pub recipes: Option<&'a Recipes>,
    /// Whether reality was asked; otherwise what was sealed is all there is to compare with.
    pub read_back: bool,
}

impl Sealer {
    /// A sealer with that key.
    #[must_use]
    pub fn new(key: &[u8]) -> Sealer {
        Sealer(key.into())
    }

    /// The digest of some bytes, in hexadecimal digits.
    #[must_use]
    pub fn digest(&self, bytes: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("every key will do");
        mac.update(bytes);
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The digest of a wholly known value; none if it is not.
    #[must_use]
    pub fn digest_of(&self, value: &Value) -> Option<Arc<str>> {
        let text = to_text(&value.clone().unmark_deep().0).ok()?;
        Some(self.digest(text.as_bytes()).into())
    }

    /// How the sensitive arguments of an object are made, given the same object made of placeholders.
    #[must_use]
    pub fn recipes(&self, declared: &Value, shadow: &Value) -> Recipes {
        let entries = declared.entries().into_iter().flatten();
        let sensitive = entries.filter(|(_, value)| value.marks_deep().contains(Marks::SENSITIVE));
        let recipe = |(name, _): (&Arc<str>, &Value)| {
            let made = shadow.entries()?.get(name)?;
            Some((name.clone(), self.digest_of(made)?))
        };
        sensitive.filter_map(recipe).collect()
    }

    /// Takes what is sensitive out of an object, and leaves digests in its place. `sent` is what was wished, which says
    /// what is sensitive, and what was sent without ever being read back.
    #[must_use]
    pub fn seal(
        &self,
        schema: &Schema,
        found: &Value,
        sent: &Value,
        recipes: &Recipes,
    ) -> (Value, BTreeMap<Arc<str>, Sealed>) {
        let Some(entries) = found.entries() else { return (found.clone(), BTreeMap::new()) };
        let marks = found.marks_deep() | sent.marks_deep();
        if !schema.has_secrets() && !marks.contains(Marks::SENSITIVE) {
            return (found.clone(), BTreeMap::new());
        }
        let mut sealed = BTreeMap::new();
        let plain = entries.iter().map(|(name, value)| {
            let wished = sent.entries().and_then(|sent| sent.get(name));
            let attribute = schema.attributes.get(name);
            let is_sensitive = attribute.is_some_and(|attribute| attribute.sensitive)
                || wished.is_some_and(|wished| wished.marks_deep().contains(Marks::SENSITIVE))
                || value.marks_deep().contains(Marks::SENSITIVE);
            let write_only = attribute.is_some_and(|attribute| attribute.write_only);
            if !is_sensitive && !write_only {
                return (name.clone(), value.clone());
            }
            let kept = if write_only { wished.unwrap_or(value) } else { value };
            // What nobody can be told again cannot be compared either.
            let is_compared = attribute.is_none_or(|attribute| !attribute.told_once);
            if is_compared
                && !kept.is_null()
                && let Some(digest) = self.digest_of(kept)
            {
                sealed.insert(name.clone(), Sealed { digest, recipe: recipes.get(name).cloned() });
            }
            (name.clone(), Value::null_of(attribute.map_or(Type::Any, |attribute| attribute.ty.clone())))
        });
        (Value::object(plain.collect()), sealed)
    }
}

/// What was sealed of arguments that are sent and never read back: it stays true until something else is sent.
#[must_use]
pub fn sent_before(schema: &Schema, sealed: &BTreeMap<Arc<str>, Sealed>) -> BTreeMap<Arc<str>, Sealed> {
    let write_only =
        |name: &Arc<str>| schema.attributes.get(name).is_some_and(|attribute| attribute.write_only);
    sealed
        .iter()
        .filter(|(name, _)| write_only(name))
        .map(|(name, sealed)| (name.clone(), sealed.clone()))
        .collect()
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer(…)")
    }
}

impl Seals<'_> {
    /// Whether a wish says nothing about the value itself: it is a symbol, or a placeholder.
    #[must_use]
    pub fn speak_for(&self, wish: &Value) -> bool {
        match self.recipes {
            Some(_) => !wish.is_wholly_known(),
            None => wish.marks_deep().contains(Marks::SENSITIVE),
        }
    }

    /// Whether what is there is what was made last, and would be made in the same way again.
    #[must_use]
    pub fn is_unchanged(&self, name: &str, observed: &Value) -> bool {
        let Some(sealed) = self.recorded.get(name) else { return false };
        let same_way = self
            .recipes
            .is_none_or(|recipes| sealed.recipe.is_some() && sealed.recipe.as_ref() == recipes.get(name));
        same_way && self.sealer.digest_of(observed).as_ref() == Some(&sealed.digest)
    }

    /// Whether there is nothing else to compare with.
    #[must_use]
    pub fn stands_for(&self, name: &str) -> bool {
        !self.read_back && self.recorded.contains_key(name)
    }

    /// Whether this was sent last.
    #[must_use]
    pub fn was_sent(&self, name: &str, wish: &Value) -> bool {
        let Some(sealed) = self.recorded.get(name) else { return wish.is_null() };
        match self.recipes {
            None => true,
            Some(recipes) if !wish.is_wholly_known() => {
                sealed.recipe.is_some() && sealed.recipe.as_ref() == recipes.get(name)
            }
            Some(_) => self.sealer.digest_of(wish).as_ref() == Some(&sealed.digest),
        }
    }
}
