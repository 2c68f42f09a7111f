//! A terminal, for whoever logs in by hand.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;
use tokio::net::unix::pipe::{Receiver, Sender};

/// What somebody asks for who wants a terminal.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// What it is, such as `xterm`.
    pub(super) kind: String,
    /// How large it is, in columns and rows.
    pub(super) size: (u32, u32),
}

/// The end of a terminal at which the person sits.
#[derive(Debug)]
pub(super) struct Terminal(OwnedFd);

impl Terminal {
    /// Both ends: that of the person, and that of the process.
    pub(super) fn open(size: (u32, u32)) -> io::Result<(Terminal, File)> {
        let person = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        rustix::io::fcntl_setfd(&person, FdFlags::CLOEXEC)?;
        rustix::pty::grantpt(&person)?;
        rustix::pty::unlockpt(&person)?;
        let name = rustix::pty::ptsname(&person, Vec::new())?;
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let process = rustix::fs::open(name, flags, Mode::empty())?;
        rustix::io::ioctl_fionbio(&person, true)?;
        let terminal = Terminal(person);
        terminal.resize(size)?;
        Ok((terminal, process.into()))
    }

    /// What the person types goes into the one, and what the process prints comes out of the other, which ends with an
    /// error.
    pub(super) fn streams(&self) -> io::Result<(Sender, Receiver)> {
        let sender = Sender::from_owned_fd_unchecked(self.0.try_clone()?)?;
        Ok((sender, Receiver::from_owned_fd_unchecked(self.0.try_clone()?)?))
    }

    /// Makes it another size.
    pub(super) fn resize(&self, (columns, rows): (u32, u32)) -> io::Result<()> {
        let short = |size: u32| u16::try_from(size).unwrap_or(u16::MAX);
        let size = Winsize { ws_row: short(rows), ws_col: short(columns), ws_xpixel: 0, ws_ypixel: 0 };
        Ok(rustix::termios::tcsetwinsize(&self.0, size)?)
    }
}
