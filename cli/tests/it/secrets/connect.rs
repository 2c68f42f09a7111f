//! Secrets of 1Password, over a Connect server.

use std::fmt::Write as _;

use fleet_cli::Exit;
use fleet_lab::connect::Token;
use fleet_lab::desk::How;
use serde_json::json;

use super::{Kept, TOKEN, from};

/// A title that looks like an id.
const LIKE_AN_ID: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaa";

/// Ids of what is kept.
struct Ids {
    vault: String,
    item: String,
}

/// A value, and which.
fn value(which: &str) -> String {
    format!("{TOKEN} {which}")
}

/// Everything that a reference can mean, and no program that could be asked for it instead.
fn kept(text: &str) -> (Kept, Ids) {
    let mut kept = Kept::new(text);
    kept.vars.insert("PATH".into(), "/nowhere".into());
    let books = &kept.lab.vendors().connect.books;
    let (vault, _other) = (books.add_vault("ci"), books.add_vault("Other vault"));
    let field = |id: &str, label: &str, section: &str| {
        let section = if section.is_empty() { json!(null) } else { json!({ "id": section }) };
        json!({ "id": id, "label": label, "section": section, "type": "CONCEALED", "value": value(id) })
    };
    let item = books.add_item(
        &vault,
        &json!({
            "title": "GITHUB",
            "category": "LOGIN",
            "sections": [{ "id": "Section_1", "label": "App" }, { "id": "Section_2", "label": "Old App" }, { "id": "add more" }],
            "fields": [
                { "id": "username", "label": "username", "purpose": "USERNAME" },
                field("password", "password", ""),
                field("k1", "private key", "Section_1"),
                field("p1", "password", "Section_1"),
                field("t1", "twice", "Section_1"),
                field("t2", "twice", "Section_2"),
                field("c1", "capital", ""),
                field("c2", "CAPITAL", ""),
                { "id": "o1", "label": "code", "type": "OTP", "value": "otpauth://totp/x", "totp": value("code") },
            ],
        }),
    );
    books.add_file(&item, "key.pem", &value("file\n"));
    books.add_file(&item, "empty.pem", "");
    let plain = |title: &str| json!({ "title": title, "fields": [field(title, "password", "")] });
    for title in ["Twins", "Twins", "Mixed Case", "MIXED CASE", LIKE_AN_ID] {
        books.add_item(&vault, &plain(title));
    }
    (kept, Ids { vault, item })
}

/// A configuration that writes every reference into a file of its own.
fn files<'a>(references: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for (number, reference) in references.into_iter().enumerate() {
        let one = from(reference)
            .replace("\"s\"", &format!("\"s{number}\""))
            .replace("secret.s", &format!("secret.s{number}"));
        text.push_str(
            &one.replace("\"a\"", &format!("\"a{number}\"")).replace("a.txt", &format!("{number}.txt")),
        );
        writeln!(text).unwrap();
    }
    text
}

#[test]
fn every_reference_means_one_secret() {
    let (kept, Ids { vault, item }) = kept("");
    let by_ids = format!("op://{vault}/{item}/k1");
    let like_an_id = format!("op://ci/{LIKE_AN_ID}/password");
    let cases = [
        // An id goes before a name: the other `password` is named by its section.
        ("op://ci/GITHUB/password", "password"),
        ("op://ci/GITHUB/App/password", "p1"),
        ("op://CI/github/Private Key", "k1"),
        ("op://ci/GITHUB/app/private key", "k1"),
        (&by_ids, "k1"),
        (&like_an_id, LIKE_AN_ID),
        ("op://ci/GITHUB/Old App/twice", "t2"),
        ("op://ci/GITHUB/Section_1/twice", "t1"),
        ("op://ci/GITHUB/t2", "t2"),
        // A name as it is written goes before the same in other letters.
        ("op://ci/GITHUB/CAPITAL", "c2"),
        ("op://ci/Mixed Case/password", "Mixed Case"),
        ("op://ci/GITHUB/code?attribute=otp", "code"),
        ("op://ci/GITHUB/key.pem", "file\n"),
    ];
    kept.site.write("main.fleet.hcl", &files(cases.map(|(reference, _)| reference)));
    kept.fleet(&["apply", "--auto-approve"]).ok();
    for (number, (reference, expected)) in cases.into_iter().enumerate() {
        assert_eq!(kept.site.read(&format!("{number}.txt")), value(expected), "{reference}");
    }
}

#[test]
fn an_item_is_asked_for_once_and_only_when_it_is_needed() {
    let references = ["op://ci/GITHUB/password", "op://ci/GITHUB/k1", "op://ci/GITHUB/App/twice"];
    let (kept, _) = kept(&files(references));
    let desk = &kept.lab.vendors().connect.desk;
    let asked = || ["list_vaults", "list_items", "get_item"].map(|operation| desk.count(operation));
    kept.fleet(&["validate"]).ok();
    kept.fleet(&["plan"]).ok();
    assert_eq!(asked(), [0; 3], "a plan needs no secret that reaches nobody");
    kept.fleet(&["apply", "--auto-approve"]).ok();
    assert_eq!(asked(), [1; 3]);
    assert_eq!(kept.fleet(&["apply", "--auto-approve"]).ok(), "No changes.\n");
    assert_eq!(asked(), [1; 3], "nothing needs it any more");
}

#[test]
fn what_connect_does_not_give_says_why_and_what_to_do() {
    type Break = fn(&mut Kept);
    /// Lets every request of a sort go wrong in the two runs of this test.
    fn break_all(it: &Kept, operation: &'static str, how: How) {
        for _ in 0..3 {
            it.lab.vendors().connect.desk.mishap(operation, how);
        }
    }
    const GOOD: &str = "op://ci/GITHUB/password";
    let as_it_is: Break = |_| {};
    let cases: [(&str, Break, &str, &str); 25] = [
        ("op://cj/GITHUB/password", as_it_is, "has no vault `cj`", "did you mean `ci`?"),
        (
            "op://ci/GITHUP/password",
            as_it_is,
            "the vault `ci` has no item `GITHUP`",
            "did you mean `GITHUB`?",
        ),
        ("op://Other vault/GITHUB/password", as_it_is, "has no item `GITHUB`", "it has none"),
        ("op://ci/GITHUB/pasword", as_it_is, "`GITHUB` has no field `pasword`", "did you mean `password`?"),
        ("op://ci/GITHUB/Apps/password", as_it_is, "`GITHUB` has no section `Apps`", "did you mean `App`?"),
        (
            "op://ci/GITHUB/Old App/k1",
            as_it_is,
            "the section `Old App` of `GITHUB` has no field `k1`",
            "`twice`",
        ),
        ("op://ci/Twins/password", as_it_is, "the vault `ci` has 2 items called `Twins`", "use the id"),
        ("op://ci/mixed case/password", as_it_is, "has 2 items called `mixed case`", "use the id"),
        ("op://ci/GITHUB/twice", as_it_is, "`GITHUB` has 2 fields called `twice`", "`t1`, `t2`"),
        ("op://ci/GITHUB/username", as_it_is, "`username` of `GITHUB` is empty", "change `from`"),
        ("op://ci/GITHUB/empty.pem", as_it_is, "`empty.pem` of `GITHUB` is empty", "change `from`"),
        (
            "op://ci/GITHUB/password?attribute=otp",
            as_it_is,
            "makes no one-time passwords",
            "leave `?attribute=otp` out",
        ),
        (
            "op://ci/GITHUB/key.pem?attribute=otp",
            as_it_is,
            "makes no one-time passwords",
            "leave `?attribute=otp` out",
        ),
        ("op://ci/GITHUB/k1?attribute=type", as_it_is, "cannot give `attribute=type`", "`op` is asked"),
        (
            "op://ci/GITHUB/k1?ssh-format=openssh",
            as_it_is,
            "cannot give `ssh-format=openssh`",
            "`op` is asked",
        ),
        (
            GOOD,
            |it| _ = it.vars.remove("OP_CONNECT_TOKEN"),
            "`OP_CONNECT_HOST` is set, and `OP_CONNECT_TOKEN` is not",
            "set both",
        ),
        (
            GOOD,
            |it| _ = it.vars.insert("OP_CONNECT_HOST".into(), String::new()),
            "`OP_CONNECT_TOKEN` is set, and `OP_CONNECT_HOST` is not",
            "set both",
        ),
        (
            GOOD,
            |it| _ = it.vars.insert("OP_CONNECT_TOKEN".into(), "wrong".into()),
            "does not take the token",
            "op connect token create",
        ),
        (
            GOOD,
            |it| _ = it.vars.insert("OP_CONNECT_HOST".into(), "http://127.0.0.1:1".into()),
            "cannot be reached",
            "`OP_CONNECT_HOST` says where",
        ),
        (
            GOOD,
            |it| _ = it.vars.insert("OP_CONNECT_HOST".into(), "http://connect.example.com".into()),
            "where others could read it",
            "use `https`",
        ),
        (
            GOOD,
            |it| {
                let (books, secret) = (&it.lab.vendors().connect.books, "small".to_owned());
                books.add_token(Token { secret: secret.clone(), vaults: Some(Vec::new()) });
                it.vars.insert("OP_CONNECT_TOKEN".into(), secret);
            },
            "as far as its token may see, has no vault `ci`",
            "it has none",
        ),
        (
            GOOD,
            |it| break_all(it, "list_items", How::Refuse(403)),
            "does not let this token read `GITHUB` of the vault `ci`",
            "--vault",
        ),
        (GOOD, |it| break_all(it, "get_item", How::Refuse(404)), "does not have `GITHUB`", "synced"),
        (
            GOOD,
            |it| break_all(it, "list_vaults", How::RefuseFor(429, 7)),
            "asked too often",
            "run again in 7 s",
        ),
        (GOOD, |it| break_all(it, "get_item", How::Between(503)), "cannot answer now (503)", "/health"),
    ];
    for (source, broken, why, help) in cases {
        let (mut kept, _) = kept(&from(source));
        broken(&mut kept);
        kept.is_missing(source, why, help);
    }
}

#[test]
fn check_tells_whether_connect_takes_its_token() {
    let (mut kept, _) = kept(&from("op://ci/GITHUB/password"));
    let told = kept.fleet(&["secrets", "check"]).ok();
    assert!(told.contains("op://ci/GITHUB/password\n  resolves\n"), "{told}");
    assert!(told.contains("1password\n  valid: its token\n"), "{told}");
    let desk = kept.lab.vendors().connect.desk.clone();
    kept.vars.insert("OP_CONNECT_TOKEN".into(), "wrong".into());
    let ran = kept.fleet(&["secrets", "check"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(
        ran.stdout.contains("1password\n  refused: 1Password Connect does not take the token"),
        "{}",
        ran.stdout
    );
    // Without a server its own program is asked, which is not there, and nobody has a token to be asked about.
    let before = desk.visits().len();
    for name in ["OP_CONNECT_HOST", "OP_CONNECT_TOKEN"] {
        kept.vars.remove(name);
    }
    let ran = kept.fleet(&["secrets", "check"]);
    assert!(ran.stdout.contains("cannot run `op`") && !ran.stdout.contains("1password\n"), "{}", ran.stdout);
    assert_eq!(desk.visits().len(), before);
}
