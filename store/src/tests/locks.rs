//! One writes at a time; the dead are inherited from; what they still send is refused.

use std::time::Duration;

use fleet_engine::state::{Store, StoreErrorKind};

use super::{Place, close, dead_holder, holder, on_both, settle};
use crate::connection::Connection;
use crate::{Database, Holder, OpenError, Summary, lock_status, release};

async fn sql(place: &Place, sql: &'static str) {
    let mut connection = Connection::write(&place.backend).await.unwrap();
    connection.script(sql).await.unwrap();
    connection.close().await.unwrap();
}

fn holder_of(error: OpenError) -> Holder {
    match error {
        OpenError::Held(lease) => lease.holder,
        OpenError::Store(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn the_second_is_told_who_the_first_is() {
    on_both(async |place| {
        assert_eq!(lock_status(&place.backend).await.unwrap(), None);
        let job = Some("https://ci.example/job/7".to_owned());
        let first = Holder { owner: "ada".into(), job, command: "fleet apply".into(), ..holder() };
        let database = Database::open(&place.backend, &first, None).await.unwrap();
        let refused = place.refused().await;
        let expected = format!(
            "the state is locked by ada on {} (process {}, `fleet apply`, https://ci.example/job/7)",
            first.host, first.pid
        );
        assert_eq!(refused.to_string(), expected);
        assert_eq!(holder_of(refused), first);
        let lease = lock_status(&place.backend).await.unwrap().unwrap();
        assert_eq!((&lease.holder, lease.fence, lease.expired), (&first, database.fence(), false));
        assert!(lease.expires > lease.since);
        close(database).await;
        assert_eq!(lock_status(&place.backend).await.unwrap(), None);
        close(place.open().await).await;
    })
    .await;
}

#[tokio::test]
async fn dropping_gives_the_lock_back() {
    on_both(async |place| {
        let fence = place.open().await.fence();
        let next = place.open().await;
        assert_eq!(next.fence(), fence + 1);
    })
    .await;
}

#[tokio::test]
async fn one_who_waits_gets_it_in_the_end() {
    on_both(async |place| {
        let first = place.open().await;
        let (backend, holder) = (place.backend.clone(), holder());
        let wait = Some(Duration::from_secs(60));
        let second = tokio::spawn(async move { Database::open(&backend, &holder, wait).await });
        tokio::task::yield_now().await;
        close(first).await;
        close(second.await.unwrap().unwrap()).await;
    })
    .await;
}

#[tokio::test]
async fn of_many_at_once_one_gets_it() {
    on_both(async |place| {
        let ask = |_| {
            let backend = place.backend.clone();
            tokio::spawn(async move { Database::open(&backend, &holder(), None).await })
        };
        let asked: Vec<_> = (0..8).map(ask).collect();
        let mut got = Vec::new();
        for answer in asked {
            match answer.await.unwrap() {
                Ok(database) => got.push(database),
                Err(OpenError::Held(_)) => {}
                Err(OpenError::Store(error)) => panic!("{error:?}"),
            }
        }
        assert_eq!(got.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn the_dead_are_inherited_from_and_their_late_writes_refused() {
    on_both(async |place| {
        let dead = Database::open(&place.backend, &dead_holder(), None).await.unwrap();
        dead.write(settle("core_file.a", "1")).await.unwrap();
        let next = place.open().await;
        assert_eq!(next.fence(), dead.fence() + 1);
        for _ in 0..2 {
            let late = dead.write(settle("core_file.a", "late")).await.unwrap_err();
            assert_eq!(late.kind, StoreErrorKind::Fenced);
            assert!(late.message.contains("taken over"), "{late}");
        }
        next.write(settle("core_file.b", "2")).await.unwrap();
        let closed = dead.close(Summary::default()).await.unwrap_err();
        assert_eq!(closed.kind, StoreErrorKind::Fenced);
        // The lock of the one who took over was not given back by the one who lost it.
        assert_eq!(lock_status(&place.backend).await.unwrap().unwrap().fence, next.fence());
        let state = next.read().await.unwrap();
        assert_eq!(state.recorded.len(), 2);
        assert_eq!(state.recorded[&super::address("core_file.a")], super::record("1"));
        assert_eq!(
            std::fs::read_dir(place.backend.recovery())
                .into_iter()
                .flatten()
                .filter(|entry| {
                    entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("recovery")
                })
                .count(),
            0,
            "what was refused is no matter for recovery"
        );
    })
    .await;
}

#[tokio::test]
async fn a_process_elsewhere_is_only_dead_when_its_lease_has_run_out() {
    on_both(async |place| {
        let elsewhere = Database::open(&place.backend, &dead_holder(), None).await.unwrap();
        sql(&place, "UPDATE locks SET machine = 'elsewhere'").await;
        assert_eq!(holder_of(place.refused().await).command, "fleet apply");
        sql(&place, "UPDATE locks SET expires = 0").await;
        assert!(lock_status(&place.backend).await.unwrap().unwrap().expired);
        let next = place.open().await;
        let late = elsewhere.write(settle("core_file.a", "late")).await.unwrap_err();
        assert_eq!(late.kind, StoreErrorKind::Fenced);
        close(next).await;
    })
    .await;
}

#[tokio::test]
async fn a_lock_can_be_taken_away() {
    on_both(async |place| {
        assert!(release(&place.backend, 1).await.is_err(), "there is none");
        let first = place.open().await;
        let wrong = release(&place.backend, first.fence() + 1).await.unwrap_err();
        assert_eq!(wrong.to_string(), "the lock is not held by that holder any more");
        first.write(settle("core_file.a", "1")).await.unwrap();
        let released = release(&place.backend, first.fence()).await.unwrap();
        assert_eq!(released.holder, holder());
        let late = first.write(settle("core_file.a", "late")).await.unwrap_err();
        assert_eq!(late.kind, StoreErrorKind::Fenced);
        close(place.open().await).await;
    })
    .await;
}

#[test]
fn a_pipeline_says_where_its_log_is() {
    let check = |variables: &[(&str, &str)], owner: &str, job: Option<&str>| {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let holder = Holder::of_process("fleet apply", variable);
        assert_eq!((&*holder.owner, holder.job.as_deref()), (owner, job));
    };
    check(&[], "somebody", None);
    check(&[("USER", "ada")], "ada", None);
    let github = [
        ("USER", "runner"),
        ("GITHUB_ACTOR", "ada"),
        ("GITHUB_SERVER_URL", "https://github.com"),
        ("GITHUB_REPOSITORY", "ada/site"),
        ("GITHUB_RUN_ID", "7"),
    ];
    check(&github, "ada", Some("https://github.com/ada/site/actions/runs/7"));
    check(&[("LOGNAME", "ci"), ("CI_JOB_URL", "https://x/1")], "ci", Some("https://x/1"));
}
