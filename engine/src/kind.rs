//! Kinds without their types, as the engine and the providers' lists hold them.
//!
//! An author's type is listed as `&Of::<File>::KIND`, whether it is an [`ApiKind`] or a [`DataKind`].

use std::marker::PhantomData;

use fleet_lang::Value;

use crate::attributes::Misfit;
use crate::finding::Finding;
use crate::provider::Journal;
use crate::resource::{ApiKind, At, BoxFuture, Change, DataKind, Disruption, Error, Resource, Touch};
use crate::schema::{Entry, Place};

/// Any kind of resource, as the engine and its provider see it.
pub trait Kind<R, W>: Send + Sync {
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

    /// See [`Resource::disrupts`].
    fn disrupts(&self, touch: Touch<'_>) -> Disruption;

    /// See [`ApiKind::STAYS`].
    fn stays(&self) -> bool;

    /// See [`Resource::findings`].
    fn findings(&self, observed: &Value) -> Vec<Finding>;

    /// See [`ApiKind::observe`].
    fn observe<'a>(
        &'a self,
        reader: &'a R,
        batch: Vec<At<Value>>,
    ) -> BoxFuture<'a, Vec<Result<Option<Value>, Error>>>;

    /// See [`ApiKind::apply_in_time`].
    fn apply<'a>(
        &'a self,
        writer: &'a W,
        wish: Value,
        change: Change<Value>,
        run: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<Value, Error>>;

    /// See [`ApiKind::destroy_in_time`].
    fn destroy<'a>(
        &'a self,
        writer: &'a W,
        observed: Value,
        run: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<(), Error>>;

    /// See [`ApiKind::rehearse`].
    fn rehearse<'a>(&'a self, reader: &'a R, wish: Value) -> BoxFuture<'a, Result<(), Error>>;
}

/// Any kind of data, as the engine and its provider see it.
pub trait Data<R>: Send + Sync {
    /// The name in the configuration.
    fn name(&self) -> &'static str;

    /// What the catalogue says about it.
    fn entry(&self, provider: &str) -> Entry;

    /// Normalizes a wholly known object.
    fn normalize(&self, object: &Value) -> Result<Value, Misfit>;

    /// See [`DataKind::read`].
    fn read<'a>(&'a self, reader: &'a R, batch: Vec<Value>) -> BoxFuture<'a, Vec<Result<Value, Error>>>;
}

/// The kind of an author's type: `&Of::<File>::KIND` in its provider's list.
#[derive(Debug)]
pub struct Of<K>(PhantomData<fn() -> K>);

impl<K> Of<K> {
    /// The one value of this type.
    pub const KIND: Of<K> = Of(PhantomData);
}

impl<K: ApiKind> Kind<K::Reader, K::Writer> for Of<K> {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn entry(&self, provider: &str) -> Entry {
        Entry { rehearses: K::REHEARSES, ..describe::<K>(Place::Api, provider) }
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

    fn stays(&self) -> bool {
        K::STAYS
    }

    fn findings(&self, observed: &Value) -> Vec<Finding> {
        findings::<K>(observed)
    }

    fn observe<'a>(
        &'a self,
        reader: &'a K::Reader,
        batch: Vec<At<Value>>,
    ) -> BoxFuture<'a, Vec<Result<Option<Value>, Error>>> {
        Box::pin(async move {
            let typed = batch.into_iter().map(typed::<K>).collect();
            let found = answer(typed, |batch| K::observe(reader, batch)).await;
            found.into_iter().map(|found| Ok(found?.map(|it| it.to_value()))).collect()
        })
    }

    fn apply<'a>(
        &'a self,
        writer: &'a K::Writer,
        wish: Value,
        change: Change<Value>,
        run: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<Value, Error>> {
        Box::pin(async move {
            let change = change.try_map(|from| K::from_value(&from))?;
            Ok(K::from_value(&wish)?.apply_in_time(writer, change, run).await?.to_value())
        })
    }

    fn destroy<'a>(
        &'a self,
        writer: &'a K::Writer,
        observed: Value,
        run: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { K::destroy_in_time(writer, K::from_value(&observed)?, run).await })
    }

    fn rehearse<'a>(&'a self, reader: &'a K::Reader, wish: Value) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { K::from_value(&wish)?.rehearse(reader).await })
    }
}

impl<K: DataKind> Data<K::Reader> for Of<K> {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn entry(&self, provider: &str) -> Entry {
        Entry::new(K::schema(), Place::Api, provider)
    }

    fn normalize(&self, object: &Value) -> Result<Value, Misfit> {
        let mut typed = K::from_value(object)?;
        typed.normalize()?;
        Ok(typed.to_value())
    }

    fn read<'a>(
        &'a self,
        reader: &'a K::Reader,
        batch: Vec<Value>,
    ) -> BoxFuture<'a, Vec<Result<Value, Error>>> {
        Box::pin(async move {
            let typed = batch.iter().map(|arguments| Ok(K::from_value(arguments)?)).collect();
            let read = answer(typed, |batch| K::read(reader, batch)).await;
            read.into_iter().map(|read| Ok(read?.to_value())).collect()
        })
    }
}

/// What the catalogue says about a kind.
pub(crate) fn describe<K: Resource>(place: Place, provider: &str) -> Entry {
    Entry {
        version: K::VERSION,
        lives_in_state: K::LIVES_IN_STATE,
        runs_user_code: K::RUNS_USER_CODE,
        gives_root: K::GIVES_ROOT,
        replaced_first: K::REPLACED_FIRST,
        waits_for_work: K::WAITS_FOR_WORK,
        id: K::ID,
        edges: K::edges(),
        detects: K::DETECTS,
        ..Entry::new(K::schema(), place, provider)
    }
}

/// Normalizes a wholly known object.
pub(crate) fn normalize<K: Resource>(object: &Value) -> Result<Value, Misfit> {
    let mut typed = K::from_value(object)?;
    typed.normalize()?;
    let normal = typed.to_value();
    // What is in its normal form already is shared.
    Ok(if normal == *object { object.clone() } else { normal })
}

/// The known bad states that an observed object is in.
pub(crate) fn findings<K: Resource>(observed: &Value) -> Vec<Finding> {
    if K::DETECTS.is_empty() {
        // Most kinds detect nothing, and there may be very many objects of them.
        return Vec::new();
    }
    let found = K::from_value(observed).map(|observed| observed.findings()).unwrap_or_default();
    debug_assert!(found.iter().all(|found| K::DETECTS.contains(&found.known)), "{}: {found:?}", K::NAME);
    found
}

/// Brings a record up to date.
pub(crate) fn upgrade<K: Resource>(version: u32, recorded: Value) -> Result<Value, Error> {
    let (kind, known) = (K::NAME, K::VERSION);
    if version > known {
        let message =
            format!("this fleet knows version {known} of `{kind}`, and version {version} is recorded");
        return Err(
            Error::permanent(message).help("use the version of fleet that recorded it, or a newer one")
        );
    }
    if version == known {
        return Ok(recorded);
    }
    let upgraded = K::upgrade(version, recorded)?;
    Ok(K::from_value(&upgraded)?.to_value())
}

/// Where to look, in the author's type.
pub(crate) fn typed<K: Resource>(at: At<Value>) -> Result<At<K>, Error> {
    if let (At::Id(_), None) = (&at, K::ID) {
        let message = format!("`{}` cannot be imported", K::NAME);
        return Err(Error::permanent(message).help("remove the `import`; declare it, and it will be made"));
    }
    Ok(at.try_map(|value| K::from_value(&value))?)
}

/// Answers what cannot be read here, and asks about the rest as one batch.
pub(crate) async fn answer<Q, A, F: Future<Output = Vec<Result<A, Error>>>>(
    batch: Vec<Result<Q, Error>>,
    ask: impl FnOnce(Vec<Q>) -> F,
) -> Vec<Result<A, Error>> {
    let mut readable = Vec::with_capacity(batch.len());
    let refused: Vec<Option<Error>> = batch
        .into_iter()
        .map(|question| match question {
            Ok(question) => {
                readable.push(question);
                None
            }
            Err(error) => Some(error),
        })
        .collect();
    let mut answers = ask(readable).await.into_iter();
    let mut next = || answers.next().unwrap_or_else(|| Err(Error::permanent("the provider did not answer")));
    refused.into_iter().map(|refused| refused.map_or_else(&mut next, Err)).collect()
}
