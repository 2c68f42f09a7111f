//! `data "scaleway_os_images"`: the systems that can be installed.

use fleet_derive::Schema;
use fleet_engine::resource::{DataKind, Error};

use super::client::Looking;
use super::{each, os, wire};

/// The systems that can be installed in a zone. They come and go without notice.
///
/// ```hcl
/// data "scaleway_os_images" "tahoe" {
///   family = "Tahoe"
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct OsImages {
    /// The zone; that of the provider if it is left out.
    zone: Option<String>,
    /// The family, such as `Tahoe`; all if it is left out.
    family: Option<String>,
    /// The type of servers that they run on, such as `M2-L`; any if it is left out.
    server_type: Option<String>,
    /// The systems, by name.
    #[fleet(computed)]
    images: Option<Vec<Row>>,
}

/// One system.
#[derive(Clone, Debug, PartialEq, Schema)]
struct Row {
    /// What the vendor calls it, in this zone.
    id: String,
    /// Such as `macos-tahoe-26.3`.
    name: String,
    /// What people call it.
    label: String,
    /// The family, such as `Tahoe`.
    family: String,
    /// The version, such as `26.3`.
    version: String,
    /// Whether it is a beta.
    beta: bool,
    /// The version of Xcode that comes with it.
    xcode_version: Option<String>,
    /// The types of servers that it runs on.
    server_types: Vec<String>,
}

impl DataKind for OsImages {
    const NAME: &'static str = "scaleway_os_images";
    type Reader = Looking;

    async fn read(reader: &Looking, batch: Vec<OsImages>) -> Vec<Result<OsImages, Error>> {
        let zone_of = |asked: &OsImages| asked.zone.clone().unwrap_or_else(|| reader.account.zone.clone());
        each(batch, zone_of, |zone: String| async move { reader.systems(&zone).await }, describe).await
    }
}

fn describe(asked: OsImages, all: &[wire::Os]) -> OsImages {
    let is_asked = |os: &&wire::Os| asked.family.as_ref().is_none_or(|family| os::is_of(os, family));
    let images = all.iter().filter(is_asked).cloned().map(Row::from);
    let runs = |row: &Row| asked.server_type.as_ref().is_none_or(|model| row.server_types.contains(model));
    let mut images: Vec<Row> = images.filter(runs).collect();
    images.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    OsImages { images: Some(images), ..asked }
}

impl From<wire::Os> for Row {
    fn from(found: wire::Os) -> Row {
        let mut server_types: Vec<String> =
            found.supported_server_types.iter().map(|supported| supported.server_type.clone()).collect();
        server_types.sort();
        Row {
            family: os::family_of(&found),
            id: found.id,
            name: found.name,
            label: found.label,
            version: found.version,
            beta: found.is_beta,
            xcode_version: Some(found.xcode_version).filter(|version| !version.is_empty()),
            server_types,
        }
    }
}

#[cfg(test)]
impl OsImages {
    pub(super) fn asked(family: Option<&str>) -> OsImages {
        OsImages { zone: None, family: family.map(str::to_owned), server_type: None, images: None }
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.images.iter().flatten().map(|row| row.name.clone()).collect()
    }
}
