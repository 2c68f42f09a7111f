//! One request: the lines of a script, and beside them what the script reads.

/// What a shell is started with: it takes requests from its input, each at once, and evaluates the script in each with what
/// was sent beside it as arguments. No function sees those but the one that is given it, and no script of the user. A
/// request that is not whole is none: a shell that read its script from the input by itself would not know. It is one line
/// without single quotes, so that every login shell can pass it on.
pub const LOADER: &str = include_str!("loader.sh");

/// A request. What is sent beside the script may be secret; the script never is.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Frame {
    script: String,
    beside: String,
    sent: usize,
}

impl Frame {
    /// A request that does nothing yet.
    #[must_use]
    pub fn new() -> Frame {
        Frame::default()
    }

    /// Adds text to the script.
    pub fn push(&mut self, text: &str) {
        self.script.push_str(text);
    }

    /// Sends something beside the script; returns the word that stands for it there.
    pub fn send(&mut self, bytes: &[u8]) -> String {
        self.sent += 1;
        self.beside.push('=');
        bytes.iter().for_each(|byte| push_escaped(&mut self.beside, *byte));
        self.beside.push('\n');
        self.last()
    }

    /// The word that stands for what was sent last.
    #[must_use]
    pub fn last(&self) -> String {
        format!("\"${{{}}}\"", self.sent)
    }

    /// A request that is to be [appended](Frame::append) to this one.
    #[must_use]
    pub fn after(&self) -> Frame {
        Frame { sent: self.sent, ..Frame::default() }
    }

    /// Adds another request after this one, which has sent nothing since the other was begun.
    pub fn append(&mut self, other: &Frame) {
        self.script.push_str(&other.script);
        self.beside.push_str(&other.beside);
        self.sent = other.sent;
    }

    /// How many bytes travel.
    #[must_use]
    pub fn size(&self) -> usize {
        self.script.len() + self.beside.len()
    }

    /// The script alone.
    #[must_use]
    pub fn script(&self) -> &str {
        &self.script
    }

    /// All of it, as the loader takes it: how many bytes follow, the script on one line, what goes beside it on one line
    /// each, and a full stop.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        let Frame { script, beside, .. } = self;
        let mut text = String::with_capacity(script.len() + script.len() / 8 + beside.len());
        // A word that is empty would be none.
        text.push_str(":\\n");
        script.bytes().for_each(|byte| push_escaped(&mut text, byte));
        text.push('\n');
        text.push_str(&beside);
        text.push_str(".\n");
        format!("{}\n{text}", text.len()).into_bytes()
    }
}

/// What is sent beside a script is not shown.
impl std::fmt::Debug for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frame").field("script", &self.script).finish_non_exhaustive()
    }
}

/// How many bytes these are once they can be sent beside a script.
#[must_use]
pub fn escaped_size(bytes: &[u8]) -> usize {
    let size = |byte: &u8| match byte {
        b'\n' | b'\\' => 2,
        b' '..=b'~' => 1,
        _ => 5,
    };
    bytes.iter().map(size).sum()
}

/// A byte as `printf %b` reads it back, on one line, whatever the shell's idea of characters.
fn push_escaped(text: &mut String, byte: u8) {
    match byte {
        b'\n' => text.push_str("\\n"),
        b'\\' => text.push_str("\\\\"),
        b' '..=b'~' => text.push(char::from(byte)),
        _ => text.push_str(&format!("\\0{byte:03o}")),
    }
}

/// A text as one word of a script.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A path under the root of the host, as one word of a script.
#[must_use]
pub fn under_root(path: &str) -> String {
    format!("\"$R\"{}", quoted(path))
}
