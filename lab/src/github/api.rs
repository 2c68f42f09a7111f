//! Runners, as the API shows and changes them.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::access::{Caller, PERMISSION_SHOWN};
use super::{Github, inside, page, refuse, scope};
use crate::clock::Time;
use crate::desk::{Ask, Reply};
use crate::runners::{Purpose, Runner};

/// What GitHub itself gives to runners.
const READ_ONLY: [&str; 5] = ["self-hosted", "macos", "linux", "arm64", "x64"];

impl Github {
    /// A request about runners.
    pub(super) fn about_runners(&self, operation: &str, ask: &Ask, now: Time) -> Result<Reply, Reply> {
        let caller = self.caller(ask, now)?;
        let segments = ask.segments();
        let (url, rest) = scope(inside(&segments)).ok_or_else(nothing)?;
        match caller {
            Caller::App { account, .. } if url.split('/').nth(3) != Some(&*account) => return Err(nothing()),
            Caller::App { may_run: false, .. } => {
                let reply = refuse(403, "Resource not accessible by integration");
                return Err(reply.with("x-accepted-github-permissions", PERMISSION_SHOWN));
            }
            Caller::App { .. } | Caller::Person => {}
        }
        let all = || self.runners.list(&url);
        let number = |at: usize| rest.get(at).and_then(|id| id.parse::<u64>().ok());
        let one =
            |at: usize| all().into_iter().find(|runner| Some(runner.id) == number(at)).ok_or_else(nothing);
        match operation {
            "list_runners" => {
                let named = ask.parameter("name");
                let runners = all().into_iter().filter(|runner| named.is_none_or(|name| runner.name == name));
                Ok(page(ask, "runners", runners.map(|runner| shown(&runner)).collect()))
            }
            "get_runner" => Ok(Reply::json(200, &shown(&one(2)?))),
            "delete_runner" => {
                let runner = one(2)?;
                if runner.busy {
                    let name = &runner.name;
                    let words =
                        format!("Runner \"{name}\" is currently running a job and cannot be deleted.");
                    return Err(refuse(422, &words));
                }
                let _ = self.runners.delete(runner.id);
                Ok(Reply::empty(204))
            }
            "registration_token" | "remove_token" => {
                let purpose = if operation == "remove_token" { Purpose::Remove } else { Purpose::Register };
                let token = self.runners.token(&url, purpose, now);
                Ok(Reply::json(201, &json!({ "token": token.token, "expires_at": token.expires_at })))
            }
            "jit_config" => self.jit_config(&url, &ask.json()),
            "get_labels" => Ok(labels(&one(2)?)),
            "set_labels" => {
                let runner = one(2)?;
                let given = ask.json();
                let Some(custom) = given["labels"].as_array() else {
                    return Err(refuse(422, "Invalid request."));
                };
                let custom: Vec<String> =
                    custom.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                self.runners.change(runner.id, |runner| {
                    runner.labels.retain(|label| is_read_only(label));
                    runner.labels.extend(custom);
                });
                Ok(labels(&one(2)?))
            }
            "list_groups" => {
                let groups = self.books().groups.clone();
                let group =
                    |(at, name): (usize, String)| json!({ "id": at + 1, "name": name, "default": at == 0 });
                Ok(page(ask, "runner_groups", groups.into_iter().enumerate().map(group).collect()))
            }
            _ => {
                let runner = one(4)?;
                let group = number(2).filter(|group| (1..=self.books().groups.len() as u64).contains(group));
                let group = group.ok_or_else(nothing)?;
                self.runners.change(runner.id, |runner| runner.group = group);
                Ok(Reply::empty(204))
            }
        }
    }

    fn jit_config(&self, url: &str, wish: &Value) -> Result<Reply, Reply> {
        let labels = wish["labels"].as_array().map(Vec::as_slice).unwrap_or_default();
        let labels: Vec<String> = labels.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let (Some(name), Some(group)) = (wish["name"].as_str(), wish["runner_group_id"].as_u64()) else {
            return Err(refuse(422, "Invalid request."));
        };
        if labels.is_empty() {
            return Err(refuse(422, "Invalid request. `labels` must have at least one item."));
        }
        let made = self.runners.prepare(url, name, labels, group);
        let Some(runner) = made else {
            return Err(refuse(
                409,
                &format!("Already exists - A runner with the name *** already exists. {name}"),
            ));
        };
        let settings = json!({ "AgentId": runner.id, "AgentName": name, "PoolId": group, "Ephemeral": true });
        let credentials = json!({ "Scheme": "OAuth", "Data": { "clientId": runner.client } });
        let file = |content: Value| BASE64_STANDARD.encode(content.to_string());
        let files = json!({ ".runner": file(settings), ".credentials": file(credentials) });
        let config = BASE64_STANDARD.encode(files.to_string());
        self.books().configurations.push(config.clone());
        Ok(Reply::json(201, &json!({ "runner": shown(&runner), "encoded_jit_config": config })))
    }
}

fn nothing() -> Reply {
    refuse(404, "Not Found")
}

fn is_read_only(label: &str) -> bool {
    READ_ONLY.contains(&label.to_ascii_lowercase().as_str())
}

fn label(name: &String) -> Value {
    let kind = if is_read_only(name) { "read-only" } else { "custom" };
    json!({ "id": name.len(), "name": name, "type": kind })
}

fn labels(runner: &Runner) -> Reply {
    let all: Vec<Value> = runner.labels.iter().map(label).collect();
    Reply::json(200, &json!({ "total_count": all.len(), "labels": all }))
}

fn shown(runner: &Runner) -> Value {
    json!({
        "id": runner.id, "runner_group_id": runner.group, "name": runner.name, "os": runner.os,
        "status": if runner.online { "online" } else { "offline" }, "busy": runner.busy,
        "ephemeral": runner.ephemeral, "version": null,
        "labels": runner.labels.iter().map(label).collect::<Vec<_>>(),
    })
}
