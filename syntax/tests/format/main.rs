//! What formatting does, by example and by law.

mod corpus;
mod generate;
mod laws;
