//! The time of the world, shared with a run in the same process.

use std::time::{Duration, Instant};

use fleet_engine::clock::Clock as _;
use fleet_lab::Options;
use fleet_lab::clock::Pace;
use serde_json::json;

use super::Api;

/// Waits as a run does: looks, sleeps, looks again.
async fn wait_until_ready(api: &Api) -> Duration {
    let clock = api.lab.clock();
    let begun = clock.now();
    while api.get(&api.path(0)).await.body["status"] != "ready" {
        clock.sleep(Duration::from_secs(10)).await;
    }
    clock.now() - begun
}

#[tokio::test]
async fn a_reinstallation_costs_a_run_nothing() {
    let api = Api::with(Options { pace: Pace::Skipping, ..Options::default() });
    let begun = Instant::now();
    api.post(&format!("{}/reinstall", api.path(0)), json!({})).await;
    let took = wait_until_ready(&api).await;
    assert!((Duration::from_secs(300)..Duration::from_secs(920)).contains(&took), "{took:?}");
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[tokio::test]
async fn time_can_go_by_faster() {
    let api = Api::with(Options { pace: Pace::Times(600.0), ..Options::default() });
    api.post(&format!("{}/reboot", api.path(0)), json!({})).await;
    let took = wait_until_ready(&api).await;
    assert!(took >= Duration::from_secs(80), "{took:?}");
}
