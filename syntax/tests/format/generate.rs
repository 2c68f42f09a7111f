//! Random configuration texts, laid out as badly as the language allows.
//!
//! Strategies write a text with marks where space may (`·`) or must (`¦`) stand; [`fill`] then puts space, comments and
//! newlines there, as far as the brackets around a mark allow.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// A whole file. Most are free of errors.
pub(crate) fn file() -> impl Strategy<Value = String> {
    (body(3), vec(any::<u8>(), 1..64)).prop_map(|(text, choices)| fill(&text, &choices))
}

/// The content of a file or block, every item with its newline.
fn body(depth: u32) -> BoxedStrategy<String> {
    vec(item(depth), 0..6).prop_map(|items| numbered(&items.concat())).boxed()
}

/// Gives every `#NAME` placeholder a number, so that names are not repeated.
fn numbered(text: &str) -> String {
    let mut pieces = text.split('№');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.enumerate().fold(first, |out, (n, piece)| format!("{out}{n}{piece}"))
}

fn item(depth: u32) -> BoxedStrategy<String> {
    let attribute = (name(), value()).prop_map(|(name, value)| format!("·{name}№·=·{value}"));
    let filler =
        select(vec!["\n", "  \n", "·# alone\n", "\t// alone\r\n", "/* alone */\n", "   /* two\n lines */\n"]);
    if depth == 0 {
        return prop_oneof![5 => attribute, 2 => filler.prop_map(str::to_owned)].boxed();
    }
    let labels = select(vec!["", "·\"label\"", "·\"label\"·\"x y\"", "¦bare", "¦bare¦also-bare"]);
    let block = (name(), labels.clone(), line_end(), body(depth - 1), line_end())
        .prop_map(|(name, labels, open, body, end)| format!("·{name}{labels}·{{{open}{body}·}}{end}"));
    let line = (name(), labels, expression(), line_end())
        .prop_map(|(name, labels, value, end)| format!("·{name}{labels}·{{·a·=·{value}·}}{end}"));
    prop_oneof![5 => attribute, 2 => filler.prop_map(str::to_owned), 2 => block, 1 => line].boxed()
}

fn line_end() -> impl Strategy<Value = &'static str> {
    select(vec!["·\n", "\n", "·# end\n", "·// end\n", "·/* end */\n", "·\r\n", "·# end\r\n"])
}

fn name() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "bb", "ccc", "long_name", "x-y", "名前", "é"])
}

/// The value of an attribute up to the end of its line: an expression, or a heredoc.
fn value() -> impl Strategy<Value = String> {
    let wrapped = expression().prop_map(|inner| format!("\"${{·{inner}·}}\""));
    let on_a_line = (prop_oneof![6 => expression(), 1 => wrapped], line_end());
    prop_oneof![7 => on_a_line.prop_map(|(value, end)| value + end), 1 => heredoc().prop_map(|text| text + "\n")]
}

fn heredoc() -> impl Strategy<Value = String> {
    let open = select(vec!["<<EOT", "<<-EOT"]);
    let indent = select(vec!["", "  ", "    "]);
    (open, vec(prop_oneof![2 => plain_line(), 2 => template_line()], 0..4), indent)
        .prop_map(|(open, lines, indent)| format!("{open}\n{}{indent}EOT", lines.concat()))
}

fn plain_line() -> impl Strategy<Value = String> {
    select(vec!["text\n", "  indented   text\n", "\n", "\ta = b # no comment\n", "é 日本 $${x} %%{y}\n"])
        .prop_map(str::to_owned)
}

fn template_line() -> impl Strategy<Value = String> {
    (expression(), expression()).prop_map(|(a, b)| format!("  x ${{·{a}·}}y${{~·{b}·~}}\n"))
}

fn expression() -> impl Strategy<Value = String> {
    leaf().prop_recursive(3, 24, 4, |inner| {
        let i = || inner.clone();
        prop_oneof![
            (i(), operator(), i()).prop_map(|(a, op, b)| format!("{a}·{op}·{b}")),
            (select(vec!["-", "!"]), i()).prop_map(|(op, a)| format!("{op}·{a}")),
            (i(), i(), i()).prop_map(|(a, b, c)| format!("{a}·?·{b}·:·{c}")),
            i().prop_map(|a| format!("(·{a}·)")),
            vec(i(), 0..4).prop_map(|items| format!("[·{}·]", items.join("·,·"))),
            vec(i(), 1..4).prop_map(|items| format!("[·{}·,·]", items.join("·,·"))),
            (i(), heredoc()).prop_map(|(a, heredoc)| format!("[·{a}·,·{heredoc}\n·]")),
            object(i()),
            (select(vec!["f", "core::upper", "a·::·b"]), vec(i(), 0..3))
                .prop_map(|(name, args)| format!("{name}·(·{}·)", args.join("·,·"))),
            i().prop_map(|a| format!("f(·{a}·...·)")),
            (i(), i()).prop_map(|(a, b)| format!("(·{a}·)[·{b}·]")),
            path(i()),
            (i(), i()).prop_map(|(a, b)| format!("[·for¦x¦in¦{a}·:·{b}·]")),
            (i(), i(), i()).prop_map(|(a, b, c)| format!("[·for¦k·,·v¦in¦{a}·:·{b}¦if¦{c}·]")),
            (i(), i(), i()).prop_map(|(a, b, c)| format!("{{¦for¦k·,·v¦in¦{a}·:·{b}·=>·{c}·...¦if¦true·}}")),
            template(i()),
        ]
    })
}

fn leaf() -> impl Strategy<Value = String> {
    select(vec![
        "a",
        "var.x",
        "x-y",
        "null",
        "true",
        "1",
        "0.5",
        "1e5",
        "\"\"",
        "\"text\"",
        "\"  a  b  \"",
        "\"é日\"",
        "\"\\\"\\\\ \\u00e9\"",
        "\"$${x} %%{y} $ %\"",
    ])
    .prop_map(str::to_owned)
}

fn operator() -> impl Strategy<Value = &'static str> {
    select(vec!["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||"])
}

fn object(inner: impl Strategy<Value = String> + Clone + 'static) -> impl Strategy<Value = String> {
    let key = select(vec!["a", "bb", "\"long key\"", "(·k·)", "名"]);
    let item =
        (key, select(vec!["=", ":"]), inner).prop_map(|(key, sign, value)| format!("{key}·{sign}·{value}"));
    let separator = select(vec!["·,·", "·,·\n·", "·\n·", "·# item\n·", "·,·// item\n\n·"]);
    let edge = select(vec!["·", "·\n·", "·# edge\n·"]);
    (vec((item, separator), 0..4), edge.clone(), edge).prop_map(|(items, open, close)| {
        let items: Vec<String> =
            items.into_iter().map(|(item, separator)| format!("{item}{separator}")).collect();
        format!("{{{open}{}{close}}}", items.concat())
    })
}

fn path(inner: impl Strategy<Value = String> + Clone + 'static) -> impl Strategy<Value = String> {
    let step = prop_oneof![
        Just("·.·b".to_owned()),
        Just("·.0".to_owned()),
        Just("·.·*".to_owned()),
        Just("·[·*·]".to_owned()),
        inner.prop_map(|index| format!("·[·{index}·]")),
    ];
    vec(step, 1..4).prop_map(|steps| format!("a{}", steps.concat()))
}

fn template(inner: impl Strategy<Value = String> + Clone + 'static) -> impl Strategy<Value = String> {
    let part = prop_oneof![
        select(vec!["text", " ", "  a  ", "\\n"]).prop_map(str::to_owned),
        inner.clone().prop_map(|a| format!("${{·{a}·}}")),
        inner.clone().prop_map(|a| format!("${{~·{a}·~}}")),
        (inner.clone(), inner.clone())
            .prop_map(|(a, b)| { format!("%{{·if¦{a}·}}x${{·{b}·}}%{{·else·~}} y %{{~·endif·}}") }),
        inner.prop_map(|a| format!("%{{·for¦x¦in¦{a}·}}${{·x·}}%{{·endfor·}}")),
    ];
    vec(part, 1..4).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

/// Puts space where the marks are. Newlines go where brackets let an expression go on over lines.
fn fill(text: &str, choices: &[u8]) -> String {
    const NARROW: [&str; 8] = ["", " ", "", "   ", "\t", " ", " /* c */ ", ""];
    const WIDE: [&str; 16] = [
        "",
        " ",
        "",
        "  ",
        "\t",
        " ",
        " /* c */ ",
        "\n",
        " # c\n",
        "\r\n",
        "\n\n",
        "/* c\n d */",
        "",
        " ",
        "",
        "\n  ",
    ];
    let mut out = String::with_capacity(text.len());
    let mut wide = vec![false];
    let mut choices = choices.iter().cycle().map(|choice| *choice as usize);
    for (at, c) in text.char_indices() {
        match c {
            '·' | '¦' => {
                let choice = choices.next().unwrap_or(0);
                let space = match wide.last() {
                    Some(true) => WIDE[choice % WIDE.len()],
                    _ => NARROW[choice % NARROW.len()],
                };
                out.push_str(if space.is_empty() && c == '¦' { " " } else { space });
                continue;
            }
            '(' | '[' => wide.push(true),
            '{' => wide.push(out.ends_with(['$', '%']) || text[at..].starts_with("{¦for")),
            ')' | ']' | '}' => {
                wide.pop();
            }
            _ => {}
        }
        out.push(c);
    }
    out
}
