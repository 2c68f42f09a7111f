//! Kinds on hosts without their types.

use std::marker::PhantomData;
use std::sync::Arc;

use fleet_lang::Value;

use super::{HostKind, HostReader, HostWriter};
use crate::attributes::Misfit;
use crate::kind::{Kind, answer, describe, normalize, typed, upgrade};
use crate::resource::{At, BoxFuture, Change, Disruption, Error, Touch};
use crate::schema::{Entry, Place};

/// The kind of an author's type: `&OnHost::<File>::KIND` in its provider's list.
#[derive(Debug)]
pub struct OnHost<K>(PhantomData<fn() -> K>);

impl<K> OnHost<K> {
    /// The one value of this type.
    pub const KIND: OnHost<K> = OnHost(PhantomData);
}

impl<K: HostKind> Kind<Arc<dyn HostReader>, Arc<dyn HostWriter>> for OnHost<K> {
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

    fn observe<'a>(
        &'a self,
        reader: &'a Arc<dyn HostReader>,
        batch: Vec<At<Value>>,
    ) -> BoxFuture<'a, Vec<Result<Option<Value>, Error>>> {
        Box::pin(async move {
            let question = |at| {
                let at = typed::<K>(at)?;
                K::probe(&at).map(|probe| (at, probe))
            };
            let questions = batch.into_iter().map(question).collect();
            answer(questions, |questions| async {
                let (places, probes): (Vec<_>, Vec<_>) = questions.into_iter().unzip();
                let replies = reader.ask(probes).await;
                let parse = |(at, reply): (At<K>, Result<_, _>)| {
                    Ok(K::parse(&at, &reply?)?.map(|found| found.to_value()))
                };
                places.into_iter().zip(replies).map(parse).collect()
            })
            .await
        })
    }

    /// What is on a host is found by what was declared, so the wish is what there is to return.
    fn apply<'a>(
        &'a self,
        writer: &'a Arc<dyn HostWriter>,
        wish: Value,
        change: Change<Value>,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(async move {
            let change = change.try_map(|from| K::from_value(&from))?;
            writer.work(K::from_value(&wish)?.steps(change)?).await?;
            Ok(wish)
        })
    }

    fn destroy<'a>(
        &'a self,
        writer: &'a Arc<dyn HostWriter>,
        observed: Value,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { writer.work(K::remove(K::from_value(&observed)?)?).await })
    }
}
