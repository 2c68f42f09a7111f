//! The lab's Macs, as the real OpenSSH client and fleet's own connections meet them.
//!
//! 1. [`login`]: who comes in, and what travels on channels
//! 2. [`session`]: fleet's own connections
//! 3. [`life`]: reboots, installations and cut connections
//! 4. [`confined`]: what shells can reach
//! 5. [`commands`]: what simulated commands say and refuse
//! 6. [`launchd`]: services and code signatures
//! 7. [`pf`]: the packet filter and its incidents
//! 8. [`tailscale`]: Tailscale and exporters

mod commands;
mod confined;
mod launchd;
mod life;
mod login;
mod pf;
mod session;
mod tailscale;
mod world;
