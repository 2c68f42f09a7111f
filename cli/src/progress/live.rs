//! Progress on a terminal: what runs at the bottom, what ended scrolls away above it.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fleet_engine::clock::Clock;
use fleet_engine::event::{Event, Listener};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

use super::ticker::Ticker;
use super::view::View;
use super::words;
use crate::{Output, env};

/// How often the view is drawn. Events only note what happened, so a fast run is not slowed down by its picture.
const FRAME: Duration = Duration::from_millis(100);

/// From then on a run is long enough for a rate and an estimate.
const LONG: Duration = Duration::from_secs(5);

/// The line under all others.
const OVERALL: &str = "[{bar:24}] {pos} of {len}{msg}, {elapsed}";

/// Rows that are left to what scrolls by.
const ROWS_ABOVE: usize = 4;

pub(super) struct Live {
    shared: Arc<Shared>,
    /// The first thing to go, so that nothing is drawn afterwards.
    ticker: Option<Ticker>,
}

struct Shared {
    scene: Mutex<Scene>,
    out: Output,
    color: bool,
    clock: Arc<dyn Clock>,
    screen: Box<dyn Fn() -> (u16, u16) + Send + Sync>,
}

struct Scene {
    view: View,
    /// What ended since the last frame.
    above: Vec<String>,
    multi: MultiProgress,
    /// One for each line of what runs.
    lines: Vec<ProgressBar>,
    /// How far all of it is, once it is known how much there is.
    overall: Option<Overall>,
    /// Nothing is drawn until something begins.
    paused: bool,
}

struct Overall {
    bar: ProgressBar,
    since: Duration,
    long: bool,
}

impl Live {
    /// Draws on standard error.
    pub(super) fn new(out: Output, color: bool, clock: Arc<dyn Clock>) -> Live {
        let term = Screen(out.clone());
        Live::on(Box::new(term), Box::new(env::screen), out, color, clock)
    }

    /// Clears the way for what others print, until something begins.
    pub(super) fn pause(&self) {
        self.shared.draw();
        let mut scene = self.shared.lock();
        scene.paused = true;
        // Progress that cannot be drawn is no reason to fail.
        let _ = scene.multi.clear();
    }

    fn on(
        term: Box<dyn TermLike>,
        screen: Box<dyn Fn() -> (u16, u16) + Send + Sync>,
        out: Output,
        color: bool,
        clock: Arc<dyn Clock>,
    ) -> Live {
        let multi = MultiProgress::with_draw_target(ProgressDrawTarget::term_like(term));
        out.keep_above(Some(multi.clone()));
        let scene = Scene {
            view: View::default(),
            above: Vec::new(),
            multi,
            lines: Vec::new(),
            overall: None,
            paused: true,
        };
        let shared = Arc::new(Shared { scene: Mutex::new(scene), out, color, clock, screen });
        let ticking = shared.clone();
        Live { shared, ticker: Some(Ticker::every(FRAME, move || ticking.draw())) }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.ticker = None;
        self.pause();
        self.shared.out.keep_above(None);
    }
}

impl Listener for Live {
    fn hear(&self, event: &Event<'_>) {
        let now = self.shared.clock.now();
        let mut scene = self.shared.lock();
        scene.view.hear(event, now);
        scene.above.extend(words::line(event).map(|(mood, line)| mood.paint(&line, self.shared.color)));
        if matches!(event, Event::WaveStarted { .. }) && scene.overall.is_none() {
            let bar = scene.multi.add(ProgressBar::new(0).with_style(style(OVERALL)));
            scene.overall = Some(Overall { bar, since: now, long: false });
        }
        if matches!(event, Event::Observing { .. } | Event::WaveStarted { .. } | Event::StepStarted { .. }) {
            scene.paused = false;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Scene> {
        self.scene.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self) {
        let (rows, _) = (self.screen)();
        let now = self.clock.now();
        let mut scene = self.lock();
        if !scene.above.is_empty() {
            // Through the output and not through the view, which would fill the lines with blanks.
            let _ = writeln!(self.out.clone(), "{}", std::mem::take(&mut scene.above).join("\n"));
        }
        if !scene.paused {
            scene.draw(now, usize::from(rows).saturating_sub(ROWS_ABOVE).max(1));
        }
    }
}

impl Scene {
    fn draw(&mut self, now: Duration, most: usize) {
        let lines = self.view.lines(now, most);
        for gone in self.lines.drain(lines.len().min(self.lines.len())..) {
            self.multi.remove(&gone);
        }
        while self.lines.len() < lines.len() {
            let line = ProgressBar::no_length().with_style(style("{spinner} {wide_msg}"));
            self.lines.push(match &self.overall {
                Some(overall) => self.multi.insert_before(&overall.bar, line),
                None => self.multi.add(line),
            });
        }
        for (bar, line) in self.lines.iter().zip(lines) {
            bar.set_message(line);
            bar.tick();
        }
        if let Some(overall) = &mut self.overall {
            overall.draw(&self.view, now);
        }
    }
}

impl Overall {
    fn draw(&mut self, view: &View, now: Duration) {
        let (ended, steps) = (view.ended, view.steps);
        let long = ended.total() > 0 && now.saturating_sub(self.since) >= LONG;
        if long && !self.long {
            self.long = true;
            self.bar.set_style(style(&format!("{OVERALL}, {{per_sec}}, {{eta}} left")));
        }
        let some = |count: usize, word| if count > 0 { format!(", {count} {word}") } else { String::new() };
        let bad = some(ended.failed + ended.unknown, "failed");
        self.bar.set_message(bad + &some(ended.skipped, "skipped"));
        self.bar.set_length(steps.max(ended.total()) as u64);
        self.bar.set_position(ended.total() as u64);
        self.bar.tick();
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template).expect("the template is well-formed");
    style.progress_chars("=> ").tick_chars("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏ ")
}

/// A terminal behind an output.
struct Screen(Output);

impl fmt::Debug for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Screen")
    }
}

impl Screen {
    /// A control sequence with a count, which by its nature means one if it is zero.
    fn steps(&self, count: usize, code: char) -> io::Result<()> {
        if count == 0 { Ok(()) } else { write!(self.0.below(), "\x1b[{count}{code}") }
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        env::screen().1
    }

    fn height(&self) -> u16 {
        env::screen().0
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.steps(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.steps(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.steps(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.steps(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        writeln!(self.0.below(), "{text}")
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.0.below().write_all(text.as_bytes())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.0.below().write_all(b"\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        self.0.below().flush()
    }
}

#[cfg(test)]
mod tests {
    use fleet_engine::event::Outcome;
    use fleet_engine::plan::Action;
    use indicatif::InMemoryTerm;

    use super::super::testing::{Script, Stuck, Text, object};
    use super::*;

    /// A terminal of 12 rows and 60 columns with a live view on it, drawn when the test says so.
    struct Stage {
        term: InMemoryTerm,
        clock: Arc<Stuck>,
        live: Live,
        out: Output,
    }

    impl Stage {
        fn new() -> Stage {
            let (term, clock) = (InMemoryTerm::new(12, 60), Arc::new(Stuck::default()));
            let out = Output::new(Above(term.clone()));
            let mut live =
                Live::on(Box::new(term.clone()), Box::new(|| (12, 60)), out.clone(), false, clock.clone());
            live.ticker = None;
            Stage { term, clock, live, out }
        }

        /// The screen without the time that really passed.
        fn screen(&self) -> String {
            self.live.shared.draw();
            self.term.contents()
        }
    }

    /// What is written beside the view ends up on the same terminal.
    struct Above(InMemoryTerm);

    impl Write for Above {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write_str(&std::str::from_utf8(bytes).unwrap().replace('\n', "\r\n"))?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn at_most_a_screenful_runs_on_the_screen() {
        let stage = Stage::new();
        Script::new(&stage.live, &stage.clock).begin_many(20);
        stage.clock.pass(Duration::from_secs(3));
        let screen = stage.screen();
        assert!(screen.lines().count() <= 12, "{screen}");
        assert!(screen.contains("core_file.a[6]: creating, 3s"), "{screen}");
        assert!(!screen.contains("core_file.a[7]"), "{screen}");
        assert!(screen.contains("and 13 more"), "{screen}");
        assert!(screen.contains("0 of 20"), "{screen}");
        assert!(!screen.contains(" left"), "{screen}");
    }

    #[test]
    fn what_ended_and_what_others_write_scrolls_above() {
        let stage = Stage::new();
        Script::new(&stage.live, &stage.clock).begin_many(3);
        stage.screen();
        let elapsed = Duration::from_secs(7);
        stage.live.hear(&Event::StepEnded {
            object: &object(1),
            action: Action::Create,
            outcome: &Outcome::Done,
            elapsed,
        });
        stage.screen();
        writeln!(stage.out.clone(), "warning: something else").unwrap();
        stage.clock.pass(elapsed);
        let screen = stage.screen();
        let lines: Vec<&str> = screen.lines().collect();
        assert_eq!(lines[0], "core_file.a[1]: created after 7s");
        assert_eq!(lines[1], "warning: something else");
        assert!(lines[2].ends_with("core_file.a[0]: creating, 7s"), "{screen}");
        assert!(lines[3].ends_with("core_file.a[2]: creating, 7s"), "{screen}");
        // By now the run is long, so that there is a rate and an estimate.
        assert!(
            lines[4].contains("1 of 3") && lines[4].contains("/s") && lines[4].contains(" left"),
            "{screen}"
        );
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn nothing_is_drawn_between_one_part_and_the_next() {
        let stage = Stage::new();
        assert_eq!(stage.screen(), "");
        Script::new(&stage.live, &stage.clock).begin_many(3);
        assert!(stage.screen().contains("0 of 3"));
        stage.live.pause();
        assert_eq!(stage.screen(), "");
        stage.live.hear(&Event::StepStarted { object: &object(7), action: Action::Create });
        assert!(stage.screen().contains("core_file.a[7]"), "{}", stage.term.contents());
    }

    #[test]
    fn at_the_end_only_what_ended_is_left() {
        let Stage { term, clock, live, out } = Stage::new();
        Script::new(&live, &clock).play();
        drop(live);
        let left = term.contents();
        writeln!(out.clone(), "after").unwrap();
        let last = left.lines().last().unwrap_or_default();
        assert_eq!(last, "wave 2: 1 to do that could not be planned before", "{left}");
        assert!(term.contents().ends_with("\nafter"), "{}", term.contents());
    }

    #[test]
    fn a_frame_that_is_drawn_on_a_writer_is_taken_back() {
        let text = Text::default();
        let clock = Arc::new(Stuck::default());
        let live = Live::new(Output::new(text.clone()), true, clock.clone());
        Script::new(&live, &clock).begin_many(2);
        live.shared.draw();
        drop(live);
        assert!(text.text().contains("core_file.a[0]: creating"), "{:?}", text.text());
        assert!(text.text().ends_with("\x1b[2K"), "{:?}", text.text());
    }
}
