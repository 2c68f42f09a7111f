//! `macos_auto_login`: somebody who is logged in at the screen without typing anything.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, Sign, detected_by, in_trouble, table};
use fleet_engine::host::step::{self, Keep};
use fleet_engine::host::{Act, Bytes, Content, HostKind, Operand, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Disruption, Edge, Error, Resource, Touch};

use super::preferences::Domain;
use super::{no_wish_for_trouble, text_of};
use crate::cure;
use crate::host::common::{keep_step, named, regular};
use crate::mode;

/// Logs a user in at the screen, so that there is a session for VMs, runners and whatever else needs one.
///
/// macOS keeps the password in a file and is told who is meant; then loginwindow is started anew, because a Mac without a screen
/// logs nobody in by itself at a boot. If the password is wrong, macOS puts `<sealed>` in its place and says nothing: that is seen,
/// and so is a session that is missing or a loginwindow that is gone for good.
///
/// Whoever is logged in at the screen is logged out when the password or the user changes, and when it is removed.
///
/// ```hcl
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
/// }
///
/// variable "password" {
///   type      = string
///   sensitive = true
///   default   = "pass word"
/// }
///
/// fleet "desk" {
///   pool     = pool.desk
///   hosts    = ["mini-a"]
///   hostname = host.key
///   connection "ssh" {}
///
///   resource "macos_auto_login" "m1" {
///     user     = "m1"
///     password = var.password
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct AutoLogin {
    /// Who is logged in.
    user: String,
    /// The number of that user, as `id -u` says it.
    #[fleet(default = 501)]
    uid: i64,
    /// The password of that user. It is read back and compared, and kept nowhere else. The one that is there stays if this is
    /// not given or null, as it is where a vendor keeps the password to itself.
    #[fleet(optional_computed, secret)]
    password: Option<String>,
    /// The permission bits of the file with the password, in octal. Anybody who can read the file has the password.
    #[fleet(default = "0600")]
    mode: String,
    /// Whether there is to be a session now; with `false`, nobody is logged out or in before loginwindow is next started anew.
    #[fleet(default = true)]
    session: bool,
    /// What is wrong with it: the password is sealed, loginwindow is gone, nobody is logged in. It is found out and mended, and
    /// cannot be wished for.
    trouble: Option<String>,
    /// How many seconds it may take until somebody is logged in.
    #[fleet(default = 30)]
    timeout: i64,
}

const APPLY: &str = include_str!("auto_login.sh");
const REMOVE: &str = concat!(include_str!("before.sh"), include_str!("auto_login_before.sh"));

const FILE: &str = "/private/etc/kcpassword";
const DOMAIN: &str = "/Library/Preferences/com.apple.loginwindow";
const KEY: &str = "autoLoginUser";
/// macOS refused the password.
const REFUSED: &str = "the password is sealed: macOS refused it, and put `<sealed>` in its place";
/// launchd does not start loginwindow again by itself.
const GONE: &str = "loginwindow is gone: it was hung up on, and launchd does not start it again by itself";
/// There is no session.
const NOBODY: &str = "nobody is logged in at the screen";
/// Which bad states these are.
const SIGNS: [Sign; 3] =
    [(REFUSED, &table::SEALED_PASSWORD), (GONE, &table::LOGINWINDOW_GONE), (NOBODY, &table::NO_AQUA_SESSION)];
/// What macOS and the vendor put in the place of a password.
const SEALED: &str = "<sealed>";
/// Combined with the bytes of the password, over and over.
const CIPHER: [u8; 11] = [0x7d, 0x89, 0x52, 0x23, 0xd2, 0xbc, 0xdd, 0xea, 0xa3, 0xb9, 0x1f];

impl Resource for AutoLogin {
    const NAME: &'static str = "macos_auto_login";
    const DETECTS: &'static [&'static Known] = &detected_by(&SIGNS);

    fn normalize(&mut self) -> Result<(), Misfit> {
        Operand::new(self.user.as_str()).map_err(|misfit| Misfit { attribute: "user".into(), ..misfit })?;
        match self.password.as_deref() {
            Some("") => {
                return Err(Misfit::new(
                    "password",
                    "an empty password lets nobody in, and macOS would seal it",
                ));
            }
            Some(password) if password.starts_with(SEALED) && cure::is_there("refuse-sealed") => {
                let message = "it is `<sealed>`: whoever was asked for it keeps the password to itself, as a vendor does some \
                               hours after an order. Give the real one";
                return Err(Misfit::new("password", message));
            }
            Some(password) if password.contains(['\0', '\n']) => {
                let message = "a password has one line; take the newline at its end away, such as by `chomp`";
                return Err(Misfit::new("password", message));
            }
            _ => {}
        }
        no_wish_for_trouble(self.trouble.as_ref())?;
        if !(1..=600).contains(&self.timeout) {
            return Err(Misfit::new("timeout", "1 to 600 seconds are possible"));
        }
        self.mode = mode::normal(&self.mode)?;
        Ok(())
    }

    fn findings(&self) -> Vec<Finding> {
        in_trouble(&SIGNS, self.trouble.as_deref())
    }

    fn disrupts(touch: Touch<'_>) -> Disruption {
        match touch {
            Touch::Update(names) if names.iter().all(|name| matches!(*name, "mode" | "timeout")) => {
                Disruption::Nothing
            }
            // Everything that has a window goes with the session.
            _ => Disruption::Host,
        }
    }

    fn edges() -> &'static [Edge] {
        &[
            Edge::After("macos_sudoers"),
            Edge::After("macos_power"),
            // A reboot ends the session.
            Edge::After("host_reboot"),
            Edge::Before("macos_launchd_service"),
            Edge::Before("macos_tart"),
            Edge::Before("github_runner"),
        ]
    }
}

impl HostKind for AutoLogin {
    fn probe(at: &At<AutoLogin>) -> Result<Probe, Error> {
        let asked = named(at)?;
        let operand = |text: String| Ok::<_, Misfit>([Operand::new(text)?]);
        let probe = Probe::new().content(FILE, Content::Whole);
        let probe = probe.tool(Tool::Defaults, operand(DOMAIN.into())?);
        let probe = probe.tool(Tool::Launchctl, operand(format!("gui/{}", asked.uid))?);
        let probe = probe.tool(Tool::Launchctl, operand("system/com.apple.loginwindow".into())?);
        Ok(probe.tool(Tool::Uid, operand(asked.user.clone())?).as_root())
    }

    fn parse(at: &At<AutoLogin>, reply: &Reply) -> Result<Option<AutoLogin>, Error> {
        let asked = named(at)?;
        let user = Domain::read(reply.output(1)?)?.text(KEY).map(str::to_owned);
        let (Some(found), Some(user)) = (reply.path(0)?, user) else { return Ok(None) };
        let kept = regular(FILE, found)?.content.as_deref().unwrap_or_default();
        let password = decoded(kept);
        let sealed = cure::is_there("see-sealed-password")
            && password.as_deref().is_some_and(|plain| plain.starts_with(SEALED));
        let uid = text_of(reply.output(4)?).and_then(|text| text.parse::<i64>().ok());
        let domain = reply.output(2)?;
        let has_session =
            domain.status == 0 && String::from_utf8_lossy(&domain.stdout).contains("session = Aqua");
        let is_gone = text_of(reply.output(3)?).is_none_or(|text| text.contains("state = not running"));
        let trouble = match (sealed, is_gone) {
            (true, _) => Some(REFUSED),
            (false, true) => Some(GONE),
            (false, false) if asked.session && !has_session => Some(NOBODY),
            (false, false) => None,
        };
        let mode = if found.owner == "root" {
            mode::format(found.mode)
        } else {
            format!("{:04o} of {}", found.mode, found.owner)
        };
        Ok(Some(AutoLogin {
            user,
            uid: uid.unwrap_or_default(),
            password: password.filter(|_| !sealed),
            mode,
            session: asked.session,
            trouble: trouble.map(str::to_owned),
            timeout: asked.timeout,
        }))
    }

    fn steps(self, change: Change<AutoLogin>) -> Result<Vec<Step>, Error> {
        let from = match change {
            Change::Update { from } => Some(from),
            Change::Create => None,
        };
        if let Some(from) = from.as_ref().filter(|from| from.uid != self.uid) {
            let message = format!("the number of `{}` is {}, and not {}", self.user, from.uid, self.uid);
            return Err(Error::permanent(message).help(format!("write `uid = {}`", from.uid)));
        }
        let keep =
            Keep { mode: mode::parse(&self.mode), owner: Some("root".into()), group: Some("wheel".into()) };
        let has_password =
            from.as_ref().is_some_and(|from| self.password.is_some() && from.password == self.password);
        let has_user = from.as_ref().is_some_and(|from| from.user == self.user);
        let is_sound =
            from.as_ref().is_some_and(|from| from.trouble.is_none() && from.session == self.session);
        let mut steps = Vec::new();
        if !has_password {
            let password = self.password.ok_or_else(unknown)?;
            let content = step::Content::Bytes(Bytes(encoded(&password)));
            steps.push(Step::new(Act::Write { path: FILE.into(), content, keep, validate: None }));
        } else if from.is_some_and(|from| from.mode != self.mode) {
            steps.push(keep_step(FILE.into(), keep));
        }
        if !has_user {
            let arguments = ["write", DOMAIN, KEY, "-string", &self.user].map(str::to_owned).into();
            steps.push(Step::new(Act::Run {
                program: "defaults".into(),
                arguments,
                input: Bytes::default(),
            }));
        }
        if self.session && !(has_password && has_user && is_sound) {
            let sealed: String = encoded(SEALED).iter().map(|byte| format!("{byte:02x}")).collect();
            let arguments = vec![self.uid.to_string(), self.timeout.to_string(), sealed];
            steps.push(Step::new(Act::Procedure {
                script: cure::procedure(APPLY),
                arguments,
                input: Bytes::default(),
            }));
        }
        Ok(steps.into_iter().map(Step::as_root).collect())
    }

    fn remove(_: AutoLogin) -> Result<Vec<Step>, Error> {
        let (arguments, input) = (Vec::new(), Bytes::default());
        Ok(vec![Step::new(Act::Procedure { script: REMOVE, arguments, input }).as_root()])
    }
}

/// There is no password that could be written.
fn unknown() -> Error {
    Error::permanent("nobody says what the password is, and there is none on the Mac that could stay").help(
        "give `password`; where a vendor keeps it to itself, set one at the screen, or let the machine be installed anew",
    )
}

/// The file for a password: padded with NUL to the next multiple of the cipher's length, so that one always follows.
fn encoded(password: &str) -> Vec<u8> {
    let mut bytes = password.as_bytes().to_vec();
    bytes.resize((bytes.len() / CIPHER.len() + 1) * CIPHER.len(), 0);
    ciphered(&bytes)
}

/// The password in a file; a file that is none has none. Some write `<sealed>` as it is.
fn decoded(file: &[u8]) -> Option<String> {
    if file.starts_with(SEALED.as_bytes()) {
        return Some(SEALED.to_owned());
    }
    let plain = ciphered(file);
    let end = plain.iter().position(|byte| *byte == 0)?;
    String::from_utf8(plain[..end].to_vec()).ok()
}

fn ciphered(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().zip(CIPHER.iter().cycle()).map(|(byte, key)| byte ^ key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(password: Option<&str>) -> AutoLogin {
        AutoLogin {
            user: "m1".into(),
            uid: 501,
            password: password.map(Into::into),
            mode: "0600".into(),
            session: true,
            trouble: None,
            timeout: 30,
        }
    }

    #[test]
    fn a_password_is_padded_to_the_next_multiple() {
        for length in 0..40 {
            let password = "x".repeat(length);
            let file = encoded(&password);
            assert_eq!(file.len() % 11, 0, "{length}");
            assert!(file.len() > length && file.len() <= length + 11, "{length}");
            assert_eq!(decoded(&file).as_deref(), Some(&*password));
        }
        assert_eq!(encoded("m1"), [0x10, 0xb8, 0x52, 0x23, 0xd2, 0xbc, 0xdd, 0xea, 0xa3, 0xb9, 0x1f]);
        assert_eq!(encoded("eleven byte").len(), 22);
    }

    #[test]
    fn what_is_sealed_is_seen_however_it_is_written() {
        for file in [encoded(SEALED), b"<sealed>\0\0\0".to_vec()] {
            assert_eq!(decoded(&file).as_deref(), Some(SEALED));
        }
        assert_eq!(decoded(&encoded("eleven byte")[..11]), None);
        assert_eq!(decoded(b""), None);
    }

    #[test]
    fn what_is_no_password_is_refused() {
        wish(Some("hunter2")).normalize().unwrap();
        wish(None).normalize().unwrap();
        let sealed = AutoLogin { trouble: Some(REFUSED.into()), ..wish(None) };
        for change in [Change::Create, Change::Update { from: sealed }] {
            let error = wish(None).steps(change).unwrap_err();
            assert!(error.to_string().contains("nobody says what the password is"), "{error}");
        }
        for (password, word) in
            [("", "empty"), ("<sealed>", "keeps the password to itself"), ("a\n", "one line")]
        {
            let misfit = wish(Some(password)).normalize().unwrap_err();
            assert!(misfit.attribute == "password" && misfit.message.contains(word), "{misfit}");
        }
    }

    #[test]
    fn loginwindow_is_started_anew_only_where_that_is_needed() {
        let acts = |wish: AutoLogin, from: AutoLogin| -> Vec<&str> {
            let steps = wish.steps(Change::Update { from }).unwrap();
            let name = |step: &Step| match step.act {
                Act::Write { .. } => "write",
                Act::Keep { .. } => "keep",
                Act::Run { .. } => "run",
                _ => "start",
            };
            assert!(steps.iter().all(|step| step.root));
            steps.iter().map(name).collect()
        };
        let there = wish(Some("a"));
        assert_eq!(acts(wish(Some("a")), there.clone()), [""; 0]);
        assert_eq!(acts(wish(Some("a")), AutoLogin { mode: "0644".into(), ..there.clone() }), ["keep"]);
        assert_eq!(acts(wish(Some("b")), there.clone()), ["write", "start"]);
        assert_eq!(acts(wish(Some("a")), AutoLogin { user: "x".into(), ..there.clone() }), ["run", "start"]);
        assert_eq!(acts(wish(Some("a")), AutoLogin { session: false, ..there.clone() }), ["start"]);
        let gone = AutoLogin { trouble: Some(GONE.into()), ..there.clone() };
        assert_eq!(acts(wish(Some("a")), gone), ["start"]);
        let sealed = AutoLogin { trouble: Some(REFUSED.into()), password: None, ..there.clone() };
        assert_eq!(acts(wish(Some("a")), sealed), ["write", "start"]);
        let quiet = AutoLogin { session: false, ..wish(Some("b")) };
        assert_eq!(acts(quiet, AutoLogin { session: false, ..there }), ["write"]);
    }

    #[test]
    fn the_password_stands_in_no_argument() {
        let steps = wish(Some("hunter2")).steps(Change::Create).unwrap();
        assert!(!format!("{steps:?}").contains("hunter2"), "{steps:?}");
    }
}
