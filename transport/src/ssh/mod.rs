//! Connections over the real OpenSSH client. (stub)
use fleet_engine::host::probe::Line;
use fleet_engine::host::reach::Ssh;
use fleet_engine::resource::Error;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
pub(crate) struct Masters;
pub(crate) struct Master;
impl Masters {
    pub(crate) fn new(_: Option<Duration>) -> Masters {
        Masters
    }
    pub(crate) async fn connect(
        &self,
        _slot: &str,
        _ssh: &Ssh,
        _host_key: Option<&str>,
    ) -> Result<(Master, Line), Error> {
        Err(Error::permanent("not yet"))
    }
    pub(crate) fn interactive(&self, _slot: &str, _ssh: &Ssh, _line: &Line) -> Result<Command, Error> {
        Err(Error::permanent("not yet"))
    }
    pub(crate) async fn close(&self) {}
}
impl Master {
    pub(crate) fn session(&self) -> Arc<openssh::Session> {
        unreachable!()
    }
    pub(crate) async fn close(self) {}
}
