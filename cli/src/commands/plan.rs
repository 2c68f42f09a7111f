//! `fleet plan`.

use crate::{Env, Exit, Failure};

/// Compare the configuration with reality and print what apply would do
#[derive(Debug, clap::Args)]
pub(crate) struct PlanArgs {}

pub(crate) fn plan(_env: &mut Env, _args: &PlanArgs) -> Result<Exit, Failure> {
    Err(Failure::new("`fleet plan` is not part of this build"))
}
