//! Stage 1, load: HCL text → blocks with spans → configuration; every problem at once.
//!
//! 1. [`model`]: what a configuration says
//! 2. [`body`]: a body against its schema; [`condition`]: what must hold

pub mod body;
pub mod condition;
pub mod model;
