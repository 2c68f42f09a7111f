//! Directories → configuration: finds the files, parses them in parallel, reads the modules and follows their calls.

use std::collections::HashMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use fleet_lang::Outside;
use fleet_syntax::tree::Body;
use fleet_syntax::{Diagnostic, Diagnostics, FileId, Severity, Sources, decode};
use rayon::prelude::*;

use super::calls;
use super::model::{Config, Module, ModuleId};
use super::read::{self, Read};

/// What the names of configuration files end in.
pub const EXTENSION: &str = ".fleet.hcl";

/// The longest text that is read. Far longer than anybody writes, far shorter than what positions can count.
pub const MAX_BYTES: usize = 64 << 20;

/// Loads the configuration in a directory with all modules it calls, and says everything that is wrong with it.
///
/// What could be read is there even if something is wrong, so that later stages can say what they find too.
pub fn load(outside: &dyn Outside, root: &Path, sources: &mut Sources) -> (Config, Diagnostics) {
    let mut loader = Loader {
        outside,
        sources,
        known: HashMap::new(),
        failures: HashMap::new(),
        modules: Vec::new(),
        diagnostics: Diagnostics::new(),
    };
    let root = shortest(root);
    loader.known.insert(loader.identity(&root), Config::ROOT);
    let mut found = vec![root];
    while !found.is_empty() {
        found = loader.level(found);
    }
    let (mut config, mut diagnostics) = loader.finish();
    calls::break_loops(&mut config, &mut diagnostics);
    // Texts are numbered in the order they were met, so this is the order of reading.
    diagnostics.sort_by_key(|diagnostic| diagnostic.span);
    (config, diagnostics)
}

/// Reads a text for parsing.
pub(super) fn read_text(
    outside: &dyn Outside,
    path: &Path,
    sources: &mut Sources,
) -> Result<FileId, Diagnostic> {
    let name = path.display().to_string();
    let bytes = outside.read(path).map_err(|error| {
        let detail = format!("Reading the file failed: {error}.");
        plain(format!("cannot read `{name}`"), detail, "check the path and the permissions")
    })?;
    if bytes.len() > MAX_BYTES {
        let detail = format!("It has {} bytes, and at most {MAX_BYTES} are read.", bytes.len());
        return Err(plain(format!("`{name}` is too large"), detail, "split it into several files"));
    }
    match decode(&bytes) {
        Ok(text) => Ok(sources.add(name, text)),
        Err(error) => {
            let file = sources.add(name, &*error.text);
            Err(error.diagnostic(file))
        }
    }
}

/// The path of a file as people see it: the place where the command works is no part of it.
pub(super) fn in_dir(dir: &Path, name: &str) -> PathBuf {
    if dir == Path::new(".") { PathBuf::from(name) } else { dir.join(name) }
}

/// An error that no text is to blame for.
pub(super) fn plain(
    summary: impl Into<String>,
    detail: impl Into<String>,
    help: impl Into<String>,
) -> Diagnostic {
    Diagnostic {
        severity: Severity::Error,
        summary: summary.into(),
        detail: detail.into(),
        span: None,
        related: Vec::new(),
        address: None,
        help: Some(help.into()),
    }
}

struct Loader<'a> {
    outside: &'a dyn Outside,
    sources: &'a mut Sources,
    /// Every directory met so far by its [identity](Loader::identity), numbered in that order.
    known: HashMap<PathBuf, ModuleId>,
    /// The directories that hold no module, with what to say about it.
    failures: HashMap<ModuleId, Diagnostic>,
    modules: Vec<Module>,
    diagnostics: Diagnostics,
}

impl Loader<'_> {
    /// Loads directories side by side and returns those that they call for the first time.
    fn level(&mut self, found: Vec<PathBuf>) -> Vec<PathBuf> {
        let first = self.modules.len() as u32;
        let texts: Vec<_> = found
            .into_iter()
            .zip(first..)
            .map(|(dir, id)| {
                let n_problems = self.diagnostics.len() + self.failures.len();
                let files = self.texts(&dir, ModuleId(id));
                let incomplete = self.diagnostics.len() + self.failures.len() > n_problems;
                (dir, files, incomplete)
            })
            .collect();
        let sources = &*self.sources;
        let read = |(dir, files, incomplete)| {
            let mut read = read_module(dir, first == 0, files, sources);
            read.module.incomplete |= incomplete;
            read
        };
        let read = side_by_side(texts, read);
        let mut next = Vec::new();
        for Read { mut module, diagnostics } in read {
            self.diagnostics.extend(diagnostics);
            let dir = module.dir.clone();
            for call in module.all_calls_mut() {
                let Some(source) = &call.source else { continue };
                let callee = shortest(&dir.join(&*source.path));
                let (identity, number) = (self.identity(&callee), ModuleId(self.known.len() as u32));
                call.module = Some(*self.known.entry(identity).or_insert_with(|| {
                    next.push(callee);
                    number
                }));
            }
            self.modules.push(module);
        }
        next
    }

    /// What two paths to the same directory have in common, so that links cannot lead round and round.
    fn identity(&self, dir: &Path) -> PathBuf {
        self.outside.real(dir).unwrap_or_else(|_| dir.to_owned())
    }

    /// Reads the files of a directory in name order.
    fn texts(&mut self, dir: &Path, id: ModuleId) -> Vec<FileId> {
        let mut names = match self.outside.list(dir) {
            Ok(names) => names,
            Err(error) => {
                let summary = match error.kind() {
                    io::ErrorKind::NotFound => format!("directory `{}` not found", dir.display()),
                    _ => format!("cannot list `{}`", dir.display()),
                };
                let detail = format!("Listing the directory failed: {error}.");
                self.failures.insert(id, plain(summary, detail, "check the path and the permissions"));
                return Vec::new();
            }
        };
        names.retain(|name| name.ends_with(EXTENSION) && !name.starts_with('.'));
        names.sort_unstable();
        if names.is_empty() {
            let detail = format!("`{}` has no file whose name ends in `{EXTENSION}`.", dir.display());
            let help = match id {
                Config::ROOT => {
                    "run `fleet init` to start a configuration, or choose another directory with `-C DIR`"
                }
                _ => "check the path, or add a file to the module",
            };
            self.failures.insert(id, plain("no configuration", detail, help));
        }
        let mut files = Vec::new();
        for name in names {
            match read_text(self.outside, &in_dir(dir, &name), self.sources) {
                Ok(file) => files.push(file),
                Err(diagnostic) => self.diagnostics.push(diagnostic),
            }
        }
        files
    }

    /// Takes back the calls of what is no module, each with a word about it.
    fn finish(mut self) -> (Config, Diagnostics) {
        if let Some(failure) = self.failures.get(&Config::ROOT) {
            self.diagnostics.push(failure.clone());
        }
        for call in self.modules.iter_mut().flat_map(Module::all_calls_mut) {
            if let (Some(callee), Some(source)) = (call.module, &call.source)
                && let Some(failure) = self.failures.get(&callee)
            {
                self.diagnostics.push(Diagnostic { span: Some(source.span), ..failure.clone() });
                call.module = None;
            }
        }
        (Config { modules: self.modules }, self.diagnostics)
    }
}

fn read_module(dir: PathBuf, is_root: bool, files: Vec<FileId>, sources: &Sources) -> Read {
    let parsed = side_by_side(files, |file| fleet_syntax::parse(file, &sources.get(file).text));
    let (bodies, syntax): (Vec<Body>, Vec<Diagnostics>) = parsed.into_iter().unzip();
    let mut read = read::module(dir, is_root, bodies);
    read.diagnostics.splice(..0, syntax.into_iter().flatten());
    read
}

/// The same work on each, in their order, on as many threads as there are. One alone is not worth waking others.
fn side_by_side<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Send + Sync) -> Vec<R> {
    match items.len() {
        0 | 1 => items.into_iter().map(work).collect(),
        _ => items.into_par_iter().map(work).collect(),
    }
}

/// The path without `.` and without names that `..` takes back; `.` if nothing is left. Links are not looked at.
fn shortest(path: &Path) -> PathBuf {
    let mut result = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match result.components().next_back() {
                Some(Component::Normal(_)) => {
                    result.pop();
                }
                Some(Component::RootDir | Component::Prefix(_)) => {}
                _ => result.push(".."),
            },
            part => result.push(part),
        }
    }
    if result.as_os_str().is_empty() { PathBuf::from(".") } else { result }
}
