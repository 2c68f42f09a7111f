//! `fleet init`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::{Env, Exit, Failure};

/// Write a small commented fleet to start from
///
/// The files are valid as they are. Files that exist are never overwritten: init then names them and writes nothing.
///
///   fleet init            in the current directory
///   fleet init mysite     in a directory, made if it is not there
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct InitArgs {
    /// Where to write
    #[arg(value_name = "DIR", default_value = ".")]
    target: PathBuf,
}

/// The files of the start, by name.
const FILES: [(&str, &str); 3] = [
    ("main.fleet.hcl", include_str!("init/main.fleet.hcl")),
    ("fleet.vars.hcl", include_str!("init/fleet.vars.hcl")),
    (".gitignore", include_str!("init/gitignore")),
];

pub(crate) fn init(env: &mut Env, args: &InitArgs) -> Result<Exit, Failure> {
    let directory = env.cwd.join(&args.target);
    let in_the_way: Vec<String> = FILES
        .iter()
        .map(|(name, _)| args.target.join(name))
        .filter(|path| env.cwd.join(path).symlink_metadata().is_ok())
        .map(|path| format!("`{}`", tidy(&path)))
        .collect();
    if !in_the_way.is_empty() {
        let verb = if in_the_way.len() == 1 { "exists" } else { "exist" };
        return Err(Failure::new(format!("{} {verb} already, nothing was written", in_the_way.join(", ")))
            .help("init only starts new fleets; choose another directory"));
    }
    fs::create_dir_all(&directory)
        .map_err(|e| Failure::of(format_args!("cannot make `{}`", args.target.display()), &e))?;
    for (name, text) in FILES {
        let path = args.target.join(name);
        write_new(&env.cwd.join(&path), text)
            .map_err(|e| Failure::of(format_args!("cannot write `{}`", tidy(&path)), &e))?;
        writeln!(env.stdout, "wrote {}", tidy(&path))?;
    }
    let go = if args.target == Path::new(".") {
        String::new()
    } else {
        format!("cd {} && ", args.target.display())
    };
    writeln!(env.stdout, "\nNext: {go}fleet validate && fleet plan")?;
    Ok(Exit::Done)
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    fs::File::create_new(path)?.write_all(text.as_bytes())
}

fn tidy(path: &Path) -> String {
    path.strip_prefix(".").unwrap_or(path).display().to_string()
}
