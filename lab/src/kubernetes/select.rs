//! Selectors: which objects a list or a watch is about.

use serde_json::Value;

use super::refusal::Refusal;
use super::route::Call;

/// What lets some objects through.
#[derive(Clone, Debug, Default)]
pub(super) struct Selector {
    labels: Vec<Rule>,
    fields: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Is(String, String),
    IsNot(String, String),
    In(String, Vec<String>, bool),
    Has(String, bool),
}

impl Selector {
    pub(super) fn of(call: &Call) -> Result<Selector, Refusal> {
        let labels = rules(call.parameter("labelSelector").unwrap_or_default())?;
        let mut fields = rules(call.parameter("fieldSelector").unwrap_or_default())?;
        // One object may be asked for in a list, too.
        if !call.name.is_empty() {
            fields.push(Rule::Is("metadata.name".to_owned(), call.name.clone()));
        }
        Ok(Selector { labels, fields })
    }

    /// A selector as objects have it: `matchLabels`.
    pub(super) fn of_labels(selector: &Value) -> Selector {
        let pairs = selector["matchLabels"].as_object().into_iter().flatten();
        let rule = |(name, value): (&String, &Value)| {
            Rule::Is(name.clone(), value.as_str().unwrap_or_default().to_owned())
        };
        Selector { labels: pairs.map(rule).collect(), fields: Vec::new() }
    }

    pub(super) fn takes(&self, object: &Value) -> bool {
        let label = |name: &str| object["metadata"]["labels"][name].as_str().map(str::to_owned);
        let field = |path: &str| {
            let found = path.split('.').fold(object, |here, word| &here[word]);
            // What is not there is as what is empty.
            Some(match found {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            })
        };
        self.labels.iter().all(|rule| rule.holds(label)) && self.fields.iter().all(|rule| rule.holds(field))
    }
}

impl Rule {
    fn holds(&self, find: impl Fn(&str) -> Option<String>) -> bool {
        match self {
            Rule::Is(name, value) => find(name).as_ref() == Some(value),
            Rule::IsNot(name, value) => find(name).as_ref() != Some(value),
            Rule::In(name, values, is_in) => {
                find(name).is_some_and(|found| values.contains(&found)) == *is_in
            }
            Rule::Has(name, has) => find(name).is_some() == *has,
        }
    }
}

fn rules(text: &str) -> Result<Vec<Rule>, Refusal> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_u32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).map(rule).collect()
}

fn rule(text: &str) -> Result<Rule, Refusal> {
    let pair = |(name, value): (&str, &str)| (name.trim().to_owned(), value.trim().to_owned());
    if let Some((name, value)) = text.split_once("!=").map(pair) {
        return Ok(Rule::IsNot(name, value));
    }
    if let Some((name, value)) = text.split_once("==").or_else(|| text.split_once('=')).map(pair) {
        return Ok(Rule::Is(name, value));
    }
    for (word, is_in) in [(" notin ", false), (" in ", true)] {
        if let Some((name, values)) = text.split_once(word) {
            let values = values.trim().trim_start_matches('(').trim_end_matches(')').split(',');
            let values = values.map(|value| value.trim().to_owned()).collect();
            return Ok(Rule::In(name.trim().to_owned(), values, is_in));
        }
    }
    match text.strip_prefix('!') {
        Some(name) => Ok(Rule::Has(name.trim().to_owned(), false)),
        None if text.contains(char::is_whitespace) => {
            Err(Refusal::bad_request(format!("unable to parse requirement: {text}")))
        }
        None => Ok(Rule::Has(text.to_owned(), true)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors() {
        let object = json!({ "metadata": { "name": "a", "labels": { "x": "1", "y": "2" } }, "spec": { "nodeName": "n" } });
        let takes = |labels: &str, fields: &str| {
            Selector { labels: rules(labels).unwrap(), fields: rules(fields).unwrap() }.takes(&object)
        };
        for (labels, fields, expected) in [
            ("", "", true),
            ("x=1", "", true),
            ("x==1,y!=1", "", true),
            ("x in (1,2), y", "", true),
            ("x notin (1)", "", false),
            ("!z", "", true),
            ("!x", "", false),
            ("", "spec.nodeName=n,metadata.name=a", true),
            ("", "spec.nodeName!=n", false),
            ("", "status.phase=", true),
        ] {
            assert_eq!(takes(labels, fields), expected, "{labels} {fields}");
        }
        assert!(rules("x is 1").is_err());
    }
}
