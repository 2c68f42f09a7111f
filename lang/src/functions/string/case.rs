//! Upper, lower and title case, where one character always stays one character: `ß` has no upper case here.

/// The upper case of a character.
pub(super) fn upper(c: char) -> char {
    let mut mapped = c.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(only), None) => only,
        // Of the characters whose upper case is two characters, these have another form with an iota below.
        _ => match c {
            '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => offset(c, 8),
            '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => offset(c, 9),
            _ => c,
        },
    }
}

/// The lower case of a character.
pub(super) fn lower(c: char) -> char {
    // The one character whose lower case has more is İ; its first is the i.
    c.to_lowercase().next().unwrap_or(c)
}

/// The form a character has at the start of a word.
fn title(c: char) -> char {
    match c {
        // One character for two letters, of which only the first becomes large.
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        // Georgian writes whole words in capitals or none at all.
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => c,
        _ => upper(c),
    }
}

/// A text with every word's first letter in title case. Words are what ASCII punctuation and any kind of space
/// separate.
pub(super) fn title_words(text: &str) -> String {
    let mut at_start = true;
    text.chars()
        .map(|c| {
            let mapped = if at_start { title(c) } else { c };
            at_start = if c.is_ascii() { !c.is_ascii_alphanumeric() && c != '_' } else { c.is_whitespace() };
            mapped
        })
        .collect()
}

fn offset(c: char, by: u32) -> char {
    char::from_u32(u32::from(c) + by).unwrap_or(c)
}
