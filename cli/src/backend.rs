//! Where the settings say that the state is kept.

use std::path::Path;

use fleet_engine::config::model::Config;
use fleet_store::Backend;
use fleet_syntax::tree::ExprKind;

use crate::Failure;

/// Where state is kept, as the settings of the root module have it.
pub(crate) fn backend(config: &Config, cwd: &Path) -> Result<Backend, Failure> {
    let default = || Ok(Backend::Sqlite(cwd.join(fleet_store::DEFAULT_PATH)));
    let backend = config.root().settings.as_ref().and_then(|settings| settings.backend.as_ref());
    let Some(backend) = backend else { return default() };
    if &*backend.kind.name != "sqlite" {
        let kind = &backend.kind.name;
        return Err(Failure::new(format!("this version cannot keep state in `{kind}`")).help("use `sqlite`"));
    }
    match backend.body.attribute("path").map(|attribute| &attribute.value.kind) {
        None => default(),
        Some(ExprKind::String(path)) => Ok(Backend::Sqlite(cwd.join(&**path))),
        Some(_) => Err(Failure::new("the path of the state must be a string without expressions in it")),
    }
}
