//! `github_registration`: a runner as GitHub knows it.

use std::collections::BTreeMap;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::provider::Journal;
use fleet_engine::resource::{ApiKind, At, Change, Disruption, Error, Resource, Touch};
use futures_util::future::join_all;

use super::client::{Acting, Looking};
use super::scope::Scope;
use crate::registrar::{Registered, Registrar, Roster, await_online, deregister, imported, record, seconds};

/// What GitHub gives every runner on a Mac; somebody who says it as well says nothing, in whatever letters.
const GIVEN: [&str; 3] = ["self-hosted", "macOS", "ARM64"];

/// A runner as GitHub knows it: online, with its labels, in its group, and deregistered when it goes.
///
/// It stands behind the `github_runner` whose agent it is about. When it is made, the agent is waited for until GitHub sees it
/// online. When it goes, it goes first: a job that runs is waited for and never cut short, then GitHub forgets the runner, and
/// only then its agent is taken off the Mac. After `job_timeout` it gives up, says so, and leaves everything as it is.
///
/// What somebody changes at GitHub is seen: labels and the group are put right. A runner that was deleted there is
/// planned anew, and its agent has to be registered again: `--replace` its `github_runner`.
///
/// ```hcl
/// resource "github_registration" "this" {
///   url    = "https://github.com/example"
///   name   = "mini"
///   labels = ["bare-metal", "vm-image-builder"]
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Record {
    /// Where it is registered: `url` of the `github_runner`.
    #[fleet(replace)]
    url: String,
    /// Its name there: `name` of the `github_runner`.
    #[fleet(replace)]
    name: String,
    /// Its labels, beside those that GitHub gives to every runner; as they are if this is left out.
    #[fleet(optional_computed)]
    labels: Option<Vec<String>>,
    /// The group it is in, by name; as it is if this is left out. Repositories have none.
    #[fleet(optional_computed)]
    group: Option<String>,
    /// How many seconds its agent may take to be online.
    #[fleet(default = 120)]
    online_timeout: i64,
    /// How many seconds a job is waited for when the runner goes.
    #[fleet(default = 1800)]
    job_timeout: i64,
    /// Its number at GitHub.
    #[fleet(computed)]
    runner_id: Option<i64>,
    /// Whether its agent is connected.
    #[fleet(computed)]
    online: Option<bool>,
}

impl Resource for Record {
    const NAME: &'static str = "github_registration";
    const WAITS_FOR_WORK: bool = true;
    const ID: Option<&'static str> = Some("the URL and the name, with a space between them");

    fn normalize(&mut self) -> Result<(), Misfit> {
        let timeouts = [self.online_timeout, self.job_timeout];
        record::normalize(Scope::of, &mut self.url, &self.name, timeouts)?;
        if let Some(labels) = &mut self.labels {
            if labels.iter().any(|label| label.is_empty() || label.contains(',') || label.len() > 256) {
                return Err(Misfit::new(
                    "labels",
                    "labels of at most 256 letters without a comma are needed",
                ));
            }
            labels.retain(|label| !GIVEN.iter().any(|given| given.eq_ignore_ascii_case(label)));
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
        let sought: Vec<Result<Sought, Error>> = batch.into_iter().map(Sought::of).collect();
        let urls: BTreeMap<&str, ()> =
            sought.iter().flatten().map(|sought| (&*sought.wish.url, ())).collect();
        let listed = urls.into_keys().map(|url| async move {
            let all = async { Ok::<_, Error>((reader.list(url).await?, reader.groups(url).await?)) };
            (url, all.await)
        });
        let listed: BTreeMap<&str, _> = join_all(listed).await.into_iter().collect();
        let answer = |sought: &Result<Sought, Error>| {
            let sought = sought.as_ref().map_err(Clone::clone)?;
            match listed.get(&*sought.wish.url) {
                Some(Ok((runners, groups))) => Ok(sought.find(runners, groups)),
                Some(Err(error)) => Err(error.clone()),
                None => Ok(None),
            }
        };
        sought.iter().map(answer).collect()
    }

    async fn apply(self, writer: &Acting, _: Change<Record>) -> Result<Record, Error> {
        let found = writer.list(&self.url).await?.into_iter().find(|runner| runner.name == self.name);
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
        let patience = seconds(self.online_timeout);
        let found = await_online(writer, run, &self.url, &self.name, patience).await?;
        self.put_right(writer, &found).await
    }

    async fn destroy_in_time(writer: &Acting, observed: Record, run: &dyn Journal) -> Result<(), Error> {
        let Some(id) = observed.runner_id else { return Ok(()) };
        deregister(writer, run, &observed.url, id, seconds(observed.job_timeout)).await
    }
}

impl Record {
    /// Gives a runner the labels and the group that are wished for.
    async fn put_right(self, writer: &Acting, found: &Registered) -> Result<Record, Error> {
        if let Some(labels) = self.labels.as_ref().filter(|labels| **labels != found.labels) {
            writer.set_labels(&self.url, found.id, labels).await?;
        }
        if let Some(group) = &self.group {
            let groups = writer.looking().groups(&self.url).await?;
            if found.group.and_then(|number| groups.get(&number)) != Some(group) {
                writer.set_group(&self.url, found.id, group).await?;
            }
        }
        Ok(Record { runner_id: Some(found.id), ..self })
    }
}

/// What is looked for.
struct Sought {
    wish: Record,
    /// Those that are known, and meant by nobody.
    except: Vec<i64>,
}

impl Sought {
    fn of(at: At<Record>) -> Result<Sought, Error> {
        Ok(match at {
            At::Recorded(wish) | At::Declared(wish) => Sought { wish, except: Vec::new() },
            At::Begun { wish, except } => {
                Sought { wish, except: except.into_iter().filter_map(|known| known.runner_id).collect() }
            }
            At::Id(id) => {
                let (url, name) = imported(&id)?;
                Scope::of(&url)?;
                Sought { wish: Record::named(&url, &name), except: Vec::new() }
            }
        })
    }

    /// A name is unique where it is registered, and an agent that registers anew keeps it and its number.
    fn find(&self, runners: &[Registered], groups: &BTreeMap<i64, String>) -> Option<Record> {
        let Sought { wish, except } = self;
        let is_it = |runner: &&Registered| runner.name == wish.name && !except.contains(&runner.id);
        let found = runners.iter().find(is_it)?;
        let known = |label: &String| found.labels.iter().any(|known| known.eq_ignore_ascii_case(label));
        // GitHub does not tell labels apart by their case.
        let as_wished = wish
            .labels
            .as_ref()
            .filter(|labels| labels.len() == found.labels.len() && labels.iter().all(known));
        Some(Record {
            labels: Some(as_wished.unwrap_or(&found.labels).clone()),
            group: found.group.and_then(|number| groups.get(&number)).cloned(),
            runner_id: Some(found.id),
            online: Some(found.online),
            ..wish.clone()
        })
    }
}

impl Record {
    /// A runner of which only its name is known.
    fn named(url: &str, name: &str) -> Record {
        Record {
            url: url.trim_end_matches('/').to_owned(),
            name: name.to_owned(),
            labels: None,
            group: None,
            online_timeout: 120,
            job_timeout: 1800,
            runner_id: None,
            online: None,
        }
    }
}

#[cfg(test)]
impl Record {
    /// A runner as somebody declares it.
    pub(super) fn wish(url: &str, name: &str, labels: &[&str], group: Option<&str>) -> Record {
        Record {
            labels: Some(labels.iter().map(|label| (*label).to_owned()).collect()),
            group: group.map(str::to_owned),
            ..Record::named(url, name)
        }
    }

    pub(super) fn seen(&self) -> (Option<Vec<String>>, Option<String>, Option<bool>) {
        (self.labels.clone(), self.group.clone(), self.online)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner(id: i64, name: &str, labels: &[&str]) -> Registered {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Registered {
            id,
            name: name.into(),
            os: "macos".into(),
            online: true,
            busy: false,
            labels,
            group: Some(2),
            paused: false,
            was_seen: true,
        }
    }

    #[test]
    fn a_runner_is_found_by_its_name_with_labels_of_any_case() {
        let groups = BTreeMap::from([(1, "Default".to_owned()), (2, "macs".to_owned())]);
        let runners = [runner(1, "other", &[]), runner(2, "mini", &["builder", "macs"])];
        let find = |at| Sought::of(at).unwrap().find(&runners, &groups);
        let wish = Record::wish("https://github.com/example", "mini", &["Builder", "macs"], None);
        let found = find(At::Declared(wish.clone())).unwrap();
        assert_eq!(
            (found.runner_id, found.labels, found.group.as_deref()),
            (Some(2), wish.labels.clone(), Some("macs"))
        );
        let other = Record { labels: Some(vec!["builder".into()]), ..wish.clone() };
        assert_eq!(find(At::Declared(other)).unwrap().labels.unwrap(), ["builder", "macs"]);
        let known = Record { runner_id: Some(2), ..wish.clone() };
        assert_eq!(find(At::Begun { wish, except: vec![known] }), None);
        let by_id = find(At::Id("https://github.com/example mini".into())).unwrap();
        assert_eq!(by_id.runner_id, Some(2));
        assert!(Sought::of(At::Id("mini".into())).is_err());
    }

    #[test]
    fn values_that_cannot_be_are_refused() {
        let refused = |change: fn(&mut Record), attribute: &str| {
            let mut wish = Record::wish("https://github.com/example/", "mini", &["b", "a", "b"], None);
            change(&mut wish);
            assert_eq!(wish.normalize().unwrap_err().attribute, attribute);
        };
        let mut wish = Record::wish("https://github.com/example/", "mini", &["b", "a", "b"], None);
        wish.normalize().unwrap();
        assert_eq!(
            (&*wish.url, wish.labels.unwrap().join(" ")),
            ("https://github.com/example", "a b".to_owned())
        );
        refused(|it| it.url = "github.com/example".into(), "url");
        refused(|it| it.name = " ".into(), "name");
        refused(|it| it.labels = Some(vec!["a,b".into()]), "labels");
        refused(|it| it.job_timeout = -1, "job_timeout");
    }
}
