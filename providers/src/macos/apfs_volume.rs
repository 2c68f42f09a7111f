//! `macos_apfs_volume`: a volume that cannot outgrow its quota, such as that of a cache.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::{Act, Bytes, HostKind, Operand, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Disruption, Edge, Error, Resource, Touch};
use plist::{Dictionary, Value};

use super::{no_wish_for_trouble, succeeded};
use crate::cure;
use crate::host::common::{is_another, named};
use crate::mode;

/// An APFS volume in the container of the Mac's own data, mounted under `/Volumes`, that cannot outgrow its quota.
///
/// Volumes of that name in other containers, such as that of a disk that somebody plugged in, are left alone.
///
/// A volume is never resized while it is there: another quota makes a new, empty one in its place, and the plan says so
/// (`-/+`). `lifecycle { prevent_destroy = true }` refuses that. To remove it removes all that is on it.
///
/// ```hcl
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
/// }
///
/// fleet "desk" {
///   pool     = pool.desk
///   hosts    = ["mini-a"]
///   hostname = host.key
///   connection "ssh" {}
///
///   resource "macos_apfs_volume" "cache" {
///     name      = "runner-cache"
///     quota_gib = 40
///     owner     = "m1"
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct ApfsVolume {
    /// What it is called, and its name under `/Volumes`.
    #[fleet(replace)]
    name: String,
    /// How many GiB it may grow to. It is never resized: another number makes a new volume.
    #[fleet(replace)]
    quota_gib: i64,
    /// Who owns its top directory.
    owner: String,
    /// The group of its top directory.
    #[fleet(default = "staff")]
    group: String,
    /// The permission bits of its top directory, in octal.
    #[fleet(default = "0755")]
    mode: String,
    /// Whether macOS heeds owners on it. It cannot be switched off.
    #[fleet(default = true)]
    ownership: bool,
    /// What is wrong with it: that it is not mounted. It is found out and mended, and cannot be wished for.
    trouble: Option<String>,
    /// The device that it is.
    #[fleet(computed, follows = "name")]
    device: Option<String>,
    /// Where it is mounted.
    #[fleet(computed, follows = "name", follows = "trouble")]
    mount_point: Option<String>,
}

const APPLY: &str = include_str!("apfs_volume.sh");
const GIB: u64 = 1 << 30;

impl Resource for ApfsVolume {
    const NAME: &'static str = "macos_apfs_volume";

    fn normalize(&mut self) -> Result<(), Misfit> {
        for (name, text) in [("name", &self.name), ("owner", &self.owner), ("group", &self.group)] {
            let misfit = |misfit: Misfit| Misfit { attribute: name.into(), ..misfit };
            Operand::new(text.as_str()).map_err(misfit)?;
            if text.contains('/') || text.starts_with('.') {
                return Err(Misfit::new(name, "a name is needed, and no path"));
            }
        }
        if self.quota_gib < 1 {
            return Err(Misfit::new("quota_gib", "at least 1 GiB is needed"));
        }
        if !self.ownership {
            return Err(Misfit::new("ownership", "a volume without owners is everybody's; leave it out"));
        }
        self.mode = mode::normal(&self.mode)?;
        no_wish_for_trouble(self.trouble.as_ref())
    }

    fn disrupts(touch: Touch<'_>) -> Disruption {
        if touch == Touch::Destroy { Disruption::Thing } else { Disruption::Nothing }
    }

    fn edges() -> &'static [Edge] {
        &[Edge::After("macos_sudoers")]
    }
}

impl HostKind for ApfsVolume {
    fn probe(at: &At<ApfsVolume>) -> Result<Probe, Error> {
        let name = &named(at)?.name;
        let place = Operand::new(format!("/Volumes/{name}"))?;
        let probe = Probe::new().tool(Tool::ApfsVolumes, []).tool(Tool::Volume, [place]);
        let probe = probe.path(format!("/Volumes/{name}"));
        Ok(probe.tool(Tool::Volume, [Operand::new("/System/Volumes/Data")?]))
    }

    fn parse(at: &At<ApfsVolume>, reply: &Reply) -> Result<Option<ApfsVolume>, Error> {
        let asked = named(at)?;
        let listed = succeeded("diskutil", reply.output(0)?)?;
        let described = |index: usize| -> Result<Dictionary, Error> {
            let list = Value::from_reader_xml(&*reply.output(index)?.stdout).ok();
            Ok(list.and_then(Value::into_dictionary).unwrap_or_default())
        };
        let data = described(3)?;
        let container = text(&data, "APFSContainerReference").ok_or_else(|| {
            Error::permanent("`diskutil` does not say in which container the data of this Mac is")
        })?;
        let volume =
            volumes(&listed, container)?.into_iter().find(|volume| text(volume, "Name") == Some(&asked.name));
        let Some(volume) = volume.filter(|_| !is_another(at, |a, b| a.name == b.name)) else {
            return Ok(None);
        };
        let quota = volume.get("CapacityQuota").and_then(Value::as_unsigned_integer).unwrap_or_default();
        // A part of a GiB is another quota than the whole ones.
        let quota_gib = i64::try_from(quota.div_ceil(GIB)).unwrap_or(i64::MAX);
        let device = text(&volume, "DeviceIdentifier").map(str::to_owned);
        let at_its_place = described(1)?;
        let (Some(found), true) =
            (reply.path(2)?, text(&at_its_place, "DeviceIdentifier") == device.as_deref())
        else {
            // Nobody sees what it is like inside.
            let trouble = Some(format!("it is not mounted at /Volumes/{}", asked.name));
            return Ok(Some(ApfsVolume { quota_gib, trouble, device, mount_point: None, ..asked.clone() }));
        };
        Ok(Some(ApfsVolume {
            name: asked.name.clone(),
            quota_gib,
            owner: found.owner.clone(),
            group: found.group.clone(),
            mode: mode::format(found.mode),
            ownership: at_its_place
                .get("GlobalPermissionsEnabled")
                .and_then(Value::as_boolean)
                .unwrap_or(false),
            trouble: None,
            device,
            mount_point: text(&at_its_place, "MountPoint").map(str::to_owned),
        }))
    }

    fn steps(self, change: Change<ApfsVolume>) -> Result<Vec<Step>, Error> {
        let device = match change {
            Change::Update { from } => from.device.unwrap_or_default(),
            Change::Create => String::new(),
        };
        let quota = self.quota_gib.to_string();
        let arguments = vec![self.name, quota, self.owner, self.group, self.mode, device];
        let procedure = Act::Procedure { script: cure::procedure(APPLY), arguments, input: Bytes::default() };
        Ok(vec![Step::new(procedure).as_root()])
    }

    fn remove(observed: ApfsVolume) -> Result<Vec<Step>, Error> {
        let device =
            observed.device.ok_or_else(|| Error::permanent("nobody knows which device the volume is"))?;
        let arguments = ["apfs", "deleteVolume", &device].map(str::to_owned).into();
        let run = Act::Run { program: "diskutil".into(), arguments, input: Bytes::default() };
        Ok(vec![Step::new(run).as_root()])
    }

    /// It is there, or it is not.
    fn clear(_: ApfsVolume) -> Result<Vec<Step>, Error> {
        Ok(Vec::new())
    }
}

/// All volumes that `diskutil` lists in a container.
fn volumes(listed: &str, container: &str) -> Result<Vec<Dictionary>, Error> {
    let list = Value::from_reader_xml(listed.as_bytes()).ok().and_then(Value::into_dictionary);
    let list = list.ok_or_else(|| Error::permanent("what `diskutil` listed is no property list"))?;
    let inner = |list: &Dictionary, key: &str| -> Vec<Dictionary> {
        let items = list.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(Value::as_dictionary).cloned().collect()
    };
    let containers = inner(&list, "Containers");
    let mut ours = containers.iter().filter(|one| text(one, "ContainerReference") == Some(container));
    Ok(ours.next().map(|one| inner(one, "Volumes")).unwrap_or_default())
}

fn text<'a>(list: &'a Dictionary, key: &str) -> Option<&'a str> {
    list.get(key).and_then(Value::as_string)
}
