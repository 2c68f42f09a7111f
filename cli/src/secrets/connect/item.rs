//! What is in 1Password, and which of it a name means.

use fleet_engine::secret::InItem;
use serde::Deserialize;

use crate::secrets::{Missing, keeper};

#[derive(Deserialize)]
pub(super) struct Vault {
    pub(super) id: String,
    name: String,
}

/// An item of a list, which does not say what is in it.
#[derive(Deserialize)]
pub(super) struct Summary {
    pub(super) id: String,
    title: String,
}

/// An item, with what is in it.
#[derive(Deserialize)]
pub(super) struct Item {
    pub(super) id: String,
    pub(super) vault: Within,
    sections: Option<Vec<Section>>,
    fields: Option<Vec<Field>>,
    files: Option<Vec<File>>,
}

/// What something lies in.
#[derive(Deserialize)]
pub(super) struct Within {
    pub(super) id: String,
}

#[derive(Deserialize)]
struct Section {
    id: String,
    label: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Field {
    id: String,
    label: Option<String>,
    section: Option<Within>,
    pub(super) value: Option<String>,
    /// The one-time password of now, where the field makes them.
    pub(super) totp: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct File {
    pub(super) id: String,
    name: String,
    section: Option<Within>,
}

/// What the end of a reference means.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    Field(&'a Field),
    File(&'a File),
}

/// What can be named in a reference.
pub(super) trait Named {
    /// Its id, and what people call it.
    fn names(&self) -> [&str; 2];
}

/// Those that a name means. An id is nobody else's, so it goes before names; and a name as it is written before the same
/// in other capital letters, which 1Password takes too.
pub(super) fn meant<'a, T: Named>(all: impl IntoIterator<Item = &'a T>, wanted: &str) -> Vec<&'a T> {
    let all: Vec<&T> = all.into_iter().collect();
    let lower = wanted.to_lowercase();
    let rank = |one: &&T| match one.names() {
        [id, _] if id == wanted => Some(0),
        [_, name] if name == wanted => Some(1),
        names => names.iter().any(|name| name.to_lowercase() == lower).then_some(2),
    };
    let best = all.iter().filter_map(rank).min();
    all.into_iter().filter(|one| best.is_some() && rank(one) == best).collect()
}

/// The only one that a name means; `what` they are, and who `holder` is.
pub(super) fn only<'a, T: Named>(
    all: impl IntoIterator<Item = &'a T>,
    wanted: &str,
    what: &str,
    holder: &str,
) -> Result<&'a T, Missing> {
    let all: Vec<&T> = all.into_iter().collect();
    match meant(all.iter().copied(), wanted)[..] {
        [one] => Ok(one),
        [] => {
            let known: Vec<&str> =
                all.iter().map(|one| one.names()[1]).filter(|name| !name.is_empty()).collect();
            let help = keeper::instead(wanted, &known, "");
            Err(Missing::new(format!("{holder} has no {what} `{wanted}`")).help(help))
        }
        ref several => {
            let ids: Vec<&str> = several.iter().map(|one| one.names()[0]).collect();
            let why = format!("{holder} has {} {what}s called `{wanted}`", several.len());
            Err(Missing::new(why)
                .help(format!("use the id of the one that is meant: `{}`", ids.join("`, `"))))
        }
    }
}

impl Item {
    /// The field or file that is named.
    pub(super) fn part(&self, place: &InItem) -> Result<Part<'_>, Missing> {
        let mut holder = format!("`{}`", place.item);
        let fields = self.fields.iter().flatten().map(Part::Field);
        let mut parts: Vec<Part<'_>> = fields.chain(self.files.iter().flatten().map(Part::File)).collect();
        if let Some(name) = &place.section {
            let section = only(self.sections.iter().flatten(), name, "section", &holder)?;
            parts.retain(|part| part.section() == Some(section.id.as_str()));
            holder = format!("the section `{name}` of {holder}");
        }
        only(&parts, &place.field, "field", &holder).copied()
    }
}

impl Part<'_> {
    fn section(&self) -> Option<&str> {
        let (Part::Field(Field { section, .. }) | Part::File(File { section, .. })) = self;
        section.as_ref().map(|section| section.id.as_str())
    }
}

impl Named for Vault {
    fn names(&self) -> [&str; 2] {
        [&self.id, &self.name]
    }
}

impl Named for Summary {
    fn names(&self) -> [&str; 2] {
        [&self.id, &self.title]
    }
}

impl Named for Section {
    fn names(&self) -> [&str; 2] {
        [&self.id, self.label.as_deref().unwrap_or_default()]
    }
}

impl Named for Part<'_> {
    fn names(&self) -> [&str; 2] {
        match self {
            Part::Field(field) => [&field.id, field.label.as_deref().unwrap_or_default()],
            Part::File(file) => [&file.id, &file.name],
        }
    }
}
