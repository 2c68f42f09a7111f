//! `fleet output`.

use fleet_engine::encode::to_json;
use fleet_engine::state::SavedOutput;
use fleet_lang::{Kind, Value, print};
use fleet_syntax::nearest;

use crate::configuration::VariableArgs;
use crate::memory::Memory;
use crate::{Env, Exit, Failure, json};

/// Print the outputs of the last apply
///
/// They come from the state; nothing is looked at and nothing is evaluated. Sensitive outputs are never stored, so their
/// values cannot be had here.
///
/// Examples:
///   fleet output
///   fleet output addresses --json | jq -r '.[]'
///   ssh "$(fleet output --raw address)"
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct OutputArgs {
    /// Which one; all of them if none is named
    name: Option<String>,
    /// Print JSON: the value of one, or all of them with their types
    #[arg(long)]
    json: bool,
    /// Print a text, a number or a truth value as it is, without quotes and newline
    #[arg(long, conflicts_with = "json", requires = "name")]
    raw: bool,
    #[command(flatten)]
    variables: VariableArgs,
}

pub(crate) fn output(env: &mut Env, args: &OutputArgs) -> Result<Exit, Failure> {
    let Some(memory) = Memory::find(env, &args.variables)? else { return Ok(Exit::Failed) };
    let outputs = memory.read()?.outputs;
    let Some(name) = &args.name else {
        if args.json {
            let all = outputs.iter().map(|(name, output)| (&**name, described(output)));
            return Ok(env
                .stdout
                .write_all(json::pretty(&json::object(all)).as_bytes())
                .map(|()| Exit::Done)?);
        }
        for (name, output) in &outputs {
            let value = output.value.as_ref().map_or_else(|| "(sensitive value)".to_owned(), print);
            writeln!(env.stdout, "{name} = {value}")?;
        }
        return Ok(Exit::Done);
    };
    let Some(output) = outputs.get(&**name) else {
        let failure = Failure::new(format!("there is no output `{name}` in the state"));
        return Err(match nearest(name, outputs.keys().map(|known| &**known)) {
            Some(near) => failure.help(format!("did you mean `{near}`?")),
            None if outputs.is_empty() => failure.help("outputs are stored by `fleet apply`"),
            None => failure.help("if it was declared after the last apply, apply again"),
        });
    };
    let Some(value) = &output.value else {
        let failure =
            Failure::new(format!("output `{name}` is sensitive, and sensitive values are never stored"));
        return Err(failure.help(
            "ask the secret or the resource that it comes from; if everybody may know it, take `sensitive` away and \
             wrap its value in `nonsensitive(…)`",
        ));
    };
    let text = if args.json {
        json::pretty(value)
    } else if args.raw {
        raw(name, value)?
    } else {
        print(value) + "\n"
    };
    Ok(env.stdout.write_all(text.as_bytes()).map(|()| Exit::Done)?)
}

/// As shells want it.
fn raw(name: &str, value: &Value) -> Result<String, Failure> {
    match &value.kind {
        Kind::String(text) => Ok(text.to_string()),
        Kind::Number(number) => Ok(number.to_string()),
        Kind::Bool(truth) => Ok(truth.to_string()),
        _ => {
            let failure =
                Failure::new(format!("output `{name}` is neither a text nor a number nor a truth value"));
            Err(failure.help("use `--json`"))
        }
    }
}

/// An output with its type, as Terraform describes it to programs.
fn described(output: &SavedOutput) -> Value {
    let sensitive = ("sensitive", output.sensitive.into());
    let Some(value) = &output.value else { return json::object([sensitive]) };
    let ty = to_json(value).ok().and_then(|json| json.get("type").map(json::value_of));
    json::object([sensitive, ("type", ty.unwrap_or_else(Value::null)), ("value", value.clone())])
}
