//! Names that nobody can guess.

/// 128 random bits, in hexadecimal digits.
pub(crate) fn name() -> String {
    let mut bytes = [0; 16];
    // Without chance there is no way to go on: a mark that can be guessed would let contents pass for answers.
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    hex(&bytes)
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
