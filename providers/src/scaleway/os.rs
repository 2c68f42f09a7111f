//! Families of systems. The vendor retires single versions without notice, so only a family can be wished for.

use std::cmp::Ordering;

use fleet_engine::pool::family_key as key;

use super::wire::Os;

/// Whether a system is of a family. The vendor names the family of some systems by a number, and then only their own
/// names tell.
pub(super) fn is_of(os: &Os, family: &str) -> bool {
    let wanted = key(family);
    key(&os.family) == wanted || key(&os.name) == wanted
}

/// What to call the family of a system.
pub(super) fn family_of(os: &Os) -> String {
    let is_named = os.family.contains(|c: char| c.is_alphabetic());
    if is_named { os.family.clone() } else { key(&os.name) }
}

/// The newest system of a family for a model. A beta is taken only where there is nothing else.
pub(super) fn newest<'a>(all: &'a [Os], family: &str, model: &str) -> Option<&'a Os> {
    let runs_on = |os: &&Os| {
        let models = &os.supported_server_types;
        models.is_empty() || models.iter().any(|supported| supported.server_type == model)
    };
    let order = |a: &&Os, b: &&Os| b.is_beta.cmp(&a.is_beta).then_with(|| versions(&a.version, &b.version));
    all.iter().filter(|os| is_of(os, family)).filter(runs_on).max_by(order)
}

/// Compares versions number by number; one with a suffix comes before the same without.
fn versions(a: &str, b: &str) -> Ordering {
    let parts = |version: &str| {
        let (numbers, suffix) = match version.split_once('-') {
            Some((numbers, suffix)) => (numbers, Some(suffix.to_owned())),
            None => (version, None),
        };
        let mut numbers: Vec<u64> = numbers.split('.').map(|part| part.parse().unwrap_or(0)).collect();
        while numbers.last() == Some(&0) {
            numbers.pop();
        }
        (numbers, suffix.is_none(), suffix)
    };
    parts(a).cmp(&parts(b))
}

#[cfg(test)]
mod tests {
    use super::super::wire::Supported;
    use super::*;

    fn os(name: &str, family: &str, version: &str, is_beta: bool) -> Os {
        Os {
            id: name.into(),
            name: name.into(),
            family: family.into(),
            version: version.into(),
            is_beta,
            ..Os::default()
        }
    }

    #[test]
    fn a_system_is_of_its_family_by_either_name() {
        assert!(is_of(&os("macos-tahoe-26.3", "26", "26.3", false), "Tahoe"));
        assert!(!is_of(&os("devos-tahoe-26.3", "DevOS", "26.3", false), "Tahoe"));
        assert_eq!(family_of(&os("macos-tahoe-26.3", "26", "26.3", false)), "tahoe");
        assert_eq!(family_of(&os("macos-tahoe-26.3", "Tahoe", "26.3", false)), "Tahoe");
    }

    #[test]
    fn the_newest_is_taken_and_a_beta_only_alone() {
        let pick = |versions: &[(&str, bool)]| {
            let all: Vec<Os> = versions
                .iter()
                .map(|(version, beta)| os(&format!("macos-tahoe-{version}"), "Tahoe", version, *beta))
                .collect();
            newest(&all, "tahoe", "M2-L").map(|os| os.version.clone())
        };
        type Case = (&'static [(&'static str, bool)], Option<&'static str>);
        let cases: [Case; 6] = [
            (&[("26.3", false), ("26.10", false), ("26.9", false)], Some("26.10")),
            (&[("26.3", false), ("26.7", true)], Some("26.3")),
            (&[("26.6", true), ("26.7", true)], Some("26.7")),
            (&[("26.7", false), ("26.7-beta", false)], Some("26.7")),
            (&[("26.7-beta", false), ("26.7", false), ("26.7.1-rc", false)], Some("26.7.1-rc")),
            (&[], None),
        ];
        for (versions, expected) in cases {
            assert_eq!(pick(versions).as_deref(), expected, "{versions:?}");
        }
        let only_for = |model: &str| Os {
            supported_server_types: vec![Supported { server_type: model.into() }],
            ..os("macos-tahoe-26.3", "Tahoe", "26.3", false)
        };
        assert!(newest(&[only_for("M2-L")], "Tahoe", "M2-L").is_some());
        assert!(newest(&[only_for("M1-M")], "Tahoe", "M2-L").is_none());
        assert!(newest(&[only_for("M2-L")], "Sonoma", "M2-L").is_none());
    }
}
