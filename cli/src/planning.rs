//! The options that shape a plan, for all commands that make one.

use clap::ArgAction;
use fleet_engine::address::{ScopePath, Target};
use fleet_engine::plan::{Goal, Options};

use crate::Failure;

/// What the plan is to be like.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct PlanningArgs {
    /// Plan only ADDRESS and what it needs; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    target: Vec<String>,
    /// Leave out ADDRESS and what depends on it; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    exclude: Vec<String>,
    /// Make ADDRESS anew; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    replace: Vec<String>,
    /// Plan only this host: its slot, such as `runners[0]`, or its name; may be repeated
    #[arg(long, value_name = "HOST")]
    host: Vec<String>,
    /// Leave this host alone, and do not connect to it: its slot or its name; may be repeated
    #[arg(long, value_name = "HOST")]
    exclude_host: Vec<String>,
    /// Take the host of this slot at its word about its key, because it was installed anew; may be repeated
    #[arg(long, value_name = "SLOT")]
    accept_host_key: Vec<String>,
    /// Interrupt hosts of a fleet all at once, although it has a `rollout`
    #[arg(long)]
    ignore_rollout: bool,
    /// Bring the records up to date with reality, and change nothing else
    #[arg(long)]
    refresh_only: bool,
    /// Whether to look at what is recorded; without looking, the record is believed
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set, num_args = 0..=1)]
    #[arg(default_missing_value = "true", require_equals = true)]
    refresh: bool,
    /// Get all secrets while planning, to see those that changed at their source
    #[arg(long)]
    resolve_secrets: bool,
}

impl PlanningArgs {
    /// Whether nothing special was asked for.
    pub(crate) fn is_default(&self) -> bool {
        let addresses = [
            &self.target,
            &self.exclude,
            &self.replace,
            &self.host,
            &self.exclude_host,
            &self.accept_host_key,
        ];
        let plain = self.refresh && !self.refresh_only && !self.resolve_secrets && !self.ignore_rollout;
        plain && addresses.iter().all(|given| given.is_empty())
    }

    /// What they ask for.
    pub(crate) fn options(&self, goal: Goal) -> Result<Options, Failure> {
        if self.refresh_only && !self.refresh {
            let failure = Failure::new("`--refresh-only` and `--refresh=false` contradict each other");
            return Err(failure.help("use one of them"));
        }
        if self.refresh_only && goal == Goal::Destroy {
            let failure = Failure::new("`--refresh-only` removes nothing, and everything is to be removed");
            return Err(failure.help("leave out one of them"));
        }
        if !self.replace.is_empty() && (self.refresh_only || goal == Goal::Destroy) {
            let failure = Failure::new("`--replace` has no meaning where nothing is made");
            return Err(failure.help("leave it out, or plan without `--refresh-only` and `--destroy`"));
        }
        let goal = if self.refresh_only { Goal::RefreshOnly } else { goal };
        Ok(Options {
            goal,
            targets: targets(&self.target)?,
            excludes: targets(&self.exclude)?,
            replace: targets(&self.replace)?,
            refresh: self.refresh,
            resolve_secrets: self.resolve_secrets,
            imports: Vec::new(),
            ignore_rollout: self.ignore_rollout,
            hosts: self.host.clone(),
            exclude_hosts: self.exclude_host.clone(),
            machines: Default::default(),
            accepted: self.accept_host_key.iter().map(|text| slot(text)).collect::<Result<_, _>>()?,
        })
    }
}

/// A slot, which may be written without the word `fleet`.
fn slot(text: &str) -> Result<ScopePath, Failure> {
    ScopePath::slot_named(text).ok_or_else(|| {
        Failure::new(format!("`{text}` is not a slot of a fleet"))
            .help("write it as `runners[0]` or `desk[\"mini-a\"]`")
    })
}

fn targets(given: &[String]) -> Result<Vec<Target>, Failure> {
    let read = |text: &String| {
        let unreadable = || {
            Failure::new(format!("`{text}` is not an address"))
                .help("write it as `core_file.motd`, `core_file.motd[0]` or `module.m[\"key\"]`")
        };
        Target::parse(text).ok_or_else(unreadable)
    };
    given.iter().map(read).collect()
}
