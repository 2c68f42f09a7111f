//! Arithmetic on paths as texts. Nothing is looked up, so `..` takes away the name before it even if that name is a
//! link. Paths are written with `/` on every system.

/// The shortest path that means the same: no empty names, no `.`, no `..` after a name; `.` if nothing is left.
pub(super) fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => {
                names.pop();
            }
            ".." if rooted => {}
            name => names.push(name),
        }
    }
    match (rooted, names.is_empty()) {
        (true, _) => format!("/{}", names.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => names.join("/"),
    }
}

/// The last name of a path; `/` for the root and `.` for an empty path.
pub(super) fn base(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match (path.is_empty(), trimmed.is_empty()) {
        (true, _) => ".",
        (false, true) => "/",
        (false, false) => trimmed.rsplit('/').next().unwrap_or(trimmed),
    }
}

/// All but what follows the last slash, cleaned.
pub(super) fn directory(path: &str) -> String {
    clean(path.rfind('/').map_or("", |slash| &path[..=slash]))
}

/// `tail` taken from `head`, cleaned. A leading slash of `tail` means nothing.
pub(super) fn join(head: &str, tail: &str) -> String {
    match (head, tail) {
        ("", tail) => clean(tail),
        (head, "") => clean(head),
        (head, tail) => clean(&format!("{head}/{tail}")),
    }
}

/// The way from one clean path to another, both rooted or both not. There is none if `from` leaves by a `..` that
/// `to` does not take.
pub(super) fn relative(from: &str, to: &str) -> Option<String> {
    let names = |path: &'_ str| -> Vec<String> {
        path.split('/').filter(|name| !matches!(*name, "" | ".")).map(str::to_owned).collect()
    };
    let (from, to) = (names(from), names(to));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    if from[common..].iter().any(|name| name == "..") {
        return None;
    }
    let way: Vec<&str> =
        from[common..].iter().map(|_| "..").chain(to[common..].iter().map(String::as_str)).collect();
    Some(if way.is_empty() { ".".to_owned() } else { way.join("/") })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn clean_paths() {
        for (path, expected) in [
            ("", "."),
            (".", "."),
            ("/", "/"),
            ("//", "/"),
            ("a/b", "a/b"),
            ("a//b/", "a/b"),
            ("./a", "a"),
            ("a/..", "."),
            ("a/../..", ".."),
            ("../a/../b", "../b"),
            ("../../a", "../../a"),
            ("/..", "/"),
            ("/../a", "/a"),
            ("/a/../../b/.", "/b"),
        ] {
            assert_eq!(clean(path), expected, "{path}");
        }
    }

    #[test]
    fn last_names() {
        for (path, expected) in [
            ("", "."),
            ("/", "/"),
            ("///", "/"),
            ("a", "a"),
            ("a/b.txt", "b.txt"),
            ("a/b//", "b"),
            ("a/..", ".."),
        ] {
            assert_eq!(base(path), expected, "{path}");
        }
    }

    #[test]
    fn directories() {
        for (path, expected) in [
            ("", "."),
            ("/", "/"),
            ("a", "."),
            ("/a", "/"),
            ("a/b.txt", "a"),
            ("a/b/", "a/b"),
            ("a//b", "a"),
            ("../b", ".."),
            ("/a/../b", "/"),
        ] {
            assert_eq!(directory(path), expected, "{path}");
        }
    }

    #[test]
    fn ways() {
        for (from, to, expected) in [
            ("t", "t/a", Some("a")),
            ("t", "t", Some(".")),
            ("t", "../c/t/a", Some("../../c/t/a")),
            (".", "a", Some("a")),
            ("/a/b", "/c", Some("../../c")),
            ("../x", "../y", Some("../y")),
            ("..", "a", None),
        ] {
            assert_eq!(relative(from, to).as_deref(), expected, "{from} {to}");
        }
    }

    proptest! {
        #[test]
        fn cleaning_twice_is_cleaning_once(path in "[a./]{0,12}") {
            let once = clean(&path);
            prop_assert_eq!(clean(&once), once);
        }

        #[test]
        fn the_way_leads_there(from in "/[a-c./]{0,9}", to in "/[a-c./]{0,9}") {
            let (from, to) = (clean(&from), clean(&to));
            let way = relative(&from, &to).expect("both are rooted");
            prop_assert_eq!(join(&from, &way), to);
        }
    }
}
