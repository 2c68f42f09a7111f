//! Pools of rented Macs from end to end: `fleet` as a process of its own, in a world of its own.
//!
//! The configuration is `examples/fleets/scaleway-runners`, as it stands. What became of the hosts is asked of the
//! vendor's books, of the ledgers on the Macs and of the log of requests, never of fleet itself.
//!
//! 1. [`world`]: a vendor, Macs, and directories with configurations for them
//! 2. [`example`]: a life without accidents
//! 3. [`behind`]: what others do meanwhile, and what is nobody's business
//! 4. [`killed`]: runs that are killed at moments that chance picks
//! 5. [`lost`]: requests that get no answer, or take effect late
//! 6. [`race`]: two for one host
//! 7. [`overdue`]: hosts that do not come back in time
//! 8. [`scrubbed`]: hosts that go back without being installed anew
//! 9. [`retired`]: servers that are deleted for good
//! 10. [`by_hand`]: what a new user would try: `fleet demo`, and `fleet lab up` with what it prints

mod behind;
mod by_hand;
mod example;
mod killed;
mod lost;
mod overdue;
mod race;
mod retired;
mod scrubbed;
mod world;
