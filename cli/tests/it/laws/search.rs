//! Finds secrets in bytes, however they are written.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What a component of an address keeps as it is.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// What is shorter would be found by chance.
pub(crate) const SHORTEST: usize = 10;

/// What is found, and how it is written there.
pub(crate) type Found = (String, &'static str);

/// Looks for secrets.
pub(crate) struct Search {
    forms: Vec<(String, &'static str, String)>,
}

impl Search {
    /// Looks for these.
    pub(crate) fn new(secrets: &[&str]) -> Search {
        let mut forms = Vec::new();
        for secret in secrets {
            assert!(secret.len() >= SHORTEST, "{secret} is too short to be looked for");
            forms.extend(written(secret).into_iter().map(|(how, form)| ((*secret).to_owned(), how, form)));
            // Texts may be shown line by line.
            let lines = secret.lines().filter(|line| line.len() >= SHORTEST && line.len() < secret.len());
            forms.extend(lines.map(|line| ((*secret).to_owned(), "line", line.to_owned())));
        }
        Search { forms }
    }

    /// The secrets that stand in some bytes.
    pub(crate) fn find(&self, bytes: &[u8]) -> Vec<Found> {
        // Logs are long, and there are many forms: texts are searched faster.
        let text = String::from_utf8_lossy(bytes);
        let found = self.forms.iter().filter(|(_, _, form)| text.contains(form.as_str()));
        found.map(|(secret, how, _)| (secret.clone(), *how)).collect()
    }

    /// None of them stands there.
    #[track_caller]
    pub(crate) fn check(&self, place: &str, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes).replace('\0', "");
        assert_eq!(self.find(bytes), [], "in {place}: {text}");
    }
}

/// All ways to write a secret.
fn written(secret: &str) -> Vec<(&'static str, String)> {
    let json = |text: &str| {
        let quoted = serde_json::to_string(text).unwrap();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let ascii: String = json(secret)
        .chars()
        .flat_map(|c| {
            let mut units = [0; 2];
            let units: &[u16] = c.encode_utf16(&mut units);
            if c.is_ascii() {
                vec![c.to_string()]
            } else {
                units.iter().map(|u| format!("\\u{u:04x}")).collect()
            }
        })
        .collect();
    let percent = utf8_percent_encode(secret, COMPONENT).to_string();
    let mut forms = vec![
        ("raw", secret.to_owned()),
        ("hex", hex::encode(secret)),
        ("HEX", hex::encode_upper(secret)),
        ("URL", percent.clone()),
        ("URL, all", utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string()),
        ("form", percent.replace("%20", "+")),
        ("JSON", json(secret)),
        ("JSON, ASCII", ascii),
        ("JSON, slashes", json(secret).replace('/', "\\/")),
        ("JSON twice", json(&json(secret))),
        ("Rust", format!("{secret:?}").trim_matches('"').to_owned()),
    ];
    for shift in 0..3 {
        for (how, engine) in [("base64", &STANDARD_NO_PAD), ("base64, URL", &URL_SAFE_NO_PAD)] {
            forms.push((how, inner_base64(secret, shift, engine)));
        }
    }
    forms
}

/// The middle of the base64 of a longer text, in which `shift` bytes (or three more, and so on) stand before the secret:
/// what its neighbours have no influence on.
fn inner_base64(secret: &str, shift: usize, engine: &impl Engine) -> String {
    let text: Vec<u8> = std::iter::repeat_n(0, shift).chain(secret.bytes()).collect();
    let whole = text.len() / 3 * 4;
    let first = shift.div_ceil(3) * 4;
    engine.encode(&text)[first..whole].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "p@ss \"w\\ört/+%=&? 7\n#é";

    #[test]
    fn a_planted_leak_is_found_however_it_is_written() {
        let search = Search::new(&[SECRET]);
        let planted = |text: String| !search.find(format!("before {text} after").as_bytes()).is_empty();
        assert!(planted(SECRET.to_owned()));
        assert!(planted(serde_json::json!({ "nested": [SECRET] }).to_string()));
        assert!(planted(serde_json::json!({ "text": serde_json::json!([SECRET]).to_string() }).to_string()));
        assert!(planted(format!("{:?}", Some(SECRET))));
        assert!(planted(hex::encode(format!("x{SECRET}y"))));
        assert!(planted(hex::encode_upper(format!("x{SECRET}y"))));
        assert!(planted(utf8_percent_encode(&format!("a b={SECRET}"), COMPONENT).to_string()));
        for before in ["", "x", "xy", "xyz", "xyzz"] {
            for after in ["", "1", "12"] {
                let text = format!("{before}{SECRET}{after}");
                assert!(planted(STANDARD_NO_PAD.encode(&text)), "{before}{after}");
                assert!(planted(URL_SAFE_NO_PAD.encode(&text)), "{before}{after}");
            }
        }
        assert_eq!(search.find(b"nothing of the kind"), []);
    }
}
