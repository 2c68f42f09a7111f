//! What Macs that build have: VMs of Tart, Homebrew, Xcode and the agents of GitHub Actions and of Nodes.
//!
//! 1. [`tart`]: its bundle, how it is called, and the VMs that run
//! 2. [`brew`]: what Homebrew has installed, tapped and pinned
//! 3. [`xcode`]: which one is selected, and whether its licence was accepted
//! 4. [`runner`]: an agent: configured, installed as a service, started
//! 5. `kubelet.rs`: the agent that makes a Mac a Node
//! 6. [`work`]: jobs and Pods, which are processes as long as they last
//! 7. [`archive`]: what lies in the archives that all of these are published as
//!
//! All of it is files on the Mac, but for VMs that run.

pub mod archive;
pub(super) mod brew;
pub(super) mod kubelet;
pub(super) mod runner;
pub(super) mod tart;
pub(super) mod work;
pub(super) mod xcode;
