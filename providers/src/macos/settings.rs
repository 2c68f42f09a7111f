//! What kinds have in common that are settings of a Mac: always there, made another, and set back when they are removed.

use fleet_engine::host::{Act, Bytes, Step};

const APPLY: &str =
    concat!(include_str!("before.sh"), include_str!("setting.sh"), include_str!("settings.sh"));
const REMOVE: &str =
    concat!(include_str!("before.sh"), include_str!("setting.sh"), include_str!("settings_before.sh"));

/// A setting: where it is kept, its name there, its type, and what it is. Where: the name of a tool, or a domain of
/// preferences.
pub(super) type Setting = (&'static str, &'static str, &'static str, Option<String>);

/// A number, as it is written.
pub(super) fn number(place: &'static str, name: &'static str, value: Option<i64>) -> Setting {
    (place, name, "int", value.map(|number| number.to_string()))
}

/// A switch, as it is written.
pub(super) fn switch(place: &'static str, name: &'static str, value: Option<bool>) -> Setting {
    (place, name, "bool", value.map(|on| u8::from(on).to_string()))
}

/// Makes those settings another that are not as they should be, and keeps what all of them were before under a name.
pub(super) fn made(name: &str, wish: &[Setting], there: Option<&[Setting]>) -> Vec<Step> {
    let differs = |at: usize| there.is_none_or(|there| there[at] != wish[at]);
    let is_open = |setting: &Setting| setting.3.is_none();
    if (0..wish.len()).all(|at| is_open(&wish[at]) || !differs(at)) {
        return Vec::new();
    }
    // All of them are written: what was there before is kept of all of them at once.
    let mut arguments = vec![name.to_owned()];
    for (place, name, of, value) in wish {
        if let Some(value) = value {
            arguments.extend([*place, name, of].map(str::to_owned));
            arguments.push(value.clone());
        }
    }
    vec![Step::new(Act::Procedure { script: APPLY, arguments, input: Bytes::default() }).as_root()]
}

/// Sets back what is kept under a name.
pub(super) fn set_back(name: &str) -> Vec<Step> {
    let (arguments, input) = (vec![name.to_owned()], Bytes::default());
    vec![Step::new(Act::Procedure { script: REMOVE, arguments, input }).as_root()]
}
