//! `data "core_file"`: what stands in a file on this machine.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::resource::{DataKind, Error};

use super::Looking;
use super::file::{File, check_path, look};

/// Reads a text file on the machine that runs fleet.
///
/// That there is no such file is no error: `exists` is false, and the other results are null.
///
/// ```hcl
/// data "core_file" "key" {
///   path = "fleet.pub"
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct FileData {
    /// Where it lies; relative to the directory that fleet works in.
    path: String,
    /// Whether there is a file.
    #[fleet(computed)]
    exists: Option<bool>,
    /// The whole content; null for a file that is not UTF-8 text.
    #[fleet(computed)]
    content: Option<String>,
    /// The permission bits, in octal.
    #[fleet(computed)]
    mode: Option<String>,
}

impl DataKind for FileData {
    const NAME: &'static str = "core_file";
    type Reader = Looking;

    fn normalize(&mut self) -> Result<(), Misfit> {
        check_path(&self.path)
    }

    async fn read(reader: &Looking, batch: Vec<FileData>) -> Vec<Result<FileData, Error>> {
        let paths: Vec<String> = batch.into_iter().map(|asked| asked.path).collect();
        let found = look(reader, paths.clone()).await;
        paths.into_iter().zip(found).map(|(path, found)| Ok(describe(path, found?))).collect()
    }
}

fn describe(path: String, found: Option<File>) -> FileData {
    let exists = Some(found.is_some());
    let (content, mode) = found.map_or((None, None), |file| (file.content, Some(file.mode)));
    FileData { path, exists, content, mode }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn each_file_is_read_or_said_to_be_missing() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a"), "text").unwrap();
        fs::write(directory.path().join("b"), [0xff]).unwrap();
        fs::create_dir(directory.path().join("d")).unwrap();
        let reader = Looking { directory: directory.path().into() };
        let ask = |path: &str| FileData { path: path.into(), exists: None, content: None, mode: None };
        let read = FileData::read(&reader, ["a", "none", "b", "d"].map(ask).into()).await;
        let told = |read: &Result<FileData, Error>| match read {
            Ok(read) => format!("{} {:?} {:?}", read.path, read.exists, read.content),
            Err(error) => error.to_string(),
        };
        assert_eq!(
            read.iter().map(told).collect::<Vec<_>>(),
            [
                "a Some(true) Some(\"text\")",
                "none Some(false) None",
                "b Some(true) None",
                "`d` is there, but is not a regular file",
            ]
        );
    }
}
