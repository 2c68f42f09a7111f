//! Every known incident, from the broken host to the empty plan: the files in `tests/incidents`, whose README says how they
//! are read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fleet_cli::Exit;
use fleet_lab::clock::Pace;
use fleet_lab::mac::{archive, sign};
use fleet_lab::machine::Machine as _;
use serde_json::Value as Json;

use super::minis::{PASSWORD, Said, take_cures_away};
use super::rented::Rented;
use super::{Minis, builders, doctor};
use crate::kills::tell;
use crate::support::{Ran, Site};

/// What the head of a file may say, and nothing else: a key that nobody understands is a check that nobody makes.
const KEYS: [&str; 16] = [
    "apply fails",
    "builder",
    "cures",
    "facts",
    "fails",
    "finding",
    "incident",
    "no finding",
    "password fails",
    "plan says",
    "reboots",
    "registers",
    "sudo",
    "unreachable",
    "vendor",
    "waits",
];

/// How far a scenario has come. If it comes no further, that is told: `cargo xtask incidents` reads it.
struct Progress(&'static str);

impl Progress {
    fn comes_to(&mut self, phase: &'static str) {
        self.0 = phase;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tell(&format!("the incident failed in phase: {}", self.0));
        }
    }
}

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
        Scenario::parse(name, &text)
    }

    fn parse(name: &str, text: &str) -> Scenario {
        let mut scenario = Scenario::default();
        for line in text.lines() {
            if let Some(section) = line.strip_prefix("== ") {
                scenario.sections.push((section.to_owned(), String::new()));
            } else if let Some((_, section)) = scenario.sections.last_mut() {
                *section += &format!("{line}\n");
            } else if let Some((key, value)) = line.split_once(": ") {
                assert!(KEYS.contains(&key), "{name}: nobody understands `{key}`");
                scenario.head.push((key.to_owned(), value.to_owned()));
            } else {
                assert!(line.is_empty(), "{name}: nobody understands `{line}`");
            }
        }
        for key in ["incident", "facts", "cures", "plan says"] {
            assert!(scenario.has(key), "{name} has no `{key}`");
        }
        assert!(
            scenario.has("finding") != scenario.has("no finding"),
            "{name} says by which `finding` it is named, or why there is none (`no finding`)"
        );
        // A wrong password breaks nothing before it is tried.
        let breaks = scenario.section("broken").is_some() || scenario.has("vendor");
        assert!(breaks || scenario.has("password fails"), "{name} does not say how it is broken");
        scenario
    }

    /// Whether the head says something by a key.
    fn has(&self, key: &str) -> bool {
        self.head.iter().any(|(known, _)| known == key)
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

    /// What a key of the head says, if it is there.
    fn key(&self, key: &str) -> Option<&str> {
        let all = self.all(key);
        assert!(all.len() <= 1, "`{key}` is said once");
        all.first().copied()
    }

    /// The Mac that it happens on, before anything does.
    fn place(&self) -> Box<dyn Place> {
        if self.has("vendor") {
            return Box::new(Rented::of(2));
        }
        let reboots = self.key("reboots") == Some("yes") || self.has("unreachable");
        let pace = if reboots { Pace::Times(200.0) } else { Pace::Skipping };
        let minis = Minis::paced(1, pace);
        if let Some(password) = self.key("sudo") {
            minis.site.write("sudo", password);
            return Box::new(Asking(minis));
        }
        minis.let_sudo();
        Box::new(minis)
    }

    /// What lies beside the configuration and on the Mac.
    fn prepare(&self, place: &dyn Place) {
        let site = place.site();
        for (path, text) in self.files("program") {
            fs::create_dir_all(site.path().join(path).parent().unwrap()).unwrap();
            fs::write(site.path().join(path), sign(text.trim_end().as_bytes(), "a.out")).unwrap();
        }
        for (path, text) in self.files("unsigned") {
            site.write(path, text.trim_end());
        }
        for (path, text) in self.files("on the mac") {
            place.minis().put(path, sign(text.trim_end().as_bytes(), "a.out"), 0o755);
        }
        for (path, version) in self.files("tailscale") {
            builders::pack(site, path, &archive::tailscale(version.trim()));
        }
        self.copy_modules(site);
        if self.key("builder") == Some("yes") {
            builders::prepare(place.minis());
        }
    }

    /// Modules, with the cures of this moment in their scripts.
    fn copy_modules(&self, site: &Site) {
        for module in ["ssh-reachability", "tart-kubelet"] {
            if self.says(&format!("\"./modules/{module}\"")) {
                builders::copy_module(site, module);
            }
        }
    }

    fn run(&self) {
        let mut progress = Progress("preparation");
        let place = &*self.place();
        self.prepare(place);
        let first = self.section("first");
        if let Some(first) = first {
            place.configure(first);
            place.apply();
            place.check_converged("before it is broken");
        }
        progress.comes_to("broken");
        match self.key("vendor") {
            Some(what) => place.at_the_vendor(what),
            None => drop(self.section("broken").map(|broken| place.as_root(broken))),
        }
        // Up to here every cure was there: what fails from now on fails for want of one.
        take_cures_away();
        self.copy_modules(place.site());

        progress.comes_to("plan");
        let wish = self.section("wish").or(first).unwrap();
        if let Some(first) = first.filter(|first| *first != wish && !self.has("vendor")) {
            // What is wished for now is not all that the plan is about.
            place.configure(first);
            check_not_empty(&place.fleet(&["plan"]));
        }
        if let Some(refused) = self.section("refused") {
            place.configure(refused);
            check_fails(&place.fleet(&["apply", "--auto-approve"]), self.key("fails").unwrap());
        }
        place.configure(wish);
        let plan = place.fleet(&["plan"]);
        check_not_empty(&plan);
        for words in self.all("plan says") {
            assert!(plan.stdout.contains(words), "the plan does not say `{words}`: {plan:?}");
        }
        match self.key("unreachable") {
            Some(words) => check_fails(&plan, words),
            None => drop(plan.ok()),
        }
        let findings = self.all("finding");
        if !findings.is_empty() {
            doctor::check_found(place.minis(), &findings);
        }

        progress.comes_to("apply");
        if self.has("unreachable") {
            place.restart();
        }
        if let Some(words) = self.key("password fails") {
            check_fails(&place.fleet(&["apply", "--auto-approve"]), words);
            place.site().write("sudo", PASSWORD);
        }
        if let Some(seconds) = self.key("waits") {
            let minis = place.minis();
            minis.wait(minis.clock.advance(Duration::from_secs(seconds.parse().unwrap())));
        }
        let before = registrations(place);
        place.apply();

        progress.comes_to("converged");
        place.check_converged("healed");
        if !findings.is_empty() {
            doctor::check_well(place.minis());
        }
        if let Some(most) = self.key("registers") {
            assert!(registrations(place) - before <= most.parse().unwrap(), "it was registered again");
        }
        self.check(place, "healed");

        progress.comes_to("afterwards");
        if let Some(then) = self.section("then") {
            place.configure(then);
            let applied = place.fleet(&["apply", "--auto-approve"]);
            match self.key("apply fails") {
                None => {
                    applied.ok();
                    place.check_converged("changed");
                }
                Some(words) => check_fails(&applied, words),
            }
            self.check(place, "kept");
            place.configure(wish);
            place.apply();
            place.check_converged("in the end");
        }
    }

    /// Root finds on the Mac what a section says.
    fn check(&self, place: &dyn Place, section: &str) {
        if let Some(script) = self.section(section) {
            let said = place.as_root(&format!("set -e\n{script}"));
            assert_eq!(said.status, Some(0), "{said:?}");
        }
    }
}

/// It failed, and said so in these words.
#[track_caller]
fn check_fails(ran: &Ran, words: &str) {
    let told = format!("{}{}", ran.stdout, ran.stderr);
    assert!(ran.exit == Exit::Failed && told.contains(words), "it does not fail with `{words}`: {told}");
}

/// A plan has something to do, or cannot see what.
#[track_caller]
fn check_not_empty(plan: &Ran) {
    let is_empty = plan.stdout.contains("No changes.") && plan.exit == Exit::Done;
    assert!(!is_empty, "nothing is broken: {}", plan.stdout);
}

/// Where an incident happens: one Mac, and a directory with a configuration for it.
trait Place {
    fn site(&self) -> &Site;
    fn configure(&self, blocks: &str);
    fn fleet(&self, words: &[&str]) -> Ran;
    fn as_root(&self, script: &str) -> Said;
    fn inspect(&self) -> Json;

    /// The Mac, if it is one of our own.
    fn minis(&self) -> &Minis {
        panic!("this takes a Mac that is not rented")
    }

    fn at_the_vendor(&self, what: &str) {
        panic!("nobody at the vendor can {what}: the Mac is not rented")
    }

    fn apply(&self) {
        self.fleet(&["apply", "--auto-approve"]).ok();
    }

    fn check_converged(&self, about: &str) {
        let planned = self.fleet(&["plan"]).ok();
        assert!(planned.contains("No changes."), "{about}: {planned}");
    }

    /// Somebody starts the Mac anew, by its power.
    fn restart(&self) {
        let minis = self.minis();
        minis.wait(async {
            minis.macs[0].halt().await.unwrap();
            minis.macs[0].boot(None).await.unwrap();
        });
    }
}

impl Place for Minis {
    fn site(&self) -> &Site {
        &self.site
    }

    fn configure(&self, blocks: &str) {
        Minis::configure(self, blocks);
    }

    fn fleet(&self, words: &[&str]) -> Ran {
        Minis::fleet(self, words)
    }

    fn as_root(&self, script: &str) -> Said {
        Minis::as_root(self, script)
    }

    fn inspect(&self) -> Json {
        Minis::inspect(self)
    }

    fn minis(&self) -> &Minis {
        self
    }
}

/// A Mac that asks for a password before somebody becomes root, which the connection has in the file `sudo`.
struct Asking(Minis);

impl Place for Asking {
    fn site(&self) -> &Site {
        &self.0.site
    }

    fn configure(&self, blocks: &str) {
        self.0.configure_with_password(blocks);
    }

    fn fleet(&self, words: &[&str]) -> Ran {
        self.0.fleet(words)
    }

    /// By the right password, once.
    fn as_root(&self, script: &str) -> Said {
        let script = script.replace('\'', r"'\''");
        self.0.by_hand(&format!("printf '{PASSWORD}\\n' | sudo -k -S -p '' /bin/sh -c '{script}'"))
    }

    fn inspect(&self) -> Json {
        self.0.inspect()
    }

    fn minis(&self) -> &Minis {
        &self.0
    }
}

/// What the slot calls its Mac at the vendor.
const RENTED: &str = "mini-0";

impl Place for Rented {
    fn site(&self) -> &Site {
        &self.site
    }

    fn configure(&self, blocks: &str) {
        Rented::configure(self, blocks);
    }

    fn fleet(&self, words: &[&str]) -> Ran {
        Rented::fleet(self, words)
    }

    fn as_root(&self, script: &str) -> Said {
        Rented::as_root(self, RENTED, script)
    }

    fn inspect(&self) -> Json {
        Rented::inspect(self, RENTED)["machine"]["inside"].clone()
    }

    fn at_the_vendor(&self, what: &str) {
        match what {
            "installs it anew" => self.reinstall(RENTED),
            "seals the password" => self.seal(RENTED),
            _ => panic!("`vendor: {what}` is not known"),
        }
    }
}

/// How often daemons were registered.
fn registrations(place: &dyn Place) -> u64 {
    let items = &place.inspect()["installation"]["background_items"];
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
    allow_list_pending,
    bare_ampersand,
    bootout_race,
    crash_loop,
    disabled_service,
    edited_user_name,
    expired_tailscale_key,
    hand_edited_property_list,
    kubelet_flag_lost,
    locked_account,
    logged_out_of_tailnet,
    loginwindow_gone,
    lost_lease,
    lost_vlan,
    missing_tailscale_tags,
    no_op_kickstart,
    no_usr_local_bin,
    node_exporter_public,
    overwritten_in_place,
    packer_not_found,
    packer_not_pinned,
    pf_anchor_flushed,
    pf_anchor_not_called,
    pf_block_doubled,
    pf_legacy_block,
    pf_tables_in_anchor,
    pf_tables_in_main,
    power_reset,
    registered_too_often,
    reinstalled_behind_our_back,
    renamed_by_the_network,
    resolver_not_asked,
    runner_left_over,
    runner_loaded_over_ssh,
    runner_token_refused,
    sealed_by_the_vendor,
    sealed_password,
    ssh_backlog,
    ssh_guard_cuts_vms,
    sudoers_without_effect,
    tailscale_name_taken,
    tailscale_own_tunnel,
    tailscale_state_missing,
    tart_under_vms,
    unsigned_program,
    vm_nat_lost,
    volume_of_another,
    wrong_sudo_password,
    xcode_missing,
}

/// The bad states that are found in some incident.
pub(super) fn findings() -> BTreeSet<String> {
    let scenarios = NAMES.iter().map(|name| Scenario::read(&name.replace('_', "-")));
    scenarios.flat_map(|it| it.all("finding").into_iter().map(str::to_owned).collect::<Vec<_>>()).collect()
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

#[test]
fn a_file_that_leaves_something_out_is_refused() {
    let (head, broken) = ("incident: x\nfacts: 1\ncures: x\nplan says: x\n", "\n== broken\ntrue\n");
    for (lines, sections, complaint) in [
        ("", broken, "says by which `finding`"),
        ("finding: x\nno finding: y\n", broken, "says by which `finding`"),
        ("finding: x\n", "\n== wish\n", "does not say how it is broken"),
        ("finding: x\nfindings: y\n", broken, "nobody understands `findings`"),
        ("finding: x\nfinding\n", broken, "nobody understands `finding`"),
    ] {
        let text = format!("{head}{lines}{sections}");
        let refused = std::panic::catch_unwind(|| Scenario::parse("x", &text)).unwrap_err();
        let told = refused.downcast_ref::<String>().unwrap();
        assert!(told.contains(complaint), "{text}: {told}");
    }
    Scenario::parse("x", &format!("{head}finding: x\n{broken}"));
    Scenario::parse("x", &format!("{head}no finding: x\n{broken}"));
}
