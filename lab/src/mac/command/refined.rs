//! Tools of this machine that do for those of macOS, once what macOS does not have is refused.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use super::directory::ended;
use super::{Call, Done, Failure, Outcome};

/// A tool of which GNU's takes more.
struct Tool {
    name: &'static str,
    /// The letters that only GNU's has.
    refused: &'static str,
    /// Whether it has long options.
    long: bool,
    usage: &'static str,
    status: u8,
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "cp",
        refused: "tTuZ",
        long: false,
        usage: "usage: cp [-R [-H | -L | -P]] [-fi | -n] [-aclpSsvXx] source_file target_file",
        status: 64,
    },
    Tool {
        name: "date",
        refused: "d",
        long: false,
        usage: "usage: date [-jnRu] [-I[date|hours|minutes|seconds|ns]] [-f input_fmt] [-r filename|seconds]",
        status: 1,
    },
    Tool {
        name: "grep",
        refused: "P",
        long: true,
        usage: "usage: grep [-abcdDEFGHhIiJLlMmnOopqRSsUVvwXxZz] [-A num] [-B num] [-C[num]] [pattern] [file ...]",
        status: 2,
    },
    Tool {
        name: "ln",
        refused: "rtTb",
        long: false,
        usage: "usage: ln [-s [-F] | -L | -P] [-f | -i] [-hnv] source_file [target_file]",
        status: 1,
    },
    Tool {
        name: "ls",
        refused: "QNXZ",
        long: true,
        usage: "usage: ls [-@ABCFGHILOPRSTUWabcdefghiklmnopqrstuvwxy1%,] [--color=when] [-D format] [file ...]",
        status: 1,
    },
    Tool {
        name: "mv",
        refused: "tTuZb",
        long: false,
        usage: "usage: mv [-f | -i | -n] [-hv] source target",
        status: 64,
    },
];

/// Copies, and then gives the copy the owner of what was copied.
const COPY: &str = r#"f=$1; t=$2; shift 2; "$0" "$@" && exec lab-owner "$f" "$t""#;

/// The names of these tools.
pub(in crate::mac) fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|tool| tool.name)
}

pub(super) fn refined(call: &mut Call) -> Outcome {
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == call.name) else {
        return Err(call.failure("the lab has no such command"));
    };
    let mut options = call.words.iter().take_while(|word| *word != "--");
    if let Some(wrong) = options.find_map(|word| tool.wrong(word)) {
        return Err(Failure { text: format!("{}: {wrong}\n{}", tool.name, tool.usage), status: tool.status });
    }
    let program = call.mac.tools.system(tool.name).into_os_string();
    let mut words = vec![program];
    let keeps = |word: &OsString| word.as_bytes().starts_with(b"-") && word.as_bytes().contains(&b'p');
    if let [.., from, to] = &call.words[..]
        && tool.name == "cp"
        && call.words.iter().any(keeps)
    {
        words =
            ["/bin/sh".into(), "-c".into(), COPY.into(), words.remove(0), from.clone(), to.clone()].into();
    }
    words.append(&mut call.words);
    Ok(Done::Exec { environment: Vec::new(), words })
}

/// `lab-owner FROM TO`: a file that is a copy of another has its owner.
pub(super) fn owner(call: &mut Call) -> Outcome {
    let [from, to] = &call.words[..] else { return Err(call.failure("two files are needed")) };
    let (from, to) = (call.path(from), call.path(to));
    if from.is_file() && to.is_file() {
        let mut disk = call.mac.disk();
        let owner = disk.owner(&from);
        let owned = disk.own(&to, owner).and_then(|()| disk.store());
        owned.map_err(|error| call.failure(&error.to_string()))?;
    }
    ended(0)
}

impl Tool {
    /// What is wrong with a word, if it is an option that macOS does not have.
    fn wrong(&self, word: &OsString) -> Option<String> {
        match word.as_bytes() {
            [b'-', b'-', rest @ ..] if !self.long => {
                Some(format!("unrecognized option `--{}'", String::from_utf8_lossy(rest)))
            }
            [b'-', b'-', ..] => None,
            [b'-', letters @ ..] => {
                let mut letters = letters.iter().map(|letter| char::from(*letter));
                let found = letters.find(|letter| self.refused.contains(*letter));
                found.map(|letter| format!("illegal option -- {letter}"))
            }
            _ => None,
        }
    }
}
