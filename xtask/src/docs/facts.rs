//! What fleet relies on of each program that it calls on a host. Written by hand; a test sees to it that none is missing.

/// A program, and what is relied on of it.
pub(super) struct Fact {
    pub(super) program: &'static str,
    /// Whether it is a program of macOS, and not one that every Unix has.
    pub(super) is_of_macos: bool,
    pub(super) relies_on: &'static str,
}

const fn macos(program: &'static str, relies_on: &'static str) -> Fact {
    Fact { program, is_of_macos: true, relies_on }
}

const fn unix(program: &'static str, relies_on: &'static str) -> Fact {
    Fact { program, is_of_macos: false, relies_on }
}

/// What a shell does itself.
pub(super) const BUILT_IN: &[&str] = &[
    ":", "[", "break", "cd", "command", "continue", "echo", "eval", "exec", "exit", "export", "kill",
    "printf", "read", "return", "set", "shift", "test", "trap", "umask", "unset", "wait",
];

/// All programs, in the order of their names.
pub(super) const FACTS: &[Fact] = &[
    unix("awk", "`-v`, `sub`, `split`, fields by white space."),
    macos(
        "brew",
        "Refuses root, so that it runs as the user of Homebrew with `NONINTERACTIVE=1`; lies in `/opt/homebrew/bin`; `install`, `uninstall`, `tap`, `untap`, `pin` and `unpin` end with 0 when they worked. What is installed is read from `Cellar`, `Library/Taps` and `var/homebrew/pinned`.",
    ),
    unix("cat", "Writes what it reads, and says why it cannot."),
    unix("chmod", "Octal modes, `u+rwx`, `-R`."),
    unix("chown", "`-R`, `-h` for links; `root:wheel` and `USER:staff` exist."),
    unix("cmp", "`-s` says by its status alone whether two files are the same."),
    macos(
        "codesign",
        "`--force --sign -` signs ad hoc; `-v` ends with 0 if a signature is sound and says `code object is not signed at all` if there is none; `-dvvv` prints `CDHash=` on the standard error, for a file and for a process as `+PID`. The kernel remembers a signature by the inode: a file that is overwritten in place is killed with OS_REASON_CODESIGNING.",
    ),
    macos(
        "config.sh",
        "Of the agent of GitHub Actions: `--unattended --replace`, takes `ACTIONS_RUNNER_INPUT_TOKEN` from the environment, refuses to run beside an old `.runner`, writes `.runner` (JSON with `agentId`), `.credentials` and `.path` (the PATH of whoever called it).",
    ),
    unix("cp", "`-p` keeps mode and time."),
    unix("curl", "`-f` fails for answers of 400 and above, `-m` bounds the time; comes with macOS."),
    unix("date", "`-u` with a format."),
    macos(
        "defaults",
        "`export DOMAIN -` prints an XML property list, an empty one for a domain that is not there; `-currentHost`; `write KEY -bool|-int|-float|-string|-data|-array`, and a property list for what holds others; `read` and `delete` fail if there is no such key. A domain is a name, or a whole path without `.plist`. Writing goes through cfprefsd, so that files are not edited.",
    ),
    macos(
        "diskutil",
        "`apfs list -plist`, `info -plist`, `apfs addVolume CONTAINER APFS NAME`, `apfs deleteVolume`, `enableOwnership`, `mount DEVICE`; `info -plist` of what is not mounted has an empty `MountPoint`, and of a path it tells `DeviceIdentifier` of what is mounted there; `info -plist /System/Volumes/Data` names the container of the data in `APFSContainerReference`.",
    ),
    macos("dscacheutil", "`-flushcache` forgets names that were looked up."),
    unix("env", "Sets variables for one program."),
    unix("find", "`-exec … {} +`, `! -type l`, `-name`."),
    unix("grep", "`-E`, `-F`, `-x`, `-q`, `-c`, `-v`, `-w`, `-e`."),
    unix("gzip", "`-dc`; comes with macOS."),
    unix("head", "`-n`, `-c`."),
    unix("id", "`-u`, `-un`; the first user of a Mac has the number 501."),
    macos(
        "ifconfig",
        "`-l` lists the names of interfaces; `utunN` are tunnels and `vlanN` VLANs; addresses stand in lines that start with `inet`.",
    ),
    macos(
        "killall",
        "`-HUP mDNSResponder` lets it read `/etc/resolver` anew. It is never used on loginwindow, which launchd does not start again after it.",
    ),
    macos(
        "launchctl",
        "`print` of a service: lines `name = value` (`pid`, `state`, `runs`, `last exit code`, `last exit reason`, `successive crashes`, `properties`, `minimum runtime`), blocks `arguments` and `environment`; it fails for what is not loaded. `print gui/UID` says `session = Aqua` while somebody is logged in at the screen, and fails without a session. `print-disabled` says `\"LABEL\" => disabled`, or `true` in older versions, until `enable`, and from `disable` on. `bootout` returns before a service is gone, and `bootstrap` of it fails until it is. `kickstart -k` ends what runs and starts it anew without registering anything; every `bootstrap` counts against the number of registrations after which macOS stops to keep a daemon alive. `kickstart -k system/com.apple.loginwindow` logs the user of the automatic login in. A property list must be root's (for a daemon) and writable by nobody else.",
    ),
    unix("ln", "`-s`; a hard link fails if the name is taken, which is what makes a ledger exclusive."),
    unix("ls", "`-A`."),
    unix("lsof", "`-nP -iTCP -sTCP:LISTEN` with `-F`: who listens where; comes with macOS."),
    macos("mdutil", "`-s /` says `Indexing enabled` or `Indexing disabled`; `-a -i on|off`."),
    unix("mkdir", "Fails if the name is taken; `-p`."),
    unix(
        "mv",
        "Renames within a file system at once; `-h` (BSD) or `-T` (GNU) for a name that is a link to a directory.",
    ),
    macos(
        "netstat",
        "`-an -p tcp`: the fourth column is the local address with the port after a full stop, the fifth the other one, the sixth the state.",
    ),
    macos(
        "networksetup",
        "`-listVLANs` (lines `VLAN User Defined Name:`, `Parent Device:`, `Device (\"Hardware\" Port):`, `Tag:`), `-createVLAN NAME PARENT TAG`, `-deleteVLAN`, `-setdhcp` and `-getinfo` of the service, which is called `NAME Configuration` since Tahoe.",
    ),
    macos(
        "node_exporter",
        "Of Prometheus: `--web.listen-address`, `--collector.disable-defaults` and `--collector.NAME`.",
    ),
    unix("od", "`-An -v -tx1`."),
    unix("openssl", "`dgst -sha256 -r`, only where there is neither `sha256sum` nor `shasum`."),
    unix("paste", "`-s -d`."),
    unix("perl", "`POSIX::setsid`, where there is no `setsid`; comes with macOS."),
    macos(
        "pfctl",
        "`-s info` starts with `Status: Enabled`; `-s References` lists tokens; `-E` takes one and prints `Token : N`, `-X N` gives it back; `-s rules`, `-s nat`, `-s Tables` with and without `-a ANCHOR`; `-v -s Tables` has flags first, of which the second is `p` for a table that persists; `-t TABLE -T show|kill`; `-f` loads, `-n` only checks. An anchor counts only if the main ruleset calls it, as a line `anchor \"NAME\" all` shows; Apple's own calls `com.apple/*`. Defining a table that persists fails with `Resource busy`, and no flush removes one. All of it takes root.",
    ),
    macos("pgrep", "`-f` looks at whole command lines."),
    macos(
        "pmset",
        "`-g custom` prints a line `name number` for each setting under each source of power; `-a NAME NUMBER`.",
    ),
    macos("ps", "`-A -ww -o pid= -o args=`, `-o etime= -p PID`."),
    unix("readlink", "Prints where a link leads."),
    macos("reboot", "Only where `shutdown` is not to be had."),
    unix("rm", "`-f`, `-rf`."),
    unix("rmdir", "Removes empty directories alone."),
    macos(
        "route",
        "`-n get ADDRESS` has a line `interface: NAME`; for a network behind a VLAN it names the interface below it.",
    ),
    macos(
        "scutil",
        "`--get HostName|LocalHostName|ComputerName` fails if there is none; `--set`; `--dns` prints resolvers in blocks with `domain` and `nameserver[N]`.",
    ),
    unix("sed", "Basic regular expressions, `-n`, `p`, `d`, several expressions by `-e`."),
    unix("setsid", "Starts what outlives its session; macOS has none, and takes `perl`."),
    unix(
        "sh",
        "A POSIX shell that runs what it reads; the login shell of the user (zsh) is never relied on. On macOS it is bash in the mode of a POSIX shell.",
    ),
    unix("sha256sum", "Where there is one; macOS has `shasum`."),
    unix("shasum", "`-a 256`; comes with macOS."),
    macos("shutdown", "`-r now` starts the Mac anew."),
    unix("sleep", "Whole seconds."),
    macos(
        "socketfilterfw",
        "Lies in `/usr/libexec/ApplicationFirewall`; `--getglobalstate` says `enabled` or `disabled`; `--setglobalstate on|off`.",
    ),
    macos(
        "softwareupdate",
        "`--schedule` says whether updates are looked for, `--schedule on|off` changes it.",
    ),
    unix("sort", "`-u`, in the order of bytes by `LC_ALL=C`."),
    unix(
        "stat",
        "`-f` with BSD's formats (`%Xp %z %Su %Sg`, `%m`, `%Mp%Lp %N`) on macOS, `-c` elsewhere; which of the two there is, the first call finds out.",
    ),
    macos(
        "sudo",
        "`-n` never asks; `-k -S -p ''` takes the password from a pipe, which must end with a newline; `-k -n -l` lists what is allowed without remembering anything. Every wrong password counts towards a lock of the account, so that one is tried once in a run.",
    ),
    macos(
        "svc.sh",
        "Of the agent of GitHub Actions: `install` writes a LaunchAgent for its user and its name to `.service`. Its `start` calls `launchctl load`, which fails over SSH and is not used.",
    ),
    macos("sw_vers", "`ProductName:`, `ProductVersion:` and `BuildVersion:`."),
    unix("sync", "Brings what was written to the disk; of single files where it can."),
    macos(
        "sysctl",
        "`-n kern.bootsessionuuid` is new at every start, `-n kern.boottime` has `sec = N`, `-n hw.…` facts of the hardware.",
    ),
    unix("tail", "`-n`."),
    macos(
        "tailscale",
        "Of the open-source tailscaled: `status --json` (`BackendState`, `Self` with `HostName`, `DNSName`, `Tags`, `TailscaleIPs`, `ID`, and `Health`), `debug prefs` (`RouteAll`), `ip -4`, `up --reset --ssh=false --auth-key=file:PATH`, `logout`.",
    ),
    unix("tar", "`-x -p -o -f`, from a pipe too; bsdtar on macOS."),
    macos(
        "tart",
        "`--version`, `list --format json`; must be started as the program in its bundle, and not through a link.",
    ),
    unix("tr", "`-d`, sets of characters."),
    unix("uname", "`-srmn`."),
    macos("visudo", "`-cf FILE` ends with 0 if the file may be part of the rules of `sudo`."),
    macos("xcode-select", "`-p` prints the developer directory; `--switch`, `--reset`."),
    macos(
        "xcodebuild",
        "`-license check` ends with 0 if the licence was accepted, `-license accept` accepts it; both take root.",
    ),
    macos("xcrun", "`--find` fails where the tools of the Xcode that is selected cannot be used."),
];
