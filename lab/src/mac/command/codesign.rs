//! `codesign`: signs, verifies and shows; a file, or with `+PID` what runs.

use std::fs;
use std::path::Path;

use super::directory::ended;
use super::{Call, Failure, Outcome, reason};
use crate::mac::launchd::signature::{Signature, sign};

/// What is asked of it.
#[derive(Debug, Default)]
struct Wish {
    signs: Option<String>,
    force: bool,
    verifies: bool,
    displays: bool,
    verbose: u32,
    identifier: Option<String>,
    files: Vec<String>,
}

const USAGE: &str = "Usage: codesign -s identity [-fv*] [-o flags] [-r reqs] [-i ident] path ... # sign\n       \
                     codesign -v [-v*] [-R=<req string>|-R <req file path>] path|[+]pid ... # verify\n       \
                     codesign -d [options] path ... # display contents\n       codesign -h pid ... # display hosting paths";

pub(super) fn codesign(call: &mut Call) -> Outcome {
    let wish = Wish::read(&call.texts()).ok_or_else(|| Failure { text: USAGE.into(), status: 2 })?;
    if wish.files.is_empty() || (wish.signs.is_none() && !wish.verifies && !wish.displays) {
        return Err(Failure { text: USAGE.into(), status: 2 });
    }
    let mut status = 0;
    for file in &wish.files {
        let done = match (&wish.signs, file.strip_prefix('+')) {
            (Some(identity), _) => wish.sign(call, identity, file),
            (None, Some(pid)) => wish.look_at_process(call, file, pid),
            (None, None) => wish.look_at_file(call, file),
        };
        if let Err(text) = done {
            // Its complaints start with the file, not with its own name.
            let _ = std::io::Write::write_all(&mut call.stderr, format!("{file}: {text}\n").as_bytes());
            status = 1;
        }
    }
    ended(status)
}

impl Wish {
    fn read(words: &[String]) -> Option<Wish> {
        let mut wish = Wish::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-f" | "--force" => wish.force = true,
                "-s" | "--sign" => wish.signs = Some(words.next()?.clone()),
                "-i" | "--identifier" => wish.identifier = Some(words.next()?.clone()),
                "--verify" => wish.verifies = true,
                "--display" => wish.displays = true,
                "--strict" | "--deep" | "--timestamp=none" | "--" => {}
                long if long.starts_with("--verbose") => {
                    wish.verbose = long.split_once('=').map_or(Some(1), |(_, level)| level.parse().ok())?;
                }
                letters if letters.starts_with('-') && !letters.starts_with("--") => {
                    for letter in letters.chars().skip(1) {
                        match letter {
                            'd' => wish.displays = true,
                            'v' if wish.displays || wish.verifies || wish.signs.is_some() => {
                                wish.verbose += 1;
                            }
                            'v' => wish.verifies = true,
                            _ => return None,
                        }
                    }
                }
                file if !file.starts_with('-') => wish.files.push(file.to_owned()),
                _ => return None,
            }
        }
        Some(wish)
    }

    /// Signs a file. The signed one is a new file by the old name, as with the real one.
    fn sign(&self, call: &Call, identity: &str, file: &str) -> Result<(), String> {
        if identity != "-" {
            return Err(format!("no identity found: {identity}"));
        }
        let path = call.path_to_write(file.as_ref()).map_err(|error| reason(&error))?;
        let content = fs::read(&path).map_err(|error| reason(&error))?;
        if Signature::of(&content) != Signature::None && !self.force {
            return Err("is already signed".to_owned());
        }
        let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let signed = sign(&content, self.identifier.as_deref().unwrap_or(&name));
        let write = || {
            let new = path.with_file_name(format!("{name}.cstemp"));
            let owner = call.mac.disk().owner(&path);
            fs::write(&new, signed)?;
            fs::set_permissions(&new, fs::metadata(&path)?.permissions())?;
            fs::rename(&new, &path)?;
            let mut disk = call.mac.disk();
            disk.own(&path, owner)?;
            disk.store()
        };
        write().map_err(|error: std::io::Error| reason(&error))?;
        if Signature::of(&content) != Signature::None {
            let _ = std::io::Write::write_all(
                &mut &call.stderr,
                format!("{file}: replacing existing signature\n").as_bytes(),
            );
        }
        Ok(())
    }

    fn look_at_file(&self, call: &mut Call, file: &str) -> Result<(), String> {
        let path = call.path(file.as_ref());
        let content = fs::read(&path).map_err(|error| reason(&error))?;
        let unsigned = "code object is not signed at all";
        match Signature::of(&content) {
            Signature::None if self.verifies => Err(format!("{unsigned}\nIn architecture: arm64")),
            Signature::None => Err(unsigned.to_owned()),
            Signature::Broken if self.verifies => {
                Err("invalid signature (code or signature have been modified)\nIn architecture: arm64"
                    .to_owned())
            }
            // What is only shown is not checked.
            Signature::Broken => {
                self.show(call, file, "?", "0000000000000000000000000000000000000000");
                Ok(())
            }
            Signature::Valid { identifier, cdhash } => {
                if self.displays {
                    self.show(call, file, &identifier, &cdhash);
                } else if self.verbose > 0 {
                    let text =
                        format!("{file}: valid on disk\n{file}: satisfies its Designated Requirement\n");
                    let _ = std::io::Write::write_all(&mut call.stderr, text.as_bytes());
                }
                Ok(())
            }
        }
    }

    fn look_at_process(&self, call: &mut Call, word: &str, pid: &str) -> Result<(), String> {
        let found = {
            let live = call.mac.live();
            let mut all = live.iter().flat_map(|live| live.launchd.processes());
            all.find(|(_, process)| process.pid.to_string() == pid).map(|(_, process)| process.clone())
        };
        let process = found.ok_or("No such process")?;
        let cdhash = process.cdhash.ok_or("code object is not signed at all")?;
        let name = process.program.rsplit('/').next().unwrap_or_default().to_owned();
        if self.displays {
            self.show(call, &process.program, &name, &cdhash);
        } else if self.verbose > 0 {
            let text = format!("{word}: dynamically valid\n{word}: satisfies its Designated Requirement\n");
            let _ = std::io::Write::write_all(&mut call.stderr, text.as_bytes());
        }
        Ok(())
    }

    /// All of it goes to the error output, as with the real one.
    fn show(&self, call: &mut Call, file: &str, identifier: &str, cdhash: &str) {
        let mut text = format!("Executable={file}\n");
        if self.verbose > 0 {
            text += &format!(
                "Identifier={identifier}\nFormat=Mach-O thin (arm64)\nCodeDirectory v=20400 size=258 flags=0x2(adhoc) hashes=3+2 location=embedded\n"
            );
        }
        if self.verbose > 2 {
            text += &format!(
                "Hash type=sha256 size=32\nCandidateCDHash sha256={cdhash}\nHash choices=sha256\nCDHash={cdhash}\n"
            );
        }
        if self.verbose > 0 {
            text += "Signature=adhoc\nInfo.plist=not bound\nTeamIdentifier=not set\nSealed Resources=none\nInternal requirements count=0 size=12\n";
        }
        // Nobody may be left to read it; the status stays.
        let _ = std::io::Write::write_all(&mut call.stderr, text.as_bytes());
    }
}
