//! The log: asked for, on standard error or in a file, of fleet's own parts alone.

use crate::support::Site;

#[test]
fn a_filter_that_says_nothing_is_refused() {
    let check = |filter: &str, expected: &str| {
        let complaint = Site::empty().fleet(["version", "--log", filter]).failed();
        assert!(complaint.contains(expected), "{complaint}");
        assert!(complaint.contains("help: use a level (`--log debug`)"), "{complaint}");
    };
    check("loud", "`loud` is neither a level nor a part of fleet");
    check("sqlx=trace", "`sqlx` is neither a level nor a part of fleet");
    check("fleet_store=loud", "`fleet_store=loud` does not say what to log");
}

#[test]
fn a_log_file_that_cannot_be_written_is_said() {
    let complaint = Site::empty().fleet(["version", "--log-file", "no/such/place.log"]).failed();
    assert!(complaint.contains("cannot write no/such/place.log"), "{complaint}");
}
