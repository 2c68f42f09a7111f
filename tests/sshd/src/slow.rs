//! A way to a server that takes its time.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Passes connections on, everything later by so much in each direction.
#[derive(Debug)]
pub struct Slow {
    port: u16,
    turns: Arc<AtomicUsize>,
}

/// Who spoke last on a connection.
struct Speaker {
    is_near: AtomicBool,
    turns: Arc<AtomicUsize>,
}

/// The end of a connection that something comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Near,
    Far,
}

impl Slow {
    /// A way to a port of this machine. It stays for as long as the process does.
    #[must_use]
    pub fn before(to: u16, by: Duration) -> Slow {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let turns = Arc::new(AtomicUsize::new(0));
        let counted = turns.clone();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let counted = counted.clone();
                thread::spawn(move || connect(near, to, by, counted));
            }
        });
        Slow { port, turns }
    }

    /// Where it listens, on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How often the near end had something to say after the far end had spoken, so far: about so many round trips
    /// somebody waited for.
    #[must_use]
    pub fn turns(&self) -> usize {
        self.turns.load(Ordering::Relaxed)
    }
}

/// Passes one connection on. On a real way, the far end accepts it after three ways of the handshake.
fn connect(near: TcpStream, to: u16, by: Duration, turns: Arc<AtomicUsize>) {
    thread::sleep(by * 3);
    let Ok(far) = TcpStream::connect(("127.0.0.1", to)) else { return };
    let _ = (near.set_nodelay(true), far.set_nodelay(true));
    let (Ok(near_again), Ok(far_again)) = (near.try_clone(), far.try_clone()) else { return };
    let speaker = Arc::new(Speaker { is_near: AtomicBool::new(false), turns });
    pass(near, far_again, by, Side::Near, speaker.clone());
    pass(far, near_again, by, Side::Far, speaker);
}

/// Bytes leave in the order in which they came, each piece when its time has come.
fn pass(mut from: TcpStream, mut to: TcpStream, by: Duration, side: Side, speaker: Arc<Speaker>) {
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    let delivered = (side == Side::Far).then(|| speaker.clone());
    thread::spawn(move || {
        let mut piece = vec![0; 64 << 10];
        while let Ok(count) = from.read(&mut piece) {
            let is_over = count == 0 || sender.send((Instant::now() + by, piece[..count].to_vec())).is_err();
            if is_over {
                break;
            }
            if side == Side::Near && !speaker.is_near.swap(true, Ordering::Relaxed) {
                speaker.turns.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    thread::spawn(move || {
        for (when, piece) in receiver {
            thread::sleep(when.saturating_duration_since(Instant::now()));
            if let Some(speaker) = &delivered {
                speaker.is_near.store(false, Ordering::Relaxed);
            }
            if to.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
