//! What the settings say: where the state is kept, and the key of the digests.

use std::path::Path;
use std::time::Duration;

use fleet_engine::config::model::Settings;
use fleet_engine::schema::Catalog;
use fleet_engine::settings::{Known, settings};
use fleet_lang::{Marks, Value};
use fleet_store::Backend;
use fleet_syntax::diagnostic::has_errors;
use fleet_syntax::{Diagnostic, Diagnostics, Span};

use crate::configuration::Configuration;
use crate::secrets::{Missing, Vault};

/// A shorter key could be found by trying.
const SHORTEST_KEY: usize = 16;

/// Where the state is kept.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) backend: Backend,
    /// How long a run goes on trying when it loses the database.
    pub(crate) patience: Duration,
}

/// All that the settings say.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) place: Place,
    /// The key of the digests, if the configuration says where it is.
    pub(crate) digest_key: Option<String>,
}

/// Reads the settings of a configuration. `None` if something is wrong with them, which is in the diagnostics then.
pub(crate) fn read(
    configuration: &mut Configuration,
    catalog: &dyn Catalog,
    vault: &Vault,
    cwd: &Path,
) -> Option<Told> {
    let known =
        settings(&configuration.config, &configuration.surroundings(catalog, vault, &configuration.outside));
    let said = configuration.config.root().settings.as_ref();
    let reader = Reader { said, known: &known, vault, cwd };
    let mut problems = Diagnostics::new();
    let (place, digest_key) = (reader.place(&mut problems), reader.digest_key(&mut problems));
    problems.splice(0..0, known.problems);
    let told = (!has_errors(&problems)).then_some((place, digest_key));
    configuration.diagnostics.extend(problems);
    if told.is_none() {
        // What is behind the trouble may be the cause of it.
        configuration.diagnostics.extend(known.behind);
    }
    let (place, digest_key) = told?;
    Some(Told { place: place?, digest_key })
}

/// Whether mistakes of the configuration may hide where the state is kept. Those that do not are no reason to leave the
/// state alone.
pub(crate) fn may_be_hidden(configuration: &Configuration) -> bool {
    let root = configuration.config.root();
    root.settings.as_ref().map_or(root.incomplete, |settings| settings.incomplete)
}

struct Reader<'a> {
    said: Option<&'a Settings>,
    known: &'a Known,
    vault: &'a Vault,
    cwd: &'a Path,
}

impl Reader<'_> {
    /// `None` if something is wrong.
    fn place(&self, problems: &mut Diagnostics) -> Option<Place> {
        let patience = Duration::ZERO;
        let Some(block) = self.said.and_then(|said| said.backend.as_ref()) else {
            let path = self.cwd.join(fleet_store::DEFAULT_PATH);
            return Some(Place { backend: Backend::Sqlite(path), patience });
        };
        let (kind, arguments) = self.known.backend.as_ref()?;
        let spans = |name: &str| block.body.attribute(name).map_or(block.header, |given| given.value.span);
        let mut text = |name: &str| {
            let value = arguments.entries().and_then(|entries| entries.get(name))?;
            self.text(value, name, spans(name), problems)
        };
        if &**kind == "sqlite" {
            return Some(Place { backend: Backend::Sqlite(self.cwd.join(text("path")?)), patience });
        }
        let (url, name, patience) = (text("url"), text("name"), text("patience"));
        let url = url?;
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            let detail = "The address of a PostgreSQL database starts with `postgres://`.";
            let error = Diagnostic::error(spans("url"), "not the address of a database", detail);
            problems.push(error.help("write `postgres://user:password@host/database`"));
            return None;
        }
        let patience = patience?;
        let Ok(patience) = humantime::parse_duration(&patience) else {
            let detail = format!("`{patience}` is not a length of time.");
            let error = Diagnostic::error(spans("patience"), "unsuitable value for `patience`", detail);
            problems.push(error.help("write it as `30s` or `5m`"));
            return None;
        };
        if self.said.is_some_and(|said| said.digest_key.is_none()) {
            problems.push(own_key(block.header));
        }
        let recovery = self.cwd.join(fleet_store::DEFAULT_PATH).with_file_name("");
        Some(Place { backend: Backend::Postgres { url, name: name?, recovery }, patience })
    }

    fn digest_key(&self, problems: &mut Diagnostics) -> Option<String> {
        let value = self.known.digest_key.as_ref()?;
        let span = self.said?.digest_key.as_ref()?.span;
        let wrong =
            |summary: &str, detail: &str, help: &str| Diagnostic::error(span, summary, detail).help(help);
        let key = self.text(value, "digest_key", span, problems)?;
        if !value.marks.contains(Marks::SENSITIVE) {
            let detail = "Whoever knows the key can find out short secrets from their digests.";
            problems.push(wrong(
                "digest key that is no secret",
                detail,
                "refer to a secret: `secret.digest_key`",
            ));
            return None;
        }
        if key.len() < SHORTEST_KEY {
            let detail = format!("It has fewer than {SHORTEST_KEY} characters.");
            problems.push(wrong(
                "digest key that can be guessed",
                &detail,
                "make one with `openssl rand -hex 32`",
            ));
            return None;
        }
        Some(key)
    }

    /// A text that must be known, and say something.
    fn text(&self, value: &Value, name: &str, span: Span, problems: &mut Diagnostics) -> Option<String> {
        // A text from a file often ends its line.
        if let Some(text) = value.as_str().map(str::trim).filter(|text| !text.is_empty()) {
            return Some(text.to_owned());
        }
        if value.is_known() {
            let detail = format!("`{name}` must not be empty.");
            problems.push(Diagnostic::error(span, format!("unsuitable value for `{name}`"), detail));
            return None;
        }
        let awaits = value.awaits().map(|awaits| &**awaits);
        problems.extend(match (awaits, self.vault.missing()) {
            (Some(secret), Some((missing, Missing { why, help })))
                if secret == format!("secret.{missing}") =>
            {
                let detail = format!("It says where the state is, or how secrets are compared: {why}.");
                let error = Diagnostic::error(span, format!("cannot get {secret}"), detail);
                let first = help.unwrap_or_else(|| "make it available, and run again".into());
                Some(error.help(format!("{first}; nothing was done")))
            }
            (Some(awaits), _) => {
                let detail = format!("It depends on {awaits}, which has no value.");
                let error = Diagnostic::error(span, format!("`{name}` is not known"), detail);
                Some(error.help("give the variable a value, as for `fleet plan`: `--var NAME=VALUE`"))
            }
            // It could not be evaluated, which was said.
            (None, _) => None,
        });
        None
    }
}

/// What one who shares a state should know.
fn own_key(span: Span) -> Diagnostic {
    let detail = "The key that secrets are compared by is in `.fleet/digest.key` on this machine alone. To others who \
                  share the state secrets seem to have changed, and plans that were saved here do not fit there.";
    let warning = Diagnostic::warning(span, "shared state without a shared digest key", detail);
    warning.help("add `digest_key = secret.digest_key` to `settings`")
}
