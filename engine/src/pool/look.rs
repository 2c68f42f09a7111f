//! Looking at the machines of a pool: the vendor and the ledgers, with all else that is on each machine.

use std::sync::Arc;

use fleet_lang::{Type, Value};

use super::books::Found;
use super::ground::Ground;
use super::host::{Met, PoolHost, host_at};
use super::vendor::Server;
use super::vendors::Listing;
use crate::attributes::Attributes;
use crate::cure;
use crate::host::session::HostReading;
use crate::host::{Probe, Reply};
use crate::provider::Ask;
use crate::resource::{At, Error};

/// What asks for the hosts that seem free, in the order in which they are taken. It is no kind that users know.
pub(crate) const CANDIDATES: &str = "pool_candidates";

/// The reading side of a pool, for one slot.
pub(crate) struct PoolReading {
    pub(crate) ground: Ground,
    pub(crate) listing: Arc<Listing>,
    /// The machine that the session of the slot leads to.
    pub(crate) machine: Option<String>,
}

/// A machine that is asked about: the number of the question, and of the probe if it travels with the others.
struct Asked {
    question: usize,
    host: PoolHost,
    probe: Option<usize>,
}

impl PoolReading {
    /// Answers everything that is asked of a slot, in one round trip to its machine.
    pub(crate) async fn look(
        &self,
        session: &HostReading,
        batch: Vec<(Arc<str>, Ask)>,
    ) -> Vec<Result<Option<Value>, Error>> {
        let mut answers: Vec<Option<Result<Option<Value>, Error>>> = vec![None; batch.len()];
        let (mut probes, mut questions, mut machines) = (Vec::new(), Vec::new(), Vec::new());
        for (question, (kind, ask)) in batch.iter().enumerate() {
            if **kind == *CANDIDATES {
                answers[question] = Some(self.candidates().await.map(Some));
                continue;
            }
            match self.question(session, kind, ask) {
                Err(error) => answers[question] = Some(Err(error)),
                // Nothing was claimed yet.
                Ok((Some(host), _)) if host.machine.is_none() => answers[question] = Some(Ok(None)),
                Ok((Some(host), _)) if host.machine != self.machine => {
                    machines.push(Asked { question, host, probe: None });
                }
                Ok((host, probe)) => {
                    let at = probes.len();
                    machines.extend(host.map(|host| Asked { question, host, probe: Some(at) }));
                    probes.push(probe);
                    questions.push(question);
                }
            }
        }
        let (replies, met) = self.ask(session, probes, &machines).await;
        for (question, reply) in questions.into_iter().zip(&replies) {
            let (kind, ask) = &batch[question];
            if !machines.iter().any(|asked| asked.question == question) {
                let parsed = reply.clone().and_then(|reply| session.kinds.parse(kind, ask, &reply));
                answers[question] = Some(parsed);
            }
        }
        for Asked { question, host, probe } in machines {
            let met = match probe {
                Some(_) => met.clone().unwrap_or_else(|| Err(Error::transient("the host did not answer"))),
                None => self.meet(&host).await,
            };
            let Ask::Object(at) = &batch[question].1 else { continue };
            answers[question] = Some(self.see(at, host, met).await);
        }
        let missing = || Err(Error::permanent("the provider did not answer"));
        answers.into_iter().map(|answer| answer.unwrap_or_else(missing)).collect()
    }

    /// What a question is about, if it is a machine, and what is asked on the host.
    fn question(
        &self,
        session: &HostReading,
        kind: &str,
        ask: &Ask,
    ) -> Result<(Option<PoolHost>, Probe), Error> {
        let host = match ask {
            Ask::Object(at) if session.kinds.is_machine(kind) => Some(host_at(at)?),
            _ => None,
        };
        Ok((host, session.question(kind, ask)?))
    }

    /// Asks the machine of the session. If it does not prove any more who it is, whoever answers there is asked; what that
    /// one says counts only where nobody has the machine, because then it was installed anew.
    async fn ask(
        &self,
        session: &HostReading,
        probes: Vec<Probe>,
        machines: &[Asked],
    ) -> (Vec<Result<Reply, Error>>, Option<Result<Met, Error>>) {
        if probes.is_empty() {
            return (Vec::new(), None);
        }
        let replies = session.host.ask(probes.clone()).await;
        let Some((host, at)) = machines.iter().find_map(|asked| Some((&asked.host, asked.probe?))) else {
            return (replies, None);
        };
        let met = |replies: &[Result<Reply, Error>]| replies[at].clone().and_then(|reply| Met::of(&reply));
        if !replies.iter().all(Result::is_err) || !cure::is_there("see-new-installation") {
            let met = met(&replies);
            return (replies, Some(met));
        }
        let addresses = host.addresses.clone().unwrap_or_default();
        let machine = host.machine.as_deref().unwrap_or_default();
        let anybody = match self.ground.ask_anybody(machine, &addresses, probes).await {
            Ok(anybody) if anybody.len() == replies.len() => anybody,
            _ => return (replies.clone(), Some(met(&replies))),
        };
        match met(&anybody) {
            Err(_) => {
                let met = met(&replies);
                (replies, Some(met))
            }
            Ok(seen) if seen.page == Found::Nothing || Some(seen.epoch()) == host.host_key => {
                (anybody, Some(Ok(seen)))
            }
            Ok(seen) => (replies, Some(Ok(seen))),
        }
    }

    async fn meet(&self, host: &PoolHost) -> Result<Met, Error> {
        let addresses = host.addresses.clone().unwrap_or_default();
        let machine = host.machine.as_deref().unwrap_or_default();
        self.ground.meet(machine, &addresses, host.host_key.as_deref()).await
    }

    /// What is there of a host that somebody asks about.
    async fn see(
        &self,
        at: &At<Value>,
        host: PoolHost,
        met: Result<Met, Error>,
    ) -> Result<Option<Value>, Error> {
        let Some(record) = host.record()? else { return Ok(None) };
        if let At::Begun { except, .. } = at {
            let known = except.iter().filter_map(|known| PoolHost::from_value(known).ok());
            // A claim that was there before is not the one that was begun.
            if known.into_iter().any(|known| known.claim == Some(record.identity.claim.clone())) {
                return Ok(None);
            }
        }
        let Some(server) = self.server(&record.identity.server).await? else { return Ok(None) };
        Ok(host.seen(&record, &server, met)?.map(|host| host.to_value()))
    }

    /// A server; none if it is certainly gone.
    async fn server(&self, id: &str) -> Result<Option<Server>, Error> {
        let listed = self.listing.list().await?;
        match listed.iter().find(|server| server.id == id) {
            Some(server) => Ok(Some(server.clone())),
            None => self.ground.vendor.get(id).await,
        }
    }

    /// The hosts that seem free.
    async fn candidates(&self) -> Result<Value, Error> {
        let listed = self.listing.list().await?;
        let rule = &self.ground.rule;
        let candidate = |server: Server| {
            let entries = [("id", Value::from(&*server.id)), ("name", Value::from(&*server.name))];
            Value::object(entries.into_iter().map(|(name, value)| (name.into(), value)).collect())
        };
        let free: Vec<Value> = rule.candidates(&listed).into_iter().map(candidate).collect();
        let nothing = rule.nothing_free(&listed);
        let entries = [
            ("free", Value::tuple(free)),
            ("rule", Value::from(&*rule.to_string())),
            ("min_free", i64::try_from(rule.min_free).unwrap_or(i64::MAX).into()),
            ("nothing_free", Value::from(&*nothing.message)),
            ("help", nothing.help.as_deref().map_or_else(|| Value::null_of(Type::String), Value::from)),
        ];
        Ok(Value::object(entries.into_iter().map(|(name, value)| (name.into(), value)).collect()))
    }
}
