//! The files that match a pattern of paths: names as [`super::pattern`] has them between slashes, and `**` as a whole
//! name for any number of directories.

use std::io;
use std::path::{Path, PathBuf};

use super::path::{clean, join, relative};
use super::pattern::Name;
use crate::Outside;
use crate::outside::Entry;

/// A pattern, name by name.
#[derive(Debug)]
pub(super) struct Pattern {
    /// How many `..` stand in front.
    up: usize,
    names: Vec<Name>,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum GlobError {
    /// The pattern makes no sense.
    Pattern(String),
    /// A path could not be looked at.
    Io(String, io::Error),
    /// The directories hold more than [`ENTRY_LIMIT`] names.
    TooMany,
}

/// So many names are looked at before the search is given up: a tree of that size is a mistake in the path.
pub(super) const ENTRY_LIMIT: usize = 1_000_000;

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Pattern, GlobError> {
        let cleaned = clean(text);
        let names: Vec<&str> = cleaned.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        let up = names.iter().take_while(|name| **name == "..").count();
        let names = names[up..]
            .iter()
            .map(|name| Name::parse(name))
            .collect::<Result<_, _>>()
            .map_err(GlobError::Pattern)?;
        Ok(Pattern { up, names })
    }

    /// The regular files that match, seen from `base`, in no particular order.
    ///
    /// Links are followed, but `**` does not go through a directory again while it is inside of it.
    pub(super) fn files(&self, outside: &dyn Outside, base: &str) -> Result<Vec<String>, GlobError> {
        let base = clean(base);
        let start = join(&base, &"../".repeat(self.up));
        let mut walk = Walk { outside, names: &self.names, entries: 0, found: Vec::new(), trail: Vec::new() };
        walk.run(&start)?;
        // Whatever was found lies below `start`, which lies above `base` or is it, so there is always a way.
        Ok(walk.found.iter().filter_map(|found| relative(&base, &join(&start, found))).collect())
    }
}

/// The search through directories. Each is listed once, however many ways the pattern has of getting there.
struct Walk<'a> {
    outside: &'a dyn Outside,
    names: &'a [Name],
    entries: usize,
    /// Paths seen from the start.
    found: Vec<String>,
    /// The real paths of the directories being walked, outermost first.
    trail: Vec<PathBuf>,
}

/// A directory still to be walked.
struct Visit {
    depth: usize,
    /// As seen from the start; empty for the start itself.
    path: String,
    /// Positions in the pattern that an entry of this directory may continue from, ascending.
    positions: Vec<usize>,
}

impl Walk<'_> {
    fn run(&mut self, start: &str) -> Result<(), GlobError> {
        if self.names.is_empty() {
            if matches!(self.outside.look(Path::new(start)), Ok(Entry::File)) {
                self.found.push(String::new());
            }
            return Ok(());
        }
        let mut ahead = vec![Visit { depth: 0, path: String::new(), positions: self.reach(vec![0]) }];
        while let Some(visit) = ahead.pop() {
            self.visit(start, &visit, &mut ahead)?;
        }
        Ok(())
    }

    fn visit(&mut self, start: &str, visit: &Visit, ahead: &mut Vec<Visit>) -> Result<(), GlobError> {
        let directory = join(start, &visit.path);
        if self.loops(&directory, visit) {
            return Ok(());
        }
        // A chain of literal names needs no listing: its directories may be large, or closed to us.
        if let [position] = visit.positions[..]
            && let Name::Literal(name) = &self.names[position]
            && position + 1 < self.names.len()
        {
            let next = Visit {
                depth: visit.depth + 1,
                path: join(&visit.path, name),
                positions: self.reach(vec![position + 1]),
            };
            ahead.push(next);
            return Ok(());
        }
        // What is not there, or is no directory, or may not be read, holds no match.
        let Ok(names) = self.outside.list(Path::new(&directory)) else { return Ok(()) };
        self.entries += names.len();
        if self.entries > ENTRY_LIMIT {
            return Err(GlobError::TooMany);
        }
        for name in names {
            self.entry(visit, &directory, &name, ahead)?;
        }
        Ok(())
    }

    /// One name of a directory: is it a match, and may there be matches below it?
    fn entry(
        &mut self,
        visit: &Visit,
        directory: &str,
        name: &str,
        ahead: &mut Vec<Visit>,
    ) -> Result<(), GlobError> {
        let (mut below, mut named, mut anything) = (Vec::new(), false, false);
        for &position in &visit.positions {
            let last = position + 1 == self.names.len();
            if self.names[position] == Name::Any {
                below.push(position);
                anything |= last;
            } else if self.names[position].matches(name) {
                if last { named = true } else { below.push(position + 1) }
            }
        }
        if below.is_empty() && !named && !anything {
            return Ok(());
        }
        let path = join(&visit.path, name);
        let full = join(directory, name);
        match self.outside.look(Path::new(&full)) {
            Ok(Entry::File) if named || anything => self.found.push(path),
            Ok(Entry::Directory) if !below.is_empty() => {
                ahead.push(Visit { depth: visit.depth + 1, path, positions: self.reach(below) });
            }
            Ok(_) => {}
            // A dangling link is a match that cannot be answered for; on the way of `**` it is just nothing.
            Err(error) if named => return Err(GlobError::Io(full, error)),
            Err(_) => {}
        }
        Ok(())
    }

    /// `**` also stands for no directory at all, so that what follows it may come at once.
    fn reach(&self, mut positions: Vec<usize>) -> Vec<usize> {
        let mut at = 0;
        while let Some(&position) = positions.get(at) {
            if self.names[position] == Name::Any && position + 1 < self.names.len() {
                positions.push(position + 1);
            }
            at += 1;
        }
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    /// Whether a link leads back into a directory being walked. Only `**` can go round for ever.
    fn loops(&mut self, directory: &str, visit: &Visit) -> bool {
        self.trail.truncate(visit.depth);
        let endless = visit.positions.iter().any(|position| self.names[*position] == Name::Any);
        let real = if endless {
            self.outside.real(Path::new(directory)).unwrap_or_default()
        } else {
            PathBuf::new()
        };
        let again = endless && self.trail.contains(&real);
        self.trail.push(real);
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outside::Memory;

    fn tree() -> Memory {
        [
            "a.txt",
            "b.txt",
            "ab.txt",
            ".dot",
            "sub/a.txt",
            "sub/c.tf",
            "sub/deep/d.txt",
            ".hid/h.txt",
            "other/a.txt",
        ]
        .into_iter()
        .chain(["we[i]rd/x", "st*r", "é/é.txt", "a-b", "com,ma"])
        .fold(Memory::new(), |tree, path| tree.file(format!("t/{path}"), ""))
        .link("t/lnk", "sub")
        .link("t/fl", "a.txt")
    }

    fn files(outside: &Memory, base: &str, pattern: &str) -> Vec<String> {
        let mut files = Pattern::parse(pattern).unwrap().files(outside, base).unwrap();
        files.sort();
        files
    }

    #[test]
    fn files_are_found() {
        for (base, pattern, expected) in [
            ("t", "*.txt", "a.txt ab.txt b.txt"),
            ("t", "**/h.txt", ".hid/h.txt"),
            ("t/sub", "**", "a.txt c.tf deep/d.txt"),
            ("t/sub/deep", "**/**", "d.txt"),
            ("t", "*/*.txt", ".hid/h.txt lnk/a.txt other/a.txt sub/a.txt é/é.txt"),
            ("t", "{sub,other}/a.txt", "other/a.txt sub/a.txt"),
            ("t", "{.h*,o*}/**", ".hid/h.txt other/a.txt"),
            ("t", "we\\[i\\]rd/x", "we[i]rd/x"),
            ("t", "we[i]rd/x", ""),
            ("t/we[i]rd", "*", "x"),
            ("t", "sub/../a.txt", "a.txt"),
            ("t", "../t/a.txt", "a.txt"),
            ("t", "../../site/t/a.txt", "../../site/t/a.txt"),
            ("t/sub/deep", "../*.tf", "../c.tf"),
            ("t", "/a.txt", "a.txt"),
            ("t", "", ""),
            ("t", ".", ""),
            ("t/a.txt", "", "."),
            ("t", "sub//a.txt/", "sub/a.txt"),
            ("t", "sub", ""),
            ("t", "nope", ""),
            ("nope", "*", ""),
            ("t/a.txt", "*", ""),
            ("t/lnk", "*", "a.txt c.tf"),
            ("t", "fl", "fl"),
            ("t/sub", "**.txt", "a.txt"),
            ("t/sub", "***", "a.txt c.tf"),
            ("t/other", "**/a.txt", "a.txt"),
            ("t/other", "**/", "a.txt"),
            ("t", "**/d.txt", "lnk/deep/d.txt sub/deep/d.txt"),
            ("t", "**/deep/**/**/*.txt", "lnk/deep/d.txt sub/deep/d.txt"),
            ("t", "*.{txt,tf}", "a.txt ab.txt b.txt"),
        ] {
            assert_eq!(files(&tree(), base, pattern).join(" "), expected, "{base} {pattern}");
        }
    }

    #[test]
    fn a_dangling_link_is_an_error_only_if_it_matches() {
        let tree = tree().link("t/broken", "/nowhere");
        assert_eq!(files(&tree, "t", "a*.txt"), ["a.txt", "ab.txt"]);
        assert_eq!(files(&tree, "t/sub", "**"), ["a.txt", "c.tf", "deep/d.txt"]);
        let error = Pattern::parse("b*").unwrap().files(&tree, "t").unwrap_err();
        assert!(matches!(error, GlobError::Io(path, _) if path == "t/broken"));
    }

    #[test]
    fn loops_of_links_end() {
        let tree = Memory::new()
            .file("t/a/x", "")
            .link("t/a/up", "..")
            .link("t/a/self", ".")
            .link("t/again", "a")
            .link("t/none", "none");
        assert_eq!(files(&tree, "t", "**"), ["a/x", "again/x"]);
        assert_eq!(
            files(&tree, "t", "*/up/*/x"),
            ["a/up/a/x", "a/up/again/x", "again/up/a/x", "again/up/again/x"]
        );
    }

    #[test]
    fn deep_trees_are_walked_in_linear_time_and_constant_stack() {
        let deep = "d/".repeat(100);
        let tree = Memory::new().file(format!("{deep}x"), "");
        assert_eq!(files(&tree, ".", "**/**/**/**/x"), [format!("{deep}x")]);
    }
}
