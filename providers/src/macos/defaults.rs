//! `macos_defaults`: a preference of macOS or of one of its programs.

use std::sync::Arc;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, table};
use fleet_engine::host::{Act, Bytes, HostKind, Operand, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Edge, Error, Resource};
use fleet_lang::{Kind, Number, Value};
use plist::{Dictionary, Value as Plist};

use super::preferences::{Domain, changed_since_boot};
use crate::host::common::{is_another, named};

/// A preference: the value of one key in a domain, with its type.
///
/// A domain is a name such as `com.apple.dock`, which then is that of the user of the connection, or of root with `sudo`; or the
/// whole path of a property list without its ending, such as `/Library/Preferences/com.apple.loginwindow`, for everybody. Other keys of the
/// domain are left alone. To remove it removes the key.
///
/// What macOS reads only when it starts is marked by `needs_reboot`: then `reboot_required` says whether it was changed in this
/// boot, and a `host_reboot` can follow it.
///
/// The value stands in the arguments of a program for a moment, where others on the host can see it: it is no place for secrets.
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
///   resource "macos_defaults" "guest" {
///     domain = "/Library/Preferences/com.apple.loginwindow"
///     key    = "GuestEnabled"
///     value  = false
///     sudo   = true
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Defaults {
    /// The domain: a name, or a whole path without `.plist`.
    #[fleet(replace)]
    domain: String,
    /// The key.
    #[fleet(replace)]
    key: String,
    /// The value: a bool, a number, a string, a list or an object, which may hold each other.
    value: Value,
    /// The type, where the value alone does not say it: `float` for a whole number, `data` for hexadecimal digits.
    r#type: Option<String>,
    /// Whether it is a preference for this host alone (`-currentHost`).
    #[fleet(default = false, replace)]
    current_host: bool,
    /// Whether it takes effect at the next start of the Mac only.
    #[fleet(default = false)]
    needs_reboot: bool,
    /// Whether root looks at it and writes it: for paths under `/Library`, and for the domains of root itself.
    #[fleet(default = false, replace)]
    sudo: bool,
    /// Whether it takes a reboot until it is in effect.
    #[fleet(computed, follows = "value", follows = "type", follows = "needs_reboot")]
    reboot_required: Option<bool>,
}

const REMOVE: &str = concat!(include_str!("before.sh"), include_str!("defaults.sh"));
const REMOVE_OF_HOST: &str = include_str!("defaults_of_host.sh");

impl Resource for Defaults {
    const NAME: &'static str = "macos_defaults";
    const DETECTS: &'static [&'static Known] = &[&table::REBOOT_PENDING];

    fn normalize(&mut self) -> Result<(), Misfit> {
        if let Some(domain) = self.domain.strip_suffix(".plist") {
            self.domain = domain.to_owned();
        }
        for (name, text) in [("domain", &self.domain), ("key", &self.key)] {
            Operand::new(text.as_str()).map_err(|misfit| Misfit { attribute: name.into(), ..misfit })?;
        }
        if self.current_host && self.domain.starts_with('/') {
            return Err(Misfit::new(
                "current_host",
                "a path names one file; leave it out, or give the name of a domain",
            ));
        }
        if self.needs_reboot && self.file().is_none() {
            let message = "nobody knows where this domain is kept, so that it cannot be seen whether it is in effect; give a \
                           whole path, or a domain of root with `sudo = true`";
            return Err(Misfit::new("needs_reboot", message));
        }
        self.r#type = self
            .r#type
            .as_deref()
            .map(str::to_lowercase)
            .filter(|wanted| Some(&**wanted) != natural(&self.value));
        self.plist().map(|_| ())
    }

    fn findings(&self) -> Vec<Finding> {
        let is_pending = self.reboot_required == Some(true);
        let evidence = || format!("{} was changed in this boot, and is read when macOS starts", self.domain);
        is_pending.then(|| table::REBOOT_PENDING.seen_by(evidence())).into_iter().collect()
    }

    fn edges() -> &'static [Edge] {
        &[Edge::After("macos_sudoers"), Edge::Before("host_reboot")]
    }
}

impl HostKind for Defaults {
    fn probe(at: &At<Defaults>) -> Result<Probe, Error> {
        let asked = named(at)?;
        let tool = if asked.current_host { Tool::DefaultsOfHost } else { Tool::Defaults };
        let mut probe = Probe::new().tool(tool, [Operand::new(asked.domain.as_str())?]);
        if let Some(file) = asked.file().filter(|_| asked.needs_reboot) {
            probe = probe.tool(Tool::Modified, [Operand::new(file)?]);
            probe = probe.tool(Tool::Sysctl, [Operand::new("kern.boottime")?]);
        }
        Ok(if asked.sudo { probe.as_root() } else { probe })
    }

    fn parse(at: &At<Defaults>, reply: &Reply) -> Result<Option<Defaults>, Error> {
        let asked = named(at)?;
        if is_another(at, |a, b| (&a.domain, &a.key) == (&b.domain, &b.key)) {
            return Ok(None);
        }
        let domain = Domain::read(reply.output(0)?)?;
        let Some(found) = domain.get(&asked.key) else { return Ok(None) };
        let reboot_required = asked.needs_reboot && changed_since_boot(reply.output(1)?, reply.output(2)?)?;
        let is_as_asked = asked.plist().is_ok_and(|wanted| wanted == *found);
        let (value, r#type) =
            if is_as_asked { (asked.value.clone(), asked.r#type.clone()) } else { shown(found) };
        Ok(Some(Defaults { value, r#type, reboot_required: Some(reboot_required), ..asked.clone() }))
    }

    fn steps(self, change: Change<Defaults>) -> Result<Vec<Step>, Error> {
        let wanted = self.plist()?;
        if matches!(&change, Change::Update { from } if from.plist().is_ok_and(|there| there == wanted)) {
            return Ok(Vec::new());
        }
        let mut arguments: Vec<String> = Vec::new();
        if self.current_host {
            arguments.push("-currentHost".into());
        }
        arguments.extend(["write".into(), self.domain.clone(), self.key.clone()]);
        arguments.extend(words(&wanted)?);
        let run = Act::Run { program: "defaults".into(), arguments, input: Bytes::default() };
        Ok(vec![Step::new(run).by_root(self.sudo)])
    }

    fn remove(observed: Defaults) -> Result<Vec<Step>, Error> {
        let script = if observed.current_host { REMOVE_OF_HOST } else { REMOVE };
        let (arguments, input) = (vec![observed.domain, observed.key], Bytes::default());
        Ok(vec![Step::new(Act::Procedure { script, arguments, input }).by_root(observed.sudo)])
    }
}

impl Defaults {
    /// Where the domain is kept, if that is known.
    fn file(&self) -> Option<String> {
        let is_path = self.domain.starts_with('/');
        let of_root = || format!("/private/var/root/Library/Preferences/{}.plist", self.domain);
        if is_path {
            Some(format!("{}.plist", self.domain))
        } else {
            (self.sudo && !self.current_host).then(of_root)
        }
    }

    /// The value as macOS keeps it.
    fn plist(&self) -> Result<Plist, Misfit> {
        let refuse = |message: &str| Err(Misfit::new("value", message));
        match (self.r#type.as_deref(), &self.value.kind) {
            (None, _) => plain(&self.value),
            (Some("float"), Kind::Number(number)) => Ok(Plist::Real(number.to_f64())),
            (Some("float"), _) => refuse("a number is needed for the type `float`"),
            (Some("data"), Kind::String(digits)) => {
                let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
                let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(pair).collect();
                bytes.map_or_else(
                    || refuse("pairs of hexadecimal digits are needed for the type `data`"),
                    |bytes| Ok(Plist::Data(bytes)),
                )
            }
            (Some("data"), _) => refuse("a string of hexadecimal digits is needed for the type `data`"),
            (Some(wanted), _) => {
                let known = "`bool`, `int`, `float`, `string`, `array`, `dict` or `data`";
                let message = if known.contains(&format!("`{wanted}`")) {
                    format!("the value is no `{wanted}`")
                } else {
                    format!("`{wanted}` is no type; write {known}, or leave it out")
                };
                Err(Misfit::new("type", message))
            }
        }
    }
}

/// The type that a value has by itself.
fn natural(value: &Value) -> Option<&'static str> {
    match plain(value).ok()? {
        Plist::Boolean(_) => Some("bool"),
        Plist::Integer(_) => Some("int"),
        Plist::Real(_) => Some("float"),
        Plist::String(_) => Some("string"),
        Plist::Array(_) => Some("array"),
        Plist::Dictionary(_) => Some("dict"),
        _ => None,
    }
}

/// A value as macOS keeps it, its type being what it is.
fn plain(value: &Value) -> Result<Plist, Misfit> {
    let refuse = |message: &str| Err(Misfit::new("value", message));
    match &value.kind {
        Kind::Bool(on) => Ok(Plist::Boolean(*on)),
        Kind::Number(number) => match number.to_i64() {
            Some(whole) => Ok(Plist::Integer(whole.into())),
            None => Ok(Plist::Real(number.to_f64())),
        },
        Kind::String(text) => Ok(Plist::String(text.to_string())),
        Kind::List(_) | Kind::Set(_) | Kind::Tuple(_) => {
            let items = value.items().unwrap_or_default();
            items.iter().map(plain).collect::<Result<_, _>>().map(Plist::Array)
        }
        Kind::Map(_) | Kind::Object(_) => {
            let mut all = Dictionary::new();
            if let Some(entries) = value.entries() {
                for (key, value) in entries.iter() {
                    all.insert(key.to_string(), plain(value)?);
                }
            }
            Ok(Plist::Dictionary(all))
        }
        Kind::Null(_) => refuse("null is no value; remove the resource to remove the key"),
        Kind::Unknown(_) => refuse("it is not known yet"),
    }
}

/// What macOS keeps, as a value and its type where the value alone does not say that.
fn shown(found: &Plist) -> (Value, Option<String>) {
    let value = match found {
        Plist::Boolean(on) => (*on).into(),
        Plist::Integer(number) => number.as_signed().unwrap_or(i64::MAX).into(),
        Plist::Real(number) => Number::from_f64(*number).unwrap_or_else(|| Number::from_whole(0)).into(),
        Plist::String(text) => Kind::String(text.as_str().into()).into(),
        Plist::Data(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            digits.as_str().into()
        }
        Plist::Date(date) => date.to_xml_format().as_str().into(),
        Plist::Array(items) => Value::tuple(items.iter().map(|item| shown(item).0).collect::<Vec<_>>()),
        Plist::Dictionary(all) => {
            let entries = all.iter().map(|(key, value)| (Arc::from(key.as_str()), shown(value).0));
            Value::object(entries.collect())
        }
        _ => Value::null(),
    };
    let kind = match found {
        Plist::Real(number) if number.fract() == 0.0 => Some("float"),
        Plist::Data(_) => Some("data"),
        Plist::Date(_) => Some("date"),
        _ => None,
    };
    (value, kind.map(str::to_owned))
}

/// The words by which `defaults` takes a value.
fn words(value: &Plist) -> Result<Vec<String>, Error> {
    let pair = |flag: &str, text: String| Ok(vec![flag.to_owned(), text]);
    match value {
        Plist::Boolean(on) => pair("-bool", on.to_string()),
        Plist::Integer(number) => pair("-int", number.to_string()),
        Plist::Real(number) => pair("-float", number.to_string()),
        Plist::String(text) => pair("-string", text.clone()),
        Plist::Data(bytes) => pair("-data", bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        other => {
            // What holds others is given as a property list.
            let mut text = Vec::new();
            let failed = |_| Error::permanent("the value cannot be written as a property list");
            other.to_writer_xml(&mut text).map_err(failed)?;
            let text = String::from_utf8_lossy(&text).into_owned();
            let inner = text.split_once("<plist version=\"1.0\">").map_or(&*text, |(_, rest)| rest);
            Ok(vec![inner.trim().trim_end_matches("</plist>").trim().to_owned()])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(value: Value, r#type: Option<&str>) -> Defaults {
        Defaults {
            domain: "com.example".into(),
            key: "k".into(),
            value,
            r#type: r#type.map(str::to_owned),
            current_host: false,
            needs_reboot: false,
            sudo: false,
            reboot_required: None,
        }
    }

    #[test]
    fn values_have_types() {
        let list = Value::tuple(vec!["a".into(), 1.into()]);
        let object = Value::object([("x".into(), true.into())].into_iter().collect());
        for (value, of, expected) in [
            (true.into(), None, "-bool true"),
            (5.into(), None, "-int 5"),
            (5.into(), Some("float"), "-float 5"),
            ("a b".into(), None, "-string a b"),
            ("00ff".into(), Some("data"), "-data 00ff"),
            (list, None, "<array>\n\t<string>a</string>\n\t<integer>1</integer>\n</array>"),
            (object, None, "<dict>\n\t<key>x</key>\n\t<true/>\n</dict>"),
        ] {
            let plist = wish(value, of).plist().unwrap();
            assert_eq!(words(&plist).unwrap().join(" "), expected);
            let (value, of) = shown(&plist);
            assert_eq!(
                wish(value, of.as_deref()).plist().unwrap(),
                plist,
                "what is shown stands for what is there"
            );
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let check = |wish: Defaults, attribute: &str| {
            assert_eq!(wish.clone().normalize().unwrap_err().attribute, attribute, "{wish:?}");
        };
        check(wish(Value::null(), None), "value");
        check(wish("x".into(), Some("float")), "value");
        check(wish(1.into(), Some("bool")), "type");
        check(wish(1.into(), Some("number")), "type");
        check(wish("0".into(), Some("data")), "value");
        check(Defaults { needs_reboot: true, ..wish(1.into(), None) }, "needs_reboot");
        check(Defaults { domain: "-g".into(), ..wish(1.into(), None) }, "domain");
        check(Defaults { current_host: true, domain: "/a".into(), ..wish(1.into(), None) }, "current_host");
        let mut said = Defaults { domain: "/a.plist".into(), ..wish(1.into(), Some("INT")) };
        said.normalize().unwrap();
        assert_eq!((&*said.domain, said.r#type), ("/a", None));
    }
}
