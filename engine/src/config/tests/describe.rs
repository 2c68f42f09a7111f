//! The model as text: every block in a line or a few, expressions as they are written.

use std::fmt::Write;

use fleet_syntax::Sources;
use fleet_syntax::tree::{Body, Expr};

use crate::config::model::{
    Call, Condition, Config, IgnoreChanges, Lifecycle, Mode, Module, ProviderRef, Repeat, Resource, Slots,
};

/// Describes all modules.
pub(super) fn describe(config: &Config, sources: &Sources) -> String {
    let mut text = Text { out: String::new(), depth: 0, sources };
    for module in &config.modules {
        text.line(format!("module in {}", module.dir.display()));
        text.inside(|text| text.module(config, module));
    }
    text.out
}

struct Text<'s> {
    out: String,
    depth: usize,
    sources: &'s Sources,
}

impl Text<'_> {
    fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.out, "{:width$}{}", "", text.as_ref(), width = 2 * self.depth);
    }

    fn inside(&mut self, run: impl FnOnce(&mut Self)) {
        self.depth += 1;
        run(self);
        self.depth -= 1;
    }

    fn expr(&self, expr: &Expr) -> String {
        self.sources.text(expr.span).to_owned()
    }

    fn exprs(&mut self, name: &str, exprs: &[Expr]) {
        if !exprs.is_empty() {
            let exprs: Vec<String> = exprs.iter().map(|expr| self.expr(expr)).collect();
            self.line(format!("{name}: {}", exprs.join(" and ")));
        }
    }

    fn optional(&mut self, name: &str, expr: Option<&Expr>) {
        if let Some(expr) = expr {
            self.line(format!("{name}: {}", self.expr(expr)));
        }
    }

    fn body(&mut self, body: &Body) {
        for attribute in &body.attributes {
            self.line(format!("{} = {}", attribute.name.name, self.expr(&attribute.value)));
        }
        for block in &body.blocks {
            self.line(format!("{} {{}}", self.sources.text(block.header)));
            self.inside(|text| text.body(&block.body));
        }
    }

    fn conditions(&mut self, what: &str, conditions: &[Condition]) {
        for condition in conditions {
            let (must, say) = (self.expr(&condition.condition), self.expr(&condition.error_message));
            self.line(format!("{what}: {must}, or {say}"));
        }
    }

    fn repeat(&mut self, repeat: Option<&Repeat>) {
        match repeat {
            Some(Repeat::Count(expr)) => self.optional("count", Some(expr)),
            Some(Repeat::ForEach(expr)) => self.optional("for each", Some(expr)),
            None => {}
        }
    }

    fn resource(&mut self, resource: &Resource) {
        let mode = if resource.mode == Mode::Data { "data" } else { "resource" };
        self.line(format!("{mode} {}.{}", resource.kind.name, resource.name.name));
        self.inside(|text| {
            text.repeat(resource.repeat.as_ref());
            text.exprs("after", &resource.depends_on);
            if let Some(provider) = &resource.provider {
                text.line(format!("provider: {}", provider_ref(provider)));
            }
            text.lifecycle(&resource.lifecycle);
            text.body(&resource.body);
        });
    }

    fn lifecycle(&mut self, lifecycle: &Lifecycle) {
        if let Some(first) = lifecycle.create_before_destroy {
            self.line(format!("create before destroy: {first}"));
        }
        if let Some(span) = lifecycle.prevent_destroy {
            self.line(format!("kept by: {}", self.sources.text(span)));
        }
        match &lifecycle.ignore_changes {
            IgnoreChanges::None => {}
            IgnoreChanges::All => self.line("ignores all"),
            IgnoreChanges::Paths(paths) => {
                for path in paths {
                    self.line(format!("ignores {} {:?}", path.root.name, path.steps));
                }
            }
        }
        self.exprs("replaced by", &lifecycle.replace_triggered_by);
        self.conditions("before", &lifecycle.preconditions);
        self.conditions("afterwards", &lifecycle.postconditions);
    }

    fn call(&mut self, config: &Config, call: &Call) {
        let dir = call.module.map_or("nothing".into(), |id| config.module(id).dir.display().to_string());
        self.line(format!("call {} of {dir}", call.name.name));
        self.inside(|text| {
            text.repeat(call.repeat.as_ref());
            text.exprs("after", &call.depends_on);
            for (inner, outer) in &call.providers {
                text.line(format!("provider: {} is {}", provider_ref(inner), provider_ref(outer)));
            }
            for (name, input) in &call.inputs {
                text.line(format!("{name} = {}", text.expr(&input.value)));
            }
        });
    }

    fn module(&mut self, config: &Config, module: &Module) {
        if let Some(settings) = &module.settings {
            self.line(format!("settings for {:?}", settings.required_version));
            self.inside(|text| {
                text.optional("digest key", settings.digest_key.as_ref());
                if let Some(backend) = &settings.backend {
                    text.line(format!("backend {}", backend.kind.name));
                    text.inside(|text| text.body(&backend.body));
                }
            });
        }
        for variable in module.variables.values() {
            let marks = [
                ("sensitive", variable.sensitive),
                ("ephemeral", variable.ephemeral),
                ("nullable", variable.nullable),
            ];
            let marks =
                marks.iter().filter(|(_, set)| *set).map(|(mark, _)| format!(" {mark}")).collect::<String>();
            self.line(format!("variable {}: {}{marks}", variable.name.name, variable.ty()));
            self.inside(|text| {
                if let Some(default) = &variable.default {
                    text.line(format!("default: {}", fleet_lang::print(default)));
                }
                if let Some(description) = &variable.description {
                    text.line(format!("description: {description}"));
                }
                text.conditions("must", &variable.validations);
            });
        }
        for (name, local) in &module.locals {
            self.line(format!("local {name} = {}", self.expr(&local.value)));
        }
        for secret in module.secrets.values() {
            self.line(format!("secret {} from {}", secret.name.name, self.expr(&secret.from)));
        }
        for provider in module.providers.values() {
            let alias = provider.alias.as_ref().map(|alias| format!(".{}", alias.name)).unwrap_or_default();
            self.line(format!("provider {}{alias}", provider.name.name));
            self.inside(|text| text.body(&provider.body));
        }
        for resource in module.resources.values() {
            self.resource(resource);
        }
        for call in module.calls.values() {
            self.call(config, call);
        }
        self.fleets(config, module);
        for check in module.checks.values() {
            self.line(format!("check {}", check.name.name));
            self.inside(|text| {
                if let Some(data) = &check.data {
                    text.resource(data);
                }
                text.conditions("should", &check.assertions);
            });
        }
        for moved in &module.moved {
            self.line(format!("moved {} to {}", self.expr(&moved.from), self.expr(&moved.to)));
        }
        for removed in &module.removed {
            let fate = if removed.destroy { "destroyed" } else { "forgotten" };
            self.line(format!("removed {}: {fate}", self.expr(&removed.from)));
        }
        for import in &module.imports {
            self.line(format!("import {} as {}", self.expr(&import.id), self.expr(&import.to)));
            self.inside(|text| text.optional("for each", import.for_each.as_ref()));
        }
        for output in module.outputs.values() {
            self.line(format!("output {} = {}", output.name.name, self.expr(&output.value)));
            self.inside(|text| {
                text.exprs("after", &output.depends_on);
                text.conditions("must", &output.preconditions);
            });
        }
    }

    fn fleets(&mut self, config: &Config, module: &Module) {
        for pool in module.pools.values() {
            self.line(format!("pool {} of {}", pool.name.name, pool.kind.name));
            self.inside(|text| {
                text.body(&pool.body);
                if let Some(back) = &pool.returns {
                    text.optional("return method", back.method.as_ref());
                    text.optional("return deadline", back.deadline.as_ref());
                }
                for host in pool.hosts.values() {
                    text.line(format!("host {}", host.name.name));
                    text.inside(|text| text.body(&host.body));
                }
            });
        }
        for fleet in module.fleets.values() {
            self.line(format!("fleet {} from {}", fleet.name.name, self.expr(&fleet.pool)));
            self.inside(|text| {
                match &fleet.slots {
                    Slots::Size(expr) => text.optional("size", Some(expr)),
                    Slots::Hosts(expr) => text.optional("hosts", Some(expr)),
                }
                text.optional("hostname", Some(&fleet.hostname));
                if let Some(connection) = &fleet.connection {
                    text.line(format!("connection {}", connection.kind.name));
                    text.inside(|text| text.body(&connection.body));
                }
                if let Some(rollout) = &fleet.rollout {
                    text.optional("canary", rollout.canary.as_ref());
                    text.optional("max unavailable", rollout.max_unavailable.as_ref());
                    text.optional("soak", rollout.soak.as_ref());
                }
                if let Some(health) = &fleet.health {
                    text.optional("healthy if", Some(&health.condition));
                    text.optional("timeout", health.timeout.as_ref());
                    text.optional("message", health.error_message.as_ref());
                }
                text.exprs("after", &fleet.depends_on);
                for resource in fleet.resources.values() {
                    text.resource(resource);
                }
                for call in fleet.calls.values() {
                    text.call(config, call);
                }
            });
        }
    }
}

fn provider_ref(provider: &ProviderRef) -> String {
    match &provider.alias {
        Some(alias) => format!("{}.{}", provider.name.name, alias.name),
        None => provider.name.name.to_string(),
    }
}
