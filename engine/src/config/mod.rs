//! Stage 1, load: HCL text → blocks with spans → configuration; every problem at once.
//!
//! [`model`] is what a configuration says, as plain data that keeps expressions as the parser left them.

pub mod model;
