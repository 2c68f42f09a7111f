//! Progress on a terminal: what runs at the bottom, what ended scrolls away above it.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
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
    /// How far all of it is.
    overall: ProgressBar,
    long: bool,
}

impl Live {
    /// Draws on standard error.
    pub(super) fn new(out: Output, color: bool, clock: Arc<dyn Clock>) -> Live {
        let term = Screen(out.clone());
        Live::on(Box::new(term), Box::new(env::screen), out, color, clock)
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
        let overall = multi.add(ProgressBar::no_length().with_style(style("{elapsed} {msg}")));
        let scene = Scene {
            view: View::default(),
            above: Vec::new(),
            multi,
            lines: Vec::new(),
            overall,
            long: false,
        };
        let shared = Arc::new(Shared { scene: Mutex::new(scene), out, color, clock, screen });
        let ticking = shared.clone();
        Live { shared, ticker: Some(Ticker::every(FRAME, move || ticking.draw())) }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.ticker = None;
        self.shared.draw();
        let scene = self.shared.scene.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.out.keep_above(None);
        let _ = scene.multi.clear();
    }
}

impl Listener for Live {
    fn hear(&self, event: &Event<'_>) {
        let mut scene = self.shared.scene.lock().unwrap_or_else(PoisonError::into_inner);
        scene.view.hear(event, self.shared.clock.now());
        scene.above.extend(words::line(event).map(|(mood, line)| mood.paint(&line, self.shared.color)));
    }
}

impl Shared {
    fn draw(&self) {
        let (rows, _) = (self.screen)();
        let now = self.clock.now();
        let mut scene = self.scene.lock().unwrap_or_else(PoisonError::into_inner);
        if !scene.above.is_empty() {
            // Through the output and not through the view, which would fill the lines with blanks. Progress that
            // cannot be written is no reason to fail.
            let _ = writeln!(self.out.clone(), "{}", std::mem::take(&mut scene.above).join("\n"));
        }
        let most = usize::from(rows).saturating_sub(ROWS_ABOVE).max(1);
        scene.draw(now, most);
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
            self.lines.push(self.multi.insert_before(&self.overall, line));
        }
        for (bar, line) in self.lines.iter().zip(lines) {
            bar.set_message(line);
            bar.tick();
        }
        self.draw_overall(now);
    }

    fn draw_overall(&mut self, now: Duration) {
        let (ended, steps) = (self.view.ended, self.view.steps);
        let long = now >= LONG && steps > 0;
        if self.overall.length() != Some(steps as u64) && steps > 0 || long != self.long {
            self.long = long;
            self.overall.set_length(steps as u64);
            let rate = if long { ", {per_sec}, {eta} left" } else { "" };
            self.overall
                .set_style(style(&format!("[{{bar:24}}] {{pos}} of {{len}}, {{elapsed}}{rate}{{msg}}")));
        }
        let bad = ended.failed + ended.unknown;
        let bad = if bad > 0 { format!(", {bad} failed") } else { String::new() };
        let skipped = if ended.skipped > 0 { format!(", {} skipped", ended.skipped) } else { String::new() };
        self.overall.set_message(format!("{bad}{skipped}"));
        self.overall.set_position(ended.total() as u64);
        self.overall.tick();
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
