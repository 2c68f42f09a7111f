//! Kinds on hosts without their types.

use std::marker::PhantomData;

use fleet_lang::Value;

use super::{HostData, HostKind, Probe, Reply, Revert, Step};
use crate::attributes::Misfit;
use crate::finding::Finding;
use crate::kind::{describe, findings, normalize, typed, upgrade};
use crate::resource::{At, Change, Disruption, Error, Touch};
use crate::schema::{Entry, Place};

/// Any kind of resource on a host, as the engine sees it. All of it is pure.
pub trait HostThing: Send + Sync {
    /// The name in the configuration.
    fn name(&self) -> &'static str;

    /// What the catalogue says about it.
    fn entry(&self, provider: &str) -> Entry;

    /// Normalizes a wholly known object.
    fn normalize(&self, object: &Value) -> Result<Value, Misfit>;

    /// Whether it can be found by a record in which null stands in the place of sensitive values.
    fn findable(&self, record: &Value) -> Result<(), Misfit>;

    /// Brings a record of an older version of the kind up to date.
    fn upgrade(&self, version: u32, recorded: Value) -> Result<Value, Error>;

    /// See [`Resource::disrupts`](crate::resource::Resource::disrupts).
    fn disrupts(&self, touch: Touch<'_>) -> Disruption;

    /// See [`Resource::findings`](crate::resource::Resource::findings).
    fn findings(&self, observed: &Value) -> Vec<Finding> {
        let _ = observed;
        Vec::new()
    }

    /// Whether it is the machine of a slot, which a vendor knows too.
    fn is_machine(&self) -> bool {
        false
    }

    /// See [`HostKind::probe`].
    fn probe(&self, at: &At<Value>) -> Result<Probe, Error>;

    /// See [`HostKind::parse`].
    fn parse(&self, at: &At<Value>, reply: &Reply) -> Result<Option<Value>, Error>;

    /// See [`HostKind::steps`].
    fn steps(&self, wish: &Value, change: Change<Value>) -> Result<Vec<Step>, Error>;

    /// See [`HostKind::remove`].
    fn remove(&self, observed: &Value) -> Result<Vec<Step>, Error>;

    /// See [`HostKind::clear`].
    fn clear(&self, wish: &Value) -> Result<Vec<Step>, Error> {
        self.remove(wish)
    }

    /// See [`HostKind::cuts_access`].
    fn cuts_access(&self, object: &Value, is_removed: bool) -> Result<Option<Revert>, Error> {
        let _ = (object, is_removed);
        Ok(None)
    }

    /// See [`HostKind::left`].
    fn left(&self, observed: &Value, reply: &Reply) -> Result<Option<Value>, Error>;
}

/// Any kind of data on a host, as the engine sees it. All of it is pure.
pub trait HostDatum: Send + Sync {
    /// The name in the configuration.
    fn name(&self) -> &'static str;

    /// What the catalogue says about it.
    fn entry(&self, provider: &str) -> Entry;

    /// Normalizes wholly known arguments.
    fn normalize(&self, arguments: &Value) -> Result<Value, Misfit>;

    /// See [`HostData::probe`].
    fn probe(&self, arguments: &Value) -> Result<Probe, Error>;

    /// See [`HostData::parse`].
    fn parse(&self, arguments: &Value, reply: &Reply) -> Result<Value, Error>;
}

/// The kind of an author's type: `&OnHost::<File>::KIND` in its provider's list.
#[derive(Debug)]
pub struct OnHost<K>(PhantomData<fn() -> K>);

/// The data of an author's type: `&DataOnHost::<Facts>::KIND` in its provider's list.
#[derive(Debug)]
pub struct DataOnHost<K>(PhantomData<fn() -> K>);

impl<K> OnHost<K> {
    /// The one value of this type.
    pub const KIND: OnHost<K> = OnHost(PhantomData);
}

impl<K> DataOnHost<K> {
    /// The one value of this type.
    pub const KIND: DataOnHost<K> = DataOnHost(PhantomData);
}

impl<K: HostKind> HostThing for OnHost<K> {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn entry(&self, provider: &str) -> Entry {
        describe::<K>(Place::Host, provider)
    }

    fn normalize(&self, object: &Value) -> Result<Value, Misfit> {
        normalize::<K>(object)
    }

    fn findable(&self, record: &Value) -> Result<(), Misfit> {
        K::from_value(record).map(|_| ())
    }

    fn upgrade(&self, version: u32, recorded: Value) -> Result<Value, Error> {
        upgrade::<K>(version, recorded)
    }

    fn disrupts(&self, touch: Touch<'_>) -> Disruption {
        K::disrupts(touch)
    }

    fn findings(&self, observed: &Value) -> Vec<Finding> {
        findings::<K>(observed)
    }

    fn probe(&self, at: &At<Value>) -> Result<Probe, Error> {
        K::probe(&typed::<K>(at.clone())?)
    }

    fn parse(&self, at: &At<Value>, reply: &Reply) -> Result<Option<Value>, Error> {
        Ok(K::parse(&typed::<K>(at.clone())?, reply)?.map(|found| found.to_value()))
    }

    fn steps(&self, wish: &Value, change: Change<Value>) -> Result<Vec<Step>, Error> {
        K::from_value(wish)?.steps(change.try_map(|from| K::from_value(&from))?)
    }

    fn remove(&self, observed: &Value) -> Result<Vec<Step>, Error> {
        K::remove(K::from_value(observed)?)
    }

    fn clear(&self, wish: &Value) -> Result<Vec<Step>, Error> {
        K::clear(K::from_value(wish)?)
    }

    fn cuts_access(&self, object: &Value, is_removed: bool) -> Result<Option<Revert>, Error> {
        Ok(K::from_value(object)?.cuts_access(is_removed))
    }

    fn left(&self, observed: &Value, reply: &Reply) -> Result<Option<Value>, Error> {
        Ok(K::left(K::from_value(observed)?, reply)?.map(|left| left.to_value()))
    }
}

impl<K: HostData> HostDatum for DataOnHost<K> {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn entry(&self, provider: &str) -> Entry {
        Entry::new(K::schema(), Place::Host, provider)
    }

    fn normalize(&self, arguments: &Value) -> Result<Value, Misfit> {
        let mut typed = K::from_value(arguments)?;
        typed.normalize()?;
        Ok(typed.to_value())
    }

    fn probe(&self, arguments: &Value) -> Result<Probe, Error> {
        K::from_value(arguments)?.probe()
    }

    fn parse(&self, arguments: &Value, reply: &Reply) -> Result<Value, Error> {
        Ok(K::from_value(arguments)?.parse(reply)?.to_value())
    }
}
