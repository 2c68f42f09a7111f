//! All that can happen to operators who follow the protocol: this process, no second one.
//!
//! The model has no clocks. Who waits for `settle` or for the hold waits until everything is over that was under way when the wait
//! began, and every other order of events is possible: that is what the assumptions say, with pauses of any length.
//!
//! 1. `world`: hosts, vendor and operators
//! 2. `event`: what may happen
//! 3. `happen`: what comes of it
//! 4. `explore`: every order of events; what must be so in every state
//! 5. `tests`: the protocol as it is, without each guard, and how its first version failed

mod event;
mod explore;
mod happen;
mod tests;
mod world;
