//! The plain values that random expressions are made of.

/// Truth values, and what becomes one.
pub(super) const BOOLS: &[&str] = &["true", "false", "\"true\"", "sensitive(true)", "tobool(null)"];

/// Numbers, and what becomes one.
pub(super) const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "5",
    "-1",
    "-7",
    "0.5",
    "1.25",
    "1e3",
    "12345678901234567890",
    "0.1",
    "\"3\"",
    "\"-2.5\"",
    "sensitive(4)",
    "1e30",
    "255",
    "16",
    "1/3",
    "tonumber(null)",
];

/// Texts: plain, odd, and in the forms that functions read.
pub(super) const STRINGS: &[&str] = &[
    "\"\"",
    "\"a\"",
    "\"abc\"",
    "\"Hello World\"",
    "\"  pad \"",
    "\"é\"",
    "\"e\\u0301x\"",
    "\"ß\"",
    "\"🚀 x\"",
    "\"a,b,c\"",
    "\"line\\nnext\\n\"",
    "\"<&>\"",
    "\"$${x}\"",
    "\"10\"",
    "\"true\"",
    "sensitive(\"s\")",
    "\"quote \\\" back \\\\\"",
    "\"a-b_c d\"",
    "\"İI\"",
    "\"日本語\"",
    "tostring(null)",
    "\"tab\\there\"",
];

/// Lists and tuples.
pub(super) const SEQUENCES: &[&str] = &[
    "[]",
    "[1, 2, 3]",
    "[\"a\", \"b\"]",
    "[\"b\", \"a\", \"b\"]",
    "[true, false]",
    "[1, \"a\", null]",
    "tolist([1, 2])",
    "tolist([\"x\", \"y\", \"\"])",
    "[[1], [2, 3]]",
    "[{ a = 1 }, { a = 2 }]",
    "[\"\", \"x\"]",
    "sensitive([\"s\"])",
    "[sensitive(\"e\"), \"f\"]",
    "tolist([])",
    "[null]",
    "range(4)",
    "[[\"a\", \"b\"], [\"c\"]]",
    "tolist([tolist([1]), tolist([])])",
];

/// Sets, and what becomes one.
pub(super) const SETS: &[&str] = &[
    "toset([])",
    "toset([1, 2, 2])",
    "toset([\"b\", \"a\"])",
    "[\"a\", \"b\", \"a\"]",
    "toset([true])",
    "toset([{ a = 2 }, { a = 1 }])",
    "[3, 1, 2]",
    "toset([[1], [2]])",
    "toset([\"10\", \"9\"])",
    "toset([sensitive(\"s\")])",
];

/// Maps and objects.
pub(super) const MAPPINGS: &[&str] = &[
    "{}",
    "{ a = 1 }",
    "{ a = 1, b = 2 }",
    "{ a = 1, b = \"x\" }",
    "tomap({ a = 1, b = 2 })",
    "{ b = { c = [1] } }",
    "tomap({})",
    "{ a = null }",
    "{ \"k k\" = true, a = false }",
    "sensitive({ a = 1 })",
    "{ a = sensitive(1), b = 2 }",
    "{ a = [\"x\"], b = [] }",
    "tomap({ a = [1], b = [2, 3] })",
    "{ é = 1, A = 2 }",
];

const CIDRS: &[&str] =
    &["\"10.0.0.0/8\"", "\"192.168.1.77/24\"", "\"fd00::/48\"", "\"0.0.0.0/0\"", "\"10.1.2.3/32\""];
const TIMES: &[&str] = &[
    "\"2024-02-29T23:59:60Z\"",
    "\"2024-01-02T03:04:05Z\"",
    "\"2023-12-31T23:30:00+05:30\"",
    "\"2024-13-01T00:00:00Z\"",
];
const LENGTHS_OF_TIME: &[&str] = &["\"1h\"", "\"-90m\"", "\"1.5h\"", "\"36h30m10s\"", "\"1d\""];
const TIME_FORMS: &[&str] = &[
    "\"YYYY-MM-DD'T'hh:mm:ssZ\"",
    "\"EEE, DD MMM YYYY HH:mm AA\"",
    "\"h:m:s aa ZZZZZ\"",
    "\"YY 'o''clock'\"",
    "\"X\"",
];
const PATTERNS: &[&str] = &[
    "\"[a-z]+\"",
    "\"(\\\\w)(\\\\w)?\"",
    "\"(?P<x>b)|c\"",
    "\"^$\"",
    "\"\"",
    "\"(\"",
    "\"(?i)HELLO\"",
    "\"\\\\p{L}\"",
];
const REPLACED: &[&str] = &["\"a\"", "\"/[a-z]/\"", "\"/(l+)/\"", "\"\"", "\" \"", "\"/(/\""];
const REPLACEMENTS: &[&str] = &["\"-\"", "\"<$1>\"", "\"$${1}x\"", "\"\""];
const FORMS: &[&str] = &[
    "\"%d\"",
    "\"%s\"",
    "\"%v and %q\"",
    "\"%05.2f|%-6s|\"",
    "\"%x %X %b %o\"",
    "\"%[2]s %[1]s\"",
    "\"%%\"",
    "\"%#v\"",
    "\"%t\"",
    "\"%e %g\"",
    "\"%5d|%+d\"",
    "\"plain\"",
    "\"%z\"",
    "\"%.3s\"",
];
const BASE64: &[&str] = &["\"YWJj\"", "\"w6k=\"", "\"\"", "\"!!\"", "\"YWJ\"", "\"/w==\""];
const JSON: &[&str] = &[
    "\"{\\\"a\\\":[1,null,true]}\"",
    "\"[1.50, \\\"x\\\"]\"",
    "\"null\"",
    "\"1e2\"",
    "\"{\"",
    "\"\\\"\\\\u00e9\\\"\"",
];
const YAML: &[&str] =
    &["\"a: [1, yes, ~]\"", "\"- 1\\n- 2024-01-02\"", "\"x\"", "\"a: 1\\na: 2\"", "\"{b: 017}\"", "\": :\""];
const CSV: &[&str] =
    &["\"a,b\\n1,2\\n\"", "\"a,b\\n1\\n\"", "\"a\\n\\\"x\\ny\\\"\"", "\"\"", "\"a,a\\n1,2\""];
const ENCODINGS: &[&str] = &["\"UTF-8\"", "\"UTF-16LE\"", "\"ISO-8859-1\"", "\"windows-1252\"", "\"nope\""];
const VERSIONS_OF_BITS: &[&str] = &["1", "4", "8", "0", "-1", "33"];
const BASES: &[&str] = &["2", "8", "10", "16", "36", "62", "1", "63"];
const DIGITS: &[&str] = &["\"101\"", "\"-ff\"", "\"zZ\"", "\"12\"", "\"\"", "\"1_0\""];
const PATHS: &[&str] =
    &["\"hello.txt\"", "\"./t/a.txt\"", "\"nope\"", "\"a/b/../c.tar.gz\"", "\"/\"", "\"\"", "\"t\""];
const DIRECTORIES: &[&str] = &["\"t\"", "\"./t\"", "\"t/sub/..\"", "\"nope\""];
const GLOBS: &[&str] = &["\"*\"", "\"**/*.txt\"", "\"*.{txt,tmpl}\"", "\"[a-c]*\"", "\"[\""];
const NAMESPACES: &[&str] =
    &["\"dns\"", "\"url\"", "\"oid\"", "\"6ba7b810-9dad-11d1-80b4-00c04fd430c8\"", "\"x\""];
const SMALL: &[&str] = &["0", "1", "2", "3", "-1", "10", "0.5"];
const KEYS: &[&str] = &["\"a\"", "\"b\"", "\"zz\"", "\"k k\""];
const SEPARATORS: &[&str] = &["\",\"", "\"\"", "\" \"", "\"-\"", "\"é\""];

/// What an argument of a function is mostly about, where a random text would only ever fail.
pub(super) fn hint(function: &str, place: usize) -> Option<&'static [&'static str]> {
    Some(match (function, place) {
        ("cidrhost" | "cidrnetmask" | "cidrsubnet" | "cidrsubnets", 0) => CIDRS,
        ("cidrhost" | "cidrsubnet" | "cidrsubnets", _) => VERSIONS_OF_BITS,
        ("timeadd", 0) | ("timecmp", _) | ("formatdate", 1) => TIMES,
        ("timeadd", 1) => LENGTHS_OF_TIME,
        ("formatdate", 0) => TIME_FORMS,
        ("regex" | "regexall", 0) => PATTERNS,
        ("replace", 1) => REPLACED,
        ("replace", 2) => REPLACEMENTS,
        ("format" | "formatlist", 0) => FORMS,
        ("base64decode" | "textdecodebase64", 0) => BASE64,
        ("textencodebase64" | "textdecodebase64", 1) => ENCODINGS,
        ("jsondecode", 0) => JSON,
        ("yamldecode", 0) => YAML,
        ("csvdecode", 0) => CSV,
        ("parseint", 0) => DIGITS,
        ("parseint", 1) => BASES,
        ("basename" | "dirname" | "file" | "fileexists" | "filebase64", 0) => PATHS,
        (
            "filebase64sha256" | "filebase64sha512" | "filemd5" | "filesha1" | "filesha256" | "filesha512"
            | "templatefile",
            0,
        ) => PATHS,
        ("fileset", 0) => DIRECTORIES,
        ("fileset", 1) => GLOBS,
        ("uuidv5", 0) => NAMESPACES,
        ("substr" | "slice", 1 | 2) | ("element" | "chunklist", 1) | ("range", _) | ("indent", 0) => SMALL,
        ("lookup", 1) => KEYS,
        ("split" | "join", 0) => SEPARATORS,
        _ => return None,
    })
}
