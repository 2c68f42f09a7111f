//! Lists in pages.

use serde_json::{Value, json};

use super::refusal::Refusal;
use super::route::Call;
use super::{Answer, Rules};

/// The most that fits on a page.
const LARGEST: usize = 100;

/// The page of a list that a call asks for.
pub(crate) fn page(call: &Call, rules: &Rules, name: &str, all: Vec<Value>) -> Result<Answer, Refusal> {
    let number = parameter(call, "page", 1, usize::MAX)?;
    let size = parameter(call, "page_size", rules.page_size, LARGEST)?;
    let total = all.len();
    let shown: Vec<Value> = all.into_iter().skip((number - 1).saturating_mul(size)).take(size).collect();
    Ok(Answer::json(200, json!({ "total_count": total, (name): shown })))
}

fn parameter(call: &Call, name: &str, default: usize, largest: usize) -> Result<usize, Refusal> {
    let Some(text) = call.parameter(name) else { return Ok(default) };
    let Ok(number) = text.parse() else {
        return Err(Refusal::argument(name, "format", "a number is expected"));
    };
    if (1..=largest).contains(&number) {
        return Ok(number);
    }
    Err(Refusal::argument(name, "constraint", &format!("it must be at least 1 and at most {largest}")))
}

/// One of the orders in which a list can be had: whether it is the other way round.
pub(crate) fn order<'a>(call: &'a Call, fields: &[&'a str]) -> Result<(&'a str, bool), Refusal> {
    let asked = call.parameter("order_by").unwrap_or("created_at_asc");
    let parts = asked.strip_suffix("_asc").map(|field| (field, false));
    let parts = parts.or_else(|| asked.strip_suffix("_desc").map(|field| (field, true)));
    parts
        .filter(|(field, _)| fields.contains(field))
        .ok_or_else(|| Refusal::argument("order_by", "constraint", "there is no such order"))
}
