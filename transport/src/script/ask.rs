//! Questions → a script that asks all of them at once, and what it printed → replies.

use std::collections::BTreeMap;

use fleet_engine::host::probe::{File, Found, Line, Output, What};
use fleet_engine::host::{Answer, Content, Operand, Probe, Read, Reply, Tool};
use fleet_engine::resource::Error;

use super::frame::{Frame, quoted, under_root};
use super::sections::Section;

/// The names in a directory, if it is one.
type Listed = Result<Option<Vec<Vec<u8>>>, Error>;

/// What is read of one file at most.
pub const MOST: usize = 1 << 20;

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
        Asking { paths, directories, trees, insides, tools, scripts, probes }
    }

    /// Adds them to a frame.
    pub fn write(&self, frame: &mut Frame) {
        let all = |words: &mut dyn Iterator<Item = String>| words.collect::<Vec<_>>().join(" ");
        if !self.paths.is_empty() {
            let paths = all(&mut self.paths.iter().map(|(path, _)| under_root(path)));
            frame.push(&format!("look {paths}\nlinks {paths}\n"));
        }
        if self.files().next().is_some() {
            let pairs = self.files().map(|(path, content)| {
                let expected = match content {
                    Content::Unless(digest) => quoted(digest),
                    Content::Digest => "=".to_owned(),
                    Content::Whole | Content::Nothing => "-".to_owned(),
                };
                format!("{expected} {}", under_root(path))
            });
            frame.push(&format!("MOST={}\nfiles {}\n", MOST + 1, all(&mut pairs.into_iter())));
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
            let (program, leading) = tool.command();
            let words = leading.iter().copied().chain(operands.iter().map(Operand::as_str)).map(quoted);
            frame.push(&format!("run {program} {}\n", all(&mut words.into_iter())));
        }
        for script in &self.scripts {
            frame.push("user\n");
            frame.send(script.as_bytes());
        }
    }

    /// The paths whose content is wanted.
    fn files(&self) -> impl Iterator<Item = (&String, &Content)> {
        self.paths
            .iter()
            .filter(|(_, content)| *content != Content::Nothing)
            .map(|(path, content)| (path, content))
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
        let scripts: Vec<Result<Output, Error>> =
            self.scripts.iter().map(|_| next().map(|section| output(&section))).collect();
        let mut scripts = scripts.into_iter();
        let mut answer = |read: &Read| -> Result<Answer, Error> {
            Ok(match read {
                Read::Path(path, content) => {
                    let seen = paths.as_ref().map_err(Clone::clone)?;
                    let mut found = seen.get(path).cloned().unwrap_or_else(|| Err(cut_off()))?;
                    // Somebody else may have asked for more.
                    if let Some(Found { what: What::File(file), .. }) = &mut found
                        && matches!(content, Content::Nothing | Content::Digest)
                    {
                        file.content = None;
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
    ) -> Result<BTreeMap<String, Result<Option<Found>, Error>>, Error> {
        let mut seen = BTreeMap::new();
        if self.paths.is_empty() {
            return Ok(seen);
        }
        let look = next()?;
        let text = String::from_utf8_lossy(&look.body).into_owned();
        let mut lines = text.lines();
        let signs = lines.next().unwrap_or_default();
        for ((path, _), sign) in self.paths.iter().zip(signs.chars()) {
            let found = match sign {
                '0' => Ok(None),
                '1' => lines.next().and_then(found).map(Some).ok_or_else(|| changing(path)),
                _ => Err(denied(path)),
            };
            seen.insert(path.clone(), found);
        }
        for (path, _) in &self.paths {
            if let Some(Ok(Some(Found { what: What::Link(target), .. }))) = seen.get_mut(path) {
                let body = next()?.body;
                *target = body.strip_suffix(b"\n").map(<[u8]>::to_vec).unwrap_or(body);
            }
        }
        if self.files().next().is_some() {
            let readable = next()?.body;
            let readable: Vec<bool> =
                readable.iter().take_while(|sign| **sign != b'\n').map(|s| *s == b'1').collect();
            for ((path, content), is_readable) in self.files().zip(readable) {
                let part = if is_readable { Some(next()?) } else { None };
                if let Some(Ok(Some(Found { what: What::File(file), .. }))) = seen.get_mut(path)
                    && let Err(error) = read_into(file, path, content, part)
                {
                    seen.insert(path.clone(), Err(error));
                }
            }
        }
        Ok(seen)
    }
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

/// Reads a line of `look`: mode in hexadecimal digits, size, owner, group.
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

fn read_into(file: &mut File, path: &str, wanted: &Content, part: Option<Section>) -> Result<(), Error> {
    let Some(Section { body, word, .. }) = part else {
        let help = "connect as somebody who may read it, or let root do it";
        return Err(Error::permanent(format!("`{path}` cannot be read: permission denied")).help(help));
    };
    let end = memchr::memchr(b'\n', &body).ok_or_else(|| changing(path))?;
    let digest = std::str::from_utf8(&body[..end]).map_err(|_| changing(path))?.to_owned();
    if word != "same" {
        let content = body[end + 1..].to_vec();
        if content.len() > MOST && *wanted == Content::Whole {
            let message = format!("`{path}` has more than {MOST} bytes, and all of them are needed");
            return Err(Error::permanent(message));
        }
        file.size = file.size.max(content.len() as u64);
        file.content = (content.len() <= MOST).then_some(content);
    }
    file.digest = Some(digest);
    Ok(())
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
