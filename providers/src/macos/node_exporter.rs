//! `macos_node_exporter`: numbers about a Mac, for its tailnet alone.

use std::time::Duration;

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::finding::{Finding, Known, Sign, both, detected_by, in_trouble, table};
use fleet_engine::host::probe::Output;
use fleet_engine::host::step::{self, Keep};
use fleet_engine::host::{Act, Bytes, Content, HostKind, Operand, Probe, Reply, Step, Tool};
use fleet_engine::resource::{At, Change, Disruption, Edge, Error, Resource, Touch};

use super::daemon::{self, Daemon};
use super::no_wish_for_trouble;
use super::signed_binary::{self, SignedBinary};
use crate::cure;
use crate::host::common::{is_another, named, normal_digest, regular};

/// Where the program lies.
const PROGRAM: &str = "/usr/local/bin/node_exporter";
/// What finds the address and becomes the program.
const WRAPPER: &str = "/usr/local/bin/fleet-node-exporter";
const WRAPPER_TEXT: &str = include_str!("node_exporter.sh");
const WAIT: &str = include_str!("node_exporter_wait.sh");
/// The name of the daemon.
const LABEL: &str = "dev.fleet.node-exporter";

/// The node exporter of Prometheus on a Mac, at its address in the tailnet and nowhere else.
///
/// Everybody who reaches the port can read what it says, so it never listens at a public address: launchd starts a wrapper,
/// which asks `tailscale` for the address of the host, waits a little for it, and ends rather than listen anywhere else. The program
/// is sent and signed as `macos_signed_binary` does it.
///
/// What is compared is who listens at the port and at which address, besides the program, the wrapper and what launchd runs.
/// An address that is not that of the tailnet is told as `trouble`.
///
/// It comes after `tailscale_device`, which it needs.
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
///
///   resource "macos_node_exporter" "this" {
///     source        = "build/node_exporter"
///     source_sha256 = "0f934209de7f57876dc77d34ad0b4e622c5d67dd5793f0b17984822aec258923"
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct NodeExporter {
    /// The program on the machine that runs fleet.
    #[fleet(required)]
    source: Option<String>,
    /// The SHA-256 of `source`: as it was published, or `filesha256` of its path. That is how one version is told from another.
    #[fleet(required)]
    source_sha256: Option<String>,
    /// The port at which it listens.
    #[fleet(default = 9100)]
    port: i64,
    /// What it tells about; nothing else.
    #[fleet(default = COLLECTORS.map(str::to_owned).to_vec())]
    collectors: Vec<String>,
    /// How many seconds it may take to start.
    #[fleet(default = 60)]
    timeout: i64,
    /// What is wrong with it. It is found out and mended, and cannot be wished for.
    trouble: Option<String>,
    /// Where it listens, such as `100.64.0.1:9100`.
    #[fleet(computed, follows = "port", follows = "trouble")]
    address: Option<String>,
}

/// How trouble starts, and which bad state it is, beside that of its daemon.
const SIGNS: [Sign; 3] = [
    ("it listens at", &table::PUBLIC_LISTENER),
    (signed_binary::UNSOUND, &table::UNSOUND_SIGNATURE),
    ("it runs, and nobody listens at", &table::UNHEALTHY_SERVICE),
];

/// What is known of it, and of its daemon.
const DETECTED: [&Known; SIGNS.len() + daemon::SIGNS.len()] =
    both(&detected_by(&SIGNS), &detected_by(&daemon::SIGNS));

/// What is known to work on a Mac.
const COLLECTORS: [&str; 9] =
    ["cpu", "diskstats", "filesystem", "loadavg", "meminfo", "netdev", "os", "time", "uname"];

impl Resource for NodeExporter {
    const NAME: &'static str = "macos_node_exporter";
    const DETECTS: &'static [&'static Known] = &DETECTED;

    fn normalize(&mut self) -> Result<(), Misfit> {
        self.source_sha256 = self.source_sha256.as_deref().map(normal_digest).transpose()?;
        let is_name = |name: &String| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        if !self.collectors.iter().all(is_name) {
            return Err(Misfit::new("collectors", "names of collectors are needed, such as \"cpu\""));
        }
        for (name, value, most) in [("port", self.port, 65_535), ("timeout", self.timeout, 600)] {
            if !(1..=most).contains(&value) {
                return Err(Misfit::new(name, format!("1 to {most} is possible")));
            }
        }
        no_wish_for_trouble(self.trouble.as_ref())
    }

    fn findings(&self) -> Vec<Finding> {
        let trouble = self.trouble.as_deref();
        in_trouble(&SIGNS, trouble).into_iter().chain(in_trouble(&daemon::SIGNS, trouble)).collect()
    }

    fn disrupts(_: Touch<'_>) -> Disruption {
        Disruption::Thing
    }

    fn edges() -> &'static [Edge] {
        &[Edge::After("macos_sudoers"), Edge::After("host_directory"), Edge::After("tailscale_device")]
    }
}

impl HostKind for NodeExporter {
    fn probe(at: &At<NodeExporter>) -> Result<Probe, Error> {
        let asked = named(at)?;
        let binary = SignedBinary::probe(&At::Declared(asked.binary()))?;
        let probe = binary.reads().iter().cloned().fold(Probe::new(), Probe::and);
        Ok(asked
            .daemon()
            .ask(probe.content(WRAPPER, Content::Whole))?
            .tool(Tool::ServiceProcess, [Operand::new(format!("system/{LABEL}"))?])
            .tool(Tool::Listeners, [Operand::new(asked.port.to_string())?])
            .tool(Tool::TailscaleAddress, [])
            .as_root())
    }

    fn parse(at: &At<NodeExporter>, reply: &Reply) -> Result<Option<NodeExporter>, Error> {
        let asked = named(at)?;
        let wanted = At::Declared(asked.binary());
        let wrapper = SignedBinary::probe(&wanted)?.reads().len();
        let own = Reply(reply.0.iter().take(wrapper).cloned().collect());
        let binary = SignedBinary::parse(&wanted, &own)?;
        let daemon = asked.daemon();
        let found = daemon.look(reply, wrapper + 1)?;
        let next = wrapper + 1 + daemon.reads()?;
        if (binary.is_none() && found.is_none()) || is_another(at, |_, _| true) {
            return Ok(None);
        }
        let told = found.as_ref().and_then(|found| told(found.arguments()));
        let (port, collectors) = told.unwrap_or_else(|| (asked.port, asked.collectors.clone()));
        let like = NodeExporter { port, collectors, ..asked.clone() };
        let is_wrapped = match reply.path(wrapper)? {
            Some(found) => {
                let text = regular(WRAPPER, found)?.content.as_deref().unwrap_or_default();
                text == WRAPPER_TEXT.as_bytes() && (found.owner.as_str(), found.mode) == ("root", 0o755)
            }
            None => false,
        };
        let listens = listeners(reply.output(next + 1)?);
        let seen = Seen {
            is_wrapped,
            has_port: port == asked.port,
            runs: found.map(|found| found.trouble(&like.daemon())),
            process: reply.output(next)?,
            listens: &listens,
            tailnet: address(reply.output(next + 2)?),
        };
        Ok(Some(NodeExporter {
            source_sha256: binary.as_ref().and_then(|binary| binary.source_sha256.clone()),
            trouble: asked.find_trouble(binary.as_ref(), &seen),
            address: listens.first().cloned(),
            ..like
        }))
    }

    fn steps(self, change: Change<NodeExporter>) -> Result<Vec<Step>, Error> {
        let from = match change {
            Change::Update { from } => Some(from),
            Change::Create => None,
        };
        let runs_like = |from: &NodeExporter| {
            from.trouble.is_none()
                && (&from.source_sha256, from.port, &from.collectors)
                    == (&self.source_sha256, self.port, &self.collectors)
        };
        if from.as_ref().is_some_and(runs_like) {
            return Ok(Vec::new());
        }
        // A program that is sound stays the file that it is; only how it is kept is mended.
        let mut steps = match &from {
            Some(from) if from.source_sha256 == self.source_sha256 => {
                self.binary().steps(Change::Update { from: self.binary() })?
            }
            _ => self.binary().steps(Change::Create)?,
        };
        let keep = Keep { mode: Some(0o755), owner: Some("root".into()), group: Some("wheel".into()) };
        let content = step::Content::Bytes(Bytes(WRAPPER_TEXT.into()));
        let write = Act::Write { path: WRAPPER.into(), content, keep, validate: None };
        steps.push(Step::new(write).as_root());
        let trouble = from.and_then(|from| from.trouble);
        steps.extend(self.daemon().restart(trouble.as_deref())?);
        let arguments = vec![self.port.to_string(), self.timeout.to_string()];
        let wait = Act::Procedure { script: WAIT, arguments, input: Bytes::default() };
        let all = Duration::from_secs(60 + 2 * u64::try_from(self.timeout).unwrap_or(60));
        steps.push(Step { timeout: Some(all), ..Step::new(wait).as_root() });
        Ok(steps)
    }

    fn remove(observed: NodeExporter) -> Result<Vec<Step>, Error> {
        let mut steps = observed.daemon().remove()?;
        steps.push(Step::new(Act::Remove { path: WRAPPER.into() }).as_root());
        steps.extend(SignedBinary::remove(observed.binary())?);
        Ok(steps)
    }
}

/// What was found of it besides its program.
struct Seen<'a> {
    is_wrapped: bool,
    /// Whether it is told to listen at the port that was looked at.
    has_port: bool,
    runs: Option<Option<String>>,
    process: &'a Output,
    /// Where somebody listens at its port.
    listens: &'a [String],
    /// The address of the host in its tailnet.
    tailnet: Option<String>,
}

impl NodeExporter {
    fn binary(&self) -> SignedBinary {
        SignedBinary::part(PROGRAM, self.source.clone(), self.source_sha256.clone())
    }

    /// The words that launchd starts.
    fn words(&self) -> Vec<String> {
        let words = [WRAPPER.to_owned(), self.port.to_string(), "--collector.disable-defaults".to_owned()];
        let collectors = self.collectors.iter().map(|name| format!("--collector.{name}"));
        words.into_iter().chain(collectors).collect()
    }

    fn daemon(&self) -> Daemon {
        Daemon::new(LABEL, self.words(), "/var/log/fleet-node-exporter.log", self.timeout)
    }

    /// What is wrong: first what everybody could read, then what does not work.
    fn find_trouble(&self, binary: Option<&SignedBinary>, seen: &Seen<'_>) -> Option<String> {
        let wanted = seen.tailnet.as_ref().map(|address| format!("{address}:{}", self.port));
        let stray = seen.listens.iter().find(|place| Some(*place) != wanted.as_ref());
        if let Some(stray) = stray.filter(|_| cure::is_there("see-public-listener")) {
            return Some(match &wanted {
                Some(wanted) => format!(
                    "it listens at {stray}, and not at {wanted} alone: others than the tailnet reach it there"
                ),
                None => format!("it listens at {stray}, and this host is in no tailnet"),
            });
        }
        if let Some(trouble) = binary.and_then(|binary| binary.trouble.clone()) {
            return Some(trouble);
        }
        if binary.is_some_and(|binary| !binary.is_kept_like(&self.binary())) {
            return Some(format!("{PROGRAM} is not root's alone, for everybody to run"));
        }
        match &seen.runs {
            None => return Some("launchd does not know it: it is not loaded".to_owned()),
            Some(Some(trouble)) => return Some(trouble.clone()),
            Some(None) => {}
        }
        if !seen.is_wrapped {
            return Some(format!("{WRAPPER} is not as it should be, and the next start may listen anywhere"));
        }
        let process = String::from_utf8_lossy(&seen.process.stdout).into_owned();
        let running = process.lines().find_map(|line| line.strip_prefix("cdhash "));
        if let (Some(running), Some(program)) = (running, binary.and_then(|binary| binary.cdhash.as_deref()))
            && running != program
        {
            return Some(format!("what runs is not {PROGRAM} as it is now: that was replaced since"));
        }
        (seen.has_port && seen.listens.is_empty()).then(|| match wanted {
            Some(wanted) => format!("it runs, and nobody listens at {wanted}"),
            None => "this host is in no tailnet, so that it listens nowhere".to_owned(),
        })
    }
}

/// The port and the collectors that a daemon with these words has; nothing, if they are no such words.
fn told(words: &[String]) -> Option<(i64, Vec<String>)> {
    let [_, port, _, collectors @ ..] = words else { return None };
    let collectors = collectors.iter().map(|word| Some(word.strip_prefix("--collector.")?.to_owned()));
    Some((port.parse().ok()?, collectors.collect::<Option<_>>()?))
}

/// The places of `lsof`.
fn listeners(said: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let place = |line: &str| line.strip_suffix(" (LISTEN)")?.rsplit(' ').next().map(str::to_owned);
    let mut places: Vec<String> = text.lines().filter_map(place).collect();
    places.sort();
    places.dedup();
    places
}

/// The address of `tailscale ip -4`.
fn address(said: &Output) -> Option<String> {
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    text.lines().next().filter(|line| said.status == 0 && line.starts_with("100.")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::macos::service_state;

    #[test]
    fn trouble_of_its_parts_has_the_name_that_it_has_alone() {
        for (trouble, expected) in [
            ("launchd does not know it: it is not loaded", "service-not-loaded"),
            ("the kernel kills it", "codesign-killed"),
            ("it is in a crash loop", "crash-loop"),
            ("it does not run, and `KeepAlive` did not bring it back", "background-task-cap"),
            ("what runs is not /usr/local/bin/node_exporter as it is now", "stale-process"),
            (service_state::NOT_OURS, "edited-property-list"),
            ("it listens at *:9100, and this host is in no tailnet", "public-listener"),
            ("the kernel will not run it: code object is not signed at all", "unsound-signature"),
            ("it runs, and nobody listens at 100.64.0.1:9100", "unhealthy-service"),
        ] {
            let found = NodeExporter { trouble: Some(trouble.to_owned()), ..sample() }.findings();
            let names: Vec<&str> = found.iter().map(|finding| finding.known.name).collect();
            assert_eq!(names, [expected], "{trouble}");
            assert!(NodeExporter::DETECTS.contains(&found[0].known), "{trouble}");
        }
        assert!(sample().findings().is_empty());
    }

    fn sample() -> NodeExporter {
        NodeExporter {
            source: Some("node_exporter".into()),
            source_sha256: Some("ab".repeat(32)),
            port: 9100,
            collectors: COLLECTORS.map(str::to_owned).into(),
            timeout: 60,
            trouble: None,
            address: None,
        }
    }

    #[test]
    fn who_listens_where_is_what_counts() {
        let sound = Output { stdout: b"age 01:00\ncdhash aa\n".to_vec(), ..Output::default() };
        let mut binary = sample().binary();
        binary.cdhash = Some("aa".into());
        let check = |listens: &[&str], tailnet: Option<&str>, expected: &str| {
            let listens: Vec<String> = listens.iter().map(|place| (*place).to_owned()).collect();
            let tailnet = tailnet.map(str::to_owned);
            let seen = Seen {
                is_wrapped: true,
                has_port: true,
                runs: Some(None),
                process: &sound,
                listens: &listens,
                tailnet,
            };
            let found = sample().find_trouble(Some(&binary), &seen).unwrap_or_default();
            assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{found}");
        };
        check(&["100.64.0.1:9100"], Some("100.64.0.1"), "");
        check(&["*:9100"], Some("100.64.0.1"), "it listens at *:9100, and not at 100.64.0.1:9100 alone");
        check(&["100.64.0.1:9100", "10.0.0.1:9100"], Some("100.64.0.1"), "it listens at 10.0.0.1:9100");
        check(&["100.64.0.9:9100"], None, "this host is in no tailnet");
        check(&[], Some("100.64.0.1"), "nobody listens at 100.64.0.1:9100");
    }

    #[test]
    fn what_it_is_told_is_read_back() {
        let wish = NodeExporter { port: 9101, collectors: vec!["cpu".into(), "os".into()], ..sample() };
        assert_eq!(told(&wish.words()), Some((9101, wish.collectors.clone())));
        assert_eq!(told(&["/bin/sh".to_owned()]), None);
        let other = ["w", "9100", "--collector.disable-defaults", "--web.config.file=x"].map(str::to_owned);
        assert_eq!(told(&other), None);
    }

    #[test]
    fn what_lsof_says() {
        let text = "COMMAND PID USER FD TYPE DEVICE SIZE/OFF NODE NAME\n\
                    node_expo 7 root 3u IPv6 0x0 0t0 TCP *:9100 (LISTEN)\nnode_expo 7 root 4u IPv4 0x0 0t0 TCP 10.0.0.1:9100 (LISTEN)\n";
        let said = Output { stdout: text.into(), ..Output::default() };
        assert_eq!(listeners(&said), ["*:9100", "10.0.0.1:9100"]);
        assert!(listeners(&Output::default()).is_empty());
    }
}
