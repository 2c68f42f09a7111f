//! How many files this process may have open: each host takes some, and some systems allow 256.

use rustix::process::{Resource, getrlimit, setrlimit};

/// As many as any system gives to whoever asks. macOS refuses more even where it says that there is no limit.
const ENOUGH: u64 = 10_240;

/// Raises the limit as far as anybody may, up to what is enough.
pub(crate) fn raise() {
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(ENOUGH, |most| most.min(ENOUGH));
    if limit.current.is_some_and(|now| now < wanted) {
        limit.current = Some(wanted);
        if let Err(error) = setrlimit(Resource::Nofile, limit) {
            tracing::debug!(%error, "the limit of open files stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_and_never_lowered() {
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, rustix::process::Rlimit { current: Some(100), ..before }).unwrap();
        raise();
        let raised = getrlimit(Resource::Nofile).current.unwrap();
        assert!(raised > 100, "{raised}");
        setrlimit(Resource::Nofile, before).unwrap();
    }
}
