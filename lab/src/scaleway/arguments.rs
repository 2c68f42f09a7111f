//! What stands in the body of a request, and what is wrong with it: everything at once.

use serde_json::Value;

use super::refusal::{Argument, Refusal};

/// The fields of a body as they are asked for. Fields nobody asks for are ignored, as the vendor does.
pub(crate) struct Arguments<'a> {
    body: &'a Value,
    wrong: Vec<Argument>,
}

impl<'a> Arguments<'a> {
    pub(crate) fn of(body: &'a Value) -> Result<Arguments<'a>, Refusal> {
        match body {
            Value::Null | Value::Object(_) => Ok(Arguments { body, wrong: Vec::new() }),
            _ => Err(Refusal::argument("body", "format", "a JSON object is expected")),
        }
    }

    pub(crate) fn refuse(&mut self, name: &str, reason: &'static str, help: &str) {
        let help_message = help.to_owned();
        self.wrong.push(Argument { argument_name: name.to_owned(), reason, help_message });
    }

    fn field<T>(&mut self, name: &str, what: &str, read: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        let value = self.body.get(name).filter(|value| !value.is_null())?;
        let found = read(value);
        if found.is_none() {
            self.refuse(name, "format", &format!("{what} is expected"));
        }
        found
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<&'a str> {
        self.field(name, "a string", Value::as_str)
    }

    /// A string that must be there.
    pub(crate) fn required(&mut self, name: &str) -> &'a str {
        let missing = self.body.get(name).is_none_or(|value| value.is_null() || value == "");
        if missing {
            self.refuse(name, "required", "it cannot be empty");
        }
        self.text(name).unwrap_or_default()
    }

    pub(crate) fn flag(&mut self, name: &str) -> Option<bool> {
        self.field(name, "a boolean", Value::as_bool)
    }

    pub(crate) fn number(&mut self, name: &str) -> Option<u64> {
        self.field(name, "a number", Value::as_u64)
    }

    pub(crate) fn object(&mut self, name: &str) -> Option<&'a serde_json::Map<String, Value>> {
        self.field(name, "an object", Value::as_object)
    }

    pub(crate) fn list(&mut self, name: &str) -> Option<&'a Vec<Value>> {
        self.field(name, "a list", Value::as_array)
    }

    pub(crate) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        self.field(name, "a list of strings", texts)
    }

    /// Ends the reading: nothing was wrong.
    pub(crate) fn end(self) -> Result<(), Refusal> {
        if self.wrong.is_empty() { Ok(()) } else { Err(Refusal::arguments(&self.wrong)) }
    }
}

pub(crate) fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(|one| one.as_str().map(str::to_owned)).collect()
}
