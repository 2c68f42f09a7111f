//! `corpus/NAME.hcl` must be formatted as `corpus/NAME.expected`, and that as itself. Terraform 1.11.4 wrote what is
//! expected, except for `ours_*`: there fleet differs, as docs/decisions say.

use std::path::Path;

use fleet_syntax::{FileId, format};

#[test]
fn corpus() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/format/corpus");
    let mut cases = 0;
    for entry in directory.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "hcl") {
            let text = std::fs::read_to_string(&path).unwrap();
            let expected = std::fs::read_to_string(path.with_extension("expected")).unwrap();
            let name = path.display();
            assert_eq!(format(FileId(0), &text).unwrap(), expected, "{name}");
            assert_eq!(format(FileId(0), &expected).unwrap(), expected, "{name}, formatted again");
            cases += 1;
        }
    }
    assert!(cases > 40, "only {cases} cases were found");
}

#[test]
fn errors_are_told_and_nothing_else_is_done() {
    for text in
        ["a = ", "a = [1", "}", "a = 1 b = 2\n", "a = \"${x\"\n", "block {\n", "a = 1\na = 2\n", "\u{1}"]
    {
        let errors = format(FileId(7), text).unwrap_err();
        assert!(errors.iter().all(|error| error.span.unwrap().file == FileId(7)), "{text}");
    }
}
