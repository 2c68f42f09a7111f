//! `fleet fmt`.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fleet_syntax::{Diagnostics, Sources, decode};
use similar::TextDiff;

use crate::{Env, Exit, Failure, diagnostics};

/// Write configuration files in their canonical form
///
/// The layout is that of `terraform fmt`: two spaces of indentation, and `=` and
/// trailing comments of neighbouring lines in one column. Comments, line breaks and
/// the meaning stay. The names of the files that changed are printed. A file with a
/// syntax error is reported and left alone.
///
///   fleet fmt                      *.fleet.hcl and *.vars.hcl in the current directory
///   fleet fmt --recursive modules  those below a directory too
///   fleet fmt --check --diff       for CI: write nothing, show what would change; exits 3
///   fleet fmt - < in > out         standard input to standard output, for editors
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct FmtArgs {
    /// Write nothing; exit with 3 if a file is not in canonical form
    #[arg(long)]
    check: bool,
    /// Print what changes as a unified diff
    #[arg(long)]
    diff: bool,
    /// Go into subdirectories too, except hidden ones
    #[arg(long, short)]
    recursive: bool,
    /// Files, directories, or `-` for standard input
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
}

/// How the names of the files end that a directory stands for.
const ENDINGS: [&str; 2] = [".fleet.hcl", ".vars.hcl"];

/// Long enough for any edit people make; after it the diff is still right, only not the shortest.
const DIFF_PATIENCE: Duration = Duration::from_millis(500);

pub(crate) fn fmt(env: &mut Env, args: &FmtArgs) -> Result<Exit, Failure> {
    let mut run = Run { args, sources: Sources::default(), findings: Vec::new(), changed: false };
    if args.paths == [Path::new("-")] {
        run.stdin(env)?;
    } else {
        for file in files(env, args)? {
            run.file(env, &file)?;
        }
    }
    if !run.findings.is_empty() {
        diagnostics::report(env, &run.findings, &run.sources)?;
        return Ok(Exit::Failed);
    }
    Ok(if args.check && run.changed { Exit::Unformatted } else { Exit::Done })
}

/// One run over all files. A file with errors does not keep the others from being formatted.
struct Run<'a> {
    args: &'a FmtArgs,
    sources: Sources,
    findings: Diagnostics,
    changed: bool,
}

impl Run<'_> {
    fn stdin(&mut self, env: &mut Env) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        env.stdin.read_to_end(&mut bytes).map_err(|e| Failure::of("cannot read standard input", &e))?;
        let Some((old, new)) = self.format("<stdin>", &bytes) else { return Ok(()) };
        self.changed |= *old != new;
        if self.args.diff {
            print_diff(env, "<stdin>", &old, &new)?;
        } else if !self.args.check {
            env.stdout.write_all(new.as_bytes())?;
        }
        Ok(())
    }

    fn file(&mut self, env: &mut Env, path: &Path) -> Result<(), Failure> {
        let name = tidy(path);
        let path = env.cwd.join(path);
        let bytes = fs::read(&path).map_err(|e| Failure::of(format_args!("cannot read `{name}`"), &e))?;
        let Some((old, new)) = self.format(&name, &bytes) else { return Ok(()) };
        if *old == new {
            return Ok(());
        }
        self.changed = true;
        if !self.args.check {
            replace(&path, &new).map_err(|e| Failure::of(format_args!("cannot write `{name}`"), &e))?;
        }
        writeln!(env.stdout, "{name}")?;
        if self.args.diff {
            print_diff(env, &name, &old, &new)?;
        }
        Ok(())
    }

    /// The text and its canonical form, unless there are errors in it to report.
    fn format(&mut self, name: &str, bytes: &[u8]) -> Option<(Arc<str>, String)> {
        let errors = match decode(bytes) {
            Ok(text) => {
                let file = self.sources.add(name, text);
                match fleet_syntax::format(file, text) {
                    Ok(new) => return Some((self.sources.get(file).text.clone(), new)),
                    Err(errors) => errors,
                }
            }
            Err(undecodable) => {
                vec![undecodable.diagnostic(self.sources.add(name, undecodable.text.as_str()))]
            }
        };
        self.findings.extend(errors);
        None
    }
}

/// The files that the arguments name, those of a directory in order of their names.
fn files(env: &Env, args: &FmtArgs) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in &args.paths {
        if path == Path::new("-") {
            return Err(Failure::new("`-` stands for standard input and goes with no other path"));
        }
        let kind = fs::metadata(env.cwd.join(path))
            .map_err(|e| Failure::of(format_args!("cannot read `{}`", path.display()), &e))?;
        if kind.is_dir() {
            files_in(env, path, args.recursive, &mut files)?;
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn files_in(env: &Env, top: &Path, recursive: bool, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    // Directories still to read, the next one last.
    let mut directories = vec![top.to_path_buf()];
    while let Some(directory) = directories.pop() {
        let failed = |e| Failure::of(format_args!("cannot read `{}`", directory.display()), &e);
        let entries = fs::read_dir(env.cwd.join(&directory)).map_err(failed)?;
        let mut entries: Vec<_> = entries.collect::<Result<_, _>>().map_err(failed)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut below = Vec::new();
        for entry in entries {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // A link to a directory may lead back up; one to a file is as good as the file.
            if name.starts_with('.') {
                continue;
            } else if entry.file_type().map_err(failed)?.is_dir() {
                below.push(directory.join(&*entry.file_name()));
            } else if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
                files.push(directory.join(entry.file_name()));
            }
        }
        if recursive {
            directories.extend(below.into_iter().rev());
        }
    }
    Ok(())
}

/// Puts a new text in a file's place in one step, so that no reader ever sees half of it.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    // Of a link, the file it leads to is meant.
    let path = fs::canonicalize(path)?;
    let directory = path.parent().unwrap_or(Path::new("/"));
    let mut new = tempfile::Builder::new().prefix(".fleet-fmt").tempfile_in(directory)?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(fs::metadata(&path)?.permissions())?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    Ok(())
}

fn print_diff(env: &mut Env, name: &str, old: &str, new: &str) -> Result<(), Failure> {
    let diff = TextDiff::configure().timeout(DIFF_PATIENCE).diff_lines(old, new);
    let (before, after) = (format!("old/{name}"), format!("new/{name}"));
    write!(env.stdout, "{}", diff.unified_diff().header(&before, &after))?;
    Ok(())
}

fn tidy(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}
