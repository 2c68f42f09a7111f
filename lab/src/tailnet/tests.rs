//! Who is let in, and how it is called then.

use std::time::Duration;

use super::*;

fn now() -> Time {
    "2026-08-12T00:00:00Z".parse().unwrap()
}

fn tags(tags: &[&str]) -> Vec<String> {
    tags.iter().map(|tag| (*tag).to_owned()).collect()
}

fn join(tailnet: &Tailnet, key: &str, hostname: &str, wanted: &[&str]) -> Result<Device, Refused> {
    tailnet.join(Join { key, hostname, tags: &tags(wanted), node_key: None }, now())
}

#[test]
fn a_name_that_is_taken_gets_a_number_and_keeps_it() {
    let tailnet = Tailnet::default();
    let first = join(&tailnet, AUTH_KEY, "Mini_A", &[]).unwrap();
    let second = join(&tailnet, AUTH_KEY, "mini-a", &[]).unwrap();
    assert_eq!((&*first.name, &*second.name), ("mini-a", "mini-a-1"));
    assert_ne!((&first.node_id, first.address), (&second.node_id, second.address));
    assert_eq!(tailnet.book().fqdn(&second), "mini-a-1.tail4c7e.ts.net");
    assert!(tailnet.remove("mini-a") && !tailnet.remove("mini-a"));
    let name = |hostname: &str| tailnet.rename(&second.node_key, hostname).unwrap().name;
    assert_eq!(name("mini-a"), "mini-a-1", "it says the same name as before");
    assert_eq!((name("other"), name("mini-a")), ("other".to_owned(), "mini-a".to_owned()));
}

#[test]
fn keys_that_let_nobody_in() {
    let tailnet = Tailnet::default();
    let refused = |key: &str, wanted: &[&str]| join(&tailnet, key, "a", wanted).unwrap_err().0;
    assert_eq!(refused("tskey-auth-x", &[]), "invalid key: unable to validate API key");
    assert_eq!(refused("tskey-auth-lab?ephemeral=true", &[]), "invalid key: unable to validate API key");
    assert_eq!(refused("tskey-client-lab?forever=true", &["tag:ci"]), "unknown attribute \"forever\"");
    assert_eq!(refused(AUTH_KEY, &["tag:prod"]), "requested tags [tag:prod] are invalid or not permitted");
    tailnet.edit(|book| {
        book.keys.push(Key { is_reusable: false, ..Key::auth("tskey-auth-once", Vec::new()) });
        book.keys[0].expires = Some(now());
    });
    assert_eq!(refused(AUTH_KEY, &[]), "invalid key: API key does not exist");
    join(&tailnet, "tskey-auth-once", "once", &[]).unwrap();
    assert_eq!(refused("tskey-auth-once", &[]), "invalid key: API key not valid");
}

#[test]
fn ephemeral_devices_go_unless_they_were_there_for_long() {
    let tailnet = Tailnet::default();
    let key = "tskey-client-lab?ephemeral=true&preauthorized=true";
    let short = join(&tailnet, key, "short", &["tag:ci"]).unwrap();
    let long = join(&tailnet, key, "long", &["tag:ci"]).unwrap();
    let kept = join(&tailnet, "tskey-client-lab?ephemeral=false", "kept", &["tag:ci"]).unwrap();
    let later = |hours: u64| now().after(Duration::from_secs(hours * 3600));
    tailnet.connected(&short.node_key, false, later(1));
    tailnet.connected(&long.node_key, false, later(5));
    tailnet.edit(|book| book.sweep(later(9)));
    let names: Vec<String> = tailnet.book().devices.into_values().map(|device| device.name).collect();
    assert!(!names.contains(&"short".to_owned()) && names.len() == 2, "{names:?}");
    tailnet.log_out(&kept.node_key);
    assert!(tailnet.device(&kept.node_key).is_none());
    assert_eq!(tailnet.book().devices.len(), 2, "who logs out stays in the book");
}

#[test]
fn a_tailnet_is_kept_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("tailnet.json");
    let device = join(&Tailnet::kept(&place), AUTH_KEY, "a", &[]).unwrap();
    assert_eq!(Tailnet::kept(&place).device(&device.node_key), Some(device));
}
