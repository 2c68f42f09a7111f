//! `fleet secrets check`.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use fleet_engine::encode::safe_to_print;
use fleet_engine::expand::{ArgumentsOnly, expand, secrets_of_provider};
use fleet_engine::outline::Outline;
use fleet_engine::plan::chain;
use fleet_engine::provider::Session;
use fleet_lang::Marks;
use fleet_syntax::diagnostic::has_errors;
use serde::Serialize;

use crate::configuration::{Configuration, VariableArgs};
use crate::secrets::{Missing, Vault, Wanted};
use crate::{Env, Exit, Failure, diagnostics, memory};

/// What ends within so long should be renewed.
const SOON: Duration = Duration::from_secs(14 * 24 * 3600);

/// Tell which secrets resolve, and whether those who take them say that they are good, and until when
///
/// Every `secret` of the configuration is got from its source; what it is, is shown nowhere. Then the services behind the
/// `provider` blocks are asked whether they take the credentials that are made with them: a secret that was synced and
/// expired meanwhile resolves, and is of no use. Secrets that a provider issues are not issued for this.
///
/// Needs no state and takes no lock; nothing is changed.
///
/// Exit codes: 0 all resolve and none is refused, 1 otherwise.
///
/// Examples:
///   fleet secrets check
///   fleet secrets check --json | jq -r '.secrets[] | select(.until) | "\(.name) \(.until)"'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CheckArgs {
    /// Only this one
    #[arg(value_name = "SECRET")]
    name: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    variables: VariableArgs,
}

/// All that was found out.
#[derive(Debug, Serialize)]
struct Report {
    secrets: Vec<Row>,
    services: Vec<Asked>,
}

/// One secret.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    /// Where it comes from; none if that is sensitive.
    from: Option<String>,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// Until when its source keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    /// The providers whose credentials are made with it.
    used_by: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// It can be had.
    Resolves,
    /// It cannot be had.
    Missing,
    /// A provider issues it when a step needs it.
    Issued,
    /// Where it comes from depends on what is known after apply.
    Unknown,
}

/// What a service says of the credentials that it is asked with.
#[derive(Debug, Serialize)]
struct Asked {
    /// The configuration of a provider, `vault`, or `1password` where a Connect server is asked.
    service: String,
    verdict: Verdict,
    /// Whose the credentials are; or why they are not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    warnings: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    /// The service takes them.
    Valid,
    /// It does not.
    Refused,
    /// It did not answer, so nobody knows.
    Unanswered,
    /// They cannot be made, because a secret is missing.
    Incomplete,
    /// It cannot say.
    Unsaid,
}

pub(super) fn check(env: &mut Env, args: &CheckArgs) -> Result<Exit, Failure> {
    let mut configuration = Configuration::load(env);
    configuration.read_values(env, &args.variables);
    let providers = env.providers();
    let vault = Vault::new(env, Wanted::All);
    let outline = Outline::of(&configuration.config, &providers);
    let surroundings = configuration.surroundings(&providers, &vault, &configuration.outside);
    let (expansion, found) = expand(&outline, &surroundings, &mut ArgumentsOnly);
    let problems = configuration.diagnostics.iter().cloned().chain(found).collect::<Vec<_>>();
    if has_errors(&problems) {
        diagnostics::report(env, &problems, &configuration.sources)?;
        return Ok(Exit::Failed);
    }
    let root = configuration.config.root();
    if let Some(name) = &args.name
        && !root.secrets.contains_key(name.as_str())
    {
        let failure = Failure::new(format!("there is no `secret \"{name}\"`"));
        let near = fleet_syntax::nearest(name, root.secrets.keys().map(|known| &**known));
        let help = near.map(|near| format!("did you mean `{near}`?"));
        return Err(help.into_iter().fold(failure, Failure::help));
    }
    let runtime = memory::runtime()?;
    let now = SystemTime::now();
    let mut used_by: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut asked = Vec::new();
    for provider in root.providers.values() {
        let alias = provider.alias.as_ref().map(|alias| alias.name.clone());
        let session = Session { alias, ..Session::of(provider.name.name.clone()) };
        let behind = secrets_of_provider(&outline, &session);
        for secret in &behind {
            used_by.entry(secret.to_string()).or_default().push(session.to_string());
        }
        if args.name.as_ref().is_some_and(|name| !behind.contains(name.as_str())) {
            continue;
        }
        let settings = expansion.settings(&providers, &session).filter(fleet_lang::Value::is_wholly_known);
        asked.push(match settings {
            None => Asked::new(&session, Verdict::Incomplete),
            Some(settings) => Asked::of(&session, runtime.block_on(providers.standing(&session, &settings))),
        });
    }
    let wanted = |name: &str| args.name.as_ref().is_none_or(|wanted| wanted == name);
    let mut secrets = Vec::new();
    for secret in root.secrets.values().filter(|secret| wanted(&secret.name.name)) {
        let name = secret.name.name.to_string();
        let from = expansion.source_of(&secret.name.name);
        let shown = from.as_ref().filter(|from| !from.marks.contains(Marks::SENSITIVE));
        let from_text = shown.and_then(|from| from.as_str()).map(str::to_owned);
        let row = Row::of(&name, from_text.as_deref(), secret.provider.is_some(), &vault);
        secrets.push(Row { used_by: used_by.remove(&name).unwrap_or_default(), ..row });
    }
    let come_from =
        |start| secrets.iter().any(|row: &Row| row.from.as_ref().is_some_and(|from| from.starts_with(start)));
    if come_from("vault:") {
        asked.push(Asked::at("vault", vault.standing_at_vault()));
    }
    if come_from("op://") {
        let standing = vault.standing_at_connect().map(|standing| standing.map(|()| None));
        asked.extend(standing.map(|standing| Asked::at("1password", standing)));
    }
    let report = Report { secrets, services: asked };
    if args.json {
        let json = serde_json::to_string_pretty(&report).expect("texts can be written as JSON");
        writeln!(env.stdout, "{}", safe_to_print(&json))?;
    } else {
        report.print(env, now)?;
    }
    Ok(if report.is_good() { Exit::Done } else { Exit::Failed })
}

impl Row {
    fn of(name: &str, from: Option<&str>, is_issued: bool, vault: &Vault) -> Row {
        let row = |state| Row {
            name: name.to_owned(),
            from: from.map(str::to_owned),
            state,
            why: None,
            help: None,
            until: None,
            used_by: Vec::new(),
        };
        match vault.outcome(name) {
            Some(Ok(got)) => Row { until: got.until.map(date), ..row(State::Resolves) },
            Some(Err(Missing { why, help })) => Row { why: Some(why), help, ..row(State::Missing) },
            None if is_issued => row(State::Issued),
            None => row(State::Unknown),
        }
    }
}

impl Asked {
    fn new(session: &Session, verdict: Verdict) -> Asked {
        let service = format!("provider.{session}");
        Asked { service, verdict, said: None, help: None, until: None, warnings: Vec::new() }
    }

    /// What a server that keeps secrets says of its token.
    fn at(service: &str, standing: Result<Option<SystemTime>, Missing>) -> Asked {
        let asked = Asked::new(&Session::of(service), Verdict::Valid);
        let service = service.to_owned();
        match standing {
            Ok(until) => Asked { service, said: Some("its token".into()), until: until.map(date), ..asked },
            Err(Missing { why, help }) => {
                Asked { service, verdict: Verdict::Refused, said: Some(why), help, ..asked }
            }
        }
    }

    fn of(
        session: &Session,
        standing: Result<Option<fleet_engine::provider::Standing>, fleet_engine::resource::Error>,
    ) -> Asked {
        match standing {
            Ok(None) => Asked::new(session, Verdict::Unsaid),
            Ok(Some(standing)) => Asked {
                said: Some(standing.who),
                until: standing.until.map(date),
                warnings: standing.warnings,
                ..Asked::new(session, Verdict::Valid)
            },
            Err(error) => {
                let verdict = if error.transient { Verdict::Unanswered } else { Verdict::Refused };
                Asked { said: Some(chain(&error)), help: error.help, ..Asked::new(session, verdict) }
            }
        }
    }
}

impl Report {
    fn is_good(&self) -> bool {
        self.secrets.iter().all(|row| row.state != State::Missing)
            && self.services.iter().all(|asked| matches!(asked.verdict, Verdict::Valid | Verdict::Unsaid))
    }

    fn print(&self, env: &mut Env, now: SystemTime) -> Result<(), Failure> {
        if self.secrets.is_empty() && self.services.is_empty() {
            writeln!(env.stdout, "There are no secrets and no providers.")?;
            return Ok(());
        }
        for row in &self.secrets {
            let from = row.from.as_deref().unwrap_or("(sensitive)");
            let what = match row.state {
                State::Resolves => "resolves".to_owned(),
                State::Missing => format!("missing: {}", row.why.as_deref().unwrap_or_default()),
                State::Issued => "issued by its provider when a step needs it".to_owned(),
                State::Unknown => "where it comes from is known after apply".to_owned(),
            };
            let until =
                row.until.as_deref().map(|until| format!("; {}", ends(until, now))).unwrap_or_default();
            writeln!(env.stdout, "secret.{}  {}", row.name, clean(from))?;
            writeln!(env.stdout, "  {}{until}", clean(&what))?;
            help(env, row.help.as_deref())?;
        }
        for asked in &self.services {
            let said = asked.said.as_deref().map(clean).unwrap_or_default();
            let what = match asked.verdict {
                Verdict::Valid => format!("valid: {said}"),
                Verdict::Refused => format!("refused: {said}"),
                Verdict::Unanswered => format!("no answer, so nobody knows whether it is valid: {said}"),
                Verdict::Incomplete => "not asked: a secret that it needs is missing".to_owned(),
                Verdict::Unsaid => "not asked: there is no way to ask".to_owned(),
            };
            let until =
                asked.until.as_deref().map(|until| format!("; {}", ends(until, now))).unwrap_or_default();
            writeln!(env.stdout, "{}", asked.service)?;
            writeln!(env.stdout, "  {what}{until}")?;
            for warning in &asked.warnings {
                writeln!(env.stdout, "  warning: {}", clean(warning))?;
            }
            help(env, asked.help.as_deref())?;
        }
        Ok(())
    }
}

fn help(env: &mut Env, help: Option<&str>) -> Result<(), Failure> {
    if let Some(help) = help {
        writeln!(env.stdout, "  help: {}", clean(help))?;
    }
    Ok(())
}

/// When something ends, and how soon that is.
fn ends(until: &str, now: SystemTime) -> String {
    let Ok(end) = humantime::parse_rfc3339(until) else { return format!("until {until}") };
    match end.duration_since(now) {
        Err(_) => format!("expired since {until}"),
        Ok(left) if left < SOON => format!("until {until}, which is soon: in {}", rounded(left)),
        Ok(left) => format!("until {until}, in {}", rounded(left)),
    }
}

/// A length of time that people can take in.
fn rounded(left: Duration) -> String {
    let seconds = left.as_secs();
    let whole = match seconds {
        0..3600 => seconds,
        3600..86400 => seconds - seconds % 60,
        _ => seconds - seconds % 86400,
    };
    humantime::format_duration(Duration::from_secs(whole)).to_string()
}

fn date(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

fn clean(text: &str) -> String {
    diagnostics::clean(text).collect()
}
