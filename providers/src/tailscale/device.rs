//! `tailscale_device`: a Mac that is in a tailnet.

use std::time::Duration;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, both, detected_by, in_trouble, table};
use fleet_engine::host::step::Keep;
use fleet_engine::host::{Act, Bytes, HostKind, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Disruption, Edge, Error, Resource, Touch};

use super::expiry;
use super::programs::{self, PLACE, Programs};
use super::status::{self, Status};
use crate::cure;
use crate::host::common::{is_another, named, normal_digest};
use crate::macos::daemon::{Daemon, SIGNS};

/// Where the daemon keeps who it is.
const STATE: &str = "/var/lib/tailscale";
/// How the secret of an OAuth client begins.
const CLIENT: &str = "tskey-client-";
/// What follows it, so that the key that is made from it is for a host that nobody has to approve, and nobody cleans up after.
const OF_CLIENT: &str = "?ephemeral=true&preauthorized=true";
/// How trouble of the daemon starts.
const DAEMON: &str = "tailscaled: ";

/// What is known of its place in the tailnet, and of its daemon.
const DETECTED: [&Known; 3 + SIGNS.len()] = both(
    &[&table::EXPIRED_CREDENTIAL, &table::OUT_OF_TAILNET, &table::TAILNET_NAME_TAKEN],
    &detected_by(&SIGNS),
);

const GUARD: &str = include_str!("device_guard.sh");
const JOIN: &str = include_str!("device_join.sh");

/// A Mac that is a device in a tailnet, by the open-source `tailscaled`, which runs without anybody at the screen.
///
/// `tailscale` and `tailscaled` come out of one archive; launchd runs the daemon as `com.tailscale.tailscaled`. What is
/// compared is what they say themselves, besides the digests of both programs and what launchd runs: whether the device is
/// in the tailnet, how it is called there, its tags. What is wrong is told as `trouble`:
///
/// - it is logged out, was removed, was put out by a key that the tailnet refused, or somebody stopped it: it comes back;
/// - the tailnet calls it `mini-a-1`, because another device had its name when it came: once that one is gone, it takes its name;
/// - the daemon does not run, such as without the directory of its state (`EX_CONFIG`).
///
/// `auth_key` is for joining alone, and for other tags. A device that the tailnet knows comes back and is changed without it,
/// because a key that has expired meanwhile would put it out. No key can be read back from a device: so it is not compared with
/// anything on the host, and a new key is sent nowhere before the device has to join again. A key lives for 90 days at most.
/// The secret of an OAuth client (`tskey-client-…`) does not expire, and needs `tags`. The key reaches the host on the input of
/// a shell and `tailscale` in a file that only root can read and that is gone when it is done; it is never a word of a
/// program.
///
/// A restart of `tailscaled` would cut a session that comes in over the tailnet itself, and so may other tags. So both are refused
/// there, before anything is touched: let the connection use another address of the host for that change.
///
/// When it is removed, the device logs out and nothing of it is left on the host. One that is not ephemeral stays in the list of
/// the tailnet.
///
/// ```hcl
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
/// }
///
/// variable "tailscale_key" {
///   type      = string
///   sensitive = true
///   default   = "tskey-client-lab"
/// }
///
/// fleet "desk" {
///   pool     = pool.desk
///   hosts    = ["mini-a"]
///   hostname = host.key
///   connection "ssh" {}
///
///   resource "tailscale_device" "this" {
///     source        = "build/tailscale.tar.gz"
///     source_sha256 = "15eb11601ba0d4d78f787715b9c4787ba06f9e5539b5834f797a2b76ca5630f9"
///     hostname      = host.name
///     tags          = ["tag:ci"]
///     auth_key      = var.tailscale_key
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Device {
    /// The archive with `tailscale` and `tailscaled` on the machine that runs fleet: a tar file, which may be compressed.
    #[fleet(required)]
    source: Option<String>,
    /// The SHA-256 of `source`: as it was published, or `filesha256` of its path. It is observed as null if other programs lie there
    /// than those that came out of it.
    #[fleet(required)]
    source_sha256: Option<String>,
    /// How it is called in the tailnet: small letters, digits and `-`.
    hostname: String,
    /// Its tags, such as `tag:ci`. Without them it has those of its key. The secret of an OAuth client needs them.
    #[fleet(optional_computed)]
    tags: Option<Vec<String>>,
    /// Whether it takes the routes that others in the tailnet offer.
    #[fleet(default = false)]
    accept_routes: bool,
    /// The key by which it joins: `tskey-auth-…`, or `tskey-client-…` of an OAuth client.
    #[fleet(required, secret, write_only)]
    auth_key: Option<String>,
    /// The port at which others in the tailnet reach it, if they can.
    #[fleet(default = 41641)]
    port: i64,
    /// How many seconds it may take to start, to answer and to join.
    #[fleet(default = 30)]
    timeout: i64,
    /// What is wrong with it. It is found out and mended, and cannot be wished for.
    trouble: Option<String>,
    /// Its address in the tailnet.
    #[fleet(computed, follows = "trouble")]
    ipv4: Option<String>,
    /// What the tailnet calls it for ever.
    #[fleet(computed, follows = "trouble")]
    node_id: Option<String>,
    /// Its whole name in the tailnet.
    #[fleet(computed, follows = "hostname", follows = "trouble")]
    fqdn: Option<String>,
    /// When its own key expires, after which it is out; null for a tagged device, whose key does not.
    #[fleet(computed, follows = "tags", follows = "trouble")]
    expires: Option<String>,
}

impl Resource for Device {
    const NAME: &'static str = "tailscale_device";
    const DETECTS: &'static [&'static Known] = &DETECTED;

    fn normalize(&mut self) -> Result<(), Misfit> {
        let refuse = |attribute: &str, message: &str| Err(Misfit::new(attribute, message));
        self.source_sha256 = self.source_sha256.as_deref().map(normal_digest).transpose()?;
        let is_label = |name: &str| {
            (1..=63).contains(&name.len())
                && !name.starts_with('-')
                && !name.ends_with('-')
                && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        };
        if !is_label(&self.hostname) {
            return refuse("hostname", "small letters, digits and `-` between them are needed, 63 at most");
        }
        let is_tag = |tag: &String| tag.strip_prefix("tag:").is_some_and(is_label);
        match &mut self.tags {
            Some(tags) if !tags.iter().all(is_tag) => {
                return refuse(
                    "tags",
                    "a tag is `tag:` and small letters, digits and `-`, such as \"tag:ci\"",
                );
            }
            Some(tags) => {
                tags.sort();
                tags.dedup();
            }
            None => {}
        }
        let has_no_tags = self.tags.as_ref().is_none_or(Vec::is_empty);
        match self.auth_key.as_deref().map(str::trim) {
            Some("") => return refuse("auth_key", "it is empty, and nobody joins without one"),
            Some(key) if !key.starts_with("tskey-") || key.contains(char::is_whitespace) => {
                return refuse("auth_key", "`tskey-auth-…` or `tskey-client-…` is needed, on one line");
            }
            // Before anything is touched: a device that cannot join any more must not be logged out first.
            Some(key)
                if key.starts_with(CLIENT) && has_no_tags && cure::is_there("tags-with-client-secret") =>
            {
                let message = "the secret of an OAuth client lets nobody in without tags: give those of the client, such as [\"tag:ci\"]";
                return refuse("tags", message);
            }
            _ => {}
        }
        for (name, value, most) in [("port", self.port, 65_535), ("timeout", self.timeout, 600)] {
            if !(1..=most).contains(&value) {
                return refuse(name, &format!("1 to {most} is possible"));
            }
        }
        match self.trouble {
            Some(_) => refuse("trouble", "what is wrong is found out and mended; leave it out"),
            None => Ok(()),
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let of_daemon = |it: &str| Some(in_trouble(&SIGNS, it.strip_prefix(DAEMON)).first()?.known);
        let known = |it: &String| status::known(it).or_else(|| of_daemon(it));
        let trouble = self.trouble.iter().filter_map(|it| known(it).map(|known| known.seen_by(it)));
        let ending = self.expires.as_deref().and_then(|at| expiry::told("the key of the device itself", at));
        trouble.chain(ending.map(|told| table::EXPIRED_CREDENTIAL.seen_by(told))).collect()
    }

    fn disrupts(_: Touch<'_>) -> Disruption {
        Disruption::Thing
    }

    fn edges() -> &'static [Edge] {
        &[
            Edge::After("macos_sudoers"),
            Edge::After("host_directory"),
            Edge::After("macos_hostname"),
            Edge::After("macos_pf_anchor"),
        ]
    }
}

impl HostKind for Device {
    fn probe(at: &At<Device>) -> Result<Probe, Error> {
        let probe = programs::ask(named(at)?.daemon().ask(Probe::new())?);
        Ok(probe.path(STATE).tool(Tool::TailscaleStatus, []).as_root())
    }

    fn parse(at: &At<Device>, reply: &Reply) -> Result<Option<Device>, Error> {
        let asked = named(at)?;
        let daemon = asked.daemon();
        let first = daemon.reads()?;
        let found = daemon.look(reply, 0)?;
        let programs = Programs::read(reply, first)?;
        if (found.is_none() && !programs.are_there) || is_another(at, |_, _| true) {
            return Ok(None);
        }
        let argument = |word: &String| word.strip_prefix("--port=")?.parse().ok();
        let port = found.as_ref().and_then(|found| found.arguments().iter().find_map(argument));
        let like = Device { port: port.unwrap_or(asked.port), ..asked.clone() };
        let has_state = reply.path(first + programs::READS)?.is_some();
        let status = Status::read(reply.output(first + programs::READS + 1)?);
        let trouble = match &found {
            Some(found) => found.trouble(&like.daemon()).map(|trouble| explain(trouble, has_state)),
            None => Some("launchd does not know it: it is not loaded".to_owned()),
        };
        let trouble = match (trouble, &status) {
            (Some(trouble), _) => Some(format!("{DAEMON}{trouble}")),
            (None, Err(why)) => Some(format!("{DAEMON}it runs and does not answer: {why}")),
            (None, Ok(status)) => status.trouble(&asked.hostname),
        };
        let status = status.unwrap_or_default();
        let own = |value: Option<&str>| value.map(str::to_owned);
        let is_in = status.is_in();
        Ok(Some(Device {
            source_sha256: programs.source_sha256,
            // What cannot be seen is no difference of its own: why it cannot is told.
            hostname: status.hostname().unwrap_or(&asked.hostname).to_owned(),
            tags: if is_in { Some(status.tags()) } else { asked.tags.clone() },
            accept_routes: if is_in { status.accept_routes } else { asked.accept_routes },
            auth_key: None,
            trouble,
            ipv4: own(status.ipv4()),
            node_id: own(status.node_id()),
            fqdn: own(status.fqdn()),
            expires: own(status.expires()),
            ..like
        }))
    }

    fn steps(self, change: Change<Device>) -> Result<Vec<Step>, Error> {
        let from = match change {
            Change::Update { from } => Some(from),
            Change::Create => None,
        };
        let trouble = from.as_ref().and_then(|from| from.trouble.clone());
        let of_daemon = trouble.as_deref().and_then(|trouble| trouble.strip_prefix(DAEMON));
        let is_installed = from.as_ref().is_some_and(|from| from.source_sha256 == self.source_sha256);
        let is_running =
            is_installed && of_daemon.is_none() && from.as_ref().is_some_and(|from| from.port == self.port);
        let takes_tags = self.tags.is_some() && from.as_ref().is_some_and(|from| from.tags != self.tags);
        let is_joined = is_running
            && !takes_tags
            && trouble.is_none()
            && from.as_ref().is_some_and(|from| {
                (&from.hostname, from.accept_routes) == (&self.hostname, self.accept_routes)
            });
        let mut steps = Vec::new();
        if !is_running || takes_tags {
            steps.push(guard());
        }
        if !is_installed {
            steps.extend(programs::install(self.source.as_ref(), self.source_sha256.as_ref())?);
        }
        if !is_running {
            if cure::is_there("state-directory") {
                let keep =
                    Keep { mode: Some(0o700), owner: Some("root".into()), group: Some("wheel".into()) };
                steps.push(Step::new(Act::Directory { path: STATE.into(), keep }).as_root());
            }
            steps.extend(self.daemon().restart(of_daemon)?);
        }
        if !is_joined {
            // Tags that nobody wishes for stay.
            let tags = self.tags.clone().or_else(|| from.and_then(|from| from.tags)).unwrap_or_default();
            steps.push(self.join(&tags)?);
        }
        Ok(steps)
    }

    fn remove(observed: Device) -> Result<Vec<Step>, Error> {
        let mut steps = vec![guard(), procedure(include_str!("device_leave.sh")).as_root()];
        steps.extend(observed.daemon().remove()?);
        steps.push(procedure(include_str!("device_clear.sh")).as_root());
        steps.extend(programs::remove());
        Ok(steps)
    }

    /// There was no program of ours yet that could have joined, or there is none any more: whoever else is in a tailnet here
    /// stays there.
    fn clear(_: Device) -> Result<Vec<Step>, Error> {
        Ok(programs::remove().collect())
    }
}

/// A procedure that is told nothing.
fn procedure(script: &'static str) -> Step {
    Step::new(Act::Procedure { script, arguments: Vec::new(), input: Bytes::default() })
}

/// What stops a session over the tailnet before it cuts itself off. It is nobody's but the session's, so root does not run it.
fn guard() -> Step {
    procedure(cure::procedure(GUARD))
}

/// What is wrong with the daemon; where its state has no place, that is why.
fn explain(trouble: String, has_state: bool) -> String {
    if trouble.contains("EX_CONFIG") && !has_state {
        return format!(
            "launchd cannot start it (EX_CONFIG): the directory of its state, {STATE}, is missing"
        );
    }
    trouble
}

impl Device {
    fn daemon(&self) -> Daemon {
        let arguments = vec![
            format!("{PLACE}/tailscaled"),
            format!("--state={STATE}/tailscaled.state"),
            "--socket=/var/run/tailscaled.socket".to_owned(),
            format!("--port={}", self.port),
        ];
        Daemon::new("com.tailscale.tailscaled", arguments, "/var/log/tailscaled.log", self.timeout)
    }

    /// What lets it join, or changes how it is in the tailnet.
    fn join(&self, tags: &[String]) -> Result<Step, Error> {
        let key = self.auth_key.as_deref().map(str::trim);
        let key = key.ok_or_else(|| Misfit::new("auth_key", "it is needed to join the tailnet"))?;
        let arguments = vec![
            self.hostname.clone(),
            tags.join(","),
            self.accept_routes.to_string(),
            self.timeout.to_string(),
        ];
        let input = Bytes(whole(key).into_bytes());
        let all = Duration::from_secs(60 + 5 * u64::try_from(self.timeout).unwrap_or(30));
        let step = Step::new(Act::Procedure { script: cure::procedure(JOIN), arguments, input }).as_root();
        Ok(Step { timeout: Some(all), ..step })
    }
}

/// A key as `tailscale` takes it.
fn whole(key: &str) -> String {
    let is_bare_secret = key.starts_with(CLIENT) && !key.contains('?');
    if is_bare_secret { format!("{key}{OF_CLIENT}") } else { key.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Device {
        Device {
            source: Some("a.tar.gz".into()),
            source_sha256: Some("ab".repeat(32)),
            hostname: "mini-a".into(),
            tags: Some(vec!["tag:ci".into()]),
            accept_routes: false,
            auth_key: Some("tskey-client-x".into()),
            port: 41641,
            timeout: 30,
            trouble: None,
            ipv4: None,
            node_id: None,
            fqdn: None,
            expires: None,
        }
    }

    #[test]
    fn what_cannot_be_is_refused_before_anything_is_touched() {
        let refused = |change: fn(&mut Device), attribute: &str| {
            let mut wish = sample();
            change(&mut wish);
            assert_eq!(wish.normalize().unwrap_err().attribute, attribute);
        };
        refused(|it| it.tags = None, "tags");
        refused(|it| it.tags = Some(Vec::new()), "tags");
        refused(|it| it.tags = Some(vec!["ci".into()]), "tags");
        refused(|it| it.auth_key = Some(" \n".into()), "auth_key");
        refused(|it| it.auth_key = Some("hunter2".into()), "auth_key");
        refused(|it| it.hostname = "Mini.A".into(), "hostname");
        refused(|it| it.trouble = Some("x".into()), "trouble");
        let mut tagged_by_its_key =
            Device { tags: None, auth_key: Some("tskey-auth-x\n".into()), ..sample() };
        tagged_by_its_key.normalize().unwrap();
        let secret = Device { auth_key: Some("hunter2".into()), ..sample() }.normalize().unwrap_err();
        assert!(!secret.to_string().contains("hunter2"));
    }

    #[test]
    fn trouble_of_the_daemon_has_the_name_that_it_has_alone() {
        for (trouble, expected) in [
            ("launchd does not know it: it is not loaded", "service-not-loaded"),
            (
                "launchd cannot start it (EX_CONFIG): the directory of its state is missing",
                "service-cannot-start",
            ),
            ("the kernel kills it", "codesign-killed"),
            ("it is in a crash loop", "crash-loop"),
            ("it does not run, and `KeepAlive` did not bring it back", "background-task-cap"),
        ] {
            let told = format!("{DAEMON}{trouble}");
            let found = Device { trouble: Some(told.clone()), ..sample() }.findings();
            let names: Vec<&str> = found.iter().map(|finding| finding.known.name).collect();
            assert_eq!(names, [expected], "{trouble}");
            assert!(Device::DETECTS.contains(&found[0].known) && found[0].evidence == told, "{trouble}");
        }
    }

    #[test]
    fn only_secrets_of_clients_get_what_follows_them() {
        assert_eq!(whole("tskey-auth-x"), "tskey-auth-x");
        assert_eq!(whole("tskey-client-x"), "tskey-client-x?ephemeral=true&preauthorized=true");
        assert_eq!(whole("tskey-client-x?ephemeral=false"), "tskey-client-x?ephemeral=false");
    }

    #[test]
    fn the_key_is_read_and_is_no_word() {
        let steps = sample().steps(Change::Create).unwrap();
        let mut keys = 0;
        for step in &steps {
            let Act::Procedure { script, arguments, input } = &step.act else { continue };
            assert!(!script.contains("tskey-client-x"));
            assert!(!arguments.iter().any(|argument| argument.contains("tskey-client-x")), "{arguments:?}");
            keys += usize::from(input.0.starts_with(b"tskey-client-x?"));
        }
        assert_eq!(keys, 1);
        assert!(!format!("{steps:?}").contains("tskey-client-x"));
    }

    #[test]
    fn only_what_may_cut_a_session_is_guarded() {
        let guards = |from: Device| {
            let steps = sample().steps(Change::Update { from }).unwrap();
            let is_guard =
                |step: &Step| matches!(&step.act, Act::Procedure { script, .. } if *script == GUARD);
            (steps.iter().any(is_guard), steps.len())
        };
        assert_eq!(guards(Device { auth_key: None, ..sample() }), (false, 0), "a key is for joining alone");
        assert_eq!(guards(Device { hostname: "other".into(), ..sample() }), (false, 1));
        assert_eq!(guards(Device { trouble: Some("it is out".into()), ..sample() }), (false, 1));
        assert_eq!(guards(Device { tags: Some(Vec::new()), ..sample() }), (true, 2));
        assert_eq!(guards(Device { port: 1, ..sample() }), (true, 4));
        assert_eq!(guards(Device { trouble: Some(format!("{DAEMON}x")), ..sample() }), (true, 4));
        assert_eq!(guards(Device { source_sha256: None, ..sample() }), (true, 7));
        let first = Device::remove(sample()).unwrap().remove(0);
        assert!(!first.root && matches!(first.act, Act::Procedure { script, .. } if script == GUARD));
    }
}
