//! Runners that the vendor runs on its servers: kept in the books, and nothing runs.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::arguments::Arguments;
use super::page::page;
use super::refusal::Refusal;
use super::route::Call;
use super::{Answer, Scaleway, Token, Turn};
use crate::clock::Time;

/// A runner.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Runner {
    /// Its id.
    pub id: String,
    /// In which project.
    pub project_id: String,
    /// What was sent.
    pub configuration: Value,
}

impl Runner {
    fn view(&self) -> Value {
        json!({
            "id": self.id, "configuration": self.configuration, "status": "waiting", "error_message": "",
        })
    }
}

fn configuration(arguments: &mut Arguments<'_>) -> Option<Value> {
    let found = arguments.object("runner_configuration")?;
    let has = |name: &str| found.get(name).is_some_and(Value::is_object);
    let provider = found.get("provider").and_then(Value::as_str);
    let whole = match provider {
        Some("github") => has("github_configuration") && !has("gitlab_configuration"),
        Some("gitlab") => has("gitlab_configuration") && !has("github_configuration"),
        _ => false,
    };
    if !whole || found.get("name").and_then(Value::as_str).is_none_or(str::is_empty) {
        arguments.refuse("runner_configuration", "constraint", "a name and one provider's part are needed");
    }
    Some(Value::Object(found.clone()))
}

impl Scaleway {
    pub(super) fn list_runners(&self, call: &Call, caller: &Token, seen: Time) -> Result<Answer, Refusal> {
        let visible = caller.filter(call, &self.organization_id)?;
        let on = call.parameter("server_id").map(|id| {
            self.servers.seen(id, seen).map_or(&[][..], |server| &server.applied_runner_configuration_ids)
        });
        let runners = self.runners.all_seen(seen);
        let runners = runners
            .filter(|runner| visible(&runner.project_id) && on.is_none_or(|on| on.contains(&runner.id)));
        page(call, &self.rules, "runners", runners.map(Runner::view).collect())
    }

    fn visible_runner(&self, call: &Call, caller: &Token, seen: Time) -> Result<&Runner, Refusal> {
        let found = self.runners.seen(call.id(), seen).filter(|runner| caller.sees(&runner.project_id));
        found.ok_or_else(|| Refusal::not_found("runner", call.id()))
    }

    pub(super) fn get_runner(&self, call: &Call, caller: &Token, seen: Time) -> Result<Answer, Refusal> {
        Ok(Answer::ok(self.visible_runner(call, caller, seen)?.view()))
    }

    pub(super) fn create_runner(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let mut arguments = Arguments::of(&turn.call.body)?;
        let project_id = arguments.required("project_id").to_owned();
        let configuration = configuration(&mut arguments);
        if configuration.is_none() {
            arguments.refuse("runner_configuration", "required", "it cannot be empty");
        }
        arguments.end()?;
        if !turn.caller.sees(&project_id) {
            return Err(Refusal::permissions("runner", "write"));
        }
        let id = self.id();
        let configuration = configuration.unwrap_or_default();
        let runner = Runner { id: id.clone(), project_id, configuration };
        let view = runner.view();
        self.runners.put(&id, turn.now, Some(runner));
        Ok(Answer::ok(view))
    }

    pub(super) fn update_runner(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        let mut runner = self.visible_runner(turn.call, turn.caller, turn.now)?.clone();
        let mut arguments = Arguments::of(&turn.call.body)?;
        if let Some(configuration) = configuration(&mut arguments) {
            runner.configuration = configuration;
        }
        arguments.end()?;
        let view = runner.view();
        self.runners.put(turn.call.id(), turn.now, Some(runner));
        Ok(Answer::ok(view))
    }

    pub(super) fn delete_runner(&mut self, turn: &mut Turn<'_>) -> Result<Answer, Refusal> {
        self.visible_runner(turn.call, turn.caller, turn.now)?;
        self.runners.put(turn.call.id(), turn.now, None);
        Ok(Answer::empty())
    }
}
