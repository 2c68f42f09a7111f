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

/// A volume that somebody added.
#[derive(Clone, Debug)]
struct Volume {
    name: String,
    device: String,
    /// In bytes; 0 if there is none.
    quota: u64,
    owners: bool,
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
        (volume.device.clone(), Value::Dictionary(list))
    };
    let all: Dictionary = volumes.iter().map(one).collect();
    preferences::write(&file, all, 0o600, call.mac.clock().time()).map_err(failed)
}

/// Where a volume is mounted.
fn mount_point(call: &Call, volume: &Volume) -> PathBuf {
    call.mac.root().join("Volumes").join(&volume.name)
}

fn print(call: &mut Call, list: Dictionary) -> Outcome {
    let mut text = Vec::new();
    Value::Dictionary(list).to_writer_xml(&mut text).map_err(|error| call.failure(&error.to_string()))?;
    text.push(b'\n');
    call.say(text)
}

fn described(volume: &Volume) -> Dictionary {
    let mut list = Dictionary::new();
    list.insert("APFSContainerReference".into(), CONTAINER.into());
    list.insert("DeviceIdentifier".into(), volume.device.clone().into());
    list.insert("FilesystemType".into(), "apfs".into());
    list.insert("GlobalPermissionsEnabled".into(), volume.owners.into());
    list.insert("MountPoint".into(), format!("/Volumes/{}", volume.name).into());
    list.insert("VolumeName".into(), volume.name.clone().into());
    list
}

pub(super) fn diskutil(call: &mut Call) -> Outcome {
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut known = volumes(call);
    let is_it = |volume: &Volume, word: &str| {
        let word = word.strip_prefix("/Volumes/").unwrap_or(word);
        volume.name == word || volume.device == word
    };
    let none = |word: &str| Failure { text: format!("Could not find disk: {word}"), status: 1 };
    match words[..] {
        ["info", "-plist", "/" | "/System/Volumes/Data"] => {
            let data = Volume { name: "Data".into(), device: "disk3s5".into(), quota: 0, owners: true };
            print(call, described(&data))
        }
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
            let data = Volume { name: "Data".into(), device: "disk3s5".into(), quota: 0, owners: true };
            let all: Vec<Value> = [data].iter().chain(&known).map(one).collect();
            let mut container = Dictionary::new();
            container.insert("ContainerReference".into(), CONTAINER.into());
            container.insert("Volumes".into(), Value::Array(all));
            let mut list = Dictionary::new();
            list.insert("Containers".into(), Value::Array(vec![Value::Dictionary(container)]));
            print(call, list)
        }
        ["apfs", "addVolume", container, "APFS", name, ref rest @ ..] => {
            let quota = match rest {
                [] => Some(0),
                ["-quota", size] => bytes(size),
                _ => None,
            };
            let Some(quota) = quota.filter(|_| container == CONTAINER) else { return Err(none(container)) };
            let device = (7..).map(|at| format!("{CONTAINER}s{at}"));
            let device =
                device.into_iter().find(|device| known.iter().all(|volume| volume.device != *device));
            let volume =
                Volume { name: name.to_owned(), device: device.unwrap_or_default(), quota, owners: false };
            fs::create_dir(mount_point(call, &volume)).map_err(|error| call.failure(&error.to_string()))?;
            let text = format!(
                "Will export new APFS Volume \"{name}\" from APFS Container Reference {CONTAINER}\n\
                                Started APFS operation on {CONTAINER}\nPreparing to add APFS Volume to APFS Container \
                                {CONTAINER}\nCreating APFS Volume\nCreated new APFS Volume {}\nMounting APFS Volume\n\
                                Setting volume permissions\nDisk from APFS operation: {0}\nFinished APFS operation on \
                                {CONTAINER}\n",
                volume.device
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
            fs::remove_dir_all(mount_point(call, &gone)).map_err(|error| call.failure(&error.to_string()))?;
            keep(call, &known)?;
            call.say(format!("Started APFS operation\nDeleting APFS Volume from its APFS Container\nUnmounting disk\n\
                              Erasing any xART session referenced by {0}\nDeleting Volume\nRemoving any Preboot and \
                              Recovery Directories\nFinished APFS operation\n", gone.device))
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
