//! Events for programs: one JSON object a line. `docs/reference/events.md` is the manual.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use fleet_engine::encode::safe_to_print;
use fleet_engine::event::{Event, Listener};
use serde::Serialize;

/// Rises when a field changes its meaning or goes away; new fields and types do not raise it.
pub(super) const FORMAT_VERSION: &str = "1.0";

/// A stream of JSON lines.
pub struct Stream {
    sink: Mutex<Sink>,
    now: fn() -> SystemTime,
}

struct Sink {
    writer: Box<dyn Write + Send>,
    /// The first thing that went wrong. The run goes on without the stream, and says so at its end.
    error: Option<io::Error>,
}

#[derive(Serialize)]
struct Line<'a, T> {
    #[serde(flatten)]
    event: &'a T,
    at: String,
}

impl Stream {
    pub(super) fn new(writer: Box<dyn Write + Send>, now: fn() -> SystemTime) -> Stream {
        Stream { sink: Mutex::new(Sink { writer, error: None }), now }
    }

    /// Writes something that has a `type`.
    pub fn write(&self, event: &impl Serialize) {
        let at = humantime::format_rfc3339_millis((self.now)()).to_string();
        let text = serde_json::to_string(&Line { event, at }).expect("events have text for keys");
        let mut sink = self.sink.lock().unwrap_or_else(PoisonError::into_inner);
        sink.write(&text);
    }

    /// What went wrong with it, if something did.
    pub(super) fn finish(self) -> io::Result<()> {
        let sink = self.sink.into_inner().unwrap_or_else(PoisonError::into_inner);
        sink.error.map_or(Ok(()), Err)
    }
}

impl Listener for Stream {
    fn hear(&self, event: &Event<'_>) {
        self.write(event);
    }
}

impl Sink {
    fn write(&mut self, text: &str) {
        if self.error.is_some() {
            return;
        }
        let line = format!("{}\n", safe_to_print(text));
        let written = self.writer.write_all(line.as_bytes()).and_then(|()| self.writer.flush());
        self.error = written.err();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;
    use std::time::Duration;

    use fleet_lang::print::is_printable;

    use super::super::testing::{Script, Stuck, Text};
    use super::*;

    fn then() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123)
    }

    #[test]
    fn a_run_as_lines_of_json() {
        let text = Text::default();
        let stream = Stream::new(Box::new(text.clone()), then);
        Script::new(&stream, &Arc::new(Stuck::default())).play();
        stream.finish().unwrap();
        let text = text.text();
        for line in text.lines() {
            let json: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(json["type"].is_string(), "{line}");
            assert_eq!(json["at"], "2023-11-14T22:13:20.123Z");
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_manual_names_every_field_and_every_word() {
        fn words(json: &serde_json::Value, found: &mut BTreeSet<String>) {
            match json {
                serde_json::Value::Array(items) => items.iter().for_each(|item| words(item, found)),
                serde_json::Value::Object(fields) => {
                    for (name, value) in fields {
                        found.insert(name.clone());
                        if let ("type" | "action" | "outcome" | "effect" | "on", Some(word)) =
                            (&**name, value.as_str())
                        {
                            found.insert(word.to_owned());
                        }
                        words(value, found);
                    }
                }
                _ => {}
            }
        }
        let text = Text::default();
        Script::new(&Stream::new(Box::new(text.clone()), then), &Arc::new(Stuck::default())).play();
        let mut found = BTreeSet::new();
        text.text().lines().for_each(|line| words(&serde_json::from_str(line).unwrap(), &mut found));
        let manual = include_str!("../../../docs/reference/events.md");
        let unnamed: Vec<_> = found.iter().filter(|word| !manual.contains(&format!("`{word}`"))).collect();
        assert!(found.len() > 30 && unnamed.is_empty(), "{unnamed:?}");
    }

    #[test]
    fn whatever_is_in_a_text_comes_back_and_never_touches_a_terminal() {
        #[derive(Serialize)]
        struct Said<'a> {
            r#type: &'a str,
        }
        let odd = "a\u{9b}31m\u{202e}\u{7f}\u{1b}[2J\u{e000}\u{f0000}\n\"\\ é日本";
        let text = Text::default();
        Stream::new(Box::new(text.clone()), then).write(&Said { r#type: odd });
        let line = text.text();
        assert!(line.trim_end_matches('\n').chars().all(is_printable), "{line:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap()["type"], odd);
    }

    #[test]
    fn a_stream_that_breaks_is_told_once_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let stream = Stream::new(Box::new(Full), then);
        stream.hear(&Event::Interrupted { again: false });
        stream.hear(&Event::Interrupted { again: true });
        assert_eq!(stream.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
