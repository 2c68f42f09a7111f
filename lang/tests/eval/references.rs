//! The references of expressions.

use fleet_lang::references::references;

use super::parse;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let expr = parse(text);
    let found: Vec<&str> =
        references(&expr).iter().map(|r| &text[r.span.start as usize..r.span.end as usize]).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn all_free_paths_in_the_order_of_the_text() {
    check("1 + 2", &[]);
    check("var.a + local.b * c", &["var.a", "local.b", "c"]);
    check("a[b.c].d[*].e", &["a[b.c].d[*].e", "b.c"]);
    check("f(a, b...)", &["a", "b"]);
    check("[a, [b]]", &["a", "b"]);
    check("{ a = b, (c) = d, \"${e}\" = 1 }", &["b", "c", "d", "e"]);
    check("\"x${a}%{ if b }${c}%{ else }${d}%{ endif }\"", &["a", "b", "c", "d"]);
    check("a ? b : c", &["a", "b", "c"]);
    check("-(a)", &["a"]);
    check("(a).b", &["a"]);
    check("[a][b]", &["a", "b"]);
}

#[test]
fn bound_names_are_none() {
    check("[for x in a : x.b]", &["a"]);
    check("[for x in x : x]", &["x"]);
    check("{ for k, v in a : k => [v, b] if c }", &["a", "b", "c"]);
    check("[[for x in a : x], x]", &["a", "x"]);
    check("[for x in a : [for y in x : [x, y, z]]]", &["a", "z"]);
    check("\"%{ for x in a }${x}${y}%{ endfor }${x}\"", &["a", "y", "x"]);
}

#[test]
fn a_reference_is_its_root_and_all_its_steps() {
    let expr = parse("a.b[0].c");
    let found = references(&expr);
    assert_eq!(&*found[0].root.name, "a");
    assert_eq!(found[0].steps.len(), 3);
}
