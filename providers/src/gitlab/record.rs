//! `gitlab_registration`: a runner as GitLab knows it.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::provider::Journal;
use fleet_engine::resource::{ApiKind, At, Change, Disruption, Error, Resource, Touch};

use super::client::{Acting, Looking};
use super::scope::Scope;
use crate::registrar::record::Key;
use crate::registrar::{Registered, Registrar, await_online, deregister, find, record, seconds};

/// A runner as GitLab knows it: online, with its tags, and deregistered when it goes.
///
/// Its record is made by a secret `runner:URL?name=NAME` of the provider, with which its agent is configured on a host. This
/// stands behind the agent: when it is made, the agent is waited for until GitLab sees it online. When it goes, it goes first: a
/// job that runs is waited for and never cut short, then GitLab forgets the runner, and only then its agent is taken
/// off the host. After `job_timeout` it gives up, says so, and leaves everything as it is.
///
/// Tags that somebody changes at GitLab are put right, and one that was paused there, or that was left so by a run that was killed,
/// gets jobs again. The `labels` of the secret are those that it is made with; they are changed here. A runner that was deleted there is planned anew, and its agent
/// has to be configured with another token: `--replace` what holds it.
///
/// ```hcl
/// resource "gitlab_registration" "this" {
///   url    = "https://gitlab.example.com/groups/macs"
///   name   = "mini"
///   labels = ["macos", "xcode"]
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Record {
    /// Where it belongs: a project (`https://gitlab.com/GROUP/PROJECT`), a group (`https://gitlab.com/groups/GROUP`) or a whole server.
    #[fleet(replace)]
    url: String,
    /// Its name there, which GitLab calls its description.
    #[fleet(replace)]
    name: String,
    /// Its tags; as they are if this is left out.
    #[fleet(optional_computed)]
    labels: Option<Vec<String>>,
    /// Whether it is kept from new jobs.
    #[fleet(default = false)]
    paused: bool,
    /// How many seconds its agent may take to be online.
    #[fleet(default = 120)]
    online_timeout: i64,
    /// How many seconds a job is waited for when the runner goes.
    #[fleet(default = 1800)]
    job_timeout: i64,
    /// Its number at GitLab.
    #[fleet(computed)]
    runner_id: Option<i64>,
    /// Whether its agent is connected.
    #[fleet(computed)]
    online: Option<bool>,
}

impl Resource for Record {
    const NAME: &'static str = "gitlab_registration";
    const WAITS_FOR_WORK: bool = true;
    const ID: Option<&'static str> = Some("the URL and the name, with a space between them");

    fn normalize(&mut self) -> Result<(), Misfit> {
        let timeouts = [self.online_timeout, self.job_timeout];
        record::normalize(Scope::of, &mut self.url, &self.name, timeouts)?;
        if let Some(labels) = &mut self.labels {
            if labels.iter().any(|label| label.trim().is_empty() || label.contains(',')) {
                return Err(Misfit::new("labels", "tags without a comma are needed"));
            }
            labels.sort();
            labels.dedup();
        }
        Ok(())
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
        self.put_right(writer, &found).await
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
        self.put_right(writer, &found).await
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
        Ok(Record {
            url,
            name,
            labels,
            paused: false,
            online_timeout: 120,
            job_timeout: 1800,
            runner_id,
            online,
        })
    }

    fn key(&self) -> Key<'_> {
        Key { url: &self.url, name: &self.name, number: self.runner_id }
    }

    fn seen(&self, runner: &Registered) -> Record {
        Record {
            labels: Some(runner.labels.clone()),
            paused: runner.paused,
            runner_id: Some(runner.id),
            online: Some(runner.online),
            ..self.clone()
        }
    }
}

impl Record {
    /// Gives a runner the tags that are wished for, and lets it have jobs or not.
    async fn put_right(self, writer: &Acting, found: &Registered) -> Result<Record, Error> {
        if let Some(labels) = self.labels.as_ref().filter(|labels| **labels != found.labels) {
            writer.set_labels(found.id, labels).await?;
        }
        if self.paused != found.paused {
            writer.pause(found.id, self.paused).await?;
        }
        Ok(Record { runner_id: Some(found.id), ..self })
    }
}

#[cfg(test)]
impl Record {
    /// A runner as somebody declares it.
    pub(super) fn wish(url: &str, name: &str, labels: &[&str]) -> Record {
        let labels = Some(labels.iter().map(|label| (*label).to_owned()).collect());
        Record { labels, ..<Record as record::Record>::named(url.into(), name.into()).unwrap() }
    }

    pub(super) fn shown(&self) -> (Option<Vec<String>>, Option<bool>) {
        (self.labels.clone(), self.online)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_are_refused() {
        let wish = || Record::wish("https://gitlab.com/example/app/", "mini", &["b", "a", "b"]);
        let mut good = wish();
        good.normalize().unwrap();
        assert_eq!(
            (&*good.url, good.labels.unwrap().join(" ")),
            ("https://gitlab.com/example/app", "a b".to_owned())
        );
        let refused = |change: fn(&mut Record), attribute: &str| {
            let mut wish = wish();
            change(&mut wish);
            assert_eq!(wish.normalize().unwrap_err().attribute, attribute);
        };
        refused(|it| it.url = "https://gitlab.com/example".into(), "url");
        refused(|it| it.name = " ".into(), "name");
        refused(|it| it.labels = Some(vec!["a,b".into()]), "labels");
        refused(|it| it.online_timeout = 100_000, "online_timeout");
    }
}
