//! `data "kubernetes_object"`: any object, as it is.

use fleet_derive::Schema;
use fleet_engine::resource::{DataKind, Error};
use fleet_lang::{Marks, Value};
use futures_util::future::join_all;

use super::client::Looking;
use super::json::{take, to_value};

/// An object of the cluster, as it is now.
///
/// That it is not there is an error, unless `optional` is set: then `object` is null. What a Secret holds is sensitive.
///
/// ```hcl
/// data "kubernetes_object" "node" {
///   api_version = "v1"
///   kind        = "Namespace"
///   name        = "kube-system"
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Object {
    /// The version of its kind, with the group: `apps/v1`.
    api_version: String,
    /// Its kind.
    kind: String,
    /// Its name.
    name: String,
    /// The namespace it is in; that of the provider if it is left out.
    #[fleet(optional_computed)]
    namespace: Option<String>,
    /// Whether it may be missing.
    #[fleet(default = false)]
    optional: bool,
    /// The object, without what says who owns its fields.
    #[fleet(computed)]
    object: Option<Value>,
}

impl DataKind for Object {
    const NAME: &'static str = "kubernetes_object";
    type Reader = Looking;

    async fn read(reader: &Looking, batch: Vec<Object>) -> Vec<Result<Object, Error>> {
        join_all(batch.into_iter().map(|asked| read(reader, asked))).await
    }
}

async fn read(reader: &Looking, asked: Object) -> Result<Object, Error> {
    let namespace = asked.namespace.clone().unwrap_or_else(|| reader.namespace.to_string());
    let resource = reader.resource(&asked.api_version, &asked.kind).await?;
    let Some(resource) = resource else {
        let message = format!("the cluster has no kind `{}` in `{}`", asked.kind, asked.api_version);
        return if asked.optional { Ok(asked) } else { Err(Error::permanent(message)) };
    };
    let place = resource.one(&namespace, &asked.name);
    let Some(mut found) = reader.get(&place).await? else {
        let error = Error::permanent(format!("there is no {place}"));
        return if asked.optional {
            Ok(asked)
        } else {
            Err(error.help("set `optional = true` if it may be missing"))
        };
    };
    take(&mut found, "metadata", "managedFields");
    let marks = if asked.kind == "Secret" { Marks::SENSITIVE } else { Marks::NONE };
    let namespace = resource.namespaced.then_some(namespace);
    Ok(Object { object: Some(to_value(&found).mark(marks)), namespace, ..asked })
}
