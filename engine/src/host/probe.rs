//! What may be asked of a host, and what it answers.
//!
//! Nothing here can express a change. The one exception says so: the script of a user, which a plan flags and
//! `--read-only` refuses.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use sha2::{Digest, Sha256};

use crate::attributes::Misfit;
use crate::resource::Error;

/// A question: reading operations that are answered together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    reads: Vec<Read>,
    root: bool,
}

/// A reading operation. The set is closed: whoever adds one answers for it that it changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Read {
    /// What is at a path, with so much of its content. Links are not followed.
    Path(String, Content),
    /// The names in a directory.
    Names(String),
    /// The digest of everything below a directory: names, permission bits, contents and where links lead.
    Tree(String),
    /// What stands in all files of a directory together, in the order of their names.
    Inside(String),
    /// What the connection itself knows of the host.
    Line,
    /// The processes whose numbers and command lines match an extended regular expression.
    Processes(String),
    /// What a tool says.
    Tool(Tool, Vec<Operand>),
    /// What a script of the user says. Nobody knows what else it does.
    UserScript(String),
}

/// How much of the content of a file is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Content {
    /// Nothing.
    #[default]
    Nothing,
    /// Its digest alone.
    Digest,
    /// Its digest, and all of it unless that is this one.
    Unless(String),
    /// All of it.
    Whole,
}

/// A program with arguments that make it look and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// `scutil --get`: one of the names of a Mac.
    Scutil,
    /// `launchctl print`: a service or a domain.
    Launchctl,
    /// `launchctl print-disabled`: which services of a domain are not started.
    LaunchctlDisabled,
    /// What runs for a service: how long already, and the hash of its code signature.
    ServiceProcess,
    /// `lsof`: who listens at a port, and at which addresses.
    Listeners,
    /// `tailscale status`: what a host is in its tailnet; and of its settings, whether it takes the routes of others.
    TailscaleStatus,
    /// `tailscale ip -4`: the address that a host has in its tailnet.
    TailscaleAddress,
    /// `codesign -v`: whether the code signature of a file is sound.
    CodesignVerify,
    /// `codesign -d`: the code signature of a file.
    CodesignDisplay,
    /// `curl`: whether a URL answers well; what it answers is not wanted.
    Health,
    /// `sysctl -n`: a variable of the kernel.
    Sysctl,
    /// `uname`: the system, its version and its machine.
    Uname,
    /// `sw_vers`: the version of macOS.
    SwVers,
    /// `id`: who is logged in.
    Id,
    /// `pfctl -s info`: whether the packet filter is on.
    PfInfo,
    /// `pfctl -s References`: who wants it to be on.
    PfReferences,
    /// `pfctl -s rules`: the rules of the main ruleset.
    PfRules,
    /// `pfctl -s nat`: its translations.
    PfNat,
    /// `pfctl -v -s Tables`: its tables.
    PfTables,
    /// `pfctl -a ANCHOR -s rules`: the rules of an anchor.
    PfAnchorRules,
    /// `pfctl -a ANCHOR -s nat`: its translations.
    PfAnchorNat,
    /// `pfctl -a ANCHOR -v -s Tables`: its tables.
    PfAnchorTables,
    /// `pfctl -a ANCHOR -t TABLE -T show`: what is in one of them.
    PfAnchorTable,
    /// `id -u`: the number of a user.
    Uid,
    /// `sudo -l`: what the user of the connection may do as somebody else, if no password is needed to see that. Nothing
    /// is remembered of it.
    SudoRules,
    /// `defaults export`: a domain of preferences.
    Defaults,
    /// The same for what holds on this host alone.
    DefaultsOfHost,
    /// `stat -f %m`: when a file was last changed, in seconds since 1970.
    Modified,
    /// `pmset -g custom`: when a Mac sleeps.
    Pmset,
    /// `scutil --dns`: which servers are asked for names.
    Dns,
    /// `softwareupdate --schedule`: whether a Mac looks for updates.
    SoftwareUpdate,
    /// `mdutil -s`: whether Spotlight indexes a volume.
    Spotlight,
    /// `socketfilterfw`: whether the application firewall is on.
    ApplicationFirewall,
    /// `networksetup -listVLANs`: the VLANs.
    Vlans,
    /// `networksetup -getinfo`: how a network service gets its address.
    NetworkService,
    /// `diskutil apfs list`: the volumes of all containers.
    ApfsVolumes,
    /// `diskutil info`: a volume.
    Volume,
    /// `tart --version`, as jobs and services find it.
    TartVersion,
    /// `xcode-select -p`: the developer directory that is selected.
    XcodeSelected,
    /// `xcodebuild -license check`: whether the licence of the Xcode that is selected was accepted.
    XcodeLicence,
    /// The service of an agent of GitHub Actions, by the directory of the agent and its user.
    RunnerService,
}

/// An argument that a tool can only take as the name of something: no option, no assignment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Operand(String);

/// The answers to a probe, in the order of its operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply(pub Vec<Answer>);

/// The answer to one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`Read::Path`]; `None` if nothing is there.
    Path(Option<Found>),
    /// To [`Read::Names`]; `None` if there is no directory.
    Names(Option<Vec<Vec<u8>>>),
    /// To [`Read::Tree`]; `None` if there is no directory.
    Tree(Option<String>),
    /// To [`Read::Inside`]; empty if there is no directory.
    Inside(Vec<u8>),
    /// To [`Read::Line`].
    Line(Line),
    /// To [`Read::Tool`], [`Read::Processes`] and [`Read::UserScript`].
    Output(Output),
}

/// What a connection knows of the host at its other end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The address that answered; none for this machine.
    pub address: Option<String>,
    /// The key by which the host proved who it is, as `type base64`; none for this machine.
    pub host_key: Option<String>,
    /// Whether that key was known before; a host that is seen for the first time is taken at its word.
    pub pinned: bool,
    /// The user that is logged in.
    pub user: String,
    /// The name of the state that asks: whose ledgers are ours.
    pub lineage: Option<String>,
}

impl Line {
    /// The fingerprint of the key by which the host proved who it is, as OpenSSH shows it.
    #[must_use]
    pub fn fingerprint(&self) -> Option<String> {
        let key = STANDARD.decode(self.host_key.as_deref()?.split_whitespace().nth(1)?).ok()?;
        Some(format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(key))))
    }
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What it is.
    pub what: What,
    /// The permission bits.
    pub mode: u32,
    /// The name of its owner.
    pub owner: String,
    /// The name of its group.
    pub group: String,
}

/// What can be at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A regular file.
    File(File),
    /// A directory.
    Directory,
    /// A link that leads there.
    Link(Vec<u8>),
    /// Something else, such as a socket.
    Other,
}

/// A regular file, as far as it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File {
    /// How many bytes it has.
    pub size: u64,
    /// The SHA-256 of its content, in hexadecimal digits, if any of the content was wanted.
    pub digest: Option<String>,
    /// Its content, if it was wanted and differs from what was expected.
    pub content: Option<Vec<u8>>,
}

/// What a program wrote before it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// How it ended; 0 is well.
    pub status: i32,
    /// What it said.
    pub stdout: Vec<u8>,
    /// What it complained about.
    pub stderr: Vec<u8>,
}

impl Probe {
    /// Asks nothing yet.
    #[must_use]
    pub fn new() -> Probe {
        Probe::default()
    }

    /// Asks one thing more.
    #[must_use]
    pub fn and(mut self, read: Read) -> Probe {
        self.reads.push(read);
        self
    }

    /// Asks what is at a path, and nothing of its content.
    #[must_use]
    pub fn path(self, path: impl Into<String>) -> Probe {
        self.and(Read::Path(path.into(), Content::Nothing))
    }

    /// Asks what is at a path and what stands in it.
    #[must_use]
    pub fn content(self, path: impl Into<String>, content: Content) -> Probe {
        self.and(Read::Path(path.into(), content))
    }

    /// Asks for the names in a directory.
    #[must_use]
    pub fn names(self, directory: impl Into<String>) -> Probe {
        self.and(Read::Names(directory.into()))
    }

    /// Asks a tool.
    #[must_use]
    pub fn tool(self, tool: Tool, operands: impl Into<Vec<Operand>>) -> Probe {
        self.and(Read::Tool(tool, operands.into()))
    }

    /// Only root may see the answers. Where nobody can become root without a password, they cannot be had.
    #[must_use]
    pub fn as_root(self) -> Probe {
        Probe { root: true, ..self }
    }

    /// The operations, in order.
    #[must_use]
    pub fn reads(&self) -> &[Read] {
        &self.reads
    }

    /// Whether root has to ask.
    #[must_use]
    pub fn needs_root(&self) -> bool {
        self.root
    }

    /// Whether it runs code of the user, which may do anything.
    #[must_use]
    pub fn runs_user_code(&self) -> bool {
        self.reads.iter().any(|read| matches!(read, Read::UserScript(_)))
    }
}

impl Tool {
    /// All of them.
    pub const ALL: &[Tool] = &[
        Tool::Scutil,
        Tool::Launchctl,
        Tool::LaunchctlDisabled,
        Tool::ServiceProcess,
        Tool::CodesignVerify,
        Tool::CodesignDisplay,
        Tool::Health,
        Tool::Sysctl,
        Tool::Uname,
        Tool::SwVers,
        Tool::Id,
        Tool::PfInfo,
        Tool::PfReferences,
        Tool::PfRules,
        Tool::PfNat,
        Tool::PfTables,
        Tool::PfAnchorRules,
        Tool::PfAnchorNat,
        Tool::PfAnchorTables,
        Tool::PfAnchorTable,
        Tool::Uid,
        Tool::SudoRules,
        Tool::Defaults,
        Tool::DefaultsOfHost,
        Tool::Modified,
        Tool::Pmset,
        Tool::Dns,
        Tool::SoftwareUpdate,
        Tool::Spotlight,
        Tool::ApplicationFirewall,
        Tool::Vlans,
        Tool::NetworkService,
        Tool::ApfsVolumes,
        Tool::Volume,
        Tool::TartVersion,
        Tool::XcodeSelected,
        Tool::XcodeLicence,
        Tool::RunnerService,
    ];

    /// The program and its arguments, with `{}` where an operand stands. Operands without a place of their own come last.
    #[must_use]
    pub fn line(self) -> &'static str {
        match self {
            Tool::Scutil => "scutil --get",
            Tool::Launchctl => "launchctl print",
            Tool::LaunchctlDisabled => "launchctl print-disabled",
            Tool::ServiceProcess
            | Tool::TartVersion
            | Tool::RunnerService
            | Tool::Listeners
            | Tool::TailscaleStatus
            | Tool::TailscaleAddress => "sh -c",
            Tool::XcodeSelected => "xcode-select -p",
            Tool::XcodeLicence => "xcodebuild -license check",
            Tool::CodesignVerify => "codesign -v",
            Tool::CodesignDisplay => "codesign -dvvv",
            Tool::Health => "curl -fsS -m 5 -o /dev/null",
            Tool::Sysctl => "sysctl -n",
            Tool::Uname => "uname -srmn",
            Tool::SwVers => "sw_vers",
            Tool::Id => "id -un",
            Tool::PfInfo => "pfctl -s info",
            Tool::PfReferences => "pfctl -s References",
            Tool::PfRules => "pfctl -s rules",
            Tool::PfNat => "pfctl -s nat",
            Tool::PfTables => "pfctl -v -s Tables",
            Tool::PfAnchorRules => "pfctl -a {} -s rules",
            Tool::PfAnchorNat => "pfctl -a {} -s nat",
            Tool::PfAnchorTables => "pfctl -a {} -v -s Tables",
            Tool::PfAnchorTable => "pfctl -a {} -t {} -T show",
            Tool::Uid => "id -u",
            Tool::SudoRules => "sudo -k -n -l",
            Tool::Defaults => "defaults export {} -",
            Tool::DefaultsOfHost => "defaults -currentHost export {} -",
            Tool::Modified => "stat -f %m",
            Tool::Pmset => "pmset -g custom",
            Tool::Dns => "scutil --dns",
            Tool::SoftwareUpdate => "softwareupdate --schedule",
            Tool::Spotlight => "mdutil -s",
            Tool::ApplicationFirewall => "socketfilterfw --getglobalstate",
            Tool::Vlans => "networksetup -listVLANs",
            Tool::NetworkService => "networksetup -getinfo",
            Tool::ApfsVolumes => "diskutil apfs list -plist",
            Tool::Volume => "diskutil info -plist",
        }
    }

    /// The words of a call with these operands.
    #[must_use]
    pub fn words(self, operands: &[Operand]) -> Vec<&str> {
        let mut operands = operands.iter().map(Operand::as_str);
        let line = self.line().split(' ');
        let mut words: Vec<&str> =
            line.filter_map(|word| if word == "{}" { operands.next() } else { Some(word) }).collect();
        words.extend(self.script().iter().flat_map(|script| [*script, "sh"]));
        words.extend(operands);
        words
    }

    /// What `sh -c` carries out, where it takes several programs that only look.
    #[must_use]
    pub fn script(self) -> Option<&'static str> {
        match self {
            Tool::ServiceProcess => Some(include_str!("service_process.sh")),
            Tool::TartVersion => Some(include_str!("tart_version.sh")),
            Tool::RunnerService => Some(include_str!("runner_service.sh")),
            Tool::Listeners => Some(include_str!("listeners.sh")),
            Tool::TailscaleStatus => Some(include_str!("tailscale_status.sh")),
            Tool::TailscaleAddress => Some(include_str!("tailscale_address.sh")),
            _ => None,
        }
    }
}

impl Operand {
    /// A name. What a tool could take for an option or an assignment (`sysctl -n a=1` writes) is refused.
    pub fn new(text: impl Into<String>) -> Result<Operand, Misfit> {
        let text = text.into();
        let is_name = !text.is_empty()
            && !text.starts_with('-')
            && !text.contains(|c: char| c == '=' || c.is_control());
        if is_name { Ok(Operand(text)) } else { Err(Misfit::new("", format!("`{text}` cannot be a name"))) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Reply {
    /// The answer to the operation at `index`, which asked for a path.
    pub fn path(&self, index: usize) -> Result<Option<&Found>, Error> {
        match self.0.get(index) {
            Some(Answer::Path(found)) => Ok(found.as_ref()),
            _ => Err(not_answered()),
        }
    }

    /// The answer to the operation at `index`, which asked for the names in a directory.
    pub fn names(&self, index: usize) -> Result<Option<&[Vec<u8>]>, Error> {
        match self.0.get(index) {
            Some(Answer::Names(names)) => Ok(names.as_deref()),
            _ => Err(not_answered()),
        }
    }

    /// The answer to the operation at `index`, which asked for the digest of a tree.
    pub fn tree(&self, index: usize) -> Result<Option<&str>, Error> {
        match self.0.get(index) {
            Some(Answer::Tree(digest)) => Ok(digest.as_deref()),
            _ => Err(not_answered()),
        }
    }

    /// The answer to the operation at `index`, which asked for the files of a directory.
    pub fn inside(&self, index: usize) -> Result<&[u8], Error> {
        match self.0.get(index) {
            Some(Answer::Inside(content)) => Ok(content),
            _ => Err(not_answered()),
        }
    }

    /// The answer to the operation at `index`, which asked for the connection.
    pub fn line(&self, index: usize) -> Result<&Line, Error> {
        match self.0.get(index) {
            Some(Answer::Line(line)) => Ok(line),
            _ => Err(not_answered()),
        }
    }

    /// The answer to the operation at `index`, which asked a tool or ran a script.
    pub fn output(&self, index: usize) -> Result<&Output, Error> {
        match self.0.get(index) {
            Some(Answer::Output(output)) => Ok(output),
            _ => Err(not_answered()),
        }
    }
}

fn not_answered() -> Error {
    Error::permanent("the host did not answer what it was asked")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operand_is_a_name() {
        for name in ["kern.hostname", "system/com.openssh.sshd", "HostName", "a b", "é"] {
            assert_eq!(Operand::new(name).unwrap().as_str(), name);
        }
        for other in ["", "-w", "--set", "kern.hostname=x", "a\nb", "a\0"] {
            assert!(Operand::new(other).is_err(), "{other}");
        }
    }

    #[test]
    fn all_tools_are_listed() {
        let text = include_str!("probe.rs");
        let (_, text) = text.split_once("pub enum Tool {\n").unwrap();
        let (text, _) = text.split_once("\n}\n").unwrap();
        let declared: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter_map(|line| line.strip_suffix(','))
            .filter(|it| !it.starts_with("//"))
            .collect();
        let listed: Vec<String> = Tool::ALL.iter().map(|tool| format!("{tool:?}")).collect();
        assert_eq!(listed, declared);
    }

    #[test]
    fn operands_stand_in_their_places() {
        let operand = || [Operand::new("system/a").unwrap()];
        assert_eq!(Tool::Launchctl.words(&operand()), ["launchctl", "print", "system/a"]);
        let words = [operand(), operand()];
        let script = Tool::ServiceProcess.words(&words[0]);
        assert_eq!((script[0], script[1], &script[3..]), ("sh", "-c", &["sh", "system/a"][..]));
    }

    #[test]
    fn answers_of_another_sort_are_not_taken() {
        let reply = Reply(vec![Answer::Path(None), Answer::Names(Some(vec![b"x".to_vec()]))]);
        assert_eq!(reply.path(0).unwrap(), None);
        assert_eq!(reply.names(1).unwrap(), Some(&[b"x".to_vec()][..]));
        assert!(reply.path(1).is_err() && reply.names(0).is_err());
        assert!(reply.output(1).is_err() && reply.output(2).is_err());
    }

    #[test]
    fn scripts_of_users_are_told_from_our_own_operations() {
        let ours = Probe::new().path("/etc/hosts").names("/etc").tool(Tool::Sysctl, []);
        assert!(!ours.runs_user_code());
        assert!(ours.and(Read::UserScript("date".into())).runs_user_code());
    }
}
