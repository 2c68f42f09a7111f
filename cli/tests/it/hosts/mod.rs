//! Hosts from end to end: configurations with fleets, converged through the command line.
//!
//! 1. [`kinds`]: every kind on this machine, under a root of its own: made, mended, changed, removed
//! 2. [`slots`]: which machine a slot has; more and fewer of them
//! 3. [`replace`]: a slot gets another machine
//! 4. [`choice`]: `--host`, `--exclude-host`, `--accept-host-key`
//! 5. [`ledger`]: whose a machine is, and what it knows of itself
//! 6. [`inventory`]: what it lists is what is managed there
//! 7. [`saved`]: saved plans
//! 8. [`ssh`]: real `sshd`: many machines, odd names and contents, large files
//! 9. [`broken`]: machines that are down, strange or full; connections that break
//! 10. [`trips`]: round trips, counted by the server
//! 11. [`killed`]: nothing of fleet outlives it
//! 12. [`secrets`]: where no secret may be
//! 13. [`shell`]: `fleet ssh`
//! 14. [`examples`]: the fleets in `examples/`
//! 15. [`apart`], [`adopted`], [`rebuilt`]: hosts paused, let go, taken over, and found again after the state was lost
//! 16. [`busy`]: hosts where somebody's work runs
//! 17. [`lab`]: Macs of the lab
//! 18. [`books`]: the books of a pool behind a vendor

mod adopted;
mod apart;
mod books;
mod broken;
mod busy;
mod choice;
mod desk;
mod examples;
mod inventory;
mod killed;
mod kinds;
pub(crate) mod lab;
mod ledger;
mod rebuilt;
mod replace;
mod saved;
mod secrets;
mod shell;
mod slots;
mod ssh;
pub(crate) mod tree;
mod trips;
