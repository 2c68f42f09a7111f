//! Functions over text.
//!
//! 1. [`text`]: cutting, padding and case
//! 2. [`list`]: text from lists and lists from text; [`format`](mod@format): the verbs of `format`
//! 3. [`search`]: regular expressions; [`pattern`]: their syntax; [`replacement`]: what they are replaced with

mod case;
mod format;
mod list;
mod pattern;
mod replacement;
mod search;
mod text;

use super::{Body, CallError, Function, Group, Param, ParamType, Returns};
use crate::eval::MAX_TEXT;

const TEXT: Param = Param::new("text", ParamType::String);

pub(super) const TABLE: &[Function] = &[
    Function {
        name: "chomp",
        group: Group::String,
        doc: "A text without the line breaks at its end.",
        examples: &[("chomp(\"hello\\n\\n\")", "\"hello\"")],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(text::chomp),
    },
    Function {
        name: "endswith",
        group: Group::String,
        doc: "Whether a text ends in another.",
        examples: &[("endswith(\"hello world\", \"world\")", "true")],
        params: &[TEXT, Param::new("suffix", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::Bool),
        body: Body::Pure(text::endswith),
    },
    Function {
        name: "format",
        group: Group::String,
        doc: "A text with values written into the places that verbs mark.\n\nA verb is `%`, optional flags, a \
              width, `.` and a precision, `[n]` for the n-th argument instead of the next one, and a letter: \
              `%v` the value in its usual form (`%#v` as JSON), `%s` a string, `%q` a string in quotes, `%t` a \
              bool, `%d` a whole number, `%b`, `%o`, `%x` and `%X` a whole number in base 2, 8 and 16, `%e`, \
              `%f` and `%g` a number with an exponent, without one and whichever is shorter. `%%` is a percent \
              sign. The flags are `-` to pad on the right, `0` to pad with zeros, `+` and space for the sign of \
              positive numbers, and `#` for a prefix such as `0x`.",
        examples: &[
            ("format(\"Hello, %s!\", \"Ander\")", "\"Hello, Ander!\""),
            ("format(\"%03d|%-6.2f|%x\", 7, 1.5, 255)", "\"007|1.50  |ff\""),
            ("format(\"%v\", { a = [1, true] })", "\"{\\\"a\\\":[1,true]}\""),
        ],
        params: &[Param::new("format", ParamType::String)],
        variadic: Some(Param::new("args", ParamType::Any).null().wholly_known()),
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(list::format),
    },
    Function {
        name: "formatlist",
        group: Group::String,
        doc: "A list of texts, each made as `format` does it from the elements of one or several lists; \
              arguments that are no lists are used again for each. All lists must have the same length.",
        examples: &[(
            "formatlist(\"%s has %d\", [\"a\", \"b\"], [1, 2])",
            "tolist([\n  \"a has 1\",\n  \"b has 2\",\n])",
        )],
        params: &[Param::new("format", ParamType::String)],
        variadic: Some(Param::new("args", ParamType::Any).null().unknown()),
        returns: Returns::Always(ParamType::List(&ParamType::String)),
        body: Body::Pure(list::formatlist),
    },
    Function {
        name: "indent",
        group: Group::String,
        doc: "A text with spaces at the start of every line but the first, empty lines included.",
        examples: &[("indent(2, \"a\\nb\")", "<<EOT\na\n  b\nEOT")],
        params: &[Param::new("spaces", ParamType::Number), TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(text::indent),
    },
    Function {
        name: "join",
        group: Group::String,
        doc: "The elements of one or several lists of strings as one text, with a separator between them.",
        examples: &[
            ("join(\", \", [\"foo\", \"bar\"])", "\"foo, bar\""),
            ("join(\"\", [\"a\"], [\"b\", \"c\"])", "\"abc\""),
        ],
        params: &[Param::new("separator", ParamType::String)],
        variadic: Some(Param::new("lists", ParamType::List(&ParamType::String)).wholly_known()),
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(list::join),
    },
    Function {
        name: "lower",
        group: Group::String,
        doc: "A text in lower case. One character always stays one character.",
        examples: &[("lower(\"HELLO É\")", "\"hello é\"")],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(text::lower),
    },
    Function {
        name: "regex",
        group: Group::String,
        doc: "The first match of a regular expression in RE2's syntax; an error if there is none.\n\nThe result is \
              the matched text if the pattern has no groups, a tuple of what the groups matched if they have no \
              names, and an object if they have. A group that took no part is null.",
        examples: &[
            ("regex(\"[a-z]+\", \"123abc456\")", "\"abc\""),
            ("regex(\"(\\\\d+)-(\\\\d+)\", \"2019-02\")", "[\n  \"2019\",\n  \"02\",\n]"),
            ("regex(\"^(?P<scheme>\\\\w+)://\", \"https://example.com\").scheme", "\"https\""),
        ],
        params: &[Param::new("pattern", ParamType::String), TEXT],
        variadic: None,
        returns: Returns::Depends(search::match_type),
        body: Body::Pure(search::regex),
    },
    Function {
        name: "regexall",
        group: Group::String,
        doc: "All matches of a regular expression, each as `regex` gives it; an empty list if there is none.",
        examples: &[
            ("regexall(\"\\\\d\", \"a1b2\")", "tolist([\n  \"1\",\n  \"2\",\n])"),
            ("length(regexall(\"x\", \"abc\"))", "0"),
        ],
        params: &[Param::new("pattern", ParamType::String), TEXT],
        variadic: None,
        returns: Returns::Depends(search::matches_type),
        body: Body::Pure(search::regexall),
    },
    Function {
        name: "replace",
        group: Group::String,
        doc: "A text with every occurrence of a part of it replaced. If the part stands between slashes it is a \
              regular expression, and `$1` or `${name}` in the replacement stand for its groups.",
        examples: &[
            ("replace(\"1 + 2 + 3\", \"+\", \"-\")", "\"1 - 2 - 3\""),
            ("replace(\"hello world\", \"/w.*d/\", \"everybody\")", "\"hello everybody\""),
            ("replace(\"a-b\", \"/(\\\\w)-(\\\\w)/\", \"$2-$1\")", "\"b-a\""),
        ],
        params: &[TEXT, Param::new("part", ParamType::String), Param::new("replacement", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(search::replace),
    },
    Function {
        name: "split",
        group: Group::String,
        doc: "The parts of a text between separators. With an empty separator these are its characters.",
        examples: &[
            ("split(\",\", \"foo,bar\")", "tolist([\n  \"foo\",\n  \"bar\",\n])"),
            ("split(\",\", \"\")", "tolist([\n  \"\",\n])"),
        ],
        params: &[Param::new("separator", ParamType::String), TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::List(&ParamType::String)),
        body: Body::Pure(list::split),
    },
    Function {
        name: "startswith",
        group: Group::String,
        doc: "Whether a text starts with another.",
        examples: &[("startswith(\"hello world\", \"hello\")", "true")],
        params: &[TEXT, Param::new("prefix", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::Bool),
        body: Body::Pure(text::startswith),
    },
    Function {
        name: "strcontains",
        group: Group::String,
        doc: "Whether a text contains another.",
        examples: &[("strcontains(\"hello world\", \"wor\")", "true")],
        params: &[TEXT, Param::new("part", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::Bool),
        body: Body::Pure(text::strcontains),
    },
    Function {
        name: "strrev",
        group: Group::String,
        doc: "A text with its characters, as readers see them, in reverse order.",
        examples: &[("strrev(\"hello\")", "\"olleh\"")],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(text::strrev),
    },
    Function {
        name: "substr",
        group: Group::String,
        doc: "A part of a text, counted in characters as readers see them. A negative offset counts from the \
              end; with a negative length the part goes to the end.",
        examples: &[
            ("substr(\"hello world\", 1, 4)", "\"ello\""),
            ("substr(\"hello world\", -5, -1)", "\"world\""),
        ],
        params: &[TEXT, Param::new("offset", ParamType::Number), Param::new("length", ParamType::Number)],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(text::substr),
    },
    Function {
        name: "title",
        group: Group::String,
        doc: "A text with the first letter of each word in upper case.",
        examples: &[("title(\"hello world\")", "\"Hello World\"")],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(text::title),
    },
    Function {
        name: "trim",
        group: Group::String,
        doc: "A text without any of some characters at its start and end.",
        examples: &[("trim(\"?!hello?!\", \"!?\")", "\"hello\"")],
        params: &[TEXT, Param::new("characters", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(text::trim),
    },
    Function {
        name: "trimprefix",
        group: Group::String,
        doc: "A text without another that it starts with, or as it is.",
        examples: &[
            ("trimprefix(\"helloworld\", \"hello\")", "\"world\""),
            ("trimprefix(\"helloworld\", \"cat\")", "\"helloworld\""),
        ],
        params: &[TEXT, Param::new("prefix", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(text::trimprefix),
    },
    Function {
        name: "trimspace",
        group: Group::String,
        doc: "A text without the spaces and line breaks at its start and end.",
        examples: &[("trimspace(\"  hello\\n\\n\")", "\"hello\"")],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(text::trimspace),
    },
    Function {
        name: "trimsuffix",
        group: Group::String,
        doc: "A text without another that it ends in, or as it is.",
        examples: &[("trimsuffix(\"helloworld\", \"world\")", "\"hello\"")],
        params: &[TEXT, Param::new("suffix", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(text::trimsuffix),
    },
    Function {
        name: "upper",
        group: Group::String,
        doc: "A text in upper case. One character always stays one character, so that `ß` stays as it is.",
        examples: &[("upper(\"hello é\")", "\"HELLO É\"")],
        params: &[TEXT],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(text::upper),
    },
];

/// Refuses to make a text of so many bytes, if they are too many.
fn check_length(bytes: usize) -> Result<(), CallError> {
    if bytes > MAX_TEXT {
        return Err(CallError::new(format!("the result would have more than {MAX_TEXT} bytes")));
    }
    Ok(())
}
