//! The smallest expression that two programs still disagree about.

use super::ask::{Answer, Asker};
use super::generate::Expression;

/// How often an expression is made smaller at most.
const ROUNDS: usize = 12;

/// How many smaller expressions are tried in a round; one batch answers them all.
const CANDIDATES: usize = 60;

/// Makes an expression smaller while the answers still differ.
pub(super) fn smallest(
    asker: &Asker,
    expression: &Expression,
    mut ours: Answer,
    mut theirs: Answer,
) -> Result<(String, Answer, Answer), String> {
    let mut smallest = expression.clone();
    for _ in 0..ROUNDS {
        let mut candidates = smaller(&smallest);
        candidates.sort_by_key(Expression::size);
        candidates.truncate(CANDIDATES);
        let texts: Vec<String> = candidates.iter().map(ToString::to_string).collect();
        let differs = asker.both(&texts)?.into_iter().zip(candidates).find(|((a, b), _)| a != b);
        let Some(((a, b), candidate)) = differs else { break };
        (smallest, ours, theirs) = (candidate, a, b);
    }
    Ok((smallest.to_string(), ours, theirs))
}

/// The expressions that are one step smaller: a part instead of the whole, or a plain value instead of a part.
fn smaller(expression: &Expression) -> Vec<Expression> {
    let mut found = expression.children.clone();
    let plain = ["1", "\"a\"", "true", "[]", "null"].map(Expression::leaf);
    if expression.size() > 1 {
        found.extend(plain);
    }
    for (place, child) in expression.children.iter().enumerate() {
        for child in smaller(child) {
            let mut copy = expression.clone();
            copy.children[place] = child;
            found.push(copy);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_smaller() {
        let sum = Expression::new(&["", " + ", ""], vec![Expression::leaf("2"), Expression::leaf("3")]);
        let call = Expression::new(&["abs(", ")"], vec![sum]);
        let found = smaller(&call);
        assert!(found.iter().all(|other| other.size() < call.size()));
        assert!(found.iter().any(|other| other.to_string() == "abs(2)"));
        assert!(found.iter().any(|other| other.to_string() == "2 + 3"));
        assert!(smaller(&Expression::leaf("1")).is_empty());
    }
}
