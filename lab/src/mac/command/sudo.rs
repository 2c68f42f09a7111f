//! `sudo`: who may become whom is read from the Mac's `sudoers` files each time.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;

use super::directory::ended;
use super::options::Options;
use super::{Call, Done, Failure, Outcome, reason};
use crate::mac::disk::home_of;
use crate::mac::stand_in;

const USAGE: &str = "usage: sudo -h | -K | -k | -V\nusage: sudo -v [-ABkNnS] [-g group] [-h host] [-p prompt] [-u user]\n\
                     usage: sudo [-ABbEHkNnPS] [-g group] [-p prompt] [-u user] [VAR=value] [-i | -s] [command [arg ...]]";
/// So many wrong passwords, and it gives up.
const TRIES: usize = 3;
/// How wide it takes a screen to be, unless it writes into a pipe.
const COLUMNS: usize = 80;

/// What is asked of it.
#[derive(Debug, Default)]
struct Wish {
    never_asks: bool,
    reads_stdin: bool,
    forgets: bool,
    validates: bool,
    lists: bool,
    prompt: Option<String>,
    user: String,
    environment: Vec<(String, String)>,
    words: Vec<OsString>,
}

pub(super) fn sudo(call: &mut Call) -> Outcome {
    let wish = Wish::read(call)?;
    if wish.words.is_empty() && !wish.validates && !wish.lists {
        return if wish.forgets { ended(0) } else { Err(Failure { text: USAGE.into(), status: 1 }) };
    }
    if !call.mac.users().iter().any(|(name, _)| *name == wish.user) {
        return Err(call.failure(&format!("unknown user {}", wish.user)));
    }
    let rules = rules(call);
    let permission = match rules.last() {
        _ if call.is_root() => Permission::Free,
        None => {
            let text = format!("{} is not in the sudoers file.", call.user);
            return Err(Failure { text, status: 1 });
        }
        // Who may do anything without a password may see the list without one, too.
        Some(_) if wish.lists && rules.iter().any(|rule| rule.permission == Permission::Free) => {
            Permission::Free
        }
        Some(_) => {
            let last = rules.iter().rfind(|rule| rule.covers(&wish.words));
            last.map_or(Permission::Password, |rule| rule.permission)
        }
    };
    if permission == Permission::Password {
        ask(call, &wish)?;
    }
    if wish.lists {
        return list(call, &rules);
    }
    if wish.words.is_empty() {
        return ended(0);
    }
    let root = call.mac.root().to_owned();
    let command: Vec<String> = wish.words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let home = home_of(&root, &wish.user).display().to_string();
    let uid = call.uid().to_string();
    let environment = vec![
        ("HOME", home),
        ("LOGNAME", wish.user.clone()),
        ("SUDO_COMMAND", command.join(" ")),
        ("SUDO_UID", uid),
        ("SUDO_USER", call.user.clone()),
        ("USER", wish.user.clone()),
        (stand_in::USER, wish.user.clone()),
    ];
    // `env` sets what was asked for and says so if there is no such command.
    let given = wish.environment.iter().map(|(name, value)| OsString::from(format!("{name}={value}")));
    let mut words: Vec<OsString> = vec!["/usr/bin/env".into()];
    words.extend(given);
    if !is_program(call, &wish.words[0]) {
        return Err(call.failure(&format!("{}: command not found", wish.words[0].display())));
    }
    words.extend(wish.words);
    Ok(Done::Exec { environment, words })
}

/// Whether there is something to be run: a name in the Mac's `PATH`, or a path on this machine.
fn is_program(call: &Call, word: &OsString) -> bool {
    if word.as_bytes().contains(&b'/') {
        return std::path::Path::new(word).exists() || call.path(word).exists();
    }
    let tools = &call.mac.tools.directory;
    ["commands", "system"].iter().any(|place| tools.join(place).join(word).exists())
        || ["/usr/sbin", "/sbin"].iter().any(|place| std::path::Path::new(place).join(word).exists())
}

impl Wish {
    fn read(call: &Call) -> Result<Wish, Failure> {
        let wrong = |text: String| Failure { text: format!("sudo: {text}\n{USAGE}"), status: 1 };
        let mut wish = Wish { user: "root".into(), ..Wish::default() };
        let mut words = call.words.iter();
        while let Some(word) = words.as_slice().first() {
            let text = word.to_string_lossy().into_owned();
            let is_option = text.starts_with('-') && text.len() > 1;
            if !is_option {
                match text.split_once('=') {
                    Some((name, value)) if !name.is_empty() && !name.contains('/') => {
                        wish.environment.push((name.to_owned(), value.to_owned()));
                        words.next();
                        continue;
                    }
                    _ => break,
                }
            }
            words.next();
            if text == "--" {
                break;
            }
            let mut argument = |letter: char, rest: &str| {
                match rest {
                    "" => words.next().map(|word| word.to_string_lossy().into_owned()),
                    rest => Some(rest.to_owned()),
                }
                .ok_or_else(|| wrong(format!("option requires an argument -- {letter}")))
            };
            for (at, letter) in text.char_indices().skip(1) {
                match letter {
                    'n' => wish.never_asks = true,
                    'S' => wish.reads_stdin = true,
                    'k' | 'K' => wish.forgets = true,
                    'v' => wish.validates = true,
                    'l' => wish.lists = true,
                    'A' | 'B' | 'b' | 'E' | 'H' | 'N' | 'P' => {}
                    'p' | 'u' | 'g' => {
                        let value = argument(letter, &text[at + 1..])?;
                        match letter {
                            'p' => wish.prompt = Some(value),
                            'u' => wish.user = value,
                            _ => {}
                        }
                        break;
                    }
                    other => return Err(wrong(format!("invalid option -- {other}"))),
                }
            }
        }
        wish.words = words.cloned().collect();
        Ok(wish)
    }
}

/// Whether a rule asks for a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Permission {
    Password,
    Free,
}

/// What `sudoers` lets a user do.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    permission: Permission,
    /// As whom, with its brackets.
    whom: String,
    /// What: `ALL`, or programs.
    what: String,
}

impl Rule {
    /// Whether it is about a command.
    fn covers(&self, words: &[OsString]) -> bool {
        let program = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        self.what.split(',').map(str::trim).any(|what| what == "ALL" || name(what) == name(&program))
    }
}

/// All rules for whoever calls, in the order of the files. What comes later counts more.
fn rules(call: &Call) -> Vec<Rule> {
    let etc = call.mac.root().join("private/etc");
    let mut files = vec![etc.join("sudoers")];
    let more = fs::read_dir(etc.join("sudoers.d")).into_iter().flatten().flatten();
    let mut more: Vec<_> = more.map(|entry| entry.path()).collect();
    more.sort();
    // Names with a dot or a tilde at the end are left out.
    let counts = |path: &std::path::PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        !name.contains('.') && !name.ends_with('~')
    };
    files.extend(more.into_iter().filter(counts));
    let is_administrator = call.mac.is_administrator(&call.user);
    let texts = files.into_iter().map(|file| fs::read_to_string(file).unwrap_or_default());
    let rules = |text: String| {
        let rules = text.lines().filter_map(|line| rule(line, &call.user, is_administrator));
        rules.collect::<Vec<_>>()
    };
    texts.flat_map(rules).collect()
}

/// What a line lets a user do, if it is about that user: `WHO HOSTS = (WHOM) [NOPASSWD:] WHAT`.
fn rule(line: &str, user: &str, is_administrator: bool) -> Option<Rule> {
    let (left, right) = line.split('#').next()?.split_once('=')?;
    let who = left.split_whitespace().next()?;
    let is_meant = who == user || who == "ALL" || (who == "%admin" && is_administrator);
    let right = right.trim();
    let (whom, right) = match right.strip_prefix('(') {
        Some(rest) => rest.split_once(')').map(|(whom, rest)| (whom.trim(), rest.trim()))?,
        None => ("root", right),
    };
    let (permission, what) = match right.split_once(':') {
        Some((tag, what)) if tag.trim() == "NOPASSWD" => (Permission::Free, what),
        Some((tag, what)) if tag.trim() == "PASSWD" => (Permission::Password, what),
        _ => (Permission::Password, right),
    };
    let rule = Rule { permission, whom: format!("({whom})"), what: what.trim().to_owned() };
    is_meant.then_some(rule)
}

/// `sudo -l`: the rules in their order.
fn list(call: &mut Call, rules: &[Rule]) -> Outcome {
    let host = super::system::host_name(&call.mac);
    let host = host.split('.').next().unwrap_or_default();
    let is_wrapped = !call.stdout.metadata().is_ok_and(|stdout| stdout.file_type().is_fifo());
    let line = |rule: &Rule| {
        let tag = if rule.permission == Permission::Free { "NOPASSWD: " } else { "" };
        let line = format!("    {} {tag}{}\n", rule.whom, rule.what);
        if is_wrapped { wrapped(&line) } else { line }
    };
    let lines: String = rules.iter().map(line).collect();
    let user = call.user.clone();
    call.say(format!(
        "Matching Defaults entries for {user} on {host}:\n    env_reset, env_keep+=BLOCKSIZE\n\n\
         User {user} may run the following commands on {host}:\n{lines}"
    ))
}

/// A line as it is printed where it is too long: what follows is indented more.
fn wrapped(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line.trim_end();
    let mut indent = "";
    while indent.len() + rest.len() >= COLUMNS {
        // A word that is longer than a line stays whole.
        let most = rest.floor_char_boundary(COLUMNS - 1 - indent.len());
        let first = rest.len() - rest.trim_start().len();
        let Some(at) = rest[..most]
            .rfind(' ')
            .filter(|at| *at > first)
            .or_else(|| rest[most..].find(' ').map(|at| most + at))
        else {
            break;
        };
        text += &format!("{indent}{}\n", &rest[..at]);
        (rest, indent) = (rest[at..].trim_start(), "        ");
    }
    text + &format!("{indent}{rest}\n")
}

/// `visudo -cf FILE`: whether `sudo` can read a file.
pub(super) fn visudo(call: &mut Call) -> Outcome {
    let usage = "usage: visudo [-chqsV] [[-f] sudoers ]";
    let options = Options::read(&call.words, "cf:hqsV")
        .map_err(|wrong| Failure { text: format!("visudo: {}\n{usage}", wrong.text()), status: 1 })?;
    if !options.has('c') {
        return Err(call.failure("the lab's Macs have no editor: only -c is there"));
    }
    let usual = OsString::from("/etc/sudoers");
    let file = options.argument('f').or(options.operands.first()).unwrap_or(&usual);
    let text = fs::read_to_string(call.path(file))
        .map_err(|error| call.failure(&format!("unable to open {}: {}", file.display(), reason(&error))))?;
    let name = file.display();
    match text.lines().position(|line| !is_sound(line)) {
        None => call.say(format!("{name}: parsed OK\n")),
        Some(at) => {
            let (at, line) = (at + 1, text.lines().nth(at).unwrap_or_default());
            let text = format!("{name}:{at}:{}: syntax error\n{line}\n", line.len() + 1);
            Err(Failure { text, status: 1 })
        }
    }
}

/// Whether a line is one that `sudoers` may have, as far as this reads them.
fn is_sound(line: &str) -> bool {
    let line = line.trim();
    let is_other = ["#", "@include", "Defaults", "User_Alias", "Runas_Alias", "Host_Alias", "Cmnd_Alias"];
    if line.is_empty() || is_other.iter().any(|start| line.starts_with(start)) {
        return true;
    }
    let Some((left, right)) = line.split('#').next().unwrap_or_default().split_once('=') else {
        return false;
    };
    let right = right.trim();
    let rest =
        if right.starts_with('(') { right.split_once(')').map(|(_, rest)| rest.trim()) } else { Some(right) };
    left.split_whitespace().count() == 2 && rest.is_some_and(|rest| !rest.is_empty() && !rest.ends_with(':'))
}

/// Asks for the password: only on the input, because there are no terminals.
fn ask(call: &mut Call, wish: &Wish) -> Result<(), Failure> {
    if wish.never_asks {
        return Err(call.failure("a password is required"));
    }
    if !wish.reads_stdin {
        return Err(call.failure(
            "a terminal is required to read the password; either use the -S option to read from standard input or \
             configure an askpass helper\nsudo: a password is required",
        ));
    }
    let password = call.mac.installation().map(|installation| installation.password).unwrap_or_default();
    let now = call.mac.clock().time();
    let prompt = wish.prompt.clone().unwrap_or_else(|| "Password:".into());
    for tried in 0..TRIES {
        // A prompt that nobody reads is no reason to stop.
        let _ = call.stderr.write_all(prompt.as_bytes());
        let Some(line) = line(call) else {
            let count = match tried {
                0 => "no password was provided".to_owned(),
                1 => "1 incorrect password attempt".to_owned(),
                more => format!("{more} incorrect password attempts"),
            };
            let both = if tried == 0 { format!("{count}\nsudo: a password is required") } else { count };
            return Err(call.failure(&both));
        };
        let is_right = line == password.as_bytes();
        if let Some(live) = &mut *call.mac.live() {
            let tally = &mut live.login.tally;
            // A locked account refuses the right password as it does a wrong one, and says no more about it.
            if is_right && !tally.is_locked(now) {
                return Ok(());
            }
            if !is_right {
                tally.feed(now);
            }
        }
        if tried + 1 < TRIES {
            let _ = call.stderr.write_all(b"Sorry, try again.\n");
        }
    }
    Err(call.failure(&format!("{TRIES} incorrect password attempts")))
}

/// A line of the input, and nothing of what follows it. An input that ends without one is no answer.
fn line(call: &mut Call) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match call.stdin.read(&mut byte) {
            Ok(1) if byte == *b"\n" => return Some(line),
            Ok(1) => line.push(byte[0]),
            _ => return None,
        }
    }
}

/// Somebody guesses the password, so many times.
pub(super) fn guess(call: &mut Call, count: &str) -> Outcome {
    let Ok(count) = count.parse::<u32>() else { return Err(call.failure("a number is needed")) };
    let now = call.mac.clock().time();
    if let Some(live) = &mut *call.mac.live() {
        (0..count).for_each(|_| live.login.tally.feed(now));
    }
    Ok(Done::Exit(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let rule = |line: &str| super::rule(line, "m1", true).map(|rule| (rule.permission, rule.what));
        let free = |what: &str| Some((Permission::Free, what.to_owned()));
        for (line, expected) in [
            ("m1 ALL=(ALL) NOPASSWD: ALL", free("ALL")),
            ("m1 ALL = (ALL:ALL) NOPASSWD:ALL # why", free("ALL")),
            ("m1 ALL=NOPASSWD: ALL", free("ALL")),
            ("m1 ALL=(ALL) NOPASSWD: /sbin/pfctl, /bin/ls", free("/sbin/pfctl, /bin/ls")),
            ("%admin ALL = (ALL) ALL", Some((Permission::Password, "ALL".to_owned()))),
            ("%wheel ALL = (ALL) ALL", None),
            ("# m1 ALL=(ALL) NOPASSWD: ALL", None),
            ("m2 ALL=(ALL) NOPASSWD: ALL", None),
            ("Defaults env_keep += x", None),
        ] {
            assert_eq!(rule(line), expected, "{line}");
            assert!(is_sound(line), "{line}");
        }
        for line in ["m1 ALL NOPASSWD: ALL", "m1 ALL=(ALL NOPASSWD: ALL", "m1=ALL", "m1 ALL=(ALL) NOPASSWD:"]
        {
            assert!(!is_sound(line), "{line}");
        }
    }

    #[test]
    fn long_lines_are_wrapped_between_words() {
        let short = "    (ALL) NOPASSWD: ALL\n";
        assert_eq!(wrapped(short), short);
        let long: Vec<String> = (0..20).map(|number| format!("/usr/local/bin/tool{number}")).collect();
        let long = format!("    (ALL) NOPASSWD: {}\n", long.join(", "));
        let shown = wrapped(&long);
        assert!(shown.lines().count() > 5 && shown.lines().all(|line| line.len() < COLUMNS), "{shown}");
        assert!(shown.lines().skip(1).all(|line| line.starts_with("        /usr")), "{shown}");
        assert_eq!(shown.split_whitespace().collect::<Vec<_>>(), long.split_whitespace().collect::<Vec<_>>());
        let endless = format!("    (ALL) NOPASSWD: /{}\n", "x".repeat(200));
        assert_eq!(wrapped(&endless).lines().count(), 2);
    }

    #[test]
    fn a_rule_covers_its_programs() {
        let covers = |what: &str, program: &str| {
            let (permission, whom) = (Permission::Free, "(ALL)".to_owned());
            Rule { permission, whom, what: what.to_owned() }.covers(&[program.into()])
        };
        assert!(covers("ALL", "x") && covers("/sbin/pfctl, /bin/ls", "ls") && covers("/bin/ls", "/bin/ls"));
        assert!(!covers("/sbin/pfctl", "ls") && !covers("", "ls"));
    }
}
