//! `forgejo_registration`: a runner as Forgejo knows it.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::provider::Journal;
use fleet_engine::resource::{ApiKind, At, Change, Disruption, Error, Resource, Touch};

use super::client::{Acting, Looking};
use super::scope::Scope;
use crate::registrar::record::{Key, Record as _};
use crate::registrar::{Registered, Registrar, await_online, deregister, find, record, seconds};

/// A runner as Forgejo knows it: online, and deregistered when it goes.
///
/// Its record is made by a secret `runner:URL?name=NAME` of the provider, with which its agent is configured on a host. This
/// stands behind the agent: when it is made, the agent is waited for until Forgejo sees it online. When it goes, it goes first: a
/// job that runs is waited for, then Forgejo forgets the runner, and only then its agent is taken off the host. After
/// `job_timeout` it gives up, says so, and leaves everything as it is.
///
/// Forgejo cannot keep a runner from new jobs, and deletes one that is busy: it is looked at right before, and a job that begins
/// between this look and the deletion is lost. Where that must not be, stop the agent first, which lets its job end.
///
/// Its labels are set where its agent is configured, and Forgejo has no way to change them: they are shown. A runner that was
/// deleted there is planned anew, and its agent has to be configured anew: `--replace` what holds its secret.
///
/// ```hcl
/// resource "forgejo_registration" "this" {
///   url  = "https://forgejo.example.com/macs"
///   name = "mini"
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Record {
    /// Where it belongs: an organisation (`https://HOST/ORG`), a repository (`https://HOST/OWNER/REPO`), whose the token is (`https://HOST/user`) or a whole server.
    #[fleet(replace)]
    url: String,
    /// Its name there.
    #[fleet(replace)]
    name: String,
    /// How many seconds its agent may take to be online.
    #[fleet(default = 120)]
    online_timeout: i64,
    /// How many seconds a job is waited for when the runner goes.
    #[fleet(default = 1800)]
    job_timeout: i64,
    /// Its labels, as its agent says them.
    #[fleet(computed)]
    labels: Option<Vec<String>>,
    /// Its number at Forgejo.
    #[fleet(computed)]
    runner_id: Option<i64>,
    /// Whether its agent is connected.
    #[fleet(computed)]
    online: Option<bool>,
}

impl Resource for Record {
    const NAME: &'static str = "forgejo_registration";
    const WAITS_FOR_WORK: bool = true;
    const ID: Option<&'static str> = Some("the URL and the name, with a space between them");

    fn normalize(&mut self) -> Result<(), Misfit> {
        let timeouts = [self.online_timeout, self.job_timeout];
        record::normalize(Scope::of, &mut self.url, &self.name, timeouts)
    }

    fn disrupts(touch: Touch<'_>) -> Disruption {
        if touch == Touch::Destroy { Disruption::Thing } else { Disruption::Nothing }
    }
}

impl ApiKind for Record {
    type Reader = Looking;
    type Writer = Acting;

    async fn observe(reader: &Looking, batch: Vec<At<Record>>) -> Vec<Result<Option<Record>, Error>> {
        record::observe(reader, batch).await
    }

    async fn apply(self, writer: &Acting, _: Change<Record>) -> Result<Record, Error> {
        let found = find(writer, &self.url, &self.name).await?;
        let found = found.ok_or_else(|| Error::permanent(format!("there is no runner `{}`", self.name)))?;
        Ok(self.seen(&found))
    }

    async fn destroy(writer: &Acting, observed: Record) -> Result<(), Error> {
        let Some(id) = observed.runner_id else { return Ok(()) };
        writer.remove(&observed.url, id).await.map(drop)
    }

    async fn apply_in_time(
        self,
        writer: &Acting,
        change: Change<Record>,
        run: &dyn Journal,
    ) -> Result<Record, Error> {
        if matches!(change, Change::Update { .. }) {
            return self.apply(writer, change).await;
        }
        let found = await_online(writer, run, &self.url, &self.name, seconds(self.online_timeout)).await?;
        Ok(self.seen(&found))
    }

    async fn destroy_in_time(writer: &Acting, observed: Record, run: &dyn Journal) -> Result<(), Error> {
        let Some(id) = observed.runner_id else { return Ok(()) };
        deregister(writer, run, &observed.url, id, seconds(observed.job_timeout)).await
    }
}

impl record::Record for Record {
    fn named(url: String, name: String) -> Result<Record, Error> {
        Scope::of(&url)?;
        let (labels, runner_id, online) = (None, None, None);
        Ok(Record { url, name, online_timeout: 120, job_timeout: 1800, labels, runner_id, online })
    }

    fn key(&self) -> Key<'_> {
        Key { url: &self.url, name: &self.name, number: self.runner_id }
    }

    fn seen(&self, runner: &Registered) -> Record {
        Record {
            labels: Some(runner.labels.clone()),
            runner_id: Some(runner.id),
            online: Some(runner.online),
            ..self.clone()
        }
    }
}

#[cfg(test)]
impl Record {
    pub(super) fn shown(&self) -> (Option<Vec<String>>, Option<bool>) {
        (self.labels.clone(), self.online)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_are_refused() {
        let wish = || Record::named("https://git.example.com/macs/".into(), "mini".into()).unwrap();
        let mut good = wish();
        good.normalize().unwrap();
        assert_eq!(good.url, "https://git.example.com/macs");
        let refused = |change: fn(&mut Record), attribute: &str| {
            let mut wish = wish();
            change(&mut wish);
            assert_eq!(wish.normalize().unwrap_err().attribute, attribute);
        };
        refused(|it| it.url = "http://git.example.com".into(), "url");
        refused(|it| it.name = " ".into(), "name");
        refused(|it| it.job_timeout = -1, "job_timeout");
    }
}
