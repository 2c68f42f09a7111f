//! Xcode: which one is selected, and whether its licence was accepted. It comes with some images, and with no other way.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use plist::{Dictionary, Value};

use crate::mac::Mac;

/// Where an image puts it.
pub(in crate::mac) const USUAL: &str = "/Applications/Xcode.app";
/// Where it is kept which one is selected.
const SELECTED: &str = "private/var/db/xcode_select_link";
/// Where it is kept which licence was accepted.
const ACCEPTED: &str = "Library/Preferences/com.apple.dt.Xcode.plist";
const ACCEPTED_VERSION: &str = "IDEXcodeVersionForAgreedToGMLicense";

/// Puts Xcode on a disk, if the image has it.
pub(in crate::mac) fn install(root: &Path, os_name: &str) -> io::Result<()> {
    if os_name.contains("xcode") { put(&root.join(&USUAL[1..]), "26.3") } else { Ok(()) }
}

/// Puts an Xcode somewhere.
fn put(place: &Path, version: &str) -> io::Result<()> {
    fs::create_dir_all(place.join("Contents/Developer/usr/bin"))?;
    let mut list = Dictionary::new();
    list.insert("CFBundleShortVersionString".into(), version.into());
    list.insert("ProductBuildVersion".into(), "17C529".into());
    Value::Dictionary(list).to_file_xml(place.join("Contents/version.plist")).map_err(io::Error::other)
}

fn at(mac: &Mac, path: &str) -> std::path::PathBuf {
    mac.root().join(path.trim_start_matches('/'))
}

/// The developer directory that is selected, as the Mac names it.
pub(in crate::mac) fn selected(mac: &Mac) -> Option<String> {
    let chosen = fs::read_link(mac.root().join(SELECTED)).ok();
    let usual = [format!("{USUAL}/Contents/Developer"), "/Library/Developer/CommandLineTools".to_owned()];
    chosen
        .map(|path| path.to_string_lossy().into_owned())
        .or_else(|| usual.into_iter().find(|path| at(mac, path).is_dir()))
}

/// The developer directory that a path means: that of an application, or itself.
pub(in crate::mac) fn developer(mac: &Mac, path: &str) -> Option<String> {
    let path = path.trim_end_matches('/');
    let inside = format!("{path}/Contents/Developer");
    [inside, path.to_owned()].into_iter().find(|path| at(mac, path).join("usr/bin").is_dir())
}

pub(in crate::mac) fn select(mac: &Mac, developer: Option<&str>) -> io::Result<()> {
    let link = mac.root().join(SELECTED);
    match fs::remove_file(&link) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    developer.map_or(Ok(()), |developer| symlink(developer, link))
}

/// The version and the build of the Xcode whose developer directory this is.
pub(in crate::mac) fn version(mac: &Mac, developer: &str) -> Option<(String, String)> {
    let contents = developer.strip_suffix("/Developer")?;
    let list = Value::from_file(at(mac, contents).join("version.plist")).ok()?.into_dictionary()?;
    let text = |key: &str| list.get(key).and_then(Value::as_string).map(str::to_owned);
    Some((text("CFBundleShortVersionString")?, text("ProductBuildVersion").unwrap_or_default()))
}

/// Whether the licence of this version was accepted: one for each release with another number before the first dot.
pub(in crate::mac) fn is_accepted(mac: &Mac, version: &str) -> bool {
    let list = Value::from_file(mac.root().join(ACCEPTED)).ok().and_then(Value::into_dictionary);
    let accepted = list.and_then(|list| Some(list.get(ACCEPTED_VERSION)?.as_string()?.to_owned()));
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    accepted.is_some_and(|accepted| major(&accepted) == major(version))
}

pub(in crate::mac) fn accept(mac: &Mac, version: &str) -> io::Result<()> {
    let place = mac.root().join(ACCEPTED);
    let list = Value::from_file(&place).ok().and_then(Value::into_dictionary);
    let mut list = list.unwrap_or_default();
    list.insert(ACCEPTED_VERSION.into(), version.into());
    list.insert("IDELastGMLicenseAgreedTo".into(), "EA1647".into());
    Value::Dictionary(list).to_file_xml(place).map_err(io::Error::other)
}
