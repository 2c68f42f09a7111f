//! All providers together: the catalogue, the readers and the writers of a run.

mod pools;
pub mod trial;

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_lang::Value;
use foldhash::HashMap;
use futures_util::future::join_all;

use crate::attributes::{Attributes, Misfit};
use crate::finding::Finding;
use crate::host::reach::Secret;
use crate::host::session::OnHosts;
use crate::host::{Holder, Hosts, Listed};
use crate::kind::{Data, Kind};
use crate::pool::vendors::Vendors;
use crate::pool::{Rule, Vendor, VendorReader};
use crate::provider::{
    Ask, HOST, Issued, Journal, Provider, ReadBack, Reader, Readers, Session, Standing, Writer, Writers,
};
use crate::resource::{BoxFuture, Change, Disruption, Error, Touch};
use crate::schema::{Catalog, Entry, Place, Sort};
use crate::secret::InCluster;

/// How many things may be under way at once on one host: they travel together, and the host does one after the other.
const AT_ONCE_ON_A_HOST: usize = 256;

/// The providers that a program knows: `Registry::new().with(Core::new(directory))`.
#[derive(Default)]
pub struct Registry {
    entries: BTreeMap<Sort, BTreeMap<&'static str, Entry>>,
    providers: HashMap<&'static str, Arc<dyn Erased>>,
    /// Whose each kind of resource is.
    kinds: HashMap<&'static str, Arc<dyn Erased>>,
    /// Whose each kind of data is.
    data: HashMap<&'static str, Arc<dyn Erased>>,
    on_hosts: Arc<OnHosts>,
    /// The way to hosts.
    hosts: Option<Arc<dyn Hosts>>,
    /// Whether no script of the user is run to look at something.
    read_only: bool,
    /// The vendors of pools.
    vendors: Vendors,
}

impl Registry {
    /// No providers at all.
    #[must_use]
    pub fn new() -> Registry {
        Registry::default()
    }

    /// One provider more, with all its kinds.
    #[must_use]
    pub fn with<P: Provider>(mut self, provider: P) -> Registry {
        let provider: Arc<dyn Erased> = Arc::new(Of(provider));
        let settings = Entry { issues: P::ISSUES, ..Entry::new(P::Settings::schema(), Place::Api, P::NAME) };
        self = self.with_entry(Sort::Provider, P::NAME, settings);
        for kind in P::KINDS {
            self = self.with_entry(Sort::Resource, kind.name(), kind.entry(P::NAME));
            self.kinds.insert(kind.name(), provider.clone());
        }
        for data in P::DATA {
            self = self.with_entry(Sort::Data, data.name(), data.entry(P::NAME));
            self.data.insert(data.name(), provider.clone());
        }
        let on_hosts = Arc::make_mut(&mut self.on_hosts);
        on_hosts.things.extend(P::ON_HOSTS.iter().map(|thing| (thing.name(), *thing)));
        on_hosts.data.extend(P::DATA_ON_HOSTS.iter().map(|data| (data.name(), *data)));
        for thing in P::ON_HOSTS {
            self = self.with_entry(Sort::Resource, thing.name(), thing.entry(P::NAME));
        }
        for data in P::DATA_ON_HOSTS {
            self = self.with_entry(Sort::Data, data.name(), data.entry(P::NAME));
        }
        self.providers.insert(P::NAME, provider);
        self
    }

    /// The same, with a way to hosts.
    #[must_use]
    pub fn with_hosts(self, hosts: Arc<dyn Hosts>) -> Registry {
        Registry { hosts: Some(hosts), ..self }
    }

    /// One entry of the catalogue more that is no provider's, such as a backend.
    #[must_use]
    pub fn with_entry(mut self, sort: Sort, name: &'static str, entry: Entry) -> Registry {
        self.entries.entry(sort).or_default().insert(name, entry);
        self
    }

    /// The same, where no script of the user is run to look at something: nobody knows what it does.
    #[must_use]
    pub fn read_only(self, read_only: bool) -> Registry {
        Registry { read_only, ..self }
    }

    /// Has a provider issue a secret.
    pub async fn issue(&self, session: &Session, settings: &Value, request: &str) -> Result<Secret, Error> {
        self.provider(session)?.issue(settings, request).await
    }

    /// Has a provider take back what it issued.
    pub async fn withdraw(
        &self,
        session: &Session,
        settings: &Value,
        issued: Issued<'_>,
    ) -> Result<(), Error> {
        self.provider(session)?.withdraw(settings, issued).await
    }

    /// Reads a secret that the other side of a provider keeps.
    pub async fn kept(
        &self,
        session: &Session,
        settings: &Value,
        place: &InCluster,
    ) -> Result<Secret, Error> {
        self.provider(session)?.kept(settings, place).await
    }

    /// What the other side says of the credentials of a provider; none if it cannot tell.
    pub async fn standing(&self, session: &Session, settings: &Value) -> Result<Option<Standing>, Error> {
        self.provider(session)?.standing(settings).await
    }

    /// State may name a provider that this program does not have.
    fn provider(&self, session: &Session) -> Result<&dyn Erased, Error> {
        let provider = self.providers.get(&*session.provider).map(|provider| &**provider);
        provider.ok_or_else(|| Error::permanent(format!("this fleet has no provider `{}`", session.provider)))
    }

    fn hosts(&self) -> Result<&Arc<dyn Hosts>, Error> {
        self.hosts.as_ref().ok_or_else(|| Error::permanent("this program has no way to hosts"))
    }

    fn kind(&self, kind: &str) -> Result<&dyn Erased, Error> {
        self.kinds.get(kind).map(|provider| &**provider).ok_or_else(|| unknown(kind))
    }
}

impl Catalog for Registry {
    fn find(&self, sort: Sort, name: &str) -> Option<&Entry> {
        self.entries.get(&sort)?.get(name)
    }

    fn names(&self, sort: Sort) -> Vec<&str> {
        self.entries.get(&sort).into_iter().flat_map(|entries| entries.keys().copied()).collect()
    }
}

impl Readers for Registry {
    fn normalize(&self, kind: &str, object: &Value) -> Result<Value, Misfit> {
        match self.on_hosts.things.get(kind) {
            Some(thing) => thing.normalize(object),
            None => self.kind(kind).map_err(misfit)?.normalize(kind, object),
        }
    }

    fn normalize_data(&self, kind: &str, arguments: &Value) -> Result<Value, Misfit> {
        if let Some(data) = self.on_hosts.data.get(kind) {
            return data.normalize(arguments);
        }
        let provider = self.data.get(kind).ok_or_else(|| misfit(unknown(kind)))?;
        provider.normalize_data(kind, arguments)
    }

    fn findable(&self, kind: &str, record: &Value) -> Result<(), Misfit> {
        match self.on_hosts.things.get(kind) {
            Some(thing) => thing.findable(record),
            None => self.kind(kind).map_err(misfit)?.findable(kind, record),
        }
    }

    fn upgrade(&self, kind: &str, version: u32, recorded: Value) -> Result<Value, Error> {
        match self.on_hosts.things.get(kind) {
            Some(thing) => thing.upgrade(version, recorded),
            None => self.kind(kind)?.upgrade(kind, version, recorded),
        }
    }

    fn disrupts(&self, kind: &str, touch: Touch<'_>) -> Disruption {
        if let Some(thing) = self.on_hosts.things.get(kind) {
            return thing.disrupts(touch);
        }
        self.kind(kind).map_or(Disruption::Nothing, |provider| provider.disrupts(kind, touch))
    }

    fn findings(&self, kind: &str, observed: &Value) -> Vec<Finding> {
        match self.on_hosts.things.get(kind) {
            Some(thing) => thing.findings(observed),
            None => self.kind(kind).map_or_else(|_| Vec::new(), |provider| provider.findings(kind, observed)),
        }
    }

    fn reader<'a>(
        &'a self,
        session: &'a Session,
        settings: &'a Value,
    ) -> BoxFuture<'a, Result<Arc<dyn Reader>, Error>> {
        Box::pin(async move {
            if session.is_on_host() {
                return Ok(Arc::new(self.reading(settings).await?) as Arc<dyn Reader>);
            }
            self.provider(session)?.reader(settings).await
        })
    }

    fn limit(&self, provider: &str) -> usize {
        if provider == HOST {
            return AT_ONCE_ON_A_HOST;
        }
        self.providers.get(provider).map_or(1, |provider| provider.limit())
    }
}

impl Writers for Registry {
    fn writer<'a>(
        &'a self,
        session: &'a Session,
        settings: &'a Value,
        holder: &'a Holder,
    ) -> BoxFuture<'a, Result<Arc<dyn Writer>, Error>> {
        Box::pin(async move {
            if session.is_on_host() {
                return Ok(Arc::new(self.writing(settings, holder).await?) as Arc<dyn Writer>);
            }
            self.provider(session)?.writer(settings).await
        })
    }
}

/// A provider without its types.
trait Erased: Send + Sync {
    fn limit(&self) -> usize;
    fn normalize(&self, kind: &str, object: &Value) -> Result<Value, Misfit>;
    fn normalize_data(&self, kind: &str, arguments: &Value) -> Result<Value, Misfit>;
    fn findable(&self, kind: &str, record: &Value) -> Result<(), Misfit>;
    fn upgrade(&self, kind: &str, version: u32, recorded: Value) -> Result<Value, Error>;
    fn disrupts(&self, kind: &str, touch: Touch<'_>) -> Disruption;
    fn findings(&self, kind: &str, observed: &Value) -> Vec<Finding>;
    fn reader<'a>(&'a self, settings: &'a Value) -> BoxFuture<'a, Result<Arc<dyn Reader>, Error>>;
    fn writer<'a>(&'a self, settings: &'a Value) -> BoxFuture<'a, Result<Arc<dyn Writer>, Error>>;
    fn issue<'a>(&'a self, settings: &'a Value, request: &'a str) -> BoxFuture<'a, Result<Secret, Error>>;
    fn withdraw<'a>(&'a self, settings: &'a Value, issued: Issued<'a>) -> BoxFuture<'a, Result<(), Error>>;
    fn kept<'a>(&'a self, settings: &'a Value, place: &'a InCluster) -> BoxFuture<'a, Result<Secret, Error>>;
    fn standing<'a>(&'a self, settings: &'a Value) -> BoxFuture<'a, Result<Option<Standing>, Error>>;
    fn vendor_reader<'a>(
        &'a self,
        settings: &'a Value,
        rule: &'a Rule,
    ) -> BoxFuture<'a, Result<Arc<dyn VendorReader>, Error>>;
    fn vendor<'a>(
        &'a self,
        settings: &'a Value,
        rule: &'a Rule,
    ) -> BoxFuture<'a, Result<Arc<dyn Vendor>, Error>>;
}

struct Of<P>(P);

impl<P: Provider> Erased for Of<P> {
    fn limit(&self) -> usize {
        P::LIMIT
    }

    fn normalize(&self, kind: &str, object: &Value) -> Result<Value, Misfit> {
        resource::<P>(kind).map_err(misfit)?.normalize(object)
    }

    fn normalize_data(&self, kind: &str, arguments: &Value) -> Result<Value, Misfit> {
        data::<P>(kind).map_err(misfit)?.normalize(arguments)
    }

    fn findable(&self, kind: &str, record: &Value) -> Result<(), Misfit> {
        resource::<P>(kind).map_err(misfit)?.findable(record)
    }

    fn upgrade(&self, kind: &str, version: u32, recorded: Value) -> Result<Value, Error> {
        resource::<P>(kind)?.upgrade(version, recorded)
    }

    fn disrupts(&self, kind: &str, touch: Touch<'_>) -> Disruption {
        resource::<P>(kind).map_or(Disruption::Nothing, |kind| kind.disrupts(touch))
    }

    fn findings(&self, kind: &str, observed: &Value) -> Vec<Finding> {
        resource::<P>(kind).map_or_else(|_| Vec::new(), |kind| kind.findings(observed))
    }

    fn reader<'a>(&'a self, settings: &'a Value) -> BoxFuture<'a, Result<Arc<dyn Reader>, Error>> {
        Box::pin(async move {
            let handle = self.0.reader(configured::<P>(settings)?).await?;
            Ok(Arc::new(Reading::<P>(handle)) as Arc<dyn Reader>)
        })
    }

    fn writer<'a>(&'a self, settings: &'a Value) -> BoxFuture<'a, Result<Arc<dyn Writer>, Error>> {
        Box::pin(async move {
            let handle = self.0.writer(configured::<P>(settings)?).await?;
            Ok(Arc::new(Writing::<P>(handle)) as Arc<dyn Writer>)
        })
    }

    fn issue<'a>(&'a self, settings: &'a Value, request: &'a str) -> BoxFuture<'a, Result<Secret, Error>> {
        Box::pin(async move { self.0.issue(configured::<P>(settings)?, request).await })
    }

    fn withdraw<'a>(&'a self, settings: &'a Value, issued: Issued<'a>) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { self.0.withdraw(configured::<P>(settings)?, issued).await })
    }

    fn kept<'a>(&'a self, settings: &'a Value, place: &'a InCluster) -> BoxFuture<'a, Result<Secret, Error>> {
        Box::pin(async move { self.0.kept(configured::<P>(settings)?, place).await })
    }

    fn standing<'a>(&'a self, settings: &'a Value) -> BoxFuture<'a, Result<Option<Standing>, Error>> {
        Box::pin(async move { self.0.standing(configured::<P>(settings)?).await })
    }

    fn vendor_reader<'a>(
        &'a self,
        settings: &'a Value,
        rule: &'a Rule,
    ) -> BoxFuture<'a, Result<Arc<dyn VendorReader>, Error>> {
        Box::pin(async move { self.0.vendor_reader(configured::<P>(settings)?, rule).await })
    }

    fn vendor<'a>(
        &'a self,
        settings: &'a Value,
        rule: &'a Rule,
    ) -> BoxFuture<'a, Result<Arc<dyn Vendor>, Error>> {
        Box::pin(async move { self.0.vendor(configured::<P>(settings)?, rule).await })
    }
}

/// Questions, and their numbers in the batch that they came in.
type Numbered = (Vec<usize>, Vec<Ask>);

/// A provider's reading handle.
struct Reading<P: Provider>(P::Reader);

/// A provider's writing handle.
struct Writing<P: Provider>(P::Writer);

impl<P: Provider> Reader for Reading<P> {
    fn look(&self, batch: Vec<(Arc<str>, Ask)>) -> BoxFuture<'_, Vec<Result<Option<Value>, Error>>> {
        Box::pin(async move {
            let n_asked = batch.len();
            let mut kinds: BTreeMap<(Arc<str>, bool), Numbered> = BTreeMap::new();
            for (at, (kind, ask)) in batch.into_iter().enumerate() {
                let (places, asks) = kinds.entry((kind, matches!(ask, Ask::Data(_)))).or_default();
                places.push(at);
                asks.push(ask);
            }
            let one = |((kind, _), (places, asks)): (_, (Vec<usize>, _))| async move {
                (places, self.of_one_kind(kind, asks).await)
            };
            let mut answers: Vec<Option<Result<Option<Value>, Error>>> = vec![None; n_asked];
            for (places, found) in join_all(kinds.into_iter().map(one)).await {
                places.into_iter().zip(found).for_each(|(at, found)| answers[at] = Some(found));
            }
            let missing = || Err(Error::permanent("the provider did not answer"));
            answers.into_iter().map(|answer| answer.unwrap_or_else(missing)).collect()
        })
    }

    fn rehearse<'a>(&'a self, kind: &'a str, wish: Value) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { resource::<P>(kind)?.rehearse(&self.0, wish).await })
    }

    fn warnings(&self) -> Vec<String> {
        P::warnings(&self.0)
    }
}

impl<P: Provider> Reading<P> {
    /// Looks at a batch of one kind, and of one sort.
    async fn of_one_kind(&self, kind: Arc<str>, asks: Vec<Ask>) -> Vec<Result<Option<Value>, Error>> {
        let (mut objects, mut data_asks) = (Vec::new(), Vec::new());
        for ask in asks {
            match ask {
                Ask::Object(at) => objects.push(at),
                Ask::Data(arguments) => data_asks.push(arguments),
            }
        }
        if data_asks.is_empty() {
            return match resource::<P>(&kind) {
                Ok(kind) => kind.observe(&self.0, objects).await,
                Err(error) => objects.iter().map(|_| Err(error.clone())).collect(),
            };
        }
        match data::<P>(&kind) {
            Ok(kind) => kind.read(&self.0, data_asks).await.into_iter().map(|read| read.map(Some)).collect(),
            Err(error) => data_asks.iter().map(|_| Err(error.clone())).collect(),
        }
    }
}

impl<P: Provider> Writer for Writing<P> {
    fn apply<'a>(
        &'a self,
        kind: &'a str,
        wish: Value,
        change: Change<Value>,
        _: Option<Listed>,
        run: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<(Value, ReadBack), Error>> {
        Box::pin(async move {
            let made = resource::<P>(kind)?.apply(&self.0, wish, change, run).await?;
            Ok((made, ReadBack::NotYet))
        })
    }

    fn destroy<'a>(
        &'a self,
        kind: &'a str,
        observed: Value,
        _: Option<Listed>,
        run: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<ReadBack, Error>> {
        Box::pin(async move {
            let kind = resource::<P>(kind)?;
            kind.destroy(&self.0, observed, run).await?;
            Ok(if kind.stays() { ReadBack::Found(None) } else { ReadBack::NotYet })
        })
    }
}

fn resource<P: Provider>(name: &str) -> Result<&'static dyn Kind<P::Reader, P::Writer>, Error> {
    P::KINDS.iter().copied().find(|kind| kind.name() == name).ok_or_else(|| unknown(name))
}

fn data<P: Provider>(name: &str) -> Result<&'static dyn Data<P::Reader>, Error> {
    P::DATA.iter().copied().find(|kind| kind.name() == name).ok_or_else(|| unknown(name))
}

/// The settings in the provider's own type; null stands for a block that is not there.
fn configured<P: Provider>(settings: &Value) -> Result<P::Settings, Error> {
    let name = P::NAME;
    let settings =
        if settings.is_null() { P::Settings::schema().omitted() } else { settings.clone().unmark_deep().0 };
    P::Settings::from_value(&settings).map_err(|misfit| {
        let message = format!("provider `{name}` cannot be used: {misfit}");
        Error::permanent(message).help(format!("configure it with `provider \"{name}\" {{ … }}`"))
    })
}

/// The state may hold kinds that another version of fleet knew.
fn unknown(kind: &str) -> Error {
    Error::permanent(format!("this fleet has no kind `{kind}`"))
}

fn misfit(error: Error) -> Misfit {
    Misfit::new("", error.message)
}
