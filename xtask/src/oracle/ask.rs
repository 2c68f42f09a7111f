//! Many expressions in, one answer each out.
//!
//! A process answers a whole batch: one local value holds every expression of it, each inside a `try`, and the console
//! prints them all. What `try` cannot catch (syntax, names that nothing declares) fails the batch, which is then halved
//! until the culprit stands alone.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tempfile::TempDir;

use super::printed::elements;
use super::program::{Flavour, Program};
use crate::run::root;

/// How many expressions one process is asked for.
const BATCH: usize = 100;

/// How many processes run at a time.
const WORKERS: usize = 2;

/// What stands for a failure inside a batch; no case gives this text.
const FAILED: &str = "the oracle saw it fail";

const UNKNOWN: &str = "(known after apply)";

/// What a program makes of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The value as the console prints it.
    Value(String),
    /// An error; which one is not compared.
    Failure,
}

/// Asks both programs, and remembers what Terraform said.
pub(super) struct Asker {
    fleet: Program,
    terraform: Program,
    fixture: PathBuf,
    cache: Mutex<Cache>,
}

/// Answers of Terraform by expression, on disk as one JSON array a line.
struct Cache {
    file: PathBuf,
    answers: HashMap<String, Answer>,
}

impl Answer {
    pub(super) fn is_failure(&self) -> bool {
        *self == Answer::Failure
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Value(text) => f.write_str(text),
            Answer::Failure => f.write_str("error"),
        }
    }
}

impl Asker {
    /// Expressions see the names and files of the fixture.
    pub(super) fn new(fleet: Program, terraform: Program, fixture: &Path) -> Result<Asker, String> {
        let mut hasher = DefaultHasher::new();
        hash_tree(fixture, &mut hasher)?;
        let name = format!("terraform-{}-{:016x}.jsonl", terraform.version, hasher.finish());
        let cache = Cache::open(root().join("target/oracle-cache").join(name))?;
        Ok(Asker { fleet, terraform, fixture: fixture.to_owned(), cache: Mutex::new(cache) })
    }

    /// What fleet makes of every expression.
    pub(super) fn ours(&self, expressions: &[String]) -> Result<Vec<Answer>, String> {
        self.answers(&self.fleet, expressions)
    }

    /// What each makes of every expression: ours, then theirs.
    pub(super) fn both(&self, expressions: &[String]) -> Result<Vec<(Answer, Answer)>, String> {
        let ours = self.ours(expressions)?;
        let cached = |text: &String| {
            self.cache.lock().expect("nobody panics with the lock").answers.contains_key(text)
        };
        let missing: Vec<String> = expressions.iter().filter(|text| !cached(text)).cloned().collect();
        let answers = self.answers(&self.terraform, &missing)?;
        let mut cache = self.cache.lock().expect("nobody panics with the lock");
        cache.add(missing.into_iter().zip(answers))?;
        let theirs = expressions.iter().map(|text| cache.answers[text].clone());
        Ok(ours.into_iter().zip(theirs).collect())
    }

    fn answers(&self, program: &Program, expressions: &[String]) -> Result<Vec<Answer>, String> {
        let batches: Vec<&[String]> = expressions.chunks(BATCH).collect();
        let (next, done) = (AtomicUsize::new(0), Mutex::new(HashMap::new()));
        let work = || -> Result<(), String> {
            let desk = Desk::new(program, &self.fixture)?;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(batch) = batches.get(number) else { return Ok(()) };
                let texts: Vec<&str> = batch.iter().map(String::as_str).collect();
                let answers = desk.answers(&texts)?;
                done.lock().expect("nobody panics with the lock").insert(number, answers);
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..WORKERS.min(batches.len())).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("workers do not panic"))
        })?;
        let mut done = done.into_inner().expect("nobody panics with the lock");
        Ok((0..batches.len())
            .flat_map(|number| done.remove(&number).expect("every batch was done"))
            .collect())
    }
}

/// A directory of its own with the fixture in it, where one process at a time is asked.
struct Desk<'p> {
    program: &'p Program,
    dir: TempDir,
}

impl<'p> Desk<'p> {
    fn new(program: &'p Program, fixture: &Path) -> Result<Desk<'p>, String> {
        let dir = TempDir::new().map_err(|error| error.to_string())?;
        program.flavour.copy(fixture, dir.path())?;
        Ok(Desk { program, dir })
    }

    fn answers(&self, texts: &[&str]) -> Result<Vec<Answer>, String> {
        let guard = |text: &&str| format!("try([\n{text}\n], \"{FAILED}\"),\n");
        let mut answers = self.halve(texts, &guard)?;
        // An error next to something unknown might still go away, so `try` waits; without it the answer is plain.
        let unknown = |answer: &Answer| matches!(answer, Answer::Value(text) if text == UNKNOWN);
        let open: Vec<usize> = (0..texts.len()).filter(|&i| unknown(&answers[i])).collect();
        let again: Vec<&str> = open.iter().map(|&i| texts[i]).collect();
        for (i, answer) in open.into_iter().zip(self.halve(&again, &|text| format!("[\n{text}\n],\n"))?) {
            answers[i] = answer;
        }
        Ok(answers)
    }

    /// Asks for all; where that fails, for each half.
    fn halve(&self, texts: &[&str], wrap: &dyn Fn(&&str) -> String) -> Result<Vec<Answer>, String> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(printed) = self.print(&texts.iter().map(wrap).collect::<String>())?
            && printed.len() == texts.len()
        {
            return Ok(printed.into_iter().map(answer).collect());
        }
        if texts.len() == 1 {
            return Ok(vec![Answer::Failure]);
        }
        let (left, right) = texts.split_at(texts.len() / 2);
        let mut answers = self.halve(left, wrap)?;
        answers.extend(self.halve(right, wrap)?);
        Ok(answers)
    }

    /// The elements of a tuple as the console prints them; nothing if it fails.
    fn print(&self, items: &str) -> Result<Option<Vec<String>>, String> {
        let flavour = self.program.flavour;
        let file = self.dir.path().join(flavour.file_name("cases.fleet.hcl"));
        let text = flavour.text(&format!("locals {{\n  oracle = [\n{items}]\n}}\n"));
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        let output = self.program.run(self.dir.path(), &["console"], "local.oracle\n")?;
        let clean = output.status.success() && (flavour == Flavour::Terraform || output.stderr.is_empty());
        Ok(if clean { elements(&String::from_utf8_lossy(&output.stdout)) } else { None })
    }
}

/// One element of a batch: the value stands alone in a tuple, so that it cannot be taken for a failure.
fn answer(element: String) -> Answer {
    if element == format!("\"{FAILED}\"") {
        return Answer::Failure;
    }
    match elements(&element).as_deref() {
        Some([value]) => Answer::Value(value.clone()),
        _ => Answer::Value(element),
    }
}

impl Cache {
    fn open(file: PathBuf) -> Result<Cache, String> {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let mut answers = HashMap::new();
        for line in text.lines() {
            // A line that was cut off by the end of a run is asked for again.
            let Ok((expression, answer)) = serde_json::from_str::<(String, Option<String>)>(line) else {
                continue;
            };
            answers.insert(expression, answer.map_or(Answer::Failure, Answer::Value));
        }
        Ok(Cache { file, answers })
    }

    fn add(&mut self, new: impl Iterator<Item = (String, Answer)>) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.file.display());
        fs::create_dir_all(self.file.parent().expect("the file lies in a directory")).map_err(failed)?;
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.file).map_err(failed)?;
        for (expression, answer) in new {
            let value = match &answer {
                Answer::Value(text) => Some(text),
                Answer::Failure => None,
            };
            writeln!(file, "{}", json!([expression, value])).map_err(failed)?;
            self.answers.insert(expression, answer);
        }
        Ok(())
    }
}

fn hash_tree(dir: &Path, hasher: &mut DefaultHasher) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", dir.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    for path in paths {
        path.file_name().hash(hasher);
        if path.is_dir() {
            hash_tree(&path, hasher)?;
        } else {
            fs::read(&path).map_err(failed)?.hash(hasher);
        }
    }
    Ok(())
}
