//! The commands, one file each. The doc comment of a command's arguments is its manual.

use crate::{Env, Exit, Failure};

mod apply;
mod completions;
mod console;
mod demo;
mod destroy;
mod doctor;
mod fmt;
mod graph;
mod host;
mod import;
mod init;
mod lab;
mod lock;
mod output;
mod plan;
mod pool;
mod providers;
mod secrets;
mod show;
mod ssh;
mod state;
mod validate;
mod version;

/// Every command with its arguments.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    Init(init::InitArgs),
    Validate(validate::ValidateArgs),
    Fmt(fmt::FmtArgs),
    Console(console::ConsoleArgs),
    Graph(graph::GraphArgs),
    Plan(plan::PlanArgs),
    Show(show::ShowArgs),
    Apply(apply::ApplyArgs),
    Destroy(destroy::DestroyArgs),
    Doctor(doctor::DoctorArgs),
    Import(import::ImportArgs),
    Output(output::OutputArgs),
    Host(host::HostArgs),
    Pool(pool::PoolArgs),
    Secrets(secrets::SecretsArgs),
    Ssh(ssh::SshArgs),
    State(state::StateArgs),
    Lock(lock::LockArgs),
    Lab(lab::LabArgs),
    Demo(demo::DemoArgs),
    Providers(providers::ProvidersArgs),
    Completions(completions::CompletionsArgs),
    Version(version::VersionArgs),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(&self, env: &mut Env) -> Result<Exit, Failure> {
        match self {
            Command::Init(args) => init::init(env, args),
            Command::Validate(args) => validate::validate(env, args),
            Command::Fmt(args) => fmt::fmt(env, args),
            Command::Console(args) => console::console(env, args),
            Command::Graph(args) => graph::graph(env, args),
            Command::Plan(args) => plan::plan(env, args),
            Command::Show(args) => show::show(env, args),
            Command::Apply(args) => apply::apply(env, args),
            Command::Destroy(args) => destroy::destroy(env, args),
            Command::Doctor(args) => doctor::doctor(env, args),
            Command::Import(args) => import::import(env, args),
            Command::Output(args) => output::output(env, args),
            Command::Host(args) => host::host(env, args),
            Command::Pool(args) => pool::pool(env, args),
            Command::Secrets(args) => secrets::secrets(env, args),
            Command::Ssh(args) => ssh::ssh(env, args),
            Command::State(args) => state::state(env, args),
            Command::Lock(args) => lock::lock(env, args),
            Command::Lab(args) => lab::lab(env, args),
            Command::Demo(args) => demo::demo(env, args),
            Command::Providers(args) => providers::providers(env, args),
            Command::Completions(args) => completions::completions(env, args),
            Command::Version(args) => version::version(env, args),
        }
    }
}
