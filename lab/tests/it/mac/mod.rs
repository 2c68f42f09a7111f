//! The lab's Macs, as the real OpenSSH client and fleet's own connections meet them.
//!
//! 1. [`login`]: who comes in, and what travels on channels
//! 2. [`login_screen`], [`login_access`] and [`login_settings`]: who sits at the screen, who becomes root, what is set
//! 3. [`session`]: fleet's own connections
//! 4. [`life`]: reboots, installations and cut connections
//! 5. [`confined`]: what shells can reach
//! 6. [`commands`]: what simulated commands say and refuse
//! 7. [`launchd`]: services and code signatures
//! 8. [`pf`]: the packet filter and its incidents
//! 9. [`builders`]: Tart, Homebrew, Xcode, and the agent of GitHub Actions
//! 10. [`tailscale`]: Tailscale and exporters
//! 11. [`watched`]: what is counted, and happens at the right moment

mod builders;
mod commands;
mod confined;
mod launchd;
mod life;
mod login;
mod login_access;
mod login_screen;
mod login_settings;
mod pf;
mod session;
mod tailscale;
mod watched;
mod world;
