//! Expressions written by hand.
//!
//! A case is a line. `| ` in front goes on with the case above, `! ` says that it must fail, `#` starts a remark and
//! `## NAME` the cases of a function.

use std::fs;
use std::path::{Path, PathBuf};

/// Expressions of the tables that Terraform would work on for minutes.
const TOO_SLOW: &[&str] = &["bcrypt(\"a\", 25)"];

/// An expression to ask for.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// What it is about: the function, or the file.
    pub(super) heading: String,
    pub(super) text: String,
    /// Whether it must fail, where the file says so.
    pub(super) fails: Option<bool>,
}

/// The cases of all functions, from every file of a directory.
pub(super) fn functions(dir: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for file in files(dir)? {
        cases.extend(read(&file)?);
    }
    Ok(cases)
}

/// The cases of operators, types and templates.
pub(super) fn language(dir: &Path) -> Result<Vec<Case>, String> {
    functions(dir)
}

/// The expressions of the tables that the tests of `fleet-lang` use. What they expect was copied from Terraform, and
/// here it is asked again.
pub(super) fn tables(dir: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for file in files(&dir.join("cases"))?.into_iter().chain(files(&dir.join("functions"))?) {
        let heading = stem(&file);
        // Its files have names that not every file system takes.
        if heading == "filesystem" {
            continue;
        }
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let marked = text.lines().any(|line| line.starts_with("> "));
        let expressions = text.lines().filter_map(|line| match marked {
            true => line.strip_prefix("> "),
            false => (!line.is_empty() && !line.starts_with(['#', ' '])).then_some(line),
        });
        let case = |text: &str| Case { heading: heading.clone(), text: text.to_owned(), fails: None };
        cases.extend(expressions.filter(|text| !TOO_SLOW.contains(text)).map(case));
    }
    Ok(cases)
}

fn read(file: &Path) -> Result<Vec<Case>, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut heading = stem(file);
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            name.clone_into(&mut heading);
        } else if let Some(more) = line.strip_prefix("| ").or_else(|| line.strip_prefix('|')) {
            let last = cases.last_mut().ok_or("the first line goes on with nothing")?;
            last.text.push('\n');
            last.text.push_str(more);
        } else if !line.is_empty() && !line.starts_with('#') {
            let failing = line.strip_prefix("! ");
            let (text, fails) = (failing.unwrap_or(line).to_owned(), Some(failing.is_some()));
            cases.push(Case { heading: heading.clone(), text, fails });
        }
    }
    Ok(cases)
}

fn files(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", dir.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        files.push(entry.map_err(failed)?.path());
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    Ok(files)
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::data;
    use super::*;

    #[test]
    fn every_function_has_five_cases_and_one_that_fails() {
        let mut of: BTreeMap<String, Vec<Case>> = BTreeMap::new();
        for case in functions(&data().join("functions")).unwrap() {
            of.entry(case.heading.clone()).or_default().push(case);
        }
        let mut lacking = Vec::new();
        for function in fleet_lang::functions::all() {
            let cases = of.remove(function.name).unwrap_or_default();
            let call = format!("{}(", function.name);
            let calls = cases.iter().filter(|case| case.text.contains(&call));
            let distinct: BTreeSet<&String> = calls.clone().map(|case| &case.text).collect();
            if distinct.len() < 5 || !calls.clone().any(|case| case.fails == Some(true)) {
                lacking.push(function.name);
            }
        }
        assert!(lacking.is_empty(), "too few cases: {}", lacking.join(", "));
        assert!(of.is_empty(), "no such function: {:?}", of.keys());
    }

    #[test]
    fn cases_go_on_over_lines() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("some.txt");
        fs::write(&file, "# remark\n<<EOT\n| a\n|  b\n| EOT\n\n! 1 +\n## max\nmax(1)\n").unwrap();
        let cases = read(&file).unwrap();
        let shown: Vec<_> =
            cases.iter().map(|case| (&*case.heading, &*case.text, case.fails == Some(true))).collect();
        assert_eq!(
            shown,
            [("some", "<<EOT\na\n b\nEOT", false), ("some", "1 +", true), ("max", "max(1)", false)]
        );
    }
}
