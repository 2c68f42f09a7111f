//! Questions → a script that asks all of them at once, and what it printed → replies.

use std::collections::BTreeMap;

use fleet_engine::host::probe::{File, Found, Line, Output, What};
use fleet_engine::host::{Answer, Content, Operand, Probe, Read, Reply, Tool};
use fleet_engine::resource::Error;

use super::frame::{Frame, quoted, under_root};
use super::sections::Section;

/// What is at a path, and why its content cannot be had, if somebody wanted it.
#[derive(Clone)]
struct Seen {
    found: Result<Option<Found>, Error>,
    unread: Option<Error>,
}

/// The names in a directory, if it is one.
type Listed = Result<Option<Vec<Vec<u8>>>, Error>;

/// What is read of one file at most.
pub const MOST: usize = 1 << 20;

/// So many bytes of paths go into one call: systems bound what a program is given.
const CALL: usize = 100 << 10;

/// Questions that travel together. What several ask is asked once.
#[derive(Debug)]
pub struct Asking {
    probes: Vec<Probe>,
    /// Every path that somebody asks for, with the content that is wanted of it.
    paths: Vec<(String, Content)>,
    directories: Vec<String>,
    trees: Vec<String>,
    insides: Vec<String>,
    tools: Vec<(Tool, Vec<Operand>)>,
    /// Regular expressions.
    processes: Vec<String>,
    scripts: Vec<String>,
}

impl Asking {
    /// Asks all of these.
    #[must_use]
    pub fn new(probes: Vec<Probe>) -> Asking {
        let reads = || probes.iter().flat_map(Probe::reads);
        let mut paths: BTreeMap<&String, Content> = BTreeMap::new();
        for read in reads() {
            if let Read::Path(path, content) = read {
                let wanted = paths.entry(path).or_default();
                *wanted = more(wanted, content);
            }
        }
        let distinct = |of: &dyn Fn(&Read) -> Option<String>| -> Vec<String> {
            let mut all: Vec<String> = reads().filter_map(of).collect();
            all.sort();
            all.dedup();
            all
        };
        let directories = distinct(&|read| match read {
            Read::Names(directory) => Some(directory.clone()),
            _ => None,
        });
        let trees = distinct(&|read| match read {
            Read::Tree(directory) => Some(directory.clone()),
            _ => None,
        });
        let insides = distinct(&|read| match read {
            Read::Inside(directory) => Some(directory.clone()),
            _ => None,
        });
        let processes = distinct(&|read| match read {
            Read::Processes(expression) => Some(expression.clone()),
            _ => None,
        });
        let mut tools: Vec<(Tool, Vec<Operand>)> = reads()
            .filter_map(|read| match read {
                Read::Tool(tool, operands) => Some((*tool, operands.clone())),
                _ => None,
            })
            .collect();
        tools.sort();
        tools.dedup();
        // Nobody knows what a script of the user does, so that each runs as often as it is asked for.
        let scripts = reads().filter_map(|read| match read {
            Read::UserScript(script) => Some(script.clone()),
            _ => None,
        });
        let scripts = scripts.collect();
        let paths = paths.into_iter().map(|(path, content)| (path.clone(), content)).collect();
        Asking { paths, directories, trees, insides, tools, processes, scripts, probes }
    }

    /// Adds them to a frame.
    pub fn write(&self, frame: &mut Frame) {
        let all = |words: &mut dyn Iterator<Item = String>| words.collect::<Vec<_>>().join(" ");
        for paths in self.calls() {
            let pairs = paths.iter().map(|(path, content)| {
                let wanted = match content {
                    Content::Nothing => ".",
                    Content::Digest => "=",
                    Content::Whole => "-",
                    Content::Unless(digest) => return format!("{} {}", quoted(digest), under_root(path)),
                };
                format!("{wanted} {}", under_root(path))
            });
            frame.push(&format!("MOST={}\nseen {}\n", MOST + 1, all(&mut pairs.into_iter())));
        }
        for directory in &self.directories {
            frame.push(&format!("names {}\n", under_root(directory)));
        }
        for directory in &self.trees {
            frame.push(&format!("tree {}\n", under_root(directory)));
        }
        for directory in &self.insides {
            frame.push(&format!("inside {}\n", under_root(directory)));
        }
        for (tool, operands) in &self.tools {
            let words = tool.words(operands).into_iter().map(quoted);
            frame.push(&format!("run {}\n", all(&mut words.into_iter())));
        }
        for expression in &self.processes {
            frame.push(&format!("processes {}\n", quoted(expression)));
        }
        for script in &self.scripts {
            let script = frame.send(script.as_bytes());
            frame.push(&format!("user {script}\n"));
        }
    }

    /// The paths, as many at a time as go into one call.
    fn calls(&self) -> impl Iterator<Item = &[(String, Content)]> {
        let mut rest = &self.paths[..];
        std::iter::from_fn(move || {
            let mut bytes = 0;
            let fits = |(path, _): &&(String, Content)| {
                bytes += path.len() + 80;
                bytes <= CALL
            };
            let count = rest.iter().take_while(fits).count().max(1).min(rest.len());
            let call;
            (call, rest) = rest.split_at(count);
            (count > 0).then_some(call)
        })
    }

    /// Whether there is nothing that a shell has to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let reads = || self.probes.iter().flat_map(Probe::reads);
        reads().all(|read| matches!(read, Read::Line))
    }

    /// The replies to the probes, in their order; `line` is what the connection itself knows.
    #[must_use]
    pub fn replies(&self, line: &Line, sections: impl Iterator<Item = Section>) -> Vec<Result<Reply, Error>> {
        let mut sections = sections;
        let mut next = || sections.next().ok_or_else(cut_off);
        let paths = self.seen(&mut next);
        let names: BTreeMap<&String, Listed> =
            self.directories.iter().map(|directory| (directory, names(directory, next()))).collect();
        let trees: BTreeMap<&String, Result<Option<String>, Error>> =
            self.trees.iter().map(|directory| (directory, tree(directory, next()))).collect();
        let insides: BTreeMap<&String, Result<Vec<u8>, Error>> =
            self.insides.iter().map(|directory| (directory, inside(directory, next()))).collect();
        let tools: Vec<Result<Output, Error>> =
            self.tools.iter().map(|_| next().map(|section| output(&section))).collect();
        let processes: BTreeMap<&String, Result<Output, Error>> = self
            .processes
            .iter()
            .map(|expression| (expression, next().map(|section| output(&section))))
            .collect();
        let scripts: Vec<Result<Output, Error>> =
            self.scripts.iter().map(|_| next().map(|section| output(&section))).collect();
        let mut scripts = scripts.into_iter();
        let mut answer = |read: &Read| -> Result<Answer, Error> {
            Ok(match read {
                Read::Path(path, content) => {
                    let seen = paths.as_ref().map_err(Clone::clone)?;
                    let Seen { found, unread } = seen.get(path).cloned().ok_or_else(cut_off)?;
                    let mut found = found?;
                    if *content != Content::Nothing
                        && let Some(error) = unread
                    {
                        return Err(error);
                    }
                    if let Some(Found { what: What::File(file), .. }) = &mut found {
                        // Somebody else may have asked for more.
                        if matches!(content, Content::Nothing | Content::Digest) {
                            file.content = None;
                        } else if *content == Content::Whole && file.content.is_none() {
                            let message =
                                format!("`{path}` has more than {MOST} bytes, and all of them are needed");
                            return Err(Error::permanent(message));
                        }
                    }
                    Answer::Path(found)
                }
                Read::Names(directory) => {
                    Answer::Names(names.get(directory).cloned().unwrap_or_else(|| Err(cut_off()))?)
                }
                Read::Tree(directory) => {
                    Answer::Tree(trees.get(directory).cloned().unwrap_or_else(|| Err(cut_off()))?)
                }
                Read::Inside(directory) => {
                    Answer::Inside(insides.get(directory).cloned().unwrap_or_else(|| Err(cut_off()))?)
                }
                Read::Line => Answer::Line(line.clone()),
                Read::Tool(tool, operands) => {
                    let at = self.tools.binary_search(&(*tool, operands.clone())).map_err(|_| cut_off())?;
                    Answer::Output(tools[at].clone()?)
                }
                Read::Processes(expression) => {
                    Answer::Output(processes.get(expression).cloned().unwrap_or_else(|| Err(cut_off()))?)
                }
                Read::UserScript(_) => Answer::Output(scripts.next().unwrap_or_else(|| Err(cut_off()))?),
            })
        };
        let mut reply =
            |probe: &Probe| probe.reads().iter().map(&mut answer).collect::<Result<_, _>>().map(Reply);
        self.probes.iter().map(&mut reply).collect()
    }

    fn seen(
        &self,
        next: &mut impl FnMut() -> Result<Section, Error>,
    ) -> Result<BTreeMap<String, Seen>, Error> {
        let mut all = BTreeMap::new();
        for paths in self.calls() {
            all.extend(seen(paths, next)?);
        }
        Ok(all)
    }
}

/// What came of one call.
fn seen(
    paths: &[(String, Content)],
    next: &mut impl FnMut() -> Result<Section, Error>,
) -> Result<BTreeMap<String, Seen>, Error> {
    let files = || paths.iter().filter(|(_, content)| *content != Content::Nothing);
    let mut seen = BTreeMap::new();
    let look = next()?;
    let text = String::from_utf8_lossy(&look.body).into_owned();
    let mut lines = text.lines();
    if look.word == "changed" {
        let unknown = |path: &str| Seen { found: Err(changing(path)), unread: None };
        return Ok(paths.iter().map(|(path, _)| (path.clone(), unknown(path))).collect());
    }
    let (signs, readable) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    for ((path, _), sign) in paths.iter().zip(signs.chars()) {
        let found = match sign {
            '0' => Ok(None),
            '1' => lines.next().and_then(found).map(Some).ok_or_else(|| changing(path)),
            _ => Err(denied(path)),
        };
        seen.insert(path.clone(), Seen { found, unread: None });
    }
    for (path, _) in paths {
        let found = seen.get_mut(path).map(|seen| &mut seen.found);
        if let Some(Ok(Some(Found { what: What::Link(target), .. }))) = found {
            let body = next()?.body;
            *target = body.strip_suffix(b"\n").map(<[u8]>::to_vec).unwrap_or(body);
        }
    }
    let digests = if readable.contains('1') { Some(next()?) } else { None };
    let has_changed = digests.as_ref().is_some_and(|section| section.word == "changed");
    let digests = digests.map(|section| section.body).unwrap_or_default();
    let digests = String::from_utf8_lossy(&digests);
    let mut digests = digests.lines();
    for ((path, content), sign) in files().zip(readable.chars()) {
        let Some(seen) = seen.get_mut(path) else { continue };
        match sign {
            '1' if has_changed => seen.unread = Some(changing(path)),
            '1' => {
                let digest = digests.next().unwrap_or_default();
                let is_sent = match content {
                    Content::Unless(expected) => digest != expected,
                    Content::Whole => true,
                    Content::Digest | Content::Nothing => false,
                };
                let body = if is_sent { Some(next()?.body) } else { None };
                if let Ok(Some(Found { what: What::File(file), .. })) = &mut seen.found {
                    file.digest = Some(digest.to_owned());
                    file.size = file.size.max(body.as_ref().map_or(0, Vec::len) as u64);
                    file.content = body.filter(|content| content.len() <= MOST);
                }
            }
            '0' => seen.unread = Some(unreadable(path)),
            _ => {}
        }
    }
    Ok(seen)
}

/// What satisfies both.
fn more(a: &Content, b: &Content) -> Content {
    match (a, b) {
        (Content::Nothing, other) | (other, Content::Nothing) => other.clone(),
        (Content::Digest, other) | (other, Content::Digest) => other.clone(),
        (a, b) if a == b => a.clone(),
        _ => Content::Whole,
    }
}

/// Reads a line of `seen`: mode in hexadecimal digits, size, owner, group.
fn found(line: &str) -> Option<Found> {
    let mut words = line.splitn(4, ' ');
    let mode = u32::from_str_radix(words.next()?, 16).ok()?;
    let size = words.next()?.parse().ok()?;
    let (owner, group) = (words.next()?.to_owned(), words.next()?.to_owned());
    let what = match mode & 0o170_000 {
        0o100_000 => What::File(File { size, digest: None, content: None }),
        0o040_000 => What::Directory,
        0o120_000 => What::Link(Vec::new()),
        _ => What::Other,
    };
    Some(Found { what, mode: mode & 0o7777, owner, group })
}

fn unreadable(path: &str) -> Error {
    Error::permanent(format!("`{path}` cannot be read: permission denied"))
        .help("connect as somebody who may read it, or let root do it")
}

fn names(directory: &str, section: Result<Section, Error>) -> Listed {
    let Section { body, word, .. } = section?;
    match &*word {
        "none" => Ok(None),
        "denied" => Err(denied(directory)),
        _ => Ok(Some(
            body.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect(),
        )),
    }
}

fn tree(directory: &str, section: Result<Section, Error>) -> Result<Option<String>, Error> {
    let Section { body, word, complaint } = section?;
    if word == "none" {
        return Ok(None);
    }
    // A pipe hides the status of all but its last command.
    let digest = String::from_utf8_lossy(&body).split(' ').next().unwrap_or_default().to_owned();
    if word == "0" && complaint.is_empty() && digest.len() == 64 {
        Ok(Some(digest))
    } else {
        Err(unseen(directory, &complaint))
    }
}

fn inside(directory: &str, section: Result<Section, Error>) -> Result<Vec<u8>, Error> {
    let Section { body, word, complaint } = section?;
    match &*word {
        "none" | "0" => Ok(body),
        "denied" => Err(denied(directory)),
        _ => Err(unseen(directory, &complaint)),
    }
}

fn unseen(directory: &str, complaint: &[u8]) -> Error {
    let complaint = String::from_utf8_lossy(complaint);
    let first = complaint.trim().lines().next().unwrap_or("nobody knows why").to_owned();
    let message = format!("`{directory}` cannot be looked through: {first}");
    Error::permanent(message).help("connect as somebody who may look there, or let root do it")
}

fn output(section: &Section) -> Output {
    let Section { body, word, complaint } = section;
    Output { status: word.parse().unwrap_or(-1), stdout: body.clone(), stderr: complaint.clone() }
}

fn denied(path: &str) -> Error {
    let message = format!("`{path}` cannot be looked at: permission denied");
    Error::permanent(message).help("connect as somebody who may look there, or let root do it")
}

fn changing(path: &str) -> Error {
    Error::transient(format!("`{path}` changed while it was looked at"))
}

fn cut_off() -> Error {
    Error::transient("the host stopped answering in the middle")
}
