//! `core_value`: a value kept in state.

use fleet_derive::Schema;
use fleet_engine::resource::{ApiKind, At, Change, Error, Resource};
use fleet_lang::Value;
use uuid::Uuid;

use super::{Acting, Looking};

/// Keeps a value in state, and can make other things depend on its changes.
///
/// It lives in state alone: there is nothing to observe, so what was recorded is what is there. Sensitive values are
/// refused, because the state would hold them.
///
/// ```hcl
/// resource "core_value" "release" {
///   input = "2.1.0"
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct CoreValue {
    /// The value to keep.
    input: Option<Value>,
    /// Replaces the resource whenever this value changes.
    #[fleet(replace)]
    triggers_replace: Option<Value>,
    /// The value of `input`, as of the last apply.
    #[fleet(computed, copies = "input")]
    output: Option<Value>,
    /// A random name, new with each replacement.
    #[fleet(computed)]
    id: Option<String>,
}

impl Resource for CoreValue {
    const NAME: &'static str = "core_value";
    const LIVES_IN_STATE: bool = true;
}

impl ApiKind for CoreValue {
    type Reader = Looking;
    type Writer = Acting;

    async fn observe(_: &Looking, batch: Vec<At<CoreValue>>) -> Vec<Result<Option<CoreValue>, Error>> {
        let find = |at| match at {
            At::Recorded(value) => Ok(Some(value)),
            At::Declared(_) | At::Begun { .. } | At::Id(_) => Ok(None),
        };
        batch.into_iter().map(find).collect()
    }

    async fn apply(self, _: &Acting, change: Change<CoreValue>) -> Result<CoreValue, Error> {
        let id = match change {
            Change::Create => Some(Uuid::new_v4().to_string()),
            Change::Update { from } => from.id,
        };
        Ok(CoreValue { output: self.input.clone(), id, ..self })
    }

    async fn destroy(_: &Acting, _: CoreValue) -> Result<(), Error> {
        Ok(())
    }
}
