//! Preferences of macOS, as `defaults` exports them.

use fleet_engine::host::Output;
use fleet_engine::resource::Error;
use plist::{Dictionary, Value};

/// The screen saver, for everybody.
pub(super) const SCREEN_SAVER: &str = "/Library/Preferences/com.apple.screensaver";
/// What holds for all programs of everybody.
pub(super) const SYSTEM_GLOBAL: &str = "/Library/Preferences/.GlobalPreferences";

/// A domain: what stands in it by key. One that is not there is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Domain(Dictionary);

impl Domain {
    /// Reads what `defaults export` said.
    pub(super) fn read(output: &Output) -> Result<Domain, Error> {
        let said = super::succeeded("defaults", output)?;
        if said.trim().is_empty() {
            return Ok(Domain::default());
        }
        let list = Value::from_reader_xml(said.as_bytes()).ok().and_then(Value::into_dictionary);
        list.map(Domain).ok_or_else(|| Error::permanent("what `defaults` exported is no property list"))
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// A number; switches count as 0 and 1.
    pub(super) fn number(&self, key: &str) -> Option<i64> {
        match self.get(key)? {
            Value::Boolean(on) => Some((*on).into()),
            Value::Real(number) => Some(*number as i64),
            other => other.as_signed_integer(),
        }
    }

    pub(super) fn switch(&self, key: &str) -> Option<bool> {
        self.number(key).map(|number| number != 0)
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_string()
    }

    /// The texts of a list.
    pub(super) fn texts(&self, key: &str) -> Option<Vec<String>> {
        let items = self.get(key)?.as_array()?;
        Some(items.iter().filter_map(Value::as_string).map(str::to_owned).collect())
    }
}

/// Whether a file was changed in this boot, given when that was and when the boot began: what macOS reads at a start alone is
/// not in effect then.
pub(super) fn changed_since_boot(modified: &Output, boot: &Output) -> Result<bool, Error> {
    let boot = super::succeeded("sysctl", boot)?;
    let began =
        boot.split_once("sec = ").and_then(|(_, rest)| rest.split([',', ' ']).next()?.parse::<i64>().ok());
    let began = began.ok_or_else(|| Error::permanent("the host does not say when it was started"))?;
    // A file that is not there was not changed.
    Ok(super::text_of(modified).and_then(|text| text.parse::<i64>().ok()).is_some_and(|at| at >= began))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Output {
        Output { status: 0, stdout: text.as_bytes().to_vec(), stderr: Vec::new() }
    }

    #[test]
    fn a_domain_is_read() {
        let list = "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict><key>n</key><integer>5</integer><key>b</key><true/>\
                    <key>a</key><array><string>x</string></array></dict></plist>";
        let domain = Domain::read(&said(list)).unwrap();
        assert_eq!((domain.number("n"), domain.switch("b"), domain.number("x")), (Some(5), Some(true), None));
        assert_eq!(domain.texts("a"), Some(vec!["x".to_owned()]));
        assert_eq!(Domain::read(&said("")).unwrap(), Domain::default());
        assert!(Domain::read(&said("x")).is_err());
        assert!(Domain::read(&Output { status: 1, ..said("") }).is_err());
    }

    #[test]
    fn what_changed_in_this_boot_is_not_in_effect() {
        let boot = said("{ sec = 1000, usec = 5 } Thu Jan  1 00:16:40 1970\n");
        let changed = |at: &str| changed_since_boot(&said(at), &boot).unwrap();
        assert!(changed("1000\n") && changed("2000\n") && !changed("999\n"));
        let missing = Output { status: 1, ..said("") };
        assert!(!changed_since_boot(&missing, &boot).unwrap());
        assert!(changed_since_boot(&said("1"), &said("x")).is_err());
    }
}
