//! The vendor behind a pool: see [`fleet_engine::pool`].

use std::time::Duration;

use fleet_engine::pool::{Credentials, Sent, Server, Status, Vendor, VendorReader};
use fleet_engine::resource::{BoxFuture, Error};
use fleet_transport::http::Verb;
use serde_json::{Value as Json, json};
use tokio::time::timeout;

use super::client::{Acting, Looking, join, macs};
use super::refusal::Unmade;
use super::{PROVIDER_ID, os, wire};

/// How long it may take to find the system for a reinstallation. Whoever asks for one has just made sure that the host
/// is his, and that does not last.
const CHOOSING: Duration = Duration::from_secs(5);

/// The servers of a project in one zone, to look at.
#[derive(Clone, Debug)]
pub struct ZoneReader {
    looking: Looking,
    zone: String,
    /// The family that the pool is about, as its users write it.
    os_family: Option<String>,
}

/// The servers of a project in one zone.
#[derive(Clone, Debug)]
pub struct Zone {
    acting: Acting,
    reader: ZoneReader,
}

impl ZoneReader {
    /// The servers of a zone; of the provider's, if none is named. Those of the family are said to be of it, as it is
    /// written here.
    #[must_use]
    pub fn new(looking: Looking, zone: Option<&str>, os_family: Option<&str>) -> ZoneReader {
        let zone = zone.unwrap_or(&looking.account.zone).to_owned();
        ZoneReader { looking, zone, os_family: os_family.map(str::to_owned) }
    }

    fn describe(&self, server: wire::Server) -> Server {
        let status = status_of(&server);
        let installed = server.os.unwrap_or_default();
        let wished = self.os_family.as_ref().filter(|family| os::is_of(&installed, family));
        Server {
            provider_id: format!("{PROVIDER_ID}{}/{}", server.zone, server.id),
            os_family: wished.cloned().unwrap_or_else(|| os::family_of(&installed)),
            id: server.id,
            name: server.name,
            zone: server.zone,
            model: server.model,
            addresses: server.ip.into_iter().filter(|ip| !ip.is_empty()).collect(),
            status,
            created_at: server.created_at,
            updated_at: server.updated_at,
            deletable_at: server.deletable_at,
            commitment: server.commitment.map(|commitment| commitment.kind),
        }
    }
}

impl VendorReader for ZoneReader {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Server>, Error>> {
        Box::pin(async {
            let all = self.looking.servers("cannot list the servers", &self.zone).await?;
            Ok(all.into_iter().map(|server| self.describe(server)).collect())
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Server>, Error>> {
        Box::pin(async move {
            let found = self.looking.server(&self.zone, id).await?;
            Ok(found.map(|server| self.describe(server)))
        })
    }

    fn credentials<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async move {
            let found = self.looking.server(&self.zone, id).await?;
            let server = found.ok_or_else(|| Error::permanent(format!("server `{id}` is not there")))?;
            Ok(Credentials { user: server.user(), sudo_password: server.sudo_password() })
        })
    }
}

impl Zone {
    /// The same, to be changed.
    #[must_use]
    pub fn new(acting: Acting, zone: Option<&str>, os_family: Option<&str>) -> Zone {
        let reader = ZoneReader::new(acting.looking.clone(), zone, os_family);
        Zone { acting, reader }
    }

    async fn send(&self, doing: &str, verb: Verb, path: &[&str], body: &Json) -> Sent {
        let path = join(&join(&macs(&self.reader.zone), &["servers"]), path);
        match self.acting.send(doing, verb, &path, Some(body)).await {
            Ok(_) => Sent::Taken,
            Err(unmade) => unmade.into(),
        }
    }

    /// The newest system of a family for a server; or that the family is not to be had any more. What was a version
    /// yesterday may be retired today, so nothing of it is kept.
    async fn system(&self, id: &str, family: &str) -> Result<Result<String, String>, Sent> {
        let ZoneReader { looking, zone, .. } = &self.reader;
        let both = async { tokio::join!(looking.server(zone, id), looking.systems(zone)) };
        let late = || {
            Sent::Refused(Error::transient("the system to install was not found in time; nothing was sent"))
        };
        let (server, systems) = timeout(CHOOSING, both).await.map_err(|_| late())?;
        let Some(server) = server.map_err(Sent::Refused)? else { return Err(Sent::Gone) };
        let systems = systems.map_err(Sent::Refused)?;
        let model = &server.model;
        Ok(os::newest(&systems, family, model).map(|os| os.id.clone()).ok_or_else(|| {
            format!(
                "the vendor has no system of the family `{family}` for {model} any more, so `{id}` is installed with what \
                 the vendor takes, and is free for pools of another `os_family` only"
            )
        }))
    }
}

impl VendorReader for Zone {
    fn list(&self) -> BoxFuture<'_, Result<Vec<Server>, Error>> {
        self.reader.list()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Server>, Error>> {
        self.reader.get(id)
    }

    fn credentials<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Credentials, Error>> {
        self.reader.credentials(id)
    }
}

impl Vendor for Zone {
    fn rename<'a>(&'a self, id: &'a str, name: &'a str) -> BoxFuture<'a, Sent> {
        let doing = format!("cannot rename server `{id}` to `{name}`");
        Box::pin(async move { self.send(&doing, Verb::Patch, &[id], &json!({ "name": name })).await })
    }

    fn reboot<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Sent> {
        let doing = format!("cannot restart server `{id}`");
        Box::pin(async move { self.send(&doing, Verb::Post, &[id, "reboot"], &json!({})).await })
    }

    fn reinstall<'a>(
        &'a self,
        id: &'a str,
        os_family: Option<&'a str>,
    ) -> BoxFuture<'a, (Sent, Option<String>)> {
        let doing = format!("cannot install server `{id}` anew");
        Box::pin(async move {
            let mut body = json!({ "enable_kext": false });
            let mut told = None;
            if let Some(family) = os_family {
                match self.system(id, family).await {
                    Ok(Ok(system)) => body["os_id"] = system.into(),
                    Ok(Err(retired)) => told = Some(retired),
                    Err(unsent) => return (unsent, None),
                }
            }
            (self.send(&doing, Verb::Post, &[id, "reinstall"], &body).await, told)
        })
    }

    fn delete<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Sent> {
        let doing = format!("cannot delete server `{id}`");
        Box::pin(async move {
            let path = join(&macs(&self.reader.zone), &["servers", id]);
            match self.acting.send(&doing, Verb::Delete, &path, None).await {
                Ok(_) => Sent::Taken,
                // It may be deleted some day, and not now.
                Err(Unmade::NotNow(error)) => Sent::Refused(
                    error.help("the vendor keeps a server for a day at least: see its `deletable_at`"),
                ),
                Err(unmade) => unmade.into(),
            }
        })
    }

    fn order<'a>(
        &'a self,
        names: &'a [String],
        model: &'a str,
        os_family: Option<&'a str>,
    ) -> BoxFuture<'a, Sent> {
        Box::pin(async move {
            let ZoneReader { looking, zone, .. } = &self.reader;
            let requests: Vec<Json> = names.iter().map(|name| json!({ "name": name })).collect();
            let mut body = json!({
                "project_id": looking.account.project_id,
                "type": model,
                "commitment_type": "duration_24h",
                "enable_vpc": false,
                "enable_kext": false,
                "requests": requests,
            });
            if let Some(family) = os_family {
                let systems = match looking.systems(zone).await {
                    Ok(systems) => systems,
                    Err(error) => return Sent::Refused(error),
                };
                let Some(system) = os::newest(&systems, family, model) else {
                    return Sent::Refused(Error::permanent(format!(
                        "`{family}` is not to be had for {model}; nothing was ordered"
                    )));
                };
                body["os_id"] = system.id.clone().into();
            }
            let path = join(&macs(zone), &["batch-create-servers"]);
            match self.acting.send("cannot order servers", Verb::Post, &path, Some(&body)).await {
                Ok(_) => Sent::Taken,
                Err(unmade) => unmade.into(),
            }
        })
    }
}

/// What a server is doing. What is new to us is not used.
fn status_of(server: &wire::Server) -> Status {
    if !server.delivered {
        return Status::Undelivered;
    }
    if server.deletion_scheduled {
        return Status::Leaving;
    }
    let word = || server.status.clone();
    match &*server.status {
        "ready" => Status::Ready,
        "reinstalling" => Status::Reinstalling,
        "starting" | "rebooting" | "updating" | "locking" | "unlocking" | "busy" => Status::Busy(word()),
        _ => Status::Broken(word()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_meaning() {
        let busy = |word: &str| Status::Busy(word.into());
        let broken = |word: &str| Status::Broken(word.into());
        let cases = [
            ("ready", Status::Ready),
            ("reinstalling", Status::Reinstalling),
            ("starting", busy("starting")),
            ("rebooting", busy("rebooting")),
            ("updating", busy("updating")),
            ("locking", busy("locking")),
            ("unlocking", busy("unlocking")),
            ("busy", busy("busy")),
            ("locked", broken("locked")),
            ("error", broken("error")),
            ("unknown_status", broken("unknown_status")),
            ("something_new", broken("something_new")),
        ];
        let server = |status: &str, delivered: bool, leaves: bool| {
            let json = json!({
                "id": "i", "name": "n", "type": "M2-L", "project_id": "p", "zone": "z", "status": status,
                "delivered": delivered, "deletion_scheduled": leaves,
            });
            serde_json::from_value::<wire::Server>(json).unwrap()
        };
        for (status, expected) in cases {
            assert_eq!(status_of(&server(status, true, false)), expected);
            assert_eq!(status_of(&server(status, false, true)), Status::Undelivered);
            assert_eq!(status_of(&server(status, true, true)), Status::Leaving);
        }
    }
}
