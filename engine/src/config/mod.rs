//! Stage 1, load: HCL text → blocks with spans → configuration; every problem at once.
//!
//! 1. [`load`](mod@load): directories → texts → trees, and which module calls which
//! 2. `read`: the tree of one directory → [`model`], what a configuration says
//! 3. [`values`]: the values of the root module's variables
//! 4. [`body`]: a body against its schema; [`condition`]: what must hold

pub mod body;
mod calls;
pub mod condition;
mod constant;
pub mod load;
pub mod model;
mod read;
#[cfg(test)]
mod tests;
pub mod values;
mod version;

pub use load::load;
