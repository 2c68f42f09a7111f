//! Stage 3, observe: what is really there. Reads only: it holds no writer.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_lang::Value;

use crate::address::Address;
use crate::provider::{Readers, Session};
use crate::resource::{At, Error};

/// What to look at, by address.
pub type Questions = BTreeMap<Address, Question>;

/// What was seen, by address.
pub type Observed = BTreeMap<Address, Sight>;

/// Where to look for one thing.
#[derive(Clone, Debug)]
pub struct Question {
    /// Through which session.
    pub session: Session,
    /// What kind it is.
    pub kind: Arc<str>,
    /// What to look for.
    pub at: At<Value>,
}

/// What was seen at one address.
#[derive(Debug)]
pub struct Sight {
    /// Where it was looked for.
    pub at: At<Value>,
    /// What was found; `None` means that nothing is there.
    pub found: Result<Option<Value>, Error>,
}

/// What is asked of one kind in one go.
type Batch = Vec<(Address, At<Value>)>;

/// Looks at everything that is asked for: one connection for each session, one batch for each of its kinds.
pub async fn observe(readers: &dyn Readers, questions: Questions) -> Observed {
    let mut sessions: BTreeMap<Session, BTreeMap<Arc<str>, Batch>> = BTreeMap::new();
    for (address, Question { session, kind, at }) in questions {
        sessions.entry(session).or_default().entry(kind).or_default().push((address, at));
    }
    let mut observed = Observed::new();
    for (session, kinds) in sessions {
        let reader = match readers.reader(&session, &Value::null()).await {
            Ok(reader) => reader,
            Err(error) => {
                let failed = |at| Sight { at, found: Err(error.clone()) };
                let asked = kinds.into_values().flatten();
                observed.extend(asked.map(|(address, at)| (address, failed(at))));
                continue;
            }
        };
        for (kind, asked) in kinds {
            let batch = asked.iter().map(|(_, at)| at.clone()).collect();
            let found = reader.observe(&kind, batch).await;
            let sights = asked.into_iter().zip(found);
            observed.extend(sights.map(|((address, at), found)| (address, Sight { at, found })));
        }
    }
    observed
}
