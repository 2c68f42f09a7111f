//! A way to a server that takes its time.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Passes connections on, everything later by so much in each direction.
#[derive(Debug)]
pub struct Slow {
    port: u16,
}

impl Slow {
    /// A way to a port of this machine. It stays for as long as the process does.
    #[must_use]
    pub fn before(to: u16, by: Duration) -> Slow {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(("127.0.0.1", to)) else { continue };
                let _ = (near.set_nodelay(true), far.set_nodelay(true));
                let (Ok(near_again), Ok(far_again)) = (near.try_clone(), far.try_clone()) else { continue };
                pass(near, far_again, by);
                pass(far, near_again, by);
            }
        });
        Slow { port }
    }

    /// Where it listens, on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Bytes leave in the order in which they came, each piece when its time has come.
fn pass(mut from: TcpStream, mut to: TcpStream, by: Duration) {
    let (sender, receiver) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut piece = vec![0; 64 << 10];
        while let Ok(count) = from.read(&mut piece) {
            let is_over = count == 0 || sender.send((Instant::now() + by, piece[..count].to_vec())).is_err();
            if is_over {
                break;
            }
        }
    });
    thread::spawn(move || {
        for (when, piece) in receiver {
            thread::sleep(when.saturating_duration_since(Instant::now()));
            if to.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
