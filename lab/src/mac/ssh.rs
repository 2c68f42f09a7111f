//! The SSH server of a Mac: who may log in, and what is asked for on each channel.

use std::borrow::Cow;
use std::collections::HashMap;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use russh::keys::{PrivateKey, PublicKey};
use russh::server::{
    Auth, ChannelOpenHandle, Config, Handler, Msg, PublicKeyOffer, Session, VerifiedPublicKey,
};
use russh::{Channel, ChannelId, ChannelWriteHalf, MethodKind, MethodSet, Pty, Sig, SshId, cipher, kex};
use tokio::net::{TcpListener, TcpStream};

use super::Mac;
use super::channel::{Running, start};
use super::login::sshd::{Welcome, welcome};
use super::terminal::Wanted;

/// So many channels at most on one connection, as sshd has it.
const MOST_CHANNELS: usize = 10;

/// Serves a Mac until it is switched off.
pub(super) async fn serve(listener: TcpListener, mac: Weak<Mac>, host_key: PrivateKey) {
    let config = Arc::new(config(host_key));
    // Those whom nobody answers.
    let mut waiting = Vec::new();
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection does not reach a Mac");
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        let Some(mac) = mac.upgrade() else { return };
        // The packet filter comes before whoever listens.
        match mac.judge_arrival() {
            Some(verdict) if !verdict.passes && verdict.returns => continue,
            Some(verdict) if !verdict.passes => {
                tokio::spawn(unanswered(stream, mac));
                continue;
            }
            _ => {}
        }
        match welcome(&mac) {
            Welcome::Served => {
                waiting.clear();
                tokio::spawn(connection(config.clone(), stream, mac));
            }
            Welcome::Unanswered => waiting.push(stream),
            Welcome::Refused => {}
        }
    }
}

fn config(host_key: PrivateKey) -> Config {
    Config {
        server_id: SshId::Standard(Cow::Borrowed("SSH-2.0-OpenSSH_10.2")),
        methods: MethodSet::from(&[MethodKind::PublicKey][..]),
        // Nobody is kept waiting who guesses.
        auth_rejection_time: Duration::ZERO,
        keys: vec![host_key],
        // Key exchange that is safe against quantum computers takes several times as long.
        preferred: russh::Preferred {
            kex: Cow::Borrowed(&[
                kex::CURVE25519,
                kex::CURVE25519_PRE_RFC_8731,
                kex::EXTENSION_SUPPORT_AS_SERVER,
                kex::EXTENSION_OPENSSH_STRICT_KEX_AS_SERVER,
            ]),
            // The other ciphers are slow where nothing is optimized.
            cipher: Cow::Borrowed(&[cipher::AES_256_GCM, cipher::AES_256_CTR]),
            ..russh::Preferred::default()
        },
        inactivity_timeout: None,
        nodelay: true,
        ..Config::default()
    }
}

/// Nobody answers whom the packet filter drops, until they give up.
async fn unanswered(stream: TcpStream, mac: Arc<Mac>) {
    let Ok(socket) = stream.as_fd().try_clone_to_owned() else { return };
    let _known = mac.dropped(socket);
    let mut buffer = [0; 1024];
    while stream.readable().await.is_ok() {
        match stream.try_read(&mut buffer) {
            Ok(0) => return,
            Err(error) if error.kind() != std::io::ErrorKind::WouldBlock => return,
            _ => {}
        }
    }
}

async fn connection(config: Arc<Config>, stream: TcpStream, mac: Arc<Mac>) {
    let Ok(socket) = stream.as_fd().try_clone_to_owned() else { return };
    let _known = mac.connected(socket);
    let ends = mac.ends();
    let visit = Visit { mac, ends, user: String::new(), channels: HashMap::new() };
    let ended = match russh::server::run_stream(config, stream, visit).await {
        Ok(session) => session.await,
        Err(error) => Err(error),
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection to a Mac ended");
    }
}

/// Somebody who is connected.
struct Visit {
    mac: Arc<Mac>,
    /// Both ends of the connection, as `SSH_CONNECTION` names them.
    ends: String,
    user: String,
    channels: HashMap<ChannelId, Open>,
}

/// A channel that is open.
struct Open {
    output: Option<ChannelWriteHalf<Msg>>,
    environment: Vec<(String, String)>,
    terminal: Option<Wanted>,
    running: Option<Running>,
}

impl Visit {
    fn judge(&self, user: &str, key: &PublicKey) -> Auth {
        if self.mac.disk().lets_in(user, key) {
            return Auth::Accept;
        }
        self.mac.counts.refused.fetch_add(1, Ordering::Relaxed);
        Auth::reject()
    }

    /// Starts a command on a channel, or a shell.
    fn exec(
        &mut self,
        id: ChannelId,
        command: Option<&[u8]>,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let open = self.channels.get_mut(&id).filter(|open| open.running.is_none());
        let Some((open, output)) = open.and_then(|open| open.output.take().map(|output| (open, output)))
        else {
            return session.channel_failure(id);
        };
        self.mac.counts.commands.fetch_add(1, Ordering::Relaxed);
        let mut environment = open.environment.clone();
        environment.push(("SSH_CONNECTION".to_owned(), self.ends.clone()));
        match start(
            &self.mac,
            &self.user,
            &environment,
            open.terminal.as_ref(),
            command,
            output,
            session.handle(),
        ) {
            Ok(running) => {
                open.running = Some(running);
                session.channel_success(id)
            }
            Err(error) => {
                tracing::warn!(%error, "a Mac cannot start a shell");
                session.channel_failure(id)
            }
        }
    }
}

impl Handler for Visit {
    type Error = russh::Error;

    async fn auth_publickey_offered(
        &mut self,
        user: &str,
        offer: PublicKeyOffer<'_>,
    ) -> Result<Auth, russh::Error> {
        Ok(self.judge(user, offer.public_key))
    }

    async fn auth_publickey(&mut self, user: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, russh::Error> {
        let judged = self.judge(user, key.public_key);
        if judged == Auth::Accept {
            user.clone_into(&mut self.user);
            self.mac.counts.logins.fetch_add(1, Ordering::Relaxed);
        }
        Ok(judged)
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), russh::Error> {
        if self.channels.len() >= MOST_CHANNELS {
            reply.reject(russh::ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        }
        let id = channel.id();
        // What arrives is taken in `data`.
        let (_, output) = channel.split();
        self.channels.insert(
            id,
            Open { output: Some(output), environment: Vec::new(), terminal: None, running: None },
        );
        reply.accept().await;
        Ok(())
    }

    async fn env_request(
        &mut self,
        id: ChannelId,
        name: &str,
        value: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let is_taken = name == "LANG" || name.starts_with("LC_");
        match self.channels.get_mut(&id).filter(|_| is_taken) {
            Some(open) => {
                open.environment.push((name.to_owned(), value.to_owned()));
                session.channel_success(id)
            }
            None => session.channel_failure(id),
        }
    }

    async fn pty_request(
        &mut self,
        id: ChannelId,
        kind: &str,
        columns: u32,
        rows: u32,
        _: u32,
        _: u32,
        _: &[(Pty, u32)],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let Some(open) = self.channels.get_mut(&id) else { return session.channel_failure(id) };
        open.terminal = Some(Wanted { kind: kind.to_owned(), size: (columns, rows) });
        session.channel_success(id)
    }

    async fn window_change_request(
        &mut self,
        id: ChannelId,
        columns: u32,
        rows: u32,
        _: u32,
        _: u32,
        _: &mut Session,
    ) -> Result<(), russh::Error> {
        if let Some(running) = self.channels.get(&id).and_then(|open| open.running.as_ref()) {
            running.resize((columns, rows));
        }
        Ok(())
    }

    async fn subsystem_request(
        &mut self,
        id: ChannelId,
        _: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_failure(id)
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.exec(id, Some(command), session)
    }

    async fn shell_request(&mut self, id: ChannelId, session: &mut Session) -> Result<(), russh::Error> {
        self.exec(id, None, session)
    }

    async fn data(&mut self, id: ChannelId, data: &[u8], _: &mut Session) -> Result<(), russh::Error> {
        if let Some(running) = self.channels.get(&id).and_then(|open| open.running.as_ref())
            && running.feed(data).await
        {
            self.mac.counts.turns.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn channel_eof(&mut self, id: ChannelId, _: &mut Session) -> Result<(), russh::Error> {
        if let Some(running) = self.channels.get_mut(&id).and_then(|open| open.running.as_mut()) {
            running.end_input();
        }
        Ok(())
    }

    async fn channel_close(&mut self, id: ChannelId, _: &mut Session) -> Result<(), russh::Error> {
        self.channels.remove(&id);
        Ok(())
    }

    async fn signal(&mut self, id: ChannelId, signal: Sig, _: &mut Session) -> Result<(), russh::Error> {
        if let Some(running) = self.channels.get(&id).and_then(|open| open.running.as_ref()) {
            running.signal(&signal);
        }
        Ok(())
    }
}
