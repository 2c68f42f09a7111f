//! Real `sshd`: many machines, odd names and contents, large files.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use sha2::{Digest, Sha256};

use super::desk::Desk;

#[test]
fn content_mode_and_owner_are_mended_and_what_left_the_configuration_goes() {
    let owner = if rustix::process::geteuid().is_root() { "    owner   = \"nobody\"\n" } else { "" };
    let note = format!(
        "  resource \"host_file\" \"note\" {{\n    path    = \"/etc/note\"\n    content = \"as it should be\\n\"\n    \
         mode    = \"0640\"\n{owner}  }}\n"
    );
    let mut desk = Desk::of(1, &note);
    desk.apply();
    desk.check_converged();
    let path = desk.machine("a").path("etc/note");
    let good = desk.machine("a").tree()["etc/note"].clone();
    fs::write(&path, "tampered").unwrap();
    desk.check_plan(&[], &[("host_file.note", "update content")]);
    desk.apply();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    desk.check_plan(&[], &[("host_file.note", "update mode")]);
    desk.apply();
    if !owner.is_empty() {
        assert_ne!(fs::metadata(&path).unwrap().uid(), 0);
        chown(&path, Some(0), None).unwrap();
        desk.check_plan(&[], &[("host_file.note", "update owner")]);
        desk.apply();
    }
    assert_eq!(desk.machine("a").tree()["etc/note"], good);
    desk.check_converged();
    desk.inside("");
    desk.check_plan(&[], &[("host_file.note", "destroy")]);
    desk.apply();
    assert!(!path.exists());
}

#[test]
fn thirty_hosts_at_once_are_converged_over_one_connection_each() {
    let inside = "  resource \"host_file\" \"note\" {\n    count = 5\n    path = \"/etc/${count.index}\"\n    content = host.name\n  }\n";
    let mut desk = Desk::of(30, inside);
    let said = desk.apply();
    assert!(said.contains("Done: 180 created."), "{said}");
    assert!(desk.machines.iter().all(|machine| machine.server.connections() == 1));
    desk.check_converged();
    for (at, machine) in desk.machines.iter().enumerate() {
        assert_eq!(machine.read("etc/4"), format!("desk-{at}"));
        assert_eq!(machine.server.connections(), 2);
    }
    desk.slots("size = 0");
    desk.apply();
    assert!(desk.held().iter().all(Option::is_none));
}

#[test]
fn names_and_contents_may_hold_anything() {
    let names = [
        "a b",
        "it's",
        "say \"x\"",
        "back\\slash",
        "line\nbreak",
        "$HOME `id` $(id) *?[a]",
        "-n",
        "ü",
        "tab\t",
        "%s",
    ];
    let contents = [
        "",
        "\n",
        "no newline",
        "\0 and \0",
        "'\"\\$`!*",
        "a\r\nb\r\n",
        ".\n#\n.\n",
        "%s%n\\n\\c",
        "\u{1b}[31m\u{7f}",
        "EOF\n",
    ];
    let quoted = |text: &str| {
        let mut quoted = serde_json::to_string(text).unwrap();
        for (from, to) in [("${", "$${"), ("%{", "%%{")] {
            quoted = quoted.replace(from, to);
        }
        quoted
    };
    let mut inside = String::new();
    for (at, (name, content)) in names.iter().zip(contents).enumerate() {
        inside += &format!(
            "  resource \"host_file\" \"f{at}\" {{\n    path    = {}\n    content = {}\n  }}\n  resource \"host_link\" \"l{at}\" {{\n    \
             path   = {}\n    target = {}\n  }}\n",
            quoted(&format!("/etc/{name}")),
            quoted(content),
            quoted(&format!("/opt/{name}")),
            quoted(name),
        );
    }
    let desk = Desk::of(1, &inside);
    desk.apply();
    desk.check_converged();
    for (name, content) in names.iter().zip(contents) {
        assert_eq!(desk.machine("a").read(&format!("etc/{name}")), content, "{name}");
        let link = fs::read_link(desk.machine("a").path(&format!("opt/{name}"))).unwrap();
        assert_eq!(link.to_str(), Some(*name));
    }
    // What is there and no text is seen as something else.
    fs::write(desk.machine("a").path("etc/a b"), [0xff, 0, 0xfe]).unwrap();
    desk.check_plan(&[], &[("host_file.f0", "update content")]);
    desk.apply();
    assert_eq!(desk.machine("a").read("etc/a b"), "");
    desk.run("destroy", &[]).ok();
    assert_eq!(fs::read_dir(desk.machine("a").path("etc")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(desk.machine("a").path("opt")).unwrap().count(), 0);
}

#[test]
fn fifty_megabytes_are_sent_once_and_bytes_that_are_no_text_arrive() {
    let mut seed = 1_u64;
    let mut noise = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    };
    let big: Vec<u8> = std::iter::repeat_with(&mut noise).take(50_000_000).collect();
    let desk = Desk::of(
        2,
        "  resource \"host_binary\" \"big\" {\n    path = \"/opt/big\"\n    source = \"big\"\n    source_sha256 = filesha256(\"big\")\n  }\n",
    );
    fs::write(desk.site.path().join("big"), &big).unwrap();
    desk.apply();
    desk.check_converged();
    for machine in &desk.machines {
        let found = Sha256::digest(fs::read(machine.path("opt/big")).unwrap());
        assert_eq!(found, Sha256::digest(&big));
        let number = fs::metadata(machine.path("opt/big")).unwrap().ino();
        desk.apply();
        assert_eq!(fs::metadata(machine.path("opt/big")).unwrap().ino(), number);
        // Nothing of the upload is left.
        let left = fs::read_dir(machine.path("var/tmp/fleet")).unwrap().count();
        assert_eq!(left, 2);
    }
}
