//! Help texts: paragraphs flow to the width of the terminal, and what is indented stays as it was written.

/// The text of a help, whose paragraphs are broken where the source is.
fn flow(text: &str) -> String {
    let is_text = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut flowing = String::new();
    let mut before = "";
    for line in text.lines() {
        match (is_text(before), is_text(line)) {
            _ if flowing.is_empty() => {}
            (true, true) => flowing.push(' '),
            _ => flowing.push('\n'),
        }
        flowing.push_str(line);
        before = line;
    }
    flowing
}

/// A command whose texts, and those of all commands below it, flow.
pub(crate) fn flowing(command: clap::Command) -> clap::Command {
    let long = command.get_long_about().map(|text| flow(&text.to_string()));
    let command = command.mut_subcommands(flowing).mut_args(|arg| {
        let long = arg.get_long_help().map(|text| flow(&text.to_string()));
        match long {
            Some(long) => arg.long_help(long),
            None => arg,
        }
    });
    match long {
        Some(long) => command.long_about(long),
        None => command,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_one_line_and_examples_are_left_alone() {
        for (text, expected) in [
            ("", ""),
            ("One", "One"),
            ("One\nand two.\n\nThree", "One and two.\n\nThree"),
            (
                "Examples:\n  fleet plan\n  fleet apply\nMore\nof it",
                "Examples:\n  fleet plan\n  fleet apply\nMore of it",
            ),
        ] {
            assert_eq!(flow(text), expected);
        }
    }

    /// No command breaks a paragraph in its middle: whatever is short is so because a paragraph ends there.
    #[test]
    fn no_help_is_broken_where_the_source_is() {
        fn check(command: &clap::Command, path: &str) {
            let long = command.get_long_about().map(ToString::to_string).unwrap_or_default();
            assert_eq!(long, flow(&long), "{path}");
            for sub in command.get_subcommands() {
                check(sub, &format!("{path} {}", sub.get_name()));
            }
        }
        check(&crate::command(), "fleet");
    }
}
