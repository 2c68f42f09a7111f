//! Kinds on Macs of the lab, from end to end.
//!
//! 1. [`minis`]: Macs that are on, and a directory with a configuration for them; [`rented`]: the same with Macs that come out of
//!    a vendor's pool
//! 2. [`incidents`]: every known incident, from the broken host to the empty plan
//! 3. [`launchd`]: services and signed binaries
//! 4. [`pf`]: the packet filter
//! 5. [`login`] and [`login_incidents`]: who is logged in, who may become root, and how a Mac is set
//! 6. [`builders`]: Tart, Homebrew, Xcode, runners, and the modules that put them together; [`github`]: runners from both sides
//! 7. [`tailscale`]: Tailscale, exporters, and the modules that go with them; [`reachability`]: the module that keeps sshd answering
//! 8. [`doctor`]: the bad states that hosts are known to get into, by their names
//! 9. [`fields`]: whether the tables of what happens behind fleet's back know every field
//! 10. [`full`]: all of it on one Mac, which is [`interrupted`], or where nothing can be seen of what was [`begun`]; [`mac_ci`]: the three fleets of `examples/fleets/mac-ci`
//!
//! ## How a test uses them
//!
//! ```text
//! let minis = Minis::free();                    // one Mac, whose user becomes root without a password
//! minis.configure("resource \"…\" \"x\" {…}");  // what stands in the fleet of all Macs
//! minis.apply();                                // fleet, in process; `plan`, `steps`, `destroy`, `fleet` likewise
//! minis.check_converged("why");                 // the plan is empty
//! minis.by_hand("launchctl list");              // somebody else on the first Mac, as `m1`; `as_root` as root
//! minis.live();                                 // what a reboot forgets, as JSON
//! let before = minis.snapshot();                // files with owners and modes, and the live state, but for …
//! minis.check_same(&before, "destroyed");       // … what every boot and every run of fleet makes anew
//! ```
//!
//! Time on a Mac goes as fast as [`Minis::paced`] was told. While all on a Mac sleep, [`Pace::Skipping`] jumps to the next
//! moment that somebody waits for; so the waits of procedures cost nothing, and what races in reality races here. A Mac
//! that is started anew waits for real seconds then: tests with reboots take [`Pace::Times`].

mod begun;
pub(crate) mod builders;
mod doctor;
mod full;
mod github;
mod incidents;
mod interrupted;
mod launchd;
mod login;
mod login_incidents;
mod mac_ci;
pub(crate) mod minis;
mod pf;
mod reachability;
pub(crate) mod rented;
mod tailscale;

pub(crate) use minis::Minis;
