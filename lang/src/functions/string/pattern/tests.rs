use super::*;

/// The first match, or nothing where the pattern is refused or does not match.
fn find(pattern: &str, text: &str) -> Option<String> {
    Pattern::new(pattern).ok()?.regex.find(text).map(|found| found.as_str().to_owned())
}

#[test]
fn patterns_match_as_in_re2() {
    let check = |pattern, text, expected: Option<&str>| {
        assert_eq!(find(pattern, text).as_deref(), expected, "{pattern} on {text}");
    };
    check("[a-z]+", "53453453.345345aaabbbccc23454", Some("aaabbbccc"));
    check(r"(\d\d\d\d)-(\d\d)-(\d\d)", "2019-02-01", Some("2019-02-01"));
    check(
        "^(?:(?P<scheme>[^:/?#]+):)?(?://(?P<authority>[^/?#]*))?",
        "https://terraform.io/docs/",
        Some("https://terraform.io"),
    );
    check("[a-z]+", "123", None);
    check("(a)|(b)", "b", Some("b"));
    check("(?P<x>a)|(?P<y>b)", "b", Some("b"));
    check("(?P<x>a)(b)", "ab", Some("ab"));
    check("(?<x>a)", "ab", Some("a"));
    check("", "abc", Some(""));
    check(r"\d", "٣", None);
    check(r"\w+", "éa", Some("a"));
    check(r"\s", "\u{b}", None);
    check(r"\s", "\u{a0}", None);
    check("(?i)k", "K", Some("K"));
    check(r"(?i)\w", "ſ", Some("ſ"));
    check("(?i)[a-z]", "ſ", Some("ſ"));
    check(r"(?i)[\w]", "ſ", Some("ſ"));
    check(r"\Qa.b\E+", "a.bb", Some("a.bb"));
    check(r"\Q(", "a(b", Some("("));
    check("a{,2}", "a{,2}", Some("a{,2}"));
    check("a{", "a{", Some("a{"));
    check("a{2", "a{2", Some("a{2"));
    check("a{1001}", "a", None);
    check("a{1000}", "a", None);
    check("a**", "aa", None);
    check("a*+", "aa", None);
    check("a+?", "aa", Some("a"));
    check("a??", "aa", Some(""));
    check("a???", "aa", None);
    check("(?U)a+", "aa", Some("a"));
    check("(?x)a b", "ab", None);
    check("(?s).", "\n", Some("\n"));
    check(".", "\n", None);
    check("(?m)^b$", "a\nb\nc", Some("b"));
    check("[[]", "[", Some("["));
    check("[a&&b]+", "a&b", Some("a&b"));
    check("[a--b]+", "a", None);
    check("[~~]+", "~", Some("~"));
    check("[]a]+", "a]", Some("a]"));
    check("[^]a]+", "a]b", Some("b"));
    check("[a-]+", "-a", Some("-a"));
    check("[-a]+", "-a", Some("-a"));
    check(r"[a-\d]", "a", None);
    check(r"[\d-z]+", "5-z", Some("5-z"));
    check("[[:alpha:]]+", "abc", Some("abc"));
    check("[[:foo:]]+", "abc", None);
    check("[[:^alpha:]]+", "123", Some("123"));
    check("[[:word:]]+", "a_1", Some("a_1"));
    check(r"\pL+", "abcé", Some("abcé"));
    check(r"\p{Greek}", "aα", Some("α"));
    check(r"\p{^Greek}", "αa", Some("a"));
    check(r"\P{Greek}", "αa", Some("a"));
    check(r"\P{^Greek}", "aα", Some("α"));
    check(r"\p{Letter}", "a", None);
    check(r"\p{L}", "a", Some("a"));
    check(r"\p{greek}", "α", None);
    check(r"[\pL\d]+", "é1", Some("é1"));
    check(r"[\PL]+", "é1", Some("1"));
    check(r"\x41", "A", Some("A"));
    check(r"\x{41}", "A", Some("A"));
    check(r"\x{1F600}", "😀", Some("😀"));
    check(r"\u0041", "A", None);
    check(r"\101", "A", Some("A"));
    check(r"\1", "A", None);
    check(r"\012", "\n", Some("\n"));
    check(r"\0", "a", None);
    check(r"\8", "a", None);
    check(r"\a", "\u{7}", Some("\u{7}"));
    check(r"\v", "\u{b}", Some("\u{b}"));
    check(r"\e", "a", None);
    check(r"\_", "_", Some("_"));
    check(r"\-", "-", Some("-"));
    check(r"\<", "<", Some("<"));
    check(r"\é", "é", None);
    check(r"\Z", "a", None);
    check(r"a\z", "a", Some("a"));
    check(r"\Aa", "a", Some("a"));
    check(r"\ba\b", "b a c", Some("a"));
    check(r"\Ba", "ba", Some("a"));
    check(r"\bé", " é", None);
    check(r"\b{start}", "a{start}", Some("{start}"));
    check("(?=a)", "a", None);
    check("(?!a)", "b", None);
    check("(a", "a", None);
    check("a)", "a", None);
    check("[a", "a", None);
    check("[z-a]", "a", None);
    check("*a", "a", None);
    check("a|*", "a", None);
    check("(?i:a)b", "Ab", Some("Ab"));
    check("(?i-s)A.", "ab", Some("ab"));
    check("(?-)a", "a", None);
    check("(?)a", "a", Some("a"));
    check("(?i", "a", None);
    check("(?P<n>a)(?P<n>b)", "ab", Some("ab"));
    check("(?P<1>a)", "a", Some("a"));
    check("(?P<é>a)", "a", None);
    check("(?P=n)", "a", None);
    check("()", "a", Some(""));
    check("(|a)", "a", Some(""));
    check("(a|)", "a", Some("a"));
    check("a||b", "b", Some(""));
    check(r"\", "a", None);
    check("a{2}{3}", "aaaaaa", None);
    check("(a{2}){3}", "aaaaaa", Some("aaaaaa"));
    check("((a{100}){100}){100}", "a", None);
    check("a{0}", "a", Some(""));
    check("a{2,1}", "aa", None);
    check("a{2,}", "aaa", Some("aaa"));
    check("a{2,}?", "aaa", Some("aa"));
    check("^*", "a", Some(""));
    check("x{2}*", "xx", None);
    check(r"\C", "a", None);
    check(r"\X", "a", None);
    check(r"\R", "\n", None);
    check(r"\h", " ", None);
    check(r"[\b]", "a", None);
    check(r"[\Q]\E]", "]", None);
    check("[a-z&&[aeiou]]", "a]", Some("a]"));
    check(r"[^\n]+", "a\nb", Some("a"));
    check(r"[\x41-\x43]+", "ABCD", Some("ABC"));
    check("#", "#", Some("#"));
    check("a b", "a b", Some("a b"));
    check(r"\p", "p", None);
    check(r"\pX", "p", None);
    check("[[.a.]]", "a", None);
    check("[[=a=]]", "a", None);
    check(r"\.", "a.b", Some("."));
    check(r"\d+", "१२3", Some("3"));
    check(r"\W", "é", Some("é"));
    check(r"\D", "1é", Some("é"));
    check(r"\S", " é", Some("é"));
    check("(?i)straße", "STRAßE", Some("STRAßE"));
    check("(?i)ß", "ẞ", Some("ẞ"));
    check("(?i)σ", "ς", Some("ς"));
    check("$", "a\n", Some(""));
    check("a$", "a\n", None);
    check("(?m)a$", "a\n", Some("a"));
    check("(?m)^", "a", Some(""));
    check("^a|b", "b", Some("b"));
}

#[test]
fn a_bomb_is_refused() {
    for pattern in ["((a{1000}){1000}){1000}".to_owned(), "(".repeat(100_000), "[".repeat(100_000)] {
        assert!(Pattern::new(&pattern).is_err());
    }
}
