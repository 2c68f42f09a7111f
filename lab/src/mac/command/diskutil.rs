//! `diskutil`: APFS volumes beside those of the system.

use std::fs;
use std::path::PathBuf;

use plist::{Dictionary, Value};

use super::directory::ended;
use super::{Call, Failure, Outcome};
use crate::mac::login::preferences;

/// Where volumes are kept.
const VOLUMES: &str = "private/var/db/volumes.plist";
/// The container of the system.
const CONTAINER: &str = "disk3";
/// The container of a disk that somebody plugged in.
const EXTERNAL: &str = "disk5";
/// Where the lab keeps what is on volumes that are not mounted.
const UNMOUNTED: &str = "private/var/db/unmounted";

/// A volume that somebody added.
#[derive(Clone, Debug)]
struct Volume {
    name: String,
    device: String,
    /// In bytes; 0 if there is none.
    quota: u64,
    owners: bool,
    is_mounted: bool,
}

impl Volume {
    /// The container that it is in.
    fn container(&self) -> &str {
        self.device.rsplit_once('s').map_or("", |(container, _)| container)
    }

    /// The volume with the data of the Mac.
    fn of_data() -> Volume {
        let (name, device) = ("Data".to_owned(), "disk3s5".to_owned());
        Volume { name, device, quota: 0, owners: true, is_mounted: true }
    }
}

fn volumes(call: &Call) -> Vec<Volume> {
    let kept = preferences::read(call.mac.root(), VOLUMES);
    let one = |(device, value): (&String, &Value)| {
        let list = value.as_dictionary()?;
        Some(Volume {
            name: list.get("Name")?.as_string()?.to_owned(),
            device: device.clone(),
            quota: list.get("Quota")?.as_unsigned_integer()?,
            owners: list.get("Owners")?.as_boolean()?,
            is_mounted: list.get("Mounted")?.as_boolean()?,
        })
    };
    kept.iter().filter_map(one).collect()
}

fn keep(call: &Call, volumes: &[Volume]) -> Result<(), Failure> {
    let file = call.mac.root().join(VOLUMES);
    let failed = |error: std::io::Error| call.failure(&error.to_string());
    if volumes.is_empty() {
        return fs::remove_file(file).map_err(failed);
    }
    let one = |volume: &Volume| {
        let mut list = Dictionary::new();
        list.insert("Name".into(), volume.name.clone().into());
        list.insert("Quota".into(), volume.quota.into());
        list.insert("Owners".into(), volume.owners.into());
        list.insert("Mounted".into(), volume.is_mounted.into());
        (volume.device.clone(), Value::Dictionary(list))
    };
    let all: Dictionary = volumes.iter().map(one).collect();
    preferences::write(&file, all, 0o600, call.mac.clock().time()).map_err(failed)
}

/// Where a volume is mounted.
fn mount_point(call: &Call, volume: &Volume) -> PathBuf {
    call.mac.root().join("Volumes").join(&volume.name)
}

/// Where what is on a volume lies in the lab.
fn place(call: &Call, volume: &Volume) -> PathBuf {
    if volume.is_mounted {
        mount_point(call, volume)
    } else {
        call.mac.root().join(UNMOUNTED).join(&volume.device)
    }
}

/// Where nothing lies that is not mounted, nothing is left of it.
fn tidy(call: &Call) {
    let _ = fs::remove_dir(call.mac.root().join(UNMOUNTED));
}

fn print(call: &mut Call, list: Dictionary) -> Outcome {
    let mut text = Vec::new();
    Value::Dictionary(list).to_writer_xml(&mut text).map_err(|error| call.failure(&error.to_string()))?;
    text.push(b'\n');
    call.say(text)
}

fn described(volume: &Volume) -> Dictionary {
    let mut list = Dictionary::new();
    list.insert("APFSContainerReference".into(), volume.container().into());
    list.insert("DeviceIdentifier".into(), volume.device.clone().into());
    list.insert("FilesystemType".into(), "apfs".into());
    list.insert("GlobalPermissionsEnabled".into(), volume.owners.into());
    let place = if volume.is_mounted { format!("/Volumes/{}", volume.name) } else { String::new() };
    list.insert("MountPoint".into(), place.into());
    list.insert("VolumeName".into(), volume.name.clone().into());
    list
}

pub(super) fn diskutil(call: &mut Call) -> Outcome {
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut known = volumes(call);
    // A path means what is mounted there.
    let is_it = |volume: &Volume, word: &str| match word.strip_prefix("/Volumes/") {
        Some(name) => volume.is_mounted && volume.name == name,
        None => volume.name == word || volume.device == word,
    };
    let none = |word: &str| Failure { text: format!("Could not find disk: {word}"), status: 1 };
    match words[..] {
        ["info", "-plist", "/" | "/System/Volumes/Data"] => print(call, described(&Volume::of_data())),
        ["info", "-plist", word] => match known.iter().find(|volume| is_it(volume, word)) {
            Some(volume) => print(call, described(&volume.clone())),
            None => {
                // It complains in the list itself.
                let mut list = Dictionary::new();
                list.insert("Error".into(), true.into());
                list.insert("ErrorMessage".into(), format!("Could not find disk: {word}").into());
                print(call, list)?;
                ended(1)
            }
        },
        ["apfs", "list", "-plist"] => {
            let one = |volume: &Volume| {
                let mut list = Dictionary::new();
                list.insert("CapacityQuota".into(), volume.quota.into());
                list.insert("DeviceIdentifier".into(), volume.device.clone().into());
                list.insert("Name".into(), volume.name.clone().into());
                Value::Dictionary(list)
            };
            let all: Vec<Volume> = [Volume::of_data()].into_iter().chain(known).collect();
            // The order in which they were found says nothing of whose they are.
            let containers = [EXTERNAL, CONTAINER].map(|name| {
                let inside = all.iter().filter(|volume| volume.container() == name).map(one).collect();
                let mut container = Dictionary::new();
                container.insert("ContainerReference".into(), name.into());
                container.insert("Volumes".into(), Value::Array(inside));
                Value::Dictionary(container)
            });
            let mut list = Dictionary::new();
            list.insert("Containers".into(), Value::Array(containers.into()));
            print(call, list)
        }
        ["apfs", "addVolume", container, "APFS", name, ref rest @ ..] => {
            let quota = match rest {
                [] => Some(0),
                ["-quota", size] => bytes(size),
                _ => None,
            };
            let Some(quota) = quota.filter(|_| [CONTAINER, EXTERNAL].contains(&container)) else {
                return Err(none(container));
            };
            let device = (7..).map(|at| format!("{container}s{at}"));
            let device =
                device.into_iter().find(|device| known.iter().all(|volume| volume.device != *device));
            let (name, device) = (name.to_owned(), device.unwrap_or_default());
            let volume = Volume { name, device, quota, owners: false, is_mounted: true };
            fs::create_dir(mount_point(call, &volume)).map_err(|error| call.failure(&error.to_string()))?;
            let text = format!(
                "Will export new APFS Volume \"{}\" from APFS Container Reference {container}\n\
                                Started APFS operation on {container}\nPreparing to add APFS Volume to APFS Container \
                                {container}\nCreating APFS Volume\nCreated new APFS Volume {1}\nMounting APFS Volume\n\
                                Setting volume permissions\nDisk from APFS operation: {1}\nFinished APFS operation on \
                                {container}\n",
                volume.name, volume.device
            );
            known.push(volume);
            keep(call, &known)?;
            call.say(text)
        }
        ["apfs", "deleteVolume", word] => {
            let Some(at) = known.iter().position(|volume| is_it(volume, word)) else {
                return Err(none(word));
            };
            let gone = known.remove(at);
            fs::remove_dir_all(place(call, &gone)).map_err(|error| call.failure(&error.to_string()))?;
            tidy(call);
            keep(call, &known)?;
            call.say(format!("Started APFS operation\nDeleting APFS Volume from its APFS Container\nUnmounting disk\n\
                              Erasing any xART session referenced by {0}\nDeleting Volume\nRemoving any Preboot and \
                              Recovery Directories\nFinished APFS operation\n", gone.device))
        }
        [verb @ ("mount" | "unmount"), word] => {
            let Some(at) = known.iter().position(|volume| is_it(volume, word)) else {
                return Err(none(word));
            };
            let is_mounted = verb == "mount";
            let from = place(call, &known[at]);
            if is_mounted && !known[at].is_mounted && mount_point(call, &known[at]).exists() {
                return Err(Failure { text: format!("Volume on {word} failed to mount"), status: 1 });
            }
            known[at].is_mounted = is_mounted;
            let to = place(call, &known[at]);
            let moved = fs::create_dir_all(to.parent().unwrap_or(&to)).and_then(|()| fs::rename(&from, &to));
            moved.map_err(|error| call.failure(&error.to_string()))?;
            tidy(call);
            let text = format!("Volume {} on {} {verb}ed\n", known[at].name, known[at].device);
            keep(call, &known)?;
            call.say(text)
        }
        ["enableOwnership", word] => {
            if !call.is_root() {
                return Err(Failure { text: "This operation requires root privileges".into(), status: 1 });
            }
            let Some(volume) = known.iter_mut().find(|volume| is_it(volume, word)) else {
                return Err(none(word));
            };
            volume.owners = true;
            let text = format!("File system user/group ownership enabled for {}\n", volume.device);
            keep(call, &known)?;
            call.say(text)
        }
        _ => Err(Failure { text: "Usage:  diskutil [quiet] <verb> <options>".into(), status: 1 }),
    }
}

/// A size such as `40GiB`, in bytes.
fn bytes(size: &str) -> Option<u64> {
    let at = size.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(size.len());
    let (number, unit) = size.split_at(at);
    let unit: u64 = match unit.to_lowercase().as_str() {
        "" | "b" => 1,
        "g" | "gb" => 1_000_000_000,
        "gib" => 1 << 30,
        "mib" => 1 << 20,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}
