//! Sessions with the hosts of pools: a vendor stands beside each of them.

use std::sync::Arc;

use fleet_lang::Value;

use super::Registry;
use crate::address::ScopePath;
use crate::attributes::read;
use crate::diff::get;
use crate::host::reach::{Over, Ssh};
use crate::host::session::{HostReading, HostWriting};
use crate::host::{Holder, Reach};
use crate::plan::Way;
use crate::pool::drive::PoolWriting;
use crate::pool::ground::Ground;
use crate::pool::look::PoolReading;
use crate::pool::protocol::Record;
use crate::pool::recover::Looked;
use crate::pool::survey::{Ours, Surveyed, survey_machines};
use crate::pool::vendor::VendorReader;
use crate::pool::vendors::{Key, Listing};
use crate::pool::{Choice, PoolHost, Remedy, Retired, Rule, Sent, Vendor};
use crate::provider::Journal;
use crate::resource::Error;

/// What the settings of a session say of the pool that its host comes from.
struct Pool {
    key: Key,
    rule: Rule,
    machine: Option<String>,
    first: Option<String>,
}

impl Pool {
    fn of(settings: &Value) -> Result<Option<Pool>, Error> {
        let pool = get(settings, "pool");
        if pool.is_null() {
            return Ok(None);
        }
        let picked = get(&pool, "rule");
        let rule = Rule::of(&read::<String>(&pool, "name")?, &picked)?;
        let (provider, settings) = (read(&pool, "provider")?, get(&pool, "settings"));
        let key = Key { provider, settings, pool: picked };
        Ok(Some(Pool { key, rule, machine: read(&pool, "machine")?, first: read(&pool, "first")? }))
    }
}

impl Registry {
    /// The reading side of a session with a host.
    pub(super) async fn reading(&self, settings: &Value) -> Result<HostReading, Error> {
        let mut reach = Reach::of(settings)?;
        let hosts = self.hosts()?.clone();
        let pool = match Pool::of(settings)? {
            None => None,
            Some(pool) => {
                let machine = pool.machine.clone();
                let (ground, listing) = self.ground(settings, pool).await?;
                if let Some(machine) = &machine {
                    self.log_in(&mut reach, machine, &*ground.vendor, false).await?;
                }
                Some(PoolReading { ground, listing, machine })
            }
        };
        let host = hosts.reader(&reach);
        Ok(HostReading { kinds: self.on_hosts.clone(), host, read_only: self.read_only, pool })
    }

    /// The way to the machines of a pool, and what its vendor lists.
    async fn ground(&self, settings: &Value, pool: Pool) -> Result<(Ground, Arc<Listing>), Error> {
        let Pool { key, rule, .. } = pool;
        let connect = self.vendor_of(&key)?.vendor_reader(&key.settings, &rule);
        let listing = self.vendors.reader(&key, connect).await?;
        let (hosts, vendor) = (self.hosts()?.clone(), listing.vendor.clone());
        Ok((Ground { hosts, vendor, reach: Reach::of(settings)?, rule }, listing))
    }

    /// Every machine of a pool with its class; nothing is changed. The ways are all of this pool, and lead to every machine of it
    /// once, or to its vendor.
    pub async fn survey(&self, ways: &[Way], ours: &Ours, date: u64) -> Result<Vec<Surveyed>, Error> {
        let mut machines = Vec::new();
        for way in ways {
            let settings = settings_of(way)?;
            match (&way.machine, Pool::of(settings)?) {
                (_, Some(pool)) => {
                    let (ground, listing) = self.ground(settings, pool).await?;
                    return Ok(ground.survey(&listing.list().await?, ours, date).await);
                }
                (Some(machine), None) => machines.push((&**machine, Reach::of(settings)?)),
                (None, None) => {}
            }
        }
        Ok(survey_machines(&**self.hosts()?, machines, ours, date).await)
    }

    /// Every machine of a vendor's pool, and who holds it; none if no vendor stands behind the pool.
    pub async fn held(&self, way: &Way) -> Result<Option<Vec<Looked>>, Error> {
        let settings = settings_of(way)?;
        let Some(pool) = Pool::of(settings)? else { return Ok(None) };
        let (ground, listing) = self.ground(settings, pool).await?;
        Ok(Some(ground.held(&listing.list().await?).await))
    }

    /// The writing side of a session with a host.
    pub(super) async fn writing(&self, settings: &Value, holder: &Holder) -> Result<HostWriting, Error> {
        let mut reach = Reach::of(settings)?;
        let hosts = self.hosts()?.clone();
        let pool = match Pool::of(settings)? {
            None => None,
            Some(pool) => {
                let machine = pool.machine.clone();
                let writing = self.pool_writing(settings, pool, holder).await?;
                if let Some(machine) = &machine {
                    self.log_in(&mut reach, machine, &*writing.vendor, true).await?;
                }
                Some(writing)
            }
        };
        let host = hosts.writer(&reach, holder);
        Ok(HostWriting { kinds: self.on_hosts.clone(), host, pool })
    }

    async fn vendor_for_writing(&self, Pool { key, rule, .. }: &Pool) -> Result<Arc<dyn Vendor>, Error> {
        let connect = self.vendor_of(key)?.vendor(&key.settings, rule);
        self.vendors.writer(key, connect).await
    }

    async fn pool_writing(
        &self,
        settings: &Value,
        pool: Pool,
        holder: &Holder,
    ) -> Result<PoolWriting, Error> {
        let vendor = self.vendor_for_writing(&pool).await?;
        let Pool { rule, first, .. } = pool;
        let (hosts, reading): (_, Arc<dyn VendorReader>) = (self.hosts()?.clone(), vendor.clone());
        let ground = Ground { hosts, vendor: reading, reach: Reach::of(settings)?, rule };
        let (holder, taken) = (holder.clone(), self.vendors.taken.clone());
        Ok(PoolWriting { ground, vendor, holder, taken, first, kinds: self.on_hosts.clone() })
    }

    /// Orders servers with these names for a pool, all of them or none.
    pub async fn order(&self, way: &Way, names: &[String]) -> Result<Sent, Error> {
        let pool = pool_behind_vendor(way)?;
        let Choice { model, os_family, .. } = &pool.rule.choice;
        let no_type = || {
            Error::permanent(format!("`pool.{}` takes hosts of any type", way.pool))
                .help("say with `type` what its hosts are")
        };
        let model = model.as_deref().ok_or_else(no_type)?;
        Ok(self.vendor_for_writing(&pool).await?.order(names, model, os_family.as_deref()).await)
    }

    /// Frees a server of a vendor's pool that was left behind, through the protocol; false if there was nothing to free any
    /// more. The slot is what stands in the journal and in the ledger meanwhile.
    pub async fn reclaim(
        &self,
        way: &Way,
        holder: &Holder,
        slot: &ScopePath,
        (server, remedy): (&str, &Remedy),
        journal: &dyn Journal,
    ) -> Result<bool, Error> {
        let writing = self.pool_writing(settings_of(way)?, pool_behind_vendor(way)?, holder).await?;
        let Some(server) = writing.vendor.get(server).await? else { return Ok(false) };
        let wish = PoolHost::to_be_freed(slot, &server, &writing.ground.reach.ledger);
        writing.reclaim(wish, &server, remedy, journal).await
    }

    /// Deletes a free server of a vendor's pool for good, through the protocol, or goes on with what was begun. The slot is what
    /// stands in the journal and in the ledger meanwhile.
    pub async fn retire(
        &self,
        way: &Way,
        holder: &Holder,
        slot: &ScopePath,
        (server, begun): (&str, Option<Record>),
        journal: &dyn Journal,
    ) -> Result<Retired, Error> {
        let writing = self.pool_writing(settings_of(way)?, pool_behind_vendor(way)?, holder).await?;
        let Some(server) = writing.vendor.get(server).await? else { return Ok(Retired::Deleted) };
        let wish = PoolHost::to_be_freed(slot, &server, &writing.ground.reach.ledger);
        writing.retire(wish, &server, begun, journal).await
    }

    fn vendor_of(&self, key: &Key) -> Result<&dyn super::Erased, Error> {
        let provider = self.providers.get(&*key.provider).map(|provider| &**provider);
        provider.ok_or_else(|| Error::permanent(format!("this fleet has no provider `{}`", key.provider)))
    }

    /// Fills in what the vendor says of logging in, where the connection does not say it: who, and for those who change
    /// something how that one becomes root.
    async fn log_in(
        &self,
        reach: &mut Reach,
        machine: &str,
        vendor: &(impl VendorReader + ?Sized),
        works: bool,
    ) -> Result<(), Error> {
        let Over::Ssh(Ssh { user, .. }) = &mut reach.over else { return Ok(()) };
        let known = self.vendors.logins.lock().await.get(machine).cloned();
        let is_needed = user.is_none() || (works && reach.sudo_password.is_none());
        let login = match known {
            Some(known) => known,
            None if !is_needed => return Ok(()),
            None => {
                let login = vendor.credentials(machine).await?;
                self.vendors.logins.lock().await.insert(machine.to_owned(), login.clone());
                login
            }
        };
        *user = user.take().or(login.user);
        reach.sudo_password = reach.sudo_password.take().or(login.sudo_password);
        Ok(())
    }
}

fn pool_behind_vendor(way: &Way) -> Result<Pool, Error> {
    let no_vendor = || Error::permanent(format!("no vendor stands behind `pool.{}`", way.pool));
    Pool::of(settings_of(way)?)?.ok_or_else(no_vendor)
}

fn settings_of(way: &Way) -> Result<&Value, Error> {
    let unknown = || format!("how the machines of `pool.{}` are reached is not known yet", way.pool);
    way.settings.as_ref().ok_or_else(|| Error::permanent(unknown()))
}
