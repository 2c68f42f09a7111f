//! Where the machines of slots come from and go to.

use serde::{Deserialize, Serialize};

use crate::plan::{Pooling, pools};
use crate::pool::protocol::{Method, Surprise};

/// Where the machine of a slot comes from, and where the one before goes to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// How the slot gets a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// How it gives one back.
    #[serde(default, rename = "return", skip_serializing_if = "Option::is_none")]
    pub returns: Option<Return>,
    /// What somebody did to the machine that it has, and claims again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surprise: Option<Surprise>,
}

/// How a slot gets a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The pool that it comes from.
    pub pool: String,
    /// Which hosts of it are looked for, in words.
    pub rule: String,
    /// The host that will be tried first; another one may be taken that the rule fits too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_choice: Option<Choice>,
}

/// A host that may be taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What the vendor calls it for ever.
    pub id: String,
    /// What it is called now.
    pub name: String,
}

/// How a slot gives a machine back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Return {
    /// The pool that it goes back to.
    pub pool: String,
    /// How it becomes clean.
    pub method: Method,
    /// Before this, the vendor does not let it be deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletable_at: Option<String>,
}

impl Pool {
    pub(super) fn of(pooling: &Pooling) -> Pool {
        let claim = |claim: &pools::Claim| Claim {
            pool: claim.pool.clone(),
            rule: claim.rule.clone(),
            first_choice: claim.first.clone().map(|(id, name)| Choice { id, name }),
        };
        let returns = |returns: &pools::Return| Return {
            pool: returns.pool.clone(),
            method: returns.method,
            deletable_at: returns.deletable_at.clone(),
        };
        Pool {
            claim: pooling.claim.as_ref().map(claim),
            returns: pooling.returns.as_ref().map(returns),
            surprise: pooling.surprise,
        }
    }

    /// What is said of it in words.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = self.surprise.iter().map(ToString::to_string).collect();
        if let Some(Claim { pool, rule, first_choice }) = &self.claim {
            let first = match first_choice {
                Some(Choice { id, name }) => format!("; first choice {name} ({id})"),
                None => String::new(),
            };
            words.push(format!("takes a free host of pool.{pool}: {rule}{first}"));
        }
        if let Some(Return { pool, method, deletable_at }) = &self.returns {
            let how = match method {
                Method::Reinstall => "installed anew",
                Method::Scrub => "scrubbed",
            };
            let until = match deletable_at {
                Some(at) => format!("; cannot be deleted before {at}"),
                None => String::new(),
            };
            words.push(format!("goes back to pool.{pool}, {how}{until}"));
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_told() {
        let first = Some(("s1".to_owned(), "pool-1".to_owned()));
        let pooling = Pooling {
            claim: Some(pools::Claim { pool: "minis".into(), rule: "name `pool-…`".into(), first }),
            returns: Some(pools::Return {
                pool: "minis".into(),
                method: Method::Reinstall,
                deletable_at: Some("2026-01-02".into()),
            }),
            surprise: Some(Surprise::Reinstalled),
        };
        let pool = Pool::of(&pooling);
        let told = [
            "reinstalled behind our back",
            "takes a free host of pool.minis: name `pool-…`; first choice pool-1 (s1)",
            "goes back to pool.minis, installed anew; cannot be deleted before 2026-01-02",
        ];
        assert_eq!(pool.words(), told);
        let text = serde_json::to_string(&pool).unwrap();
        assert_eq!(serde_json::from_str::<Pool>(&text).unwrap(), pool);
    }
}
