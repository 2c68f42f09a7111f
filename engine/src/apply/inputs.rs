//! What a step needs, from all that is known by now: its wish, and the way to where it is made or removed.

use std::sync::Arc;

use fleet_lang::{Marks, Value};
use fleet_syntax::{Diagnostic, Severity};

use super::busy::Disturbed;
use super::drive::Driver;
use crate::address::{Address, Item};
use crate::check;
use crate::diff::get;
use crate::plan::{Action, Step, ignore, normal, normal_data, usable};
use crate::provider::Session;
use crate::scope::NodeItem;
use crate::seal::Recipes;
use crate::state::Object;

impl<'a> Driver<'a, '_> {
    /// What an instance is to be like, with what is known by now: in its normal form, and as it is written.
    pub(super) fn wish(&mut self, at: u32, step: &Step) -> Result<(Value, Value), String> {
        let as_planned = || (step.record.value.clone(), step.record.value.clone());
        if step.action == Action::Record {
            return Ok(as_planned());
        }
        let expansion = self.again.expansion();
        let instance = &expansion.instances[at as usize];
        let resource = match expansion.scopes.node(instance.node).item {
            NodeItem::Resource(resource) => resource,
            NodeItem::Host(fleet) => &fleet.host,
            _ => return Ok(as_planned()),
        };
        let planned = instance.declared.clone();
        let is_final = planned.is_wholly_known() && resource.lifecycle.preconditions.is_empty();
        let declared = if is_final {
            planned
        } else {
            let (declared, problems) = self.again.declare(at);
            let first = problems.iter().find(|problem| problem.severity == Severity::Error);
            let message = first.map(|problem| problem.summary.clone());
            self.problems.extend(problems);
            match (declared, message) {
                (Some(declared), None) => declared,
                (_, message) => return Err(message.unwrap_or_else(|| "it cannot be evaluated".into())),
            }
        };
        let readers = self.worker.hands.readers;
        let kind = &step.record.kind;
        let normal = if step.action == Action::Read {
            normal_data(readers, kind, &declared)
        } else {
            normal(readers, kind, &declared)
        };
        let wish = normal.map_err(|misfit| misfit.to_string())?;
        let wish = match &step.before {
            // What is made anew has no past to keep.
            Some(before) if step.action == Action::Update => {
                ignore(&resource.lifecycle.ignore_changes, &wish, before)
            }
            _ => wish,
        };
        Ok((wish, declared))
    }

    /// How the sensitive arguments of a wish are made.
    pub(super) fn recipes(&mut self, at: u32, wish: &Value) -> Recipes {
        let Some(shadow) = &mut self.shadow else { return Recipes::new() };
        if !wish.marks_deep().contains(Marks::SENSITIVE) {
            return Recipes::new();
        }
        let (made, _) = shadow.declare(at);
        made.map(|made| self.worker.hands.sealer.recipes(wish, &made)).unwrap_or_default()
    }

    pub(super) fn settings(&self, session: &Session) -> Option<Value> {
        let settings = self.again.expansion().settings(self.surroundings.catalog, session);
        settings.and_then(usable)
    }

    /// How the host of a slot is claimed, with what is known by now; the first choice is the one that was planned.
    pub(super) fn settings_of_host(&mut self, at: u32, step: &Step) -> Option<Value> {
        let problems = self.again.line(at);
        self.problems.extend(problems);
        let expansion = self.again.expansion();
        let address = &expansion.instances[at as usize].address;
        let Some(settings) = expansion.claim(&address.scope) else {
            return self.settings(&step.record.session);
        };
        let mut settings = usable(settings.clone())?.entries()?.clone();
        let claim = self.pools.get(address).and_then(|pooling| pooling.claim.as_ref());
        if let Some((first, _)) = claim.and_then(|claim| claim.first.as_ref()) {
            let mut pool = settings.get("pool")?.entries()?.clone();
            pool.insert("first".into(), Value::from(&**first));
            settings.insert("pool".into(), Value::object(pool));
        }
        Some(Value::object(settings))
    }

    /// A session with the machine that its slot has by now.
    pub(super) fn session_now(&self, session: &Session) -> Session {
        let host = Address { scope: session.scope.clone(), item: Item::Host, key: None };
        let number = self.numbers.get(&host).filter(|_| session.is_on_host());
        let Some(number) = number else { return session.clone() };
        let machine = get(&self.again.expansion().instances[*number as usize].value, "machine");
        let alias = machine.as_str().map(Arc::from).or_else(|| session.alias.clone());
        Session { alias, ..session.clone() }
    }

    /// A host was made, or is as it should be: from now on it is known how everything on it is reached. Says so if it is not
    /// the one that was planned.
    pub(super) fn reach(&mut self, at: u32) {
        let problems = self.again.line(at);
        self.problems.extend(problems);
        let instance = &self.again.expansion().instances[at as usize];
        let claim = self.pools.get(&instance.address).and_then(|pooling| pooling.claim.as_ref());
        let Some((id, name)) = claim.and_then(|claim| claim.first.as_ref()) else { return };
        let taken = get(&instance.value, "machine");
        if taken.as_str().is_some_and(|taken| taken != id) {
            self.problems.push(Diagnostic {
                severity: Severity::Warning,
                summary: "another host was taken".into(),
                detail: format!(
                    "The first choice was `{name}`; `{}` was taken.",
                    taken.as_str().unwrap_or_default()
                ),
                span: None,
                related: Vec::new(),
                address: Some(instance.address.to_string()),
                help: None,
            });
        }
    }

    /// What goes may have to go before the settings are known that others will be made with.
    pub(super) fn settings_to_remove(&self, session: &Session) -> Option<Value> {
        self.settings(session).or_else(|| self.settings.get(session).cloned())
    }

    /// The host that goes with what is removed, if one does, and somebody's work there would be disturbed.
    pub(super) fn host_that_goes(
        &self,
        object: &Object,
        step: &Step,
        session: &Session,
    ) -> Option<Disturbed> {
        if check::waits_for_work(step, self.surroundings.catalog) {
            return None;
        }
        let slot = object.address.scope.slot()?;
        let goes = self.gone.iter().find(|gone| match session.is_on_host() {
            true => *gone == session,
            false => gone.scope == slot,
        });
        let session = goes?.clone();
        Some(Disturbed { settings: self.settings_to_remove(&session), session, goes: true })
    }

    /// Where the object of an address is, or will be.
    pub(super) fn session_of(&self, address: &Address) -> Option<&Session> {
        let planned = self.plan_steps.get(address).map(|step| &step.record);
        planned.or_else(|| self.state.recorded.get(address)).map(|record| &record.session)
    }

    /// An object that gave way to another may have been made through another session.
    pub(super) fn session_to_remove(&self, object: &Object, step: &'a Step) -> &'a Session {
        let gave_way = object.deposed.is_some() && matches!(step.action, Action::Replace { .. });
        let recorded = self.state.recorded.get(&object.address).filter(|_| gave_way);
        recorded.map_or(&step.record.session, |record| &record.session)
    }

    /// The installation of the host that a session leads to.
    pub(super) fn epoch(&self, session: &Session) -> Option<Arc<str>> {
        if !session.is_on_host() {
            return None;
        }
        let host = Address { scope: session.scope.clone(), item: Item::Host, key: None };
        let number = *self.numbers.get(&host)?;
        get(&self.again.expansion().instances[number as usize].value, "id").as_str().map(Arc::from)
    }

    pub(super) fn step_of(&self, object: &Object) -> Option<&'a Step> {
        let older = object.deposed.and_then(|number| self.older.get(&object.address)?.get(&number));
        older.or_else(|| self.plan_steps.get(&object.address))
    }

    /// What an address turned out to be, if it stays.
    pub(super) fn current(&self, address: &Address) -> Option<Value> {
        let goes = |step: &Step| matches!(step.action, Action::Destroy | Action::Forget);
        self.plan_steps.get(address).filter(|step| !goes(step))?;
        let expansion = self.again.expansion();
        let number = *self.numbers.get(address)?;
        Some(expansion.instances[number as usize].value.clone()).filter(Value::is_wholly_known)
    }
}
