//! Standard error, which several hold at once: commands, the log and the progress view.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indicatif::MultiProgress;

/// A writer that can be cloned. While a progress view is drawn, what is written stands above it.
///
/// Each call writes at once and alone, so lines of different holders do not mix.
#[derive(Clone)]
pub struct Output {
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    view: Arc<Mutex<Option<MultiProgress>>>,
}

impl Output {
    /// Over this writer.
    pub fn new(writer: impl Write + Send + 'static) -> Output {
        Output { writer: Arc::new(Mutex::new(Box::new(writer))), view: Arc::default() }
    }

    /// From now on everything is written above this view; `None` when it is gone.
    pub(crate) fn keep_above(&self, view: Option<MultiProgress>) {
        *lock(&self.view) = view;
    }

    /// The writer itself, for the view to draw on.
    pub(crate) fn below(&self) -> MutexGuard<'_, Box<dyn Write + Send>> {
        lock(&self.writer)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let view = lock(&self.view).clone();
        match view {
            // The view holds its own lock while it draws on this writer, so that lock comes first here, too.
            Some(view) => view.suspend(|| self.below().write_all(bytes)),
            None => self.below().write_all(bytes),
        }
    }

    fn write_fmt(&mut self, text: std::fmt::Arguments<'_>) -> io::Result<()> {
        self.write_all(text.to_string().as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.below().flush()
    }
}

/// Whoever panicked while writing left nothing half-done that matters to the next.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
