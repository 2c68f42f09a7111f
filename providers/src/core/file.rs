//! `core_file`: a file on this machine.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::resource::{ApiKind, At, Change, Error, Resource};
use tokio::task::spawn_blocking;

use super::{Acting, Looking};
use crate::mode;

/// A text file on the machine that runs fleet.
///
/// Written beside its place and renamed, so that readers see the old or the new content and nothing between. The
/// directory must exist.
///
/// ```hcl
/// resource "core_file" "motd" {
///   path    = "motd"
///   content = "Welcome.\n"
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct File {
    /// Where it lies; relative to the directory that fleet works in.
    #[fleet(replace)]
    pub(super) path: String,
    /// The whole content. A file that is not UTF-8 text is observed as null.
    #[fleet(required)]
    pub(super) content: Option<String>,
    /// The permission bits, in octal.
    #[fleet(default = "0644")]
    pub(super) mode: String,
}

impl Resource for File {
    const NAME: &'static str = "core_file";
    const ID: Option<&'static str> = Some("the path");

    fn normalize(&mut self) -> Result<(), Misfit> {
        check_path(&self.path)?;
        self.mode = mode::normal(&self.mode)?;
        Ok(())
    }
}

impl ApiKind for File {
    type Reader = Looking;
    type Writer = Acting;

    async fn observe(reader: &Looking, batch: Vec<At<File>>) -> Vec<Result<Option<File>, Error>> {
        // What stands where something known stands is that.
        let known = |at: &At<File>| matches!(at, At::Begun { wish, except } if except.iter().any(|known| known.path == wish.path));
        let is_known: Vec<bool> = batch.iter().map(known).collect();
        let found = look(reader, batch.into_iter().map(path_of).collect()).await;
        found.into_iter().zip(is_known).map(|(found, known)| if known { Ok(None) } else { found }).collect()
    }

    async fn apply(self, writer: &Acting, _: Change<File>) -> Result<File, Error> {
        let path = writer.directory.join(&self.path);
        let wish = self.clone();
        let written = in_background(format!("cannot write `{}`", self.path), move || {
            let content = wish.content.unwrap_or_default();
            replace(&path, content.as_bytes(), mode::parse(&wish.mode).unwrap_or(0o644))
        });
        let directory = Path::new(&self.path).parent();
        match directory.filter(|parent| !writer.directory.join(parent).is_dir()) {
            Some(directory) => {
                let help = format!("make the directory `{}` first", directory.display());
                written.await.map_err(|error| error.help(help))?;
            }
            None => written.await?,
        }
        Ok(self)
    }

    async fn destroy(writer: &Acting, observed: File) -> Result<(), Error> {
        let path = writer.directory.join(&observed.path);
        in_background(format!("cannot remove `{}`", observed.path), move || {
            remove_if_there(&beside(&path)?)?;
            remove_if_there(&path)?;
            sync_directory(&path)
        })
        .await
    }
}

fn path_of(at: At<File>) -> String {
    match at {
        At::Recorded(file) | At::Declared(file) | At::Begun { wish: file, .. } => file.path,
        At::Id(path) => path.to_string(),
    }
}

/// A path can be used as one.
pub(super) fn check_path(path: &str) -> Result<(), Misfit> {
    let fits = !path.is_empty() && !path.contains('\0');
    if fits { Ok(()) } else { Err(Misfit::new("path", "a path is needed")) }
}

/// Looks at files by their paths; `None` where there is nothing.
pub(super) async fn look(reader: &Looking, paths: Vec<String>) -> Vec<Result<Option<File>, Error>> {
    let (n_asked, directory) = (paths.len(), reader.directory.clone());
    let look = move || paths.into_iter().map(|path| look_at(&directory, path)).collect();
    spawn_blocking(look).await.unwrap_or_else(|_| {
        (0..n_asked).map(|_| Err(Error::permanent("looking at files was interrupted"))).collect()
    })
}

fn look_at(directory: &Path, path: String) -> Result<Option<File>, Error> {
    let target = directory.join(&path);
    let fail = |error| Error::permanent(format!("cannot read `{path}`")).because(error);
    let metadata = match fs::symlink_metadata(&target) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
    };
    if !metadata.is_file() {
        let error = Error::permanent(format!("`{path}` is there, but is not a regular file"));
        return Err(error.help("move it away, or choose another `path`"));
    }
    let content = String::from_utf8(fs::read(&target).map_err(fail)?).ok();
    let mode = mode::format(metadata.permissions().mode() & 0o7777);
    Ok(Some(File { path, content, mode }))
}

/// Puts a file in the place of another in one step. The name beside it is always the same, so that what a crash left
/// there is taken away by the next try.
fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let temporary = beside(path)?;
    remove_if_there(&temporary)?;
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(content)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    sync_directory(path)
}

fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    Ok(path.with_file_name(format!(".{}.fleet-new", name.display())))
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a rename or removal last: it is the directory that changed.
fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(parent)?.sync_all()
}

async fn in_background(
    doing: String,
    work: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> Result<(), Error> {
    let done = spawn_blocking(work).await.unwrap_or_else(|stopped| Err(io::Error::other(stopped)));
    done.map_err(|error| Error::permanent(doing).because(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, content: &str, mode: &str) -> File {
        File { path: path.into(), content: Some(content.into()), mode: mode.into() }
    }

    fn hands(directory: &Path) -> (Looking, Acting) {
        (Looking { directory: directory.into() }, Acting { directory: directory.into() })
    }

    #[tokio::test]
    async fn a_file_is_made_seen_changed_and_removed() {
        let directory = tempfile::tempdir().unwrap();
        let (looking, acting) = hands(directory.path());
        let see = async |file: &File| {
            File::observe(&looking, vec![At::Declared(file.clone())]).await.remove(0).unwrap()
        };
        let first = file("a", "one", "0640");
        assert_eq!(see(&first).await, None);
        fs::write(directory.path().join(".a.fleet-new"), "left by a crash").unwrap();
        first.clone().apply(&acting, Change::Create).await.unwrap();
        assert_eq!(see(&first).await.as_ref(), Some(&first));

        let second = file("a", "two", "0600");
        second.clone().apply(&acting, Change::Update { from: first }).await.unwrap();
        assert_eq!(see(&second).await.as_ref(), Some(&second));

        fs::write(directory.path().join("a"), [0xff]).unwrap();
        let odd = see(&second).await.unwrap();
        assert_eq!(odd.content, None);

        File::destroy(&acting, odd.clone()).await.unwrap();
        File::destroy(&acting, odd).await.unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn what_is_in_the_way_is_named() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("a")).unwrap();
        let (looking, acting) = hands(directory.path());
        let seen = File::observe(&looking, vec![At::Declared(file("a", "", "0644"))]).await.remove(0);
        assert_eq!(seen.unwrap_err().to_string(), "`a` is there, but is not a regular file");
        let failed = file("no/b", "", "0644").apply(&acting, Change::Create).await.unwrap_err();
        assert_eq!(failed.to_string(), "cannot write `no/b`");
    }
}
