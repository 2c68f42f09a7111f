//! `fleet lab`: a world of simulated Macs and their vendor, on this machine.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fleet_lab::clock::Pace;
use fleet_lab::fault::Fault;
use fleet_lab::mac::Macs;
use fleet_lab::tailnet::Tailnet;
use fleet_lab::{Description, Move, Options, Remote, RemoteError, ServerEdit};

use crate::{Env, Exit, Failure, memory};

/// Try fleet on simulated Macs, without an account anywhere
///
/// A lab is a world on this machine: Macs behind SSH, and the vendor that rents them out, both on addresses that nobody
/// else can reach. It stays until `fleet lab down`; all of it lies in one directory.
///
///   eval "$(fleet lab up)"                        start it, and let this shell use it
///   fleet -C examples/fleets/scaleway-runners apply
///   fleet lab status                              what there is
///   fleet lab inspect servers                     everything, as JSON
///   fleet lab fault '{"matching":{"operation":"update_server"},"answer":"never"}'
///   fleet lab clock --advance 24h                 time flies
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LabArgs {
    /// Where the lab lives
    #[arg(id = "lab", long = "at", value_name = "DIR", global = true)]
    directory: Option<PathBuf>,
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, clap::Subcommand)]
enum LabCommand {
    /// Start a lab, and print what to set to use it; one that was there goes on
    Up(UpArgs),
    /// Tell what there is, in short
    Status,
    /// Print everything about something as JSON: `world`, `servers`, `servers/NAME`, `requests`, `faults`, `clock`,
    /// `rules` or `catalogue`
    Inspect {
        /// What
        #[arg(default_value = "world")]
        what: String,
    },
    /// Let something go wrong on purpose, as JSON; without it, list what was set
    ///
    /// `matching` says which requests (`operation`, `method`, `path`, `server`, `writes`), `skip` how many go well first,
    /// `times` how many go wrong, `effect` whether they take effect (`now`, `never`, `{"after": SECONDS}`), `answer` what
    /// comes back (`normal`, `never`, `cut`, `{"status": 500}`, `{"error": "transient_state"}`), `answer_after` when, and
    /// `stale` how old the books are that are read.
    Fault {
        /// The fault
        fault: Option<String>,
        /// Take all faults back
        #[arg(long, conflicts_with = "fault")]
        clear: bool,
    },
    /// Move the time of the lab
    Clock {
        /// By so much, such as `24h`
        #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
        advance: Duration,
    },
    /// Change a server behind everybody's back, as JSON: `name`, `status`, `tags`, `secrets_sealed`, `power`
    Edit {
        /// Its id or its name
        server: String,
        /// What is changed
        change: String,
    },
    /// Stop the lab and remove it
    Down {
        /// Leave its directory, for `up` to go on with
        #[arg(long)]
        keep: bool,
    },
}

#[derive(Debug, clap::Args)]
struct UpArgs {
    /// How many Macs there are
    #[arg(long, value_name = "N", default_value_t = 6)]
    macs: usize,
    /// How many times as fast as here time goes by there: a Mac is installed in 5 to 15 minutes
    #[arg(long, value_name = "TIMES", default_value_t = 60.0)]
    speed: f64,
    /// From which everything follows that is left to chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Stay in the foreground, until interrupted
    #[arg(long)]
    foreground: bool,
}

/// How long a lab may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a configuration may want to know of a lab, beside what its vendor's clients need: variables of
/// `examples/fleets/scaleway-runners`.
pub(super) fn variables(description: &Description) -> Vec<(String, String)> {
    let text = |path: &Path| path.display().to_string();
    let mut variables: Vec<(String, String)> =
        description.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    variables.push(("FLEET_VAR_key".into(), text(&description.identity)));
    variables.push(("FLEET_VAR_ssh_config".into(), text(&description.ssh_config)));
    variables.push(("FLEET_VAR_times".into(), TIMES.into()));
    variables
}

/// What the vendor shows in a lab is never old.
const TIMES: &str = r#"{ settle = "2s", delay = "2s", check_lifetime = "1s", hold = "4s", poll = "500ms" }"#;

pub(crate) fn lab(env: &mut Env, args: &LabArgs) -> Result<Exit, Failure> {
    let directory = match (&args.directory, env.var("HOME")) {
        (Some(directory), _) => env.path(directory),
        (None, Some(home)) => Path::new(home).join(".fleet-lab"),
        (None, None) => {
            let failure = Failure::new("there is no home directory for the lab");
            return Err(failure.help("say where it lives with `--at`"));
        }
    };
    match &args.command {
        LabCommand::Up(up) => start(env, &directory, up),
        LabCommand::Down { keep } => stop(env, &directory, *keep),
        command => ask(env, &directory, command),
    }
}

/// What a lab begins with. Macs have this very program for their commands.
pub(super) fn options(directory: &Path, macs: usize, seed: u64, speed: f64) -> Result<Options, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::of("this program is nowhere", &error))?;
    let tailnet = Tailnet::kept(&directory.join("tailnet.json"));
    let factory = Macs::in_tailnet(&program, &directory.join("tools"), tailnet);
    let factory = factory.map_err(|error| Failure::of("there can be no Macs here", &error))?;
    Ok(Options {
        seed,
        macs,
        directory: Some(directory.to_owned()),
        pace: Pace::Times(speed),
        factory: Arc::new(factory),
        ..Options::default()
    })
}

fn start(env: &mut Env, directory: &Path, up: &UpArgs) -> Result<Exit, Failure> {
    if !(up.speed.is_finite() && up.speed > 0.0) {
        return Err(Failure::new("time goes forward: `--speed` is more than 0"));
    }
    if let Some(running) = running(directory)? {
        writeln!(env.stderr, "a lab runs in {} already", directory.display())?;
        return print(env, running.description());
    }
    if up.foreground {
        let options = options(directory, up.macs, up.seed, up.speed)?;
        let mut told = Ok(Exit::Done);
        let ended = fleet_lab::run(options, |description| told = print(env, description));
        ended.map_err(|error| Failure::of("the lab did not run", &error))?;
        return told;
    }
    let unstarted = |error: std::io::Error| Failure::of("the lab cannot be started", &error);
    std::fs::create_dir_all(directory).map_err(unstarted)?;
    let log = directory.join("lab.log");
    let output = std::fs::File::create(&log).map_err(unstarted)?;
    let mut child = Command::new(std::env::current_exe().map_err(unstarted)?)
        .args(["lab", "--at"])
        .arg(directory)
        .args(["up", "--foreground", "--macs", &up.macs.to_string(), "--seed", &up.seed.to_string()])
        .args(["--speed", &up.speed.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(output)
        // It goes on when this shell is interrupted.
        .process_group(0)
        .spawn()
        .map_err(unstarted)?;
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(running) = running(directory)? {
            writeln!(env.stderr, "{} Macs and their vendor are up; `fleet lab down` ends them", up.macs)?;
            return print(env, running.description());
        }
        if let Ok(Some(_)) = child.try_wait() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    // One that hangs is of no use.
    let _ = child.kill();
    let said = std::fs::read_to_string(&log).unwrap_or_default();
    let said = said.trim().trim_start_matches("error: ");
    Err(Failure::new(format!("the lab did not start: {said}")))
}

/// The lab of a directory, if it answers.
fn running(directory: &Path) -> Result<Option<Remote>, Failure> {
    let remote = match Remote::open(directory) {
        Ok(remote) => remote,
        Err(RemoteError::NoLab { .. }) => return Ok(None),
        Err(error) => return Err(Failure::of("the lab cannot be found", &error)),
    };
    let answers = memory::runtime()?.block_on(remote.summary()).is_ok();
    Ok(answers.then_some(remote))
}

/// What a shell has to be told.
fn print(env: &mut Env, description: &Description) -> Result<Exit, Failure> {
    for (name, value) in variables(description) {
        writeln!(env.stdout, "export {name}='{}'", value.replace('\'', r"'\''"))?;
    }
    env.stdout.flush()?;
    Ok(Exit::Done)
}

fn stop(env: &mut Env, directory: &Path, keep: bool) -> Result<Exit, Failure> {
    let remote = Remote::open(directory).map_err(|error| no_lab(&error))?;
    let runtime = memory::runtime()?;
    // One that does not answer has ended.
    let stopped = runtime.block_on(remote.stop()).is_ok();
    let started = Instant::now();
    while stopped && started.elapsed() < PATIENCE && Description::path(directory).exists() {
        std::thread::sleep(Duration::from_millis(50));
    }
    if !keep {
        let removed = std::fs::remove_dir_all(directory);
        removed.map_err(|error| Failure::of(format!("cannot remove {}", directory.display()), &error))?;
    }
    writeln!(env.stdout, "The lab is down.")?;
    Ok(Exit::Done)
}

fn ask(env: &mut Env, directory: &Path, command: &LabCommand) -> Result<Exit, Failure> {
    let remote = Remote::open(directory).map_err(|error| no_lab(&error))?;
    let wrong = |error: serde_json::Error| {
        Failure::of("that is not understood", &error).help("`fleet lab --help` has an example")
    };
    let answer: Result<serde_json::Value, Failure> = memory::runtime()?.block_on(async {
        Ok(match command {
            LabCommand::Inspect { what } => remote.inspect(what).await.map_err(|error| no_lab(&error))?,
            LabCommand::Fault { clear: true, .. } => {
                remote.clear(None).await.map_err(|error| no_lab(&error))?;
                remote.inspect("faults").await.map_err(|error| no_lab(&error))?
            }
            LabCommand::Fault { fault: Some(fault), .. } => {
                let fault: Fault = serde_json::from_str(fault).map_err(wrong)?;
                remote.fault(&fault).await.map_err(|error| no_lab(&error))?;
                remote.inspect("faults").await.map_err(|error| no_lab(&error))?
            }
            LabCommand::Fault { .. } => remote.inspect("faults").await.map_err(|error| no_lab(&error))?,
            LabCommand::Clock { advance } => {
                let moved = remote
                    .clock(Move { pace: None, advance: Some((*advance).into()) })
                    .await
                    .map_err(|error| no_lab(&error))?;
                serde_json::json!({ "time": moved.0 })
            }
            LabCommand::Edit { server, change } => {
                let change: ServerEdit = serde_json::from_str(change).map_err(wrong)?;
                remote.edit_server(server, &change).await.map_err(|error| no_lab(&error))?
            }
            LabCommand::Status | LabCommand::Up(_) | LabCommand::Down { .. } => {
                remote.summary().await.map_err(|error| no_lab(&error))?
            }
        })
    });
    serde_json::to_writer_pretty(&mut env.stdout, &answer?)
        .map_err(|error| Failure::of("the answer cannot be printed", &error))?;
    writeln!(env.stdout)?;
    Ok(Exit::Done)
}

fn no_lab(error: &RemoteError) -> Failure {
    Failure::of("the lab did not do it", error).help("start one with `fleet lab up`; `--at` says where")
}
