//! The laws on generated configurations.

use std::sync::LazyLock;

use fleet_test_provider::{Fault, Operation};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::RngSeed;
use regex::Regex;

use super::generate::{Config, Edit, Kind, Repeat, SECRET, configs, edits};
use super::search::Search;
use super::{Lab, Reality, contents};

/// A few cases, the same every time; many, others each time, with FLEET_FULL.
fn some(full: u32) -> ProptestConfig {
    let few = ProptestConfig { cases: 6, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() };
    let many = ProptestConfig { cases: full, ..ProptestConfig::default() };
    let chosen = if std::env::var_os("FLEET_FULL").is_some() { many } else { few };
    ProptestConfig { failure_persistence: None, max_shrink_iters: 200, ..chosen }
}

fn write(lab: &Lab, config: &Config) {
    config.texts().into_iter().for_each(|(name, text)| lab.site.write(name, &text));
}

fn lab(config: &Config) -> Lab {
    let lab = Lab::new("");
    lab.site.write("outside", "from outside");
    write(&lab, config);
    lab
}

fn applied(config: &Config) -> Lab {
    let lab = lab(config);
    lab.apply();
    lab
}

/// Reality as text, without what the world and chance decide.
fn gist(reality: &Reality) -> Vec<String> {
    static DECIDED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"srv-\d{6}|10\.\d+\.\d+\.\d+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").unwrap()
    });
    let reality = reality.without_ids();
    let servers = reality.servers.iter().map(|server| format!("{server:?}"));
    let files = reality
        .files
        .iter()
        .map(|(path, (content, mode))| format!("{path} {mode:o} {}", String::from_utf8_lossy(content)));
    let all = servers.chain(files).map(|text| DECIDED.replace_all(&text, "…").into_owned());
    let mut all: Vec<String> = all.collect();
    all.sort();
    all
}

#[track_caller]
fn check_empty(lab: &Lab) {
    assert_eq!(
        gist(&lab.reality()),
        gist(&{
            let empty = Lab::new("");
            empty.site.write("outside", "from outside");
            empty.reality()
        })
    );
    let state = lab.state();
    assert!(state.recorded.is_empty() && state.deposed.is_empty() && state.intents.is_empty(), "{state:?}");
}

proptest! {
    #![proptest_config(some(150))]

    #[test]
    fn a_life_from_first_plan_to_destroy(config in configs()) {
        let lab = lab(&config);
        lab.without_a_trace(|| lab.plan(&[]));
        lab.apply();
        lab.without_a_trace(|| lab.check_converged());
        let once = (lab.reality(), lab.state());
        lab.apply();
        prop_assert_eq!((lab.reality(), lab.state()), once);

        let search = Search::new(&[SECRET]);
        for (name, (bytes, _)) in contents(lab.site.path()) {
            if name.starts_with(".fleet/") {
                search.check(&name, &bytes);
            }
        }

        // What can be found again is found, and nothing is made twice.
        let names = |lab: &Lab| lab.world.servers().into_iter().map(|s| (s.id, s.name)).collect::<Vec<_>>();
        let before = names(&lab);
        lab.lose_state();
        lab.without_a_trace(|| lab.plan(&[]));
        lab.apply();
        prop_assert_eq!(names(&lab), before);
        lab.check_converged();

        lab.without_a_trace(|| lab.plan(&["--destroy"]));
        lab.destroy();
        check_empty(&lab);
        prop_assert!(lab.destroy().ends_with("No changes.\n"));
    }

    #[test]
    fn the_way_does_not_matter(config in configs(), edits in edits()) {
        let mut config = config;
        // What is ignored remembers the way; that is its purpose.
        config.all().for_each(|block| block.ignores = false);
        let lab = applied(&config);
        let next = config.edited(&edits);
        write(&lab, &next);
        lab.without_a_trace(|| lab.plan(&[]));
        lab.apply();
        lab.check_converged();
        prop_assert_eq!(gist(&lab.reality()), gist(&applied(&next).reality()));
        lab.destroy();
        check_empty(&lab);
    }

    #[test]
    fn a_part_and_then_the_rest_is_all(config in configs(), at in 0..10_usize, exclude in any::<bool>()) {
        let mut model = config.clone();
        let words: Vec<String> =
            model.all().filter_map(|block| Some(format!("{}.b{}", block.kind.word()?, block.id))).collect();
        prop_assume!(!words.is_empty());
        let lab = lab(&config);
        let option = if exclude { "--exclude" } else { "--target" };
        let options = [option, &words[at % words.len()]];
        // An address in a module, or without instances, is not known by that name.
        if lab.run("apply", &options).exit == fleet_cli::Exit::Done {
            lab.apply();
            lab.check_converged();
            prop_assert_eq!(gist(&lab.reality()), gist(&applied(&config).reality()));
        }
    }

    #[test]
    fn a_failure_on_the_way_does_not_matter(config in configs(), at in 1..6_usize, fault in 0..3_usize) {
        let lab = lab(&config);
        let fault = [Fault::Refused, Fault::Lost, Fault::Garbled][fault];
        lab.world.breaks(Operation::Create, at..=at, fault);
        lab.run("apply", &[]);
        lab.world.mend();
        lab.apply();
        lab.check_converged();
        prop_assert_eq!(gist(&lab.reality()), gist(&applied(&config).reality()));
        let state = lab.state();
        prop_assert!(state.intents.is_empty() && state.deposed.is_empty());
    }

    #[test]
    fn drift_is_seen_alone_and_mended(config in configs(), at in 0..10_usize) {
        let lab = applied(&config);
        let before = lab.reality();
        let servers = lab.world.servers();
        prop_assume!(!servers.is_empty());
        let name = &servers[at % servers.len()].name;
        lab.world.change(name, |server| server.ports.push(9));
        let plan = lab.without_a_trace(|| lab.plan(&[]));
        let steps: Vec<String> = super::steps(&plan).into_values().collect();
        let mut config = config;
        if config.all().any(|block| matches!(block.kind, Kind::Data)) {
            // It is read once what it uses was changed, and nobody knows before what comes of it for others.
            prop_assert!(steps.contains(&"update ports".to_owned()), "{:?}", steps);
        } else {
            prop_assert_eq!(steps, ["update ports"]);
        }
        lab.apply();
        prop_assert_eq!(lab.reality(), before);
        lab.check_converged();
    }

    #[test]
    fn things_keep_under_new_names(config in configs()) {
        let mut config = config;
        // A name that is not known yet cannot be told from one that is another's.
        for block in config.all() {
            if block.repeat == Repeat::PerId {
                block.repeat = Repeat::One;
            }
        }
        let lab = applied(&config);
        let before = lab.reality();
        let renamed = Config { prefix: "c", ..config };
        write(&lab, &renamed);
        lab.site.write("moved.fleet.hcl", &renamed.moved_from("b"));
        let steps = lab.without_a_trace(|| lab.steps(&[]));
        prop_assert!(steps.values().all(|what| what == "record"), "{steps:?}");
        lab.apply();
        prop_assert_eq!(lab.reality(), before);
        lab.check_converged();
        lab.destroy();
        check_empty(&lab);
    }
}

#[test]
fn edits_are_what_they_are_called() {
    let block = |config: &mut Config| config.all().next().map(|block| (block.content, block.edition));
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut config = configs().new_tree(&mut runner).unwrap().current();
    let (content, edition) = block(&mut config).unwrap();
    assert_eq!(block(&mut config.edited(&[Edit::Rewrite])), Some((content + 1, edition)));
    assert_eq!(block(&mut config.edited(&[Edit::Replace])), Some((content, edition + 1)));
    assert_eq!(block(&mut config.edited(&[Edit::Drop])), None);
}
