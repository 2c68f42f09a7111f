//! A daemon that is a part of another kind: kept by the very code of `macos_launchd_service`.

use std::collections::BTreeMap;

use fleet_engine::finding::Sign;
use fleet_engine::host::{HostKind, Probe, Reply, Step};
use fleet_engine::resource::{At, Change, Error};

use super::launchd_service::Service;
use super::service_state;

/// How trouble of a daemon starts, and which bad state it is.
pub(crate) const SIGNS: [Sign; 16] = service_state::SIGNS;

/// A daemon of the whole Mac that is started at once and kept alive.
#[derive(Clone, Debug)]
pub(crate) struct Daemon {
    service: Service,
}

impl Daemon {
    /// A daemon with its label, its program and arguments, and the file that it writes to.
    pub(crate) fn new(label: &str, arguments: Vec<String>, log: &str, timeout: i64) -> Daemon {
        let service = Service {
            label: label.to_owned(),
            domain: "system".to_owned(),
            user: None,
            program_arguments: Some(arguments),
            environment: Some(BTreeMap::from([(
                "PATH".to_owned(),
                "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned(),
            )])),
            working_directory: None,
            stdout_path: Some(log.to_owned()),
            stderr_path: Some(log.to_owned()),
            run_at_load: true,
            keep_alive: true,
            start_interval: None,
            throttle_interval: 10,
            health_url: None,
            soak: 5,
            timeout,
            restart_on: None,
            trouble: None,
        };
        Daemon { service }
    }

    /// Asks what it takes to look at it, after what is asked already.
    pub(crate) fn ask(&self, probe: Probe) -> Result<Probe, Error> {
        Ok(self.probe()?.reads().iter().cloned().fold(probe, Probe::and))
    }

    /// How many answers that makes.
    pub(crate) fn reads(&self) -> Result<usize, Error> {
        Ok(self.probe()?.reads().len())
    }

    fn probe(&self) -> Result<Probe, Error> {
        Service::probe(&At::Declared(self.service.clone()))
    }

    /// What there is of it, given the answers from `first` on; nothing, if there is nothing at all.
    pub(crate) fn look(&self, reply: &Reply, first: usize) -> Result<Option<Found>, Error> {
        let own = Reply(reply.0.iter().skip(first).take(self.reads()?).cloned().collect());
        Ok(Service::parse(&At::Declared(self.service.clone()), &own)?.map(Found))
    }

    /// What makes it so and starts it anew, whatever it was like; `trouble` is what was found to be wrong.
    pub(crate) fn restart(&self, trouble: Option<&str>) -> Result<Vec<Step>, Error> {
        let trouble = Some(trouble.unwrap_or("it is to be started anew").to_owned());
        let from = Service { trouble, ..self.service.clone() };
        self.service.clone().steps(Change::Update { from })
    }

    /// What removes it.
    pub(crate) fn remove(&self) -> Result<Vec<Step>, Error> {
        Service::remove(self.service.clone())
    }
}

/// A daemon as it was found.
#[derive(Clone, Debug)]
pub(crate) struct Found(Service);

impl Found {
    /// Its program and arguments, as its property list has them.
    pub(crate) fn arguments(&self) -> &[String] {
        self.0.program_arguments.as_deref().unwrap_or_default()
    }

    /// What is wrong with it, where it should be like this.
    pub(crate) fn trouble(&self, wanted: &Daemon) -> Option<String> {
        let is_alike = Service { trouble: None, ..self.0.clone() } == wanted.service;
        let edited = || (!is_alike).then(|| service_state::NOT_OURS.to_owned());
        self.0.trouble.clone().or_else(edited)
    }
}
