//! `macos_sudoers`: what the user of the connection may do as root without a password.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::probe::What;
use fleet_engine::host::step::{Content, Keep};
use fleet_engine::host::{Act, Bytes, HostKind, Output, Probe, Read, Reply, Revert, Step, Tool};
use fleet_engine::resource::{At, Change, Edge, Error, Resource};

use crate::cure;
use crate::host::common::{in_the_way, is_another, named};
use crate::mode;

/// Lets the user of the connection become root without a password. Everything else that root does comes after it.
///
/// It is a file in `/etc/sudoers.d`, checked by `visudo` before it counts. Whether it *does* count is what `sudo` itself says. The first time takes
/// the password of the user, which the connection has as `sudo_password`: it goes to `sudo` on its input, and never twice
/// in a run, because accounts lock. Without a password nothing is tried.
///
/// ```hcl
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
/// }
///
/// fleet "desk" {
///   pool     = pool.desk
///   hosts    = ["mini-a"]
///   hostname = host.key
///   connection "ssh" {}
///
///   resource "macos_sudoers" "m1" {
///     user = "m1"
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Sudoers {
    /// The user of the connection.
    #[fleet(replace)]
    user: String,
    /// What may be done without a password: `ALL`, or whole paths of programs. Observed is what `sudo` allows. What other files
    /// allow besides is no difference, as long as the file here has the size of its rule.
    #[fleet(default = vec!["ALL".to_owned()])]
    commands: Vec<String>,
    /// The permission bits of the file, in octal. `sudo` takes no file that others may write.
    #[fleet(default = "0440")]
    mode: String,
    /// Where the file lies.
    #[fleet(computed, follows = "user")]
    path: Option<String>,
}

impl Resource for Sudoers {
    const NAME: &'static str = "macos_sudoers";
    const GIVES_ROOT: bool = true;

    fn normalize(&mut self) -> Result<(), Misfit> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if self.user.is_empty() || self.user.starts_with('-') || !self.user.bytes().all(is_name) {
            return Err(Misfit::new("user", "the name of a user is needed"));
        }
        let is_command = |command: &String| {
            let plain =
                |letter: char| !letter.is_control() && !matches!(letter, ',' | ':' | '=' | '\\' | '#' | '!');
            command == "ALL" || (command.starts_with('/') && command.chars().all(plain))
        };
        if self.commands.is_empty() || !self.commands.iter().all(is_command) {
            return Err(Misfit::new(
                "commands",
                "`ALL` is needed, or whole paths of programs without `,:=\\#!`",
            ));
        }
        self.mode = mode::normal(&self.mode)?;
        match mode::parse(&self.mode) {
            Some(bits) if bits & 0o022 != 0 => {
                Err(Misfit::new("mode", "`sudo` takes no file that others may write; write \"0440\""))
            }
            _ => Ok(()),
        }
    }

    fn edges() -> &'static [Edge] {
        &[
            Edge::Before("host_archive"),
            Edge::Before("host_binary"),
            Edge::Before("host_block"),
            Edge::Before("host_command"),
            Edge::Before("host_directory"),
            Edge::Before("host_file"),
            Edge::Before("host_line"),
            Edge::Before("host_link"),
            Edge::Before("host_reboot"),
            Edge::Before("macos_launchd_service"),
            Edge::Before("macos_pf_anchor"),
            Edge::Before("macos_pf_ssh_guard"),
            Edge::Before("macos_signed_binary"),
            Edge::Before("macos_vm_nat"),
        ]
    }
}

impl HostKind for Sudoers {
    /// Nothing of it takes root, which is what it is there to give.
    fn probe(at: &At<Sudoers>) -> Result<Probe, Error> {
        let asked = named(at)?;
        Ok(Probe::new().path(asked.file()).and(Read::Line).tool(Tool::SudoRules, []))
    }

    fn parse(at: &At<Sudoers>, reply: &Reply) -> Result<Option<Sudoers>, Error> {
        let asked = named(at)?;
        let user = &reply.line(1)?.user;
        if *user != asked.user {
            let message = format!(
                "the connection logs in as `{user}`, and what `{}` may do can be seen by that user alone",
                asked.user
            );
            return Err(Error::permanent(message)
                .help("give the `user` of the connection; `host_file` writes rules for others"));
        }
        let path = asked.file();
        let Some(found) = reply.path(0)?.filter(|_| !is_another(at, |a, b| a.user == b.user)) else {
            return Ok(None);
        };
        if !matches!(found.what, What::File(_)) {
            return Err(in_the_way(&path, &found.what, "a file"));
        }
        // Of a file that somebody else owns, `sudo` takes nothing.
        let commands = match &found.what {
            What::File(file) if cure::is_there("ask-sudo") => {
                let allowed = allowed(reply.output(2)?);
                let adds_nothing = file.size == asked.rule().len() as u64;
                if adds_nothing && asked.is_part_of(&allowed) { asked.commands.clone() } else { allowed }
            }
            _ => asked.commands.clone(),
        };
        let mode = if found.owner == "root" {
            mode::format(found.mode)
        } else {
            format!("{:04o} of {}", found.mode, found.owner)
        };
        Ok(Some(Sudoers { user: asked.user.clone(), commands, mode, path: Some(path) }))
    }

    fn steps(self, change: Change<Sudoers>) -> Result<Vec<Step>, Error> {
        if matches!(&change, Change::Update { from } if from.commands == self.commands && from.mode == self.mode)
        {
            return Ok(Vec::new());
        }
        let rule = self.rule();
        let keep =
            Keep { mode: mode::parse(&self.mode), owner: Some("root".into()), group: Some("wheel".into()) };
        let content = Content::Bytes(Bytes(rule.into_bytes()));
        let validate = Some("visudo -cf {}".to_owned());
        Ok(vec![Step::new(Act::Write { path: self.file(), content, keep, validate }).as_root()])
    }

    fn remove(observed: Sudoers) -> Result<Vec<Step>, Error> {
        Ok(vec![Step::new(Act::Remove { path: observed.file() }).as_root()])
    }

    /// Whoever removes it wants to be root by a password again, or not at all.
    fn cuts_access(&self, is_removed: bool) -> Option<Revert> {
        (!is_removed).then(|| Revert::of([self.file()]))
    }
}

impl Sudoers {
    /// Where the rule lies. `sudo` passes over names with a dot.
    fn file(&self) -> String {
        format!("/etc/sudoers.d/{}-nopasswd", self.user.replace('.', "_"))
    }

    /// What the file holds.
    fn rule(&self) -> String {
        format!("{} ALL=(ALL) NOPASSWD: {}\n", self.user, self.commands.join(", "))
    }

    /// Whether all of it is allowed, whatever else is.
    fn is_part_of(&self, allowed: &[String]) -> bool {
        let is_allowed = |command: &String| allowed.iter().any(|it| it == "ALL" || it == command);
        self.commands.iter().all(is_allowed)
    }
}

/// What `sudo -l` says may be done without a password, whichever file lets it: `ALL` alone, if that is part of it.
fn allowed(listed: &Output) -> Vec<String> {
    // It does not even say so where everything takes one.
    let text = if listed.status == 0 { String::from_utf8_lossy(&listed.stdout) } else { "".into() };
    let mut allowed: Vec<String> = Vec::new();
    for entry in entries(&text) {
        // `(WHOM) TAG: WHAT, TAG: WHAT`: a tag holds until another one comes.
        let Some((_, commands)) = entry.split_once(") ") else { continue };
        let mut is_free = false;
        for command in commands.split(", ") {
            let (tags, command) = tagged(command.trim());
            is_free = tags.last().map_or(is_free, |tag| *tag == "NOPASSWD");
            // What comes later counts more.
            if !is_free && command == "ALL" {
                allowed.clear();
            } else if !is_free {
                allowed.retain(|known| known != command);
            } else if !allowed.iter().any(|known| known == command) {
                allowed.push(command.to_owned());
            }
        }
    }
    if allowed.iter().any(|command| command == "ALL") { vec!["ALL".to_owned()] } else { allowed }
}

/// The entries of a list, each in one line. Those that are too long for a screen go on in lines that are indented more.
fn entries(text: &str) -> Vec<String> {
    let mut entries: Vec<(usize, String)> = Vec::new();
    for line in text.lines() {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        match entries.last_mut() {
            Some((first, entry)) if *first > 0 && indent > *first => *entry += &format!(" {words}"),
            _ => entries.push((indent, words.to_owned())),
        }
    }
    entries.into_iter().map(|(_, entry)| entry).filter(|entry| entry.starts_with('(')).collect()
}

/// The tags before a command that say whether it takes a password, and the command.
fn tagged(mut command: &str) -> (Vec<&str>, &str) {
    let mut tags = Vec::new();
    while let Some((tag, rest)) = command.split_once(':')
        && !tag.is_empty()
        && tag.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    {
        if matches!(tag, "NOPASSWD" | "PASSWD") {
            tags.push(tag);
        }
        command = rest.trim_start();
    }
    (tags, command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_is_what_sudo_says() {
        let check = |status: i32, text: &str, expected: &[&str]| {
            let output = Output { status, stdout: text.as_bytes().to_vec(), stderr: Vec::new() };
            assert_eq!(allowed(&output), expected, "{text}");
        };
        check(1, "", &[]);
        check(0, "User m1 may run the following commands on mini:\n    (ALL) ALL\n", &[]);
        check(0, "User m1 …:\n    (ALL) ALL\n    (ALL) NOPASSWD: ALL\n", &["ALL"]);
        check(
            0,
            "…\n    (ALL) NOPASSWD: /sbin/pfctl, /bin/ls\n    (root) NOPASSWD: /bin/ls\n",
            &["/sbin/pfctl", "/bin/ls"],
        );
        check(0, "…\n    (ALL) NOPASSWD: /bin/x\n    (ALL) NOPASSWD: ALL\n", &["ALL"]);
        check(0, "…\n    (ALL) NOPASSWD: ALL\n    (ALL) NOPASSWD: /bin/x\n", &["ALL"]);
        check(0, "…\n    (ALL) NOPASSWD: ALL\n    (ALL : ALL) ALL\n", &[]);
        check(
            0,
            "…\n    (ALL) NOPASSWD: /bin/a, PASSWD: /bin/b, SETENV: NOPASSWD: /bin/c\n",
            &["/bin/a", "/bin/c"],
        );
        // As wide as a screen, which only a pipe is not.
        check(
            0,
            "User m1 …:\n    (ALL) NOPASSWD: /usr/local/bin/one,\n        /usr/local/bin/two --all,\n        /bin/three\n    \
             (root) NOPASSWD:\n        /bin/four\n",
            &["/usr/local/bin/one", "/usr/local/bin/two --all", "/bin/three", "/bin/four"],
        );
    }

    #[test]
    fn what_others_allow_besides_is_no_difference() {
        use fleet_engine::host::Answer;
        use fleet_engine::host::probe::{File, Found, Line};
        let check = |wish: &[&str], in_file: &[&str], listed: &str, expected: &[&str]| {
            let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
            let commands = owned(wish);
            let asked = Sudoers { user: "m1".into(), commands, mode: "0440".into(), path: None };
            let size = format!("m1 ALL=(ALL) NOPASSWD: {}\n", in_file.join(", ")).len() as u64;
            let what = What::File(File { size, ..File::default() });
            let found = Found { what, mode: 0o440, owner: "root".into(), group: "wheel".into() };
            let stdout = format!("User m1 …:\n{listed}").into_bytes();
            let reply = Reply(vec![
                Answer::Path(Some(found)),
                Answer::Line(Line { user: "m1".into(), ..Line::default() }),
                Answer::Output(Output { stdout, ..Output::default() }),
            ]);
            let found = Sudoers::parse(&At::Declared(asked), &reply).unwrap().unwrap();
            assert_eq!(found.commands, expected, "{listed}");
        };
        let both = "    (ALL) NOPASSWD: /bin/x\n    (ALL) NOPASSWD: ALL\n";
        check(&["ALL"], &["ALL"], both, &["ALL"]);
        // Somebody else's rule beside ours, and one that makes ours needless.
        let beside = "    (ALL) NOPASSWD: /bin/x\n    (ALL) NOPASSWD: /bin/ours\n";
        check(&["/bin/ours"], &["/bin/ours"], beside, &["/bin/ours"]);
        check(&["/bin/ours"], &["/bin/ours"], both, &["/bin/ours"]);
        // What is missing, or was added to our file, is a difference.
        check(&["/bin/ours"], &["/bin/ours"], "    (ALL) NOPASSWD: /bin/x\n", &["/bin/x"]);
        let added = "    (ALL) NOPASSWD: /bin/ours, /bin/sh\n";
        check(&["/bin/ours"], &["/bin/ours", "/bin/sh"], added, &["/bin/ours", "/bin/sh"]);
    }

    #[test]
    fn what_visudo_would_refuse_is_refused_before() {
        let wish = |user: &str, command: &str, mode: &str| {
            let commands = vec![command.to_owned()];
            let mut wish = Sudoers { user: user.into(), commands, mode: mode.into(), path: None };
            wish.normalize().map_err(|misfit| misfit.attribute)
        };
        assert_eq!(wish("m1", "ALL", "440"), Ok(()));
        assert_eq!(wish("m1", "/sbin/pfctl -sr", "0400"), Ok(()));
        assert_eq!(wish("m1 ALL=(ALL) ALL #", "ALL", "0440"), Err("user".into()));
        assert_eq!(wish("m1", "ALL, !/bin/sh", "0440"), Err("commands".into()));
        assert_eq!(wish("m1", "pfctl", "0440"), Err("commands".into()));
        assert_eq!(wish("m1", "ALL", "0666"), Err("mode".into()));
    }
}
