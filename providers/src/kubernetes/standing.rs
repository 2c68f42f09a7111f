//! Whose the credentials of a kubeconfig are, and until when: asked of the cluster, and read in the credentials themselves.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use fleet_engine::provider::Standing;
use fleet_engine::resource::Error;
use kube::config::AuthInfo;
use serde_json::Value as Json;

use super::client;
use super::settings::Cluster;

/// What a certificate begins and ends with as text.
const BEGINS: &str = "-----BEGIN CERTIFICATE-----";
const ENDS: &str = "-----END CERTIFICATE-----";

/// The numbers that DER has for its two sorts of dates: years of two digits, and of four.
const SHORT_DATE: u8 = 0x17;
const LONG_DATE: u8 = 0x18;
/// That of the version of a certificate, which may be left out.
const VERSION: u8 = 0xa0;

/// Asks a cluster.
pub(super) async fn of(cluster: Cluster) -> Result<Standing, Error> {
    let until = end(&cluster.config.auth_info);
    let who = client::connect(cluster)?.looking.who_asks().await?;
    Ok(Standing { who, until, warnings: Vec::new() })
}

/// Until when somebody can log in with this. What is got anew whenever it is needed has no end.
fn end(login: &AuthInfo) -> Option<SystemTime> {
    // Nothing else says what is in it.
    let said = serde_json::to_value(login).ok()?;
    if let Some(token) = said["token"].as_str() {
        return end_of_token(token);
    }
    let pem = match (&login.client_certificate_data, &login.client_certificate) {
        (Some(data), _) => String::from_utf8(BASE64_STANDARD.decode(data).ok()?).ok()?,
        (None, Some(path)) => std::fs::read_to_string(path).ok()?,
        (None, None) => return None,
    };
    end_of_certificate(&pem)
}

/// Tokens say in their middle until when they are good, unless they are good for ever.
fn end_of_token(token: &str) -> Option<SystemTime> {
    let [_, claims, _] = token.split('.').collect::<Vec<_>>()[..] else { return None };
    let claims: Json = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    let seconds = claims["exp"].as_f64().filter(|seconds| *seconds >= 0.0)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(seconds).ok()?)
}

/// The first certificate of a chain is that of whoever logs in.
fn end_of_certificate(pem: &str) -> Option<SystemTime> {
    let (_, rest) = pem.split_once(BEGINS)?;
    let (body, _) = rest.split_once(ENDS)?;
    let der = BASE64_STANDARD.decode(body.split_whitespace().collect::<String>()).ok()?;
    let certificate = Element::first(&der)?;
    let mut rest = Element::first(certificate.inside)?.inside;
    let first = Element::first(rest)?;
    if first.sort == VERSION {
        rest = first.rest;
    }
    // Its number, how it is signed, by whom.
    for _ in 0..3 {
        rest = Element::first(rest)?.rest;
    }
    let from = Element::first(Element::first(rest)?.inside)?;
    Element::first(from.rest)?.date()
}

/// A piece of DER, and what follows it.
struct Element<'d> {
    sort: u8,
    inside: &'d [u8],
    rest: &'d [u8],
}

impl<'d> Element<'d> {
    fn first(der: &'d [u8]) -> Option<Element<'d>> {
        let (sort, der) = der.split_first()?;
        let (first, der) = der.split_first()?;
        let (length, der) = match first {
            0..=0x7f => (usize::from(*first), der),
            // So many bytes say how long it is.
            0x81..=0x84 => {
                let (bytes, der) = der.split_at_checked(usize::from(first & 0x7f))?;
                (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), der)
            }
            _ => return None,
        };
        let (inside, rest) = der.split_at_checked(length)?;
        Some(Element { sort: *sort, inside, rest })
    }

    fn date(&self) -> Option<SystemTime> {
        let text = std::str::from_utf8(self.inside).ok()?.strip_suffix('Z')?;
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let text = match (self.sort, text.len()) {
            (SHORT_DATE, 12) if text < "50" => format!("20{text}"),
            (SHORT_DATE, 12) => format!("19{text}"),
            (LONG_DATE, 14) => text.to_owned(),
            _ => return None,
        };
        let part = |from, to| &text[from..to];
        let (year, month, day) = (part(0, 4), part(4, 6), part(6, 8));
        let (hour, minute, second) = (part(8, 10), part(10, 12), part(12, 14));
        humantime::parse_rfc3339(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z")).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Until 2031-02-03T04:05:06Z, and after what years of two digits can say.
    const CERTIFICATE: &str = include_str!("standing/until-2031.pem");
    const FAR: &str = include_str!("standing/until-2061.pem");

    #[test]
    fn until_when_one_can_log_in() {
        let at = |text: &str| humantime::parse_rfc3339(text).ok();
        let jwt = |claims: &str| format!("e30.{}.c2ln", BASE64_URL_SAFE_NO_PAD.encode(claims));
        let data = |pem: &str| Some(BASE64_STANDARD.encode(pem));
        let certificate = |pem| AuthInfo { client_certificate_data: data(pem), ..AuthInfo::default() };
        let token = |token: &str| AuthInfo { token: Some(token.to_owned().into()), ..certificate(FAR) };
        for (login, expected) in [
            (AuthInfo::default(), None),
            (token(&jwt(r#"{"exp":1925006706}"#)), at("2031-01-01T04:05:06Z")),
            (token(&jwt(r#"{"sub":"x"}"#)), None),
            (token("opaque"), None),
            (token("a.b.c"), None),
            (certificate(CERTIFICATE), at("2031-02-03T04:05:06Z")),
            (certificate(FAR), at("2061-02-03T04:05:06Z")),
            (certificate(&FAR.replace('M', "A")), None),
        ] {
            assert_eq!(end(&login), expected);
        }
    }

    #[test]
    fn no_certificate_is_too_short_to_be_read() {
        let whole = BASE64_STANDARD
            .decode(CERTIFICATE.lines().filter(|line| !line.starts_with('-')).collect::<String>())
            .unwrap();
        for length in 0..whole.len() {
            let part = BASE64_STANDARD.encode(&whole[..length]);
            assert_eq!(end_of_certificate(&format!("{BEGINS}\n{part}\n{ENDS}\n")), None, "{length}");
        }
    }
}
