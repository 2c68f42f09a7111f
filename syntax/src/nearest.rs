//! The name somebody may have meant.

/// The candidate closest to `name`, if one is close enough to be a slip of the fingers: at most a third of the letters
/// differ, where swapping two neighbours counts once. Of equally close ones the first in order of the alphabet wins.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    // Nobody mistypes a name of that length, and the distance takes time in the product of the lengths.
    if length > 100 {
        return None;
    }
    let allowed = (length / 3).max(1);
    let distance = |candidate: &str| strsim::damerau_levenshtein(name, candidate);
    let near = candidates.into_iter().filter(|candidate| candidate.len() <= 4 * (length + allowed));
    near.map(|candidate| (distance(candidate), candidate))
        .filter(|(distance, _)| (1..=allowed).contains(distance))
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_slips_and_leaves_strangers_alone() {
        let names = ["lower", "upper", "length", "lookup", "join"];
        let check = |name, expected| assert_eq!(nearest(name, names), expected, "{name}");
        check("uper", Some("upper"));
        check("uppre", Some("upper"));
        check("lenght", Some("length"));
        check("lookpu", Some("lookup"));
        check("jion", Some("join"));
        check("join", None);
        check("cidr", None);
        check("", None);
    }
}
