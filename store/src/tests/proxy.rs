//! A wire to PostgreSQL that can be cut at the worst moment.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// Where to cut, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Cut {
    /// Nowhere.
    No,
    /// Before the server hears that it shall commit.
    BeforeCommit,
    /// After the server has committed, before the client hears of it.
    AfterCommit,
    /// From then on nobody gets through.
    Forever,
}

/// Carries bytes between clients and a server.
pub(super) struct Proxy {
    port: u16,
    cut: Arc<AtomicU8>,
    wires: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    /// In front of the server of that address.
    pub(super) fn to(url: &str) -> Proxy {
        let server = host(url).to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let proxy = Proxy { port, cut: Arc::new(AtomicU8::new(Cut::No as u8)), wires: Arc::default() };
        let (cut, wires) = (proxy.cut.clone(), proxy.wires.clone());
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                if cut.load(Ordering::SeqCst) == Cut::Forever as u8 {
                    continue;
                }
                let server = TcpStream::connect(&server).unwrap();
                wires.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                carry(client, server, &cut);
            }
        });
        proxy
    }

    /// The address through here.
    pub(super) fn url(&self, url: &str) -> String {
        url.replace(host(url), &format!("127.0.0.1:{}", self.port))
    }

    pub(super) fn cut(&self, cut: Cut) {
        self.cut.store(cut as u8, Ordering::SeqCst);
        if cut == Cut::Forever {
            for wire in self.wires.lock().unwrap().drain(..) {
                let _ = wire.shutdown(Shutdown::Both);
            }
        }
    }

    /// Whether it was cut since.
    pub(super) fn is_whole(&self) -> bool {
        self.cut.load(Ordering::SeqCst) == Cut::No as u8
    }
}

fn host(url: &str) -> &str {
    url.rsplit_once('@').unwrap().1.split('/').next().unwrap()
}

fn carry(mut client: TcpStream, mut server: TcpStream, cut: &Arc<AtomicU8>) {
    let mute = Arc::new(AtomicU8::new(0));
    let (muted, mut back, mut from) =
        (mute.clone(), client.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            if muted.load(Ordering::SeqCst) == 1 || back.write_all(&buffer[..n]).is_err() {
                break;
            }
        }
        let _ = back.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    });
    let cut = cut.clone();
    thread::spawn(move || {
        let mut buffer = [0; 65536];
        while let Ok(n @ 1..) = client.read(&mut buffer) {
            let commits = buffer[..n].windows(7).any(|bytes| bytes == b"COMMIT\0");
            let set = |from: Cut| {
                cut.compare_exchange(from as u8, Cut::No as u8, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            };
            if commits && set(Cut::BeforeCommit) {
                break;
            }
            if commits && set(Cut::AfterCommit) {
                mute.store(1, Ordering::SeqCst);
            }
            if server.write_all(&buffer[..n]).is_err() {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Write);
    });
}
