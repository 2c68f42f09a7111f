//! The document of a plan: printed in the form the user wants, saved, and read again.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;
use fleet_engine::document::{Document, saved};
use fleet_engine::render::{self, Colour};

use crate::{Env, Failure};

/// In which form to print a plan.
#[derive(Debug, clap::Args)]
pub(crate) struct FormatArgs {
    /// How to print the plan
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Print the plan for programs: the same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// The forms to choose from.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For a comment on a pull request, cut to what GitHub allows
    Markdown,
    /// For programs
    Json,
}

impl FormatArgs {
    /// Whether programs read what is printed, and not people.
    pub(crate) fn is_for_programs(&self) -> bool {
        matches!(self.chosen(), Format::Json)
    }

    fn chosen(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// Prints a plan.
pub(crate) fn print(env: &mut Env, document: &Document, args: &FormatArgs) -> Result<(), Failure> {
    let text = match args.chosen() {
        Format::Text => return print_text(env, document),
        Format::Markdown => render::markdown(document),
        Format::Json => render::json(document),
    };
    Ok(env.stdout.write_all(text.as_bytes())?)
}

/// Prints a plan for people.
pub(crate) fn print_text(env: &mut Env, document: &Document) -> Result<(), Failure> {
    let colour = if env.color_on_stdout() { Colour::Ansi } else { Colour::Plain };
    Ok(env.stdout.write_all(render::text(document, colour).as_bytes())?)
}

/// Writes a plan to a file: whole, or not at all.
pub(crate) fn save(env: &mut Env, document: &Document, path: &Path) -> Result<(), Failure> {
    let target = env.cwd.join(path);
    let name = path.display();
    let written = write_whole(&target, &saved::write(document));
    written.map_err(|error| Failure::of(format!("the plan cannot be saved to `{name}`"), &error))?;
    Ok(writeln!(env.stderr, "The plan is saved. Apply exactly this one with: fleet apply {name}")?)
}

/// Reads a plan from a file.
pub(crate) fn read(env: &Env, path: &Path) -> Result<Document, Failure> {
    let name = path.display();
    let content = fs::read(env.cwd.join(path))
        .map_err(|error| Failure::of(format!("the plan `{name}` cannot be read"), &error))?;
    saved::read(&content)
        .map_err(|error| Failure::of(format!("the plan `{name}` cannot be read"), &error).help(error.help()))
}

fn write_whole(target: &Path, content: &[u8]) -> io::Result<()> {
    let directory = target.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(content)?;
    // Nobody else reads it while it is written. Then anybody may: nothing in it is secret.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    file.as_file().sync_all()?;
    file.persist(target).map(|_| ()).map_err(|error| error.error)
}
