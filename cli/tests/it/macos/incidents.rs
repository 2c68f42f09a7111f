//! Every known incident, from the broken host to the empty plan: the files in `tests/incidents`, whose README says how they
//! are read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fleet_lab::mac::{archive, sign};

use super::{Minis, builders};

/// One incident.
#[derive(Debug, Default)]
struct Scenario {
    /// Lines `key: value` of the head.
    head: Vec<(String, String)>,
    /// Sections by their names, in order.
    sections: Vec<(String, String)>,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/incidents")
}

impl Scenario {
    fn read(name: &str) -> Scenario {
        let path = directory().join(format!("{name}.txt"));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut scenario = Scenario::default();
        for line in text.lines() {
            if let Some(section) = line.strip_prefix("== ") {
                scenario.sections.push((section.to_owned(), String::new()));
            } else if let Some((_, section)) = scenario.sections.last_mut() {
                *section += &format!("{line}\n");
            } else if let Some((key, value)) = line.split_once(": ") {
                scenario.head.push((key.to_owned(), value.to_owned()));
            }
        }
        for key in ["incident", "facts", "cures", "plan says"] {
            assert!(scenario.head.iter().any(|(known, _)| known == key), "{name} has no `{key}`");
        }
        scenario
    }

    fn all(&self, key: &str) -> Vec<&str> {
        self.head.iter().filter(|(known, _)| known == key).map(|(_, value)| value.as_str()).collect()
    }

    fn section(&self, name: &str) -> Option<&str> {
        self.sections.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }

    /// Whether something stands in any section.
    fn says(&self, words: &str) -> bool {
        self.sections.iter().any(|(_, text)| text.contains(words))
    }

    /// Sections with a path after their names.
    fn files(&self, name: &str) -> impl Iterator<Item = (&str, &str)> {
        let start = format!("{name} ");
        self.sections
            .iter()
            .filter_map(move |(known, text)| Some((known.strip_prefix(&start)?, text.as_str())))
    }

    fn run(&self) {
        let minis = Minis::free();
        for (path, text) in self.files("program") {
            fs::create_dir_all(minis.site.path().join(path).parent().unwrap()).unwrap();
            fs::write(minis.site.path().join(path), sign(text.trim_end().as_bytes(), "a.out")).unwrap();
        }
        for (path, text) in self.files("unsigned") {
            minis.site.write(path, text.trim_end());
        }
        for (path, text) in self.files("on the mac") {
            minis.put(path, sign(text.trim_end().as_bytes(), "a.out"), 0o755);
        }
        for (path, version) in self.files("tailscale") {
            builders::pack(&minis, path, &archive::tailscale(version.trim()));
        }
        if self.says("\"./modules/tart-kubelet\"") {
            builders::copy_module(&minis, "tart-kubelet");
        }
        if self.all("builder").first() == Some(&"yes") {
            builders::prepare(&minis);
        }
        if let Some(first) = self.section("first") {
            minis.configure(first);
            minis.apply();
            minis.check_converged("before it is broken");
        }
        minis.as_root(self.section("broken").unwrap());
        let wish = self.section("wish").or_else(|| self.section("first")).unwrap();
        minis.configure(wish);
        let plan = minis.plan();
        for words in self.all("plan says") {
            assert!(plan.contains(words), "the plan does not say `{words}`: {plan}");
        }
        let before = registrations(&minis);
        minis.apply();
        minis.check_converged("healed");
        if let Some(most) = self.all("registers").first() {
            assert!(registrations(&minis) - before <= most.parse().unwrap(), "it was registered again");
        }
        if let Some(healed) = self.section("healed") {
            let said = minis.as_root(healed);
            assert_eq!(said.status, Some(0), "{said:?}");
        }
        if let Some(then) = self.section("then") {
            minis.configure(then);
            let applied = minis.fleet(&["apply", "--auto-approve"]);
            match self.all("apply fails")[..] {
                [] => {
                    applied.ok();
                    minis.check_converged("changed");
                }
                [words] => {
                    let told = applied.failed();
                    assert!(told.contains(words), "{told}");
                }
                _ => panic!("`apply fails` is said once"),
            }
            if let Some(kept) = self.section("kept") {
                let said = minis.as_root(kept);
                assert_eq!(said.status, Some(0), "{said:?}");
            }
            minis.configure(wish);
            minis.apply();
            minis.check_converged("in the end");
        }
    }
}

/// How often daemons were registered.
fn registrations(minis: &Minis) -> u64 {
    let items = &minis.inspect()["installation"]["background_items"];
    items.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
}

/// A test for each, named like its file, so that each is told apart.
macro_rules! incidents {
    ($($name:ident,)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[test]
            fn $name() {
                Scenario::read(&stringify!($name).replace('_', "-")).run();
            }
        )*
    };
}

incidents! {
    bare_ampersand,
    bootout_race,
    crash_loop,
    disabled_service,
    expired_tailscale_key,
    hand_edited_property_list,
    kubelet_flag_lost,
    loginwindow_gone,
    lost_vlan,
    missing_tailscale_tags,
    no_op_kickstart,
    no_usr_local_bin,
    node_exporter_public,
    overwritten_in_place,
    packer_not_found,
    pf_anchor_flushed,
    pf_anchor_not_called,
    pf_block_doubled,
    pf_legacy_block,
    pf_tables_in_anchor,
    pf_tables_in_main,
    registered_too_often,
    runner_left_over,
    runner_loaded_over_ssh,
    runner_token_refused,
    sealed_password,
    tailscale_name_taken,
    tailscale_own_tunnel,
    tailscale_state_missing,
    tart_under_vms,
    unsigned_program,
    vm_nat_lost,
    xcode_missing,
}

#[test]
fn every_file_is_run() {
    let files = fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "txt"));
    let found: BTreeSet<String> =
        files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert_eq!(found, NAMES.iter().map(|name| name.replace('_', "-")).collect());
    for name in &found {
        let scenario = Scenario::read(name);
        for cure in scenario.all("cures")[0].split(", ") {
            assert!(!cure.is_empty() && !cure.contains(' '), "{name}: {cure}");
        }
    }
}
