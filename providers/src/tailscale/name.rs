//! `tailscale_name`: a name in a tailnet, for one host.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::resource::{ApiKind, At, Change, Disruption, Error, Resource, Touch};

use super::auth_key::check_tags;
use super::client::{Acting, Device, Looking};

/// A name in a tailnet, for one host: free before the host joins, and gone when it has left.
///
/// The tailnet gives a device whose name is taken another one, with a number at its end (`mini-a-1`), and nobody finds it by its
/// name any more. So `tailscale_device` takes its `hostname` from here. When this is made, or `host` becomes another
/// installation, devices of the name that are left over are removed: those with all of `tags` that are not connected. A device
/// that is connected, or has other tags, is never touched; then it says so.
///
/// When it goes, after the host has left, the tailnet's record of the device goes with it.
///
/// ```hcl
/// resource "tailscale_name" "this" {
///   name = "mini-a"
///   tags = ["tag:ci"]
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Name {
    /// The name.
    #[fleet(replace)]
    name: String,
    /// The tags that its devices have; devices without them are somebody else's.
    #[fleet(replace)]
    tags: Vec<String>,
    /// Which installation of a machine has the name, such as `host.id`: for another one it is made free anew.
    #[fleet(replace)]
    host: Option<String>,
    /// Devices of this name beside the one that has it, and not connected. They are found out and removed, and cannot be wished for.
    left_over: Option<Vec<String>>,
    /// What the tailnet calls the device that has it.
    #[fleet(computed)]
    node_id: Option<String>,
    /// The whole name of that device.
    #[fleet(computed)]
    fqdn: Option<String>,
}

impl Resource for Name {
    const NAME: &'static str = "tailscale_name";

    fn normalize(&mut self) -> Result<(), Misfit> {
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        if self.name.is_empty() || self.name.len() > 63 || !self.name.bytes().all(is_plain) {
            return Err(Misfit::new("name", "small letters, digits and `-` are needed, 63 at most"));
        }
        check_tags(&self.tags).map_err(|why| Misfit::new("tags", why))?;
        self.tags.sort();
        self.tags.dedup();
        match self.left_over {
            Some(_) => {
                Err(Misfit::new("left_over", "what is left over is found out and removed; leave it out"))
            }
            None => Ok(()),
        }
    }

    fn disrupts(_: Touch<'_>) -> Disruption {
        Disruption::Nothing
    }
}

impl ApiKind for Name {
    type Reader = Looking;
    type Writer = Acting;
    const STAYS: bool = true;

    async fn observe(reader: &Looking, batch: Vec<At<Name>>) -> Vec<Result<Option<Name>, Error>> {
        let devices = reader.devices().await;
        let answer = |at: At<Name>| {
            let devices = devices.as_ref().map_err(Clone::clone)?;
            // Nothing is to be made free where ours has it and is connected.
            let is_settled = |name: &Name| name.own(devices).iter().all(|device| device.connected_to_control);
            Ok(match at {
                At::Recorded(known) => Some(known.seen(devices)),
                At::Declared(wish) => {
                    Some(wish.seen(devices)).filter(|found| found.node_id.is_some() && is_settled(&wish))
                }
                At::Begun { wish, .. } => Some(wish.seen(devices)).filter(|_| is_settled(&wish)),
                At::Id(_) => None,
            })
        };
        batch.into_iter().map(answer).collect()
    }

    async fn apply(self, writer: &Acting, change: Change<Name>) -> Result<Name, Error> {
        let devices = writer.looking().devices().await?;
        let goes = match change {
            // Whatever is there was there before.
            Change::Create => {
                self.check_free(&devices)?;
                self.own(&devices).into_iter().filter(|device| !device.connected_to_control).collect()
            }
            Change::Update { .. } => self.left_over(&devices),
        };
        for device in goes {
            writer.remove_device(&device.node_id).await?;
        }
        Ok(self)
    }

    async fn destroy(writer: &Acting, observed: Name) -> Result<(), Error> {
        for device in observed.own(&writer.looking().devices().await?) {
            writer.remove_device(&device.node_id).await?;
        }
        let left = writer.looking().devices().await?;
        match observed.own(&left).first() {
            None => Ok(()),
            Some(device) => Err(Error::transient(format!(
                "`{}` was removed from the tailnet, and is still there",
                device.name
            ))),
        }
    }
}

impl Name {
    /// The devices that go by this name and are ours, those that have it first.
    fn own<'d>(&self, devices: &'d [Device]) -> Vec<&'d Device> {
        let is_ours = |device: &&Device| {
            device.hostname.eq_ignore_ascii_case(&self.name)
                && !device.is_external
                && self.tags.iter().all(|tag| device.tags.contains(tag))
        };
        let mut own: Vec<&Device> = devices.iter().filter(is_ours).collect();
        own.sort_by(|a, b| (b.connected_to_control, &b.created).cmp(&(a.connected_to_control, &a.created)));
        own
    }

    /// Those that are not connected, beside one that is newer or connected.
    fn left_over<'d>(&self, devices: &'d [Device]) -> Vec<&'d Device> {
        self.own(devices).into_iter().skip(1).filter(|device| !device.connected_to_control).collect()
    }

    /// Nobody else must have the name.
    fn check_free(&self, devices: &[Device]) -> Result<(), Error> {
        let own: Vec<&str> = self.own(devices).iter().map(|device| &*device.node_id).collect();
        let has_it = |device: &&Device| device.name.split('.').next() == Some(&*self.name);
        match devices.iter().filter(has_it).find(|device| !own.contains(&&*device.node_id)) {
            None => Ok(()),
            Some(other) => {
                let tags = if other.tags.is_empty() { "no tags".to_owned() } else { other.tags.join(", ") };
                let message =
                    format!("the name `{}` is taken by a device with {tags}, which is not ours", self.name);
                Err(Error::permanent(message)
                    .help("rename or remove that device in the console, or choose another name"))
            }
        }
    }

    fn seen(&self, devices: &[Device]) -> Name {
        let left: Vec<String> = self.left_over(devices).iter().map(|device| device.node_id.clone()).collect();
        let has_it = self.own(devices).first().copied();
        Name {
            left_over: Some(left).filter(|left| !left.is_empty()),
            node_id: has_it.map(|device| device.node_id.clone()),
            fqdn: has_it.map(|device| device.name.trim_end_matches('.').to_owned()),
            ..self.clone()
        }
    }
}

#[cfg(test)]
impl Name {
    pub(super) fn wish(name: &str, tags: &[&str]) -> Name {
        Name {
            name: name.into(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            host: None,
            left_over: None,
            node_id: None,
            fqdn: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(id: &str, name: &str, hostname: &str, tags: &[&str], connected: bool) -> Device {
        Device {
            node_id: id.into(),
            name: format!("{name}.tail.ts.net"),
            hostname: hostname.into(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            created: format!("2026-01-0{}T00:00:00Z", id.len()),
            connected_to_control: connected,
            is_external: false,
        }
    }

    #[test]
    fn only_what_is_ours_and_away_beside_another_is_left_over() {
        let name = Name::wish("mini", &["tag:ci"]);
        let ids = |devices: &[Device]| -> Vec<String> {
            name.left_over(devices).iter().map(|device| device.node_id.clone()).collect()
        };
        let old = device("a", "mini", "mini", &["tag:ci"], false);
        let new = device("bb", "mini-1", "mini", &["tag:ci", "tag:mac"], true);
        assert_eq!(ids(std::slice::from_ref(&old)), [""; 0], "a host that is away for a moment");
        assert_eq!(ids(&[old.clone(), new.clone()]), ["a"]);
        assert_eq!(ids(&[Device { connected_to_control: true, ..old.clone() }, new.clone()]), [""; 0]);
        assert_eq!(ids(&[Device { tags: vec!["tag:other".into()], ..old.clone() }, new.clone()]), [""; 0]);
        assert_eq!(ids(&[Device { hostname: "other".into(), ..old.clone() }, new.clone()]), [""; 0]);
        assert_eq!(name.seen(&[old.clone(), new]).node_id.as_deref(), Some("bb"));
        assert!(name.check_free(std::slice::from_ref(&old)).is_ok());
        let taken = name.check_free(&[Device { tags: Vec::new(), ..old }]).unwrap_err();
        assert!(taken.message.contains("taken by a device with no tags") && taken.help.is_some());
    }
}
