//! Permission bits as text: four octal digits.

use fleet_engine::attributes::Misfit;

/// The one spelling of permission bits: `"644"` and `"0644"` are the same.
pub(crate) fn normal(text: &str) -> Result<String, Misfit> {
    let refuse = || Misfit::new("mode", "up to four octal digits are needed, such as \"0644\"");
    parse(text).map(format).ok_or_else(refuse)
}

pub(crate) fn parse(text: &str) -> Option<u32> {
    let octal = !text.is_empty() && text.len() <= 4 && text.bytes().all(|b| matches!(b, b'0'..=b'7'));
    if octal { u32::from_str_radix(text, 8).ok() } else { None }
}

pub(crate) fn format(bits: u32) -> String {
    format!("{bits:04o}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_have_one_spelling() {
        for (given, expected) in [("644", "0644"), ("0644", "0644"), ("4755", "4755"), ("0", "0000")] {
            assert_eq!(normal(given).unwrap(), expected);
        }
        for wrong in ["", "9", "rw", "00644", "+644", "-1"] {
            assert!(normal(wrong).is_err(), "{wrong}");
        }
    }
}
