//! Tables in docs/benchmarks.md: each bench owns the text between its two markers.

use std::fmt::Write;
use std::fs;

use super::measure::Cost;
use crate::Outcome;
use crate::run::root;

const PAGE: &str = "docs/benchmarks.md";

const INTRO: &str = "# Benchmarks\n\n\
    Written by `cargo xtask bench …`. CPU is user and system time; the best of several runs counts. \
    Ratios compare numbers of the same run on the same machine.\n";

/// One line of a table: fleet, and the rival if it was there.
pub(crate) struct Row {
    /// What was done.
    pub(crate) work: String,
    /// What it cost fleet.
    pub(crate) fleet: Cost,
    /// What it cost the rival.
    pub(crate) rival: Option<Cost>,
}

/// A Markdown table of fleet alone.
pub(crate) fn table_alone(rows: &[Row]) -> String {
    let head = "| work | CPU s | wall s | peak MiB |\n|---|---|---|---|\n";
    let rows = rows.iter().map(|row| format!("| {} | {} |\n", row.work, cells(&row.fleet)));
    std::iter::once(head.to_owned()).chain(rows).collect()
}

/// A Markdown table of fleet beside a rival.
pub(crate) fn table(rival: &str, rows: &[Row]) -> String {
    let mut text = format!(
        "| work | fleet: CPU s | wall s | peak MiB | {rival}: CPU s | wall s | peak MiB | CPU ratio | memory ratio |\n\
         |---|---|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let _ = write!(text, "| {} | {} |", row.work, cells(&row.fleet));
        let _ = match &row.rival {
            Some(cost) => writeln!(
                text,
                " {} | {:.0}× | {:.1}× |",
                cells(cost),
                cost.cpu.as_secs_f64() / row.fleet.cpu.as_secs_f64(),
                cost.peak_bytes as f64 / row.fleet.peak_bytes as f64
            ),
            None => writeln!(text, " | | | | |"),
        };
    }
    text
}

/// Prints the section and puts it in the place of its predecessor on the page.
pub(crate) fn publish(name: &str, section: &str) -> Outcome {
    println!("{section}");
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).unwrap_or_else(|_| INTRO.into());
    fs::write(&path, replace_section(&page, name, section)).map_err(|e| format!("cannot write {PAGE}: {e}"))
}

fn replace_section(page: &str, name: &str, section: &str) -> String {
    let (start, end) = (format!("<!-- bench {name} -->\n"), format!("<!-- end {name} -->\n"));
    let body = format!("{start}{section}{end}");
    match page.split_once(&start) {
        Some((before, rest)) => {
            let after = rest.split_once(&end).map_or("", |(_, after)| after);
            format!("{before}{body}{after}")
        }
        None => format!("{page}\n{body}"),
    }
}

fn cells(cost: &Cost) -> String {
    let mib = cost.peak_bytes as f64 / f64::from(1 << 20);
    format!("{:.3} | {:.3} | {mib:.0}", cost.cpu.as_secs_f64(), cost.wall.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::replace_section;

    #[test]
    fn a_section_takes_the_place_of_its_predecessor() {
        let once = replace_section("intro\n", "a", "old\n");
        assert_eq!(once, "intro\n\n<!-- bench a -->\nold\n<!-- end a -->\n");
        let both = replace_section(&once, "b", "other\n");
        let again = replace_section(&both, "a", "new\n");
        assert_eq!(again, both.replace("old", "new"));
    }
}
