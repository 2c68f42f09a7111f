//! What a script printed, cut into its answers.

use memchr::memmem;

/// One answer of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What was printed.
    pub body: Vec<u8>,
    /// What was said at its end, mostly a status.
    pub word: String,
    /// What was complained about.
    pub complaint: Vec<u8>,
}

/// Cuts both outputs of a frame, as far as they are whole; `mark` is what no answer contains.
#[must_use]
pub fn sections(mark: &str, stdout: &[u8], stderr: &[u8]) -> Vec<Section> {
    let mut complaints = cut(mark, stderr).into_iter();
    let answers = cut(mark, stdout).into_iter();
    let section = |(body, word): (&[u8], String)| {
        let complaint = complaints.next().map(|(body, _)| body.to_vec()).unwrap_or_default();
        Section { body: body.to_vec(), word, complaint }
    };
    answers.map(section).collect()
}

/// The parts of an output, each with the words after its mark. What follows the last mark is not whole.
fn cut<'o>(mark: &str, output: &'o [u8]) -> Vec<(&'o [u8], String)> {
    let end = format!("\n{mark}");
    let mut parts = Vec::new();
    let mut start = 0;
    for at in memmem::find_iter(output, end.as_bytes()) {
        let words = at + end.len();
        let Some(len) = memchr::memchr(b'\n', &output[words..]) else { break };
        let line = &output[words..words + len];
        // Something longer may start like a mark.
        if line.first().is_none_or(|byte| *byte == b' ') {
            parts.push((&output[start..at], String::from_utf8_lossy(line).trim().to_owned()));
            start = words + len + 1;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_cut_at_their_marks() {
        let out = b"one\n\nmark 0\n\nmark 1\nthree \nmarkless\0\xff\nmark a b\nopen\nmark";
        let err = b"\nmark\nno\nmark\n";
        let told: Vec<(Vec<u8>, String, Vec<u8>)> =
            sections("mark", out, err).into_iter().map(|s| (s.body, s.word, s.complaint)).collect();
        let expected: [(&[u8], &str, &[u8]); 3] =
            [(b"one\n", "0", b""), (b"", "1", b"no"), (b"three \nmarkless\0\xff", "a b", b"")];
        let expected =
            expected.map(|(body, word, complaint)| (body.to_vec(), word.to_owned(), complaint.to_vec()));
        assert_eq!(told, expected);
    }
}
