//! Whether the world would take what is planned, asked where it can say so beforehand. Looks and never writes.

use fleet_lang::Value;
use fleet_syntax::{Diagnostic, Diagnostics, Severity};
use futures_util::future::join_all;

use super::make::Settings;
use super::{Action, Plan, Step, chain};
use crate::address::Address;
use crate::provider::Readers;
use crate::resource::Weight;
use crate::schema::{Catalog, Schema, Sort};

/// What would be refused of everything that is going to be made or changed.
pub(super) async fn rehearse(
    plan: &Plan,
    readers: &dyn Readers,
    settings: &Settings,
    catalog: &dyn Catalog,
) -> Diagnostics {
    let asked = plan.steps.iter().filter_map(|(address, step)| {
        let entry = catalog.find(Sort::Resource, &step.record.kind).filter(|entry| entry.rehearses)?;
        let is_sent = matches!(step.action, Action::Create | Action::Update);
        let wish = wish_of(&entry.schema, &step.record.value).filter(|_| is_sent)?;
        Some((address, step, wish, settings.get(&step.record.session)?))
    });
    let ask = |(address, step, wish, settings): (&Address, &Step, Value, &Value)| {
        let (address, step, settings) = (address.clone(), step.clone(), settings.clone());
        async move {
            // Whoever cannot be connected to was said to be so already.
            let reader = readers.reader(&step.record.session, &settings).await.ok()?;
            let error = reader.rehearse(&step.record.kind, wish).await.err()?;
            let (severity, summary, why) = match (error.weight, waits_for_another(plan, &step)) {
                (Weight::Perhaps, _) => (Severity::Warning, "may turn out otherwise", ""),
                (Weight::Now, true) => (
                    Severity::Warning,
                    "would be refused as things are",
                    " What it depends on is done before it and may change that.",
                ),
                (Weight::Now | Weight::Always, _) => (Severity::Error, "would be refused", ""),
            };
            Some(Diagnostic {
                severity,
                summary: summary.into(),
                detail: format!("{}.{why}", chain(&error)),
                span: step.declared_at,
                related: Vec::new(),
                address: Some(address.to_string()),
                help: error.help.clone(),
            })
        }
    };
    join_all(asked.map(ask)).await.into_iter().flatten().collect()
}

/// Whether something is still to be done that a step depends on.
fn waits_for_another(plan: &Plan, step: &Step) -> bool {
    let is_done = |other: &Step| !matches!(other.action, Action::Keep | Action::Record | Action::Forget);
    let is_named = |other: &Address| step.record.depends_on.iter().any(|target| target.covers(other));
    plan.steps.iter().any(|(address, other)| is_done(other) && is_named(address))
}

/// The wish, without results that nobody knows yet; none if an argument is not known.
fn wish_of(schema: &Schema, value: &Value) -> Option<Value> {
    let entries = value.entries()?.iter().map(|(name, value)| {
        let attribute = schema.attributes.get(name);
        let is_result = attribute.is_some_and(|attribute| attribute.presence.is_computed());
        match value.is_wholly_known() {
            true => Some((name.clone(), value.clone().unmark_deep().0)),
            false if is_result => Some((name.clone(), Value::null())),
            false => None,
        }
    });
    Some(Value::object(entries.collect::<Option<_>>()?))
}
