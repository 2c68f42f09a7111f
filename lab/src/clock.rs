//! The time of the world. Everything that takes time in the lab takes it from here, and so may a run of the engine in
//! the same process: then an hour of waiting costs nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use fleet_engine::resource::BoxFuture;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::sync::{Notify, oneshot};

/// How long nothing happens before a [`Pace::Skipping`] clock jumps to the next moment somebody waits for.
const QUIET: Duration = Duration::from_millis(15);

/// A moment in the world, to the microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// What this machine's own clock shows.
    #[must_use]
    pub fn of_this_machine() -> Time {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Time(micros(since))
    }

    /// So much later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(micros(duration)))
    }

    /// So much earlier.
    #[must_use]
    pub fn before(self, duration: Duration) -> Time {
        Time(self.0.saturating_sub(micros(duration)))
    }

    /// How long ago another moment was; nothing if it is still to come.
    #[must_use]
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

impl From<Time> for SystemTime {
    fn from(time: Time) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_micros(time.0)
    }
}

/// As vendors write it: `2026-03-05T08:25:47.808092Z`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What lies beyond the year 9999 cannot be written.
        let shown = Duration::from_micros(self.0.min(253_402_300_799_999_999));
        humantime::format_rfc3339_micros(SystemTime::UNIX_EPOCH + shown).fmt(f)
    }
}

impl std::str::FromStr for Time {
    type Err = humantime::TimestampError;

    fn from_str(text: &str) -> Result<Time, Self::Err> {
        let moment = humantime::parse_rfc3339(text)?;
        Ok(Time(micros(moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// How time goes by.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// It stands still until somebody moves it.
    Manual,
    /// As in reality, so many times as fast.
    Times(f64),
    /// As in reality, but while everybody waits for a later moment, it jumps there: what works takes its time, what
    /// sleeps takes none.
    Skipping,
}

/// A clock that all parts of a world share.
#[derive(Clone)]
pub struct Clock {
    inside: Arc<Inside>,
}

struct Inside {
    hands: Mutex<Hands>,
    /// Something changed that whoever drives the clock must know.
    changed: Notify,
    /// How many are at work: time does not jump meanwhile.
    busy: AtomicUsize,
    /// One at a time moves the clock.
    moving: tokio::sync::Mutex<()>,
}

struct Hands {
    pace: Pace,
    start: Time,
    /// The time it was at `read`.
    time: Time,
    read: Instant,
    /// When something last happened.
    active: Instant,
    timers: BTreeMap<(Time, u64), Timer>,
    made: u64,
}

struct Timer {
    work: BoxFuture<'static, ()>,
    /// Somebody outside the world sleeps until then.
    sleeper: bool,
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.time())
    }
}

/// While this is held, a skipping clock does not jump.
#[derive(Debug)]
pub struct Busy(Clock);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.hands().active = Instant::now();
        self.0.inside.busy.fetch_sub(1, Ordering::Release);
        self.0.inside.changed.notify_one();
    }
}

impl Clock {
    /// A clock that shows a time.
    #[must_use]
    pub fn new(pace: Pace, time: Time) -> Clock {
        let now = Instant::now();
        let hands =
            Hands { pace, start: time, time, read: now, active: now, timers: BTreeMap::new(), made: 0 };
        Clock {
            inside: Arc::new(Inside {
                hands: Mutex::new(hands),
                changed: Notify::new(),
                busy: AtomicUsize::new(0),
                moving: tokio::sync::Mutex::new(()),
            }),
        }
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.inside.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What time it is.
    #[must_use]
    pub fn time(&self) -> Time {
        self.hands().time()
    }

    /// How time goes by.
    #[must_use]
    pub fn pace(&self) -> Pace {
        self.hands().pace
    }

    /// Lets time go by in another way from now on.
    pub fn set_pace(&self, pace: Pace) {
        let mut hands = self.hands();
        hands.settle();
        hands.pace = pace;
        drop(hands);
        self.inside.changed.notify_one();
    }

    /// Does something when it is time: before any later moment begins, if the clock is moved.
    pub fn at(&self, time: Time, work: impl Future<Output = ()> + Send + 'static) {
        self.plan(time, Timer { work: Box::pin(work), sleeper: false });
    }

    fn plan(&self, time: Time, timer: Timer) {
        let mut hands = self.hands();
        hands.made += 1;
        hands.active = Instant::now();
        let key = (time, hands.made);
        hands.timers.insert(key, timer);
        drop(hands);
        self.inside.changed.notify_one();
    }

    /// Waits until a moment.
    pub fn until(&self, time: Time) -> BoxFuture<'static, ()> {
        if time <= self.time() {
            return Box::pin(async {});
        }
        let (wake, woken) = oneshot::channel();
        let work = Box::pin(async move {
            // Whoever slept may have been given up.
            let _ = wake.send(());
        });
        self.plan(time, Timer { work, sleeper: true });
        Box::pin(async move {
            // A clock that is gone never strikes.
            if woken.await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }

    /// Says that somebody is at work until what is returned is dropped.
    #[must_use]
    pub fn busy(&self) -> Busy {
        self.inside.busy.fetch_add(1, Ordering::Acquire);
        Busy(self.clone())
    }

    /// Moves time forward. Whatever is due on the way is done at its time, in order.
    pub async fn advance(&self, duration: Duration) {
        let _moving = self.inside.moving.lock().await;
        let target = self.time().after(duration);
        self.strike(target).await;
        self.hands().jump(target);
    }

    /// Does what is due until then.
    async fn strike(&self, target: Time) {
        loop {
            let timer = {
                let mut hands = self.hands();
                match hands.timers.first_entry() {
                    Some(first) if first.key().0 <= target => {
                        let ((time, _), timer) = first.remove_entry();
                        hands.jump(time);
                        timer
                    }
                    _ => return,
                }
            };
            timer.work.await;
            self.hands().active = Instant::now();
        }
    }

    /// Keeps the clock going, for ever: a clock that is not [`Pace::Manual`] does nothing by itself.
    pub async fn drive(&self) {
        loop {
            let changed = self.inside.changed.notified();
            let pause = {
                let moving = self.inside.moving.lock().await;
                let now = self.time();
                if self.pace() != Pace::Manual {
                    self.strike(now).await;
                }
                let skip = self.hands().skip(self.inside.busy.load(Ordering::Acquire) > 0);
                if let Some(target) = skip {
                    self.strike(target).await;
                }
                drop(moving);
                self.hands().pause()
            };
            match pause {
                None => changed.await,
                Some(pause) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep(pause) => {}
                },
            }
        }
    }
}

impl Hands {
    fn time(&self) -> Time {
        match self.pace {
            Pace::Manual => self.time,
            Pace::Times(speed) => self.time.after(scaled(self.read.elapsed(), speed)),
            Pace::Skipping => self.time.after(self.read.elapsed()),
        }
    }

    /// Takes what went by into account.
    fn settle(&mut self) {
        self.time = self.time();
        self.read = Instant::now();
    }

    fn jump(&mut self, target: Time) {
        self.settle();
        self.time = self.time.max(target);
    }

    /// Where time may jump to: the next moment for which somebody outside waits.
    fn skip(&self, busy: bool) -> Option<Time> {
        let quiet = self.pace == Pace::Skipping && !busy && self.active.elapsed() >= QUIET;
        let mut sleepers = self.timers.iter().filter(|(_, timer)| timer.sleeper);
        sleepers.next().filter(|_| quiet).map(|((time, _), _)| *time)
    }

    /// How long there is nothing to do, if nothing happens.
    fn pause(&self) -> Option<Duration> {
        let ((next, _), _) = self.timers.first_key_value()?;
        let left = next.since(self.time());
        match self.pace {
            Pace::Manual => None,
            Pace::Times(speed) => Some(scaled(left, 1.0 / speed)),
            Pace::Skipping => Some(left.min(QUIET)),
        }
    }
}

fn scaled(duration: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(duration.as_secs_f64() * factor).unwrap_or(Duration::from_secs(3600))
}

impl fleet_engine::clock::Clock for Clock {
    fn now(&self) -> Duration {
        let hands = self.hands();
        hands.time().since(hands.start)
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.until(self.time().after(duration))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use fleet_engine::clock::Clock as _;

    use super::*;

    const START: &str = "2026-03-05T08:25:47.808092Z";

    fn clock(pace: Pace) -> Clock {
        Clock::new(pace, START.parse().unwrap())
    }

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn times_are_written_as_vendors_do() {
        let time: Time = START.parse().unwrap();
        assert_eq!(time.to_string(), START);
        assert_eq!(serde_json::to_value(time).unwrap(), START);
        assert_eq!(time.after(seconds(13)).to_string(), "2026-03-05T08:26:00.808092Z");
        assert_eq!(time.before(seconds(1)).since(time), Duration::ZERO);
        assert_eq!(Time(u64::MAX).to_string(), "9999-12-31T23:59:59.999999Z");
        assert!("yesterday".parse::<Time>().is_err());
    }

    #[tokio::test]
    async fn what_is_due_happens_in_order_and_at_its_time() {
        let clock = clock(Pace::Manual);
        let seen = Arc::new(Mutex::new(Vec::new()));
        for after in [5, 1, 3, 9] {
            let (seen, inner) = (Arc::clone(&seen), clock.clone());
            clock.at(clock.time().after(seconds(after)), async move {
                // What is planned on the way is on the way too.
                let (again, later) = (Arc::clone(&seen), inner.clone());
                if after == 3 {
                    inner.at(inner.time().after(seconds(1)), async move {
                        again.lock().unwrap().push(later.now().as_secs());
                    });
                }
                seen.lock().unwrap().push(inner.now().as_secs());
            });
        }
        clock.advance(seconds(8)).await;
        assert_eq!(*seen.lock().unwrap(), [1, 3, 4, 5]);
        assert_eq!(clock.now(), seconds(8));
    }

    #[tokio::test]
    async fn a_manual_clock_wakes_sleepers_when_it_is_moved() {
        let clock = clock(Pace::Manual);
        let woken = Arc::new(AtomicBool::new(false));
        let (sleep, flag) = (clock.sleep(seconds(60)), Arc::clone(&woken));
        let sleeper = tokio::spawn(async move {
            sleep.await;
            flag.store(true, Ordering::SeqCst);
        });
        clock.advance(seconds(59)).await;
        tokio::task::yield_now().await;
        assert!(!woken.load(Ordering::SeqCst));
        clock.advance(seconds(1)).await;
        sleeper.await.unwrap();
        clock.sleep(Duration::ZERO).await;
    }

    #[tokio::test]
    async fn a_fast_clock_keeps_its_pace() {
        let clock = clock(Pace::Times(1000.0));
        let driven = clock.clone();
        tokio::spawn(async move { driven.drive().await });
        let begun = Instant::now();
        clock.sleep(seconds(20)).await;
        assert!(clock.now() >= seconds(20));
        assert!(begun.elapsed() >= Duration::from_millis(19), "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn a_skipping_clock_jumps_while_everybody_sleeps() {
        let clock = clock(Pace::Skipping);
        let driven = clock.clone();
        tokio::spawn(async move { driven.drive().await });
        let begun = Instant::now();
        let (short, long) = (clock.sleep(seconds(600)), clock.sleep(seconds(3600)));
        short.await;
        assert!((seconds(600)..seconds(3600)).contains(&clock.now()));
        // Whoever works keeps it from jumping.
        let busy = clock.busy();
        let before = clock.now();
        tokio::time::sleep(QUIET * 4).await;
        assert!(clock.now() - before < seconds(60));
        drop(busy);
        long.await;
        assert!(clock.now() >= seconds(3600));
        assert!(begun.elapsed() < seconds(60));
    }

    #[tokio::test]
    async fn the_pace_can_change_on_the_way() {
        let clock = clock(Pace::Manual);
        let driven = clock.clone();
        tokio::spawn(async move { driven.drive().await });
        let sleep = clock.sleep(seconds(10));
        clock.advance(seconds(4)).await;
        clock.set_pace(Pace::Times(10_000.0));
        sleep.await;
        clock.set_pace(Pace::Manual);
        let stopped = clock.time();
        assert_eq!(clock.time(), stopped);
    }
}
