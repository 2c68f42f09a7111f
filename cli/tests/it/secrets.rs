//! Secrets that change at their source, secrets that cannot be had, and whether they are good.

mod connect;

use std::collections::BTreeMap;
use std::fs;

use fleet_cli::Exit;
use fleet_lab::github::Personal;
use fleet_lab::vault::Token;
use fleet_lab::{Lab, Options};
use serde_json::json;

use crate::converge::site;
use crate::laws::search::Search;
use crate::support::{Ran, Site};

const TEXT: &str = r#"
secret "key" {
  from = "file:key"
}

resource "core_file" "a" {
  path    = "a.txt"
  content = "key ${secret.key}"
}

resource "core_file" "b" {
  path    = "b.txt"
  content = "b"
}
"#;

fn applied() -> Site {
    let site = site(TEXT);
    site.write("key", "one");
    site.fleet(["apply", "--auto-approve"]).ok();
    assert_eq!(site.read("a.txt"), "key one");
    site
}

#[test]
fn a_secret_that_changed_at_its_source_is_seen_by_those_who_ask_for_it() {
    let apply: fn(&Site) = |site| _ = site.fleet(["apply", "--auto-approve", "--resolve-secrets"]).ok();
    let apply_saved: fn(&Site) = |site| {
        let plan = site.fleet(["plan", "--resolve-secrets", "--out", "p"]).ok();
        assert!(plan.contains("~ core_file.a"), "{plan}");
        // Where the plan was made with secrets, it is compared with secrets.
        site.fleet(["apply", "p"]).ok();
    };
    for apply in [apply, apply_saved] {
        let site = applied();
        site.write("key", "two");
        assert_eq!(site.fleet(["plan"]).ok(), "No changes.\n");
        apply(&site);
        assert_eq!(site.read("a.txt"), "key two");
        assert_eq!(site.fleet(["plan", "--resolve-secrets"]).ok(), "No changes.\n");
    }
    let complaint = applied().fleet(["apply", "p", "--resolve-secrets"]).failed();
    assert!(complaint.contains("a saved plan cannot be made another one"), "{complaint}");
}

#[test]
fn a_secret_that_cannot_be_had_stops_the_run_before_anything_is_touched() {
    let check = |site: &Site, args: &[&str]| {
        let before = (site.read("a.txt"), site.read("b.txt"));
        let ran = site.fleet_words(args);
        assert!(ran.stdout.contains("not started"), "{}", ran.stdout);
        let complaint = ran.failed();
        assert!(complaint.contains("cannot get secret.key: cannot read"), "{complaint}");
        assert!(complaint.contains("help: "), "{complaint}");
        assert_eq!((site.read("a.txt"), site.read("b.txt")), before);
    };
    let site = applied();
    fs::remove_file(site.path().join("key")).unwrap();
    // What is made anew must not go before its successor can be made.
    check(&site, &["apply", "--auto-approve", "--replace", "core_file.a"]);
    site.write("main.fleet.hcl", &TEXT.replace("\"b\"\n}", "\"bb\"\n}").replace("key $", "the key $"));
    check(&site, &["apply", "--auto-approve"]);
    // Nobody is asked for a secret that nothing needs.
    site.write("main.fleet.hcl", &TEXT.replace("\"b\"\n}", "\"bb\"\n}"));
    site.fleet(["apply", "--auto-approve"]).ok();
    assert_eq!(site.read("b.txt"), "bb");
}

/// A Vault with a secret in it, and a directory with a configuration.
struct Kept {
    lab: Lab,
    site: Site,
    vars: BTreeMap<String, String>,
}

impl Kept {
    fn new(text: &str) -> Kept {
        let lab = Lab::start(Options { macs: 0, ..Options::default() }).unwrap();
        lab.vendors()
            .vault
            .books
            .put("secret/ci/github", &json!({ "token": TOKEN, "number": 7, "list": [1], "empty": "" }));
        let mut vars: BTreeMap<String, String> = lab.vendors().environment().collect();
        vars.insert("PATH".into(), std::env::var("PATH").unwrap());
        Kept { lab, site: site(text), vars }
    }

    fn fleet(&self, args: &[&str]) -> Ran {
        let words = ["--log", "trace", "--log-file", "log"];
        let ran = self.site.fleet_in(&self.vars, &args.iter().chain(&words).copied().collect::<Vec<_>>());
        // Whatever was done, neither the secret nor what it was asked for with stands anywhere that anybody sees.
        let search = Search::new(&[TOKEN, fleet_lab::connect::TOKEN, fleet_lab::vault::ROOT_TOKEN]);
        search.check("output", format!("{}{}", ran.stdout, ran.stderr).as_bytes());
        search.check("log", &fs::read(self.site.path().join("log")).unwrap());
        ran
    }

    /// The secret of [`from`] cannot be had.
    fn is_missing(&self, source: &str, why: &str, help: &str) {
        let complaint = self.fleet(&["apply", "--auto-approve"]).failed();
        assert!(
            complaint.contains("cannot get secret.s: ") && complaint.contains(why),
            "{source}: {complaint}"
        );
        assert!(complaint.contains("help: ") && complaint.contains(help), "{source}: {complaint}");
        assert!(!self.site.path().join("a.txt").exists(), "{source}: nothing was touched");
        let checked = self.fleet(&["secrets", "check"]);
        assert!(
            checked.stdout.contains(why) && checked.stdout.contains("missing: "),
            "{source}: {}",
            checked.stdout
        );
        assert_eq!(checked.exit, Exit::Failed, "{source}");
    }

    fn asked(&self) -> usize {
        self.lab.vendors().vault.desk.count("read")
    }
}

/// What is kept, and how everything else that is kept begins.
const TOKEN: &str = "hunter2-kept-in-vault";

fn from(source: &str) -> String {
    format!(
        "secret \"s\" {{\n  from = \"{source}\"\n}}\n\nresource \"core_file\" \"a\" {{\n  path    = \"a.txt\"\n  content = secret.s\n}}\n"
    )
}

#[test]
fn a_secret_of_vault_is_read_once_and_only_when_it_is_needed() {
    let kept = Kept::new(&from("vault:secret/ci/github#token"));
    let other = "secret \"same\" {\n  from = \"vault:secret/ci/github#token\"\n}\n\nresource \"core_file\" \"b\" {\n  path    = \"b.txt\"\n  content = secret.same\n}\n";
    kept.site.write("other.fleet.hcl", other);
    kept.fleet(&["validate"]).ok();
    kept.fleet(&["plan"]).ok();
    assert_eq!(kept.asked(), 0, "a plan needs no secret that reaches nobody");
    kept.fleet(&["apply", "--auto-approve"]).ok();
    assert_eq!((kept.site.read("a.txt"), kept.site.read("b.txt")), (TOKEN.to_owned(), TOKEN.to_owned()));
    assert_eq!(kept.asked(), 1, "two names of one place are asked for once");
    assert_eq!(kept.fleet(&["apply", "--auto-approve"]).ok(), "No changes.\n");
    assert_eq!(kept.asked(), 1, "nothing needs it any more");
    let newer = "hunter3-kept-in-vault";
    kept.lab.vendors().vault.books.put("secret/ci/github", &json!({ "token": newer }));
    assert_eq!(kept.fleet(&["plan"]).ok(), "No changes.\n");
    kept.fleet(&["apply", "--auto-approve", "--resolve-secrets"]).ok();
    assert_eq!(kept.site.read("a.txt"), newer);
    // An older version is had by its number.
    kept.site.write("main.fleet.hcl", &from("vault:secret/ci/github?version=1#token"));
    kept.fleet(&["apply", "--auto-approve"]).ok();
    assert_eq!(kept.site.read("a.txt"), TOKEN);
}

#[test]
fn what_vault_does_not_give_says_why_and_what_to_do() {
    type Break = fn(&mut Kept);
    let cases: [(&str, Break, &str, &str); 16] = [
        ("vault:secret/ci/nothing#token", |_| {}, "Vault has nothing at `secret/ci/nothing`", "vault kv get"),
        ("vault:secret/ci/github?version=9#token", |_| {}, "nothing of version 9", "vault kv get"),
        ("vault:secret/ci/github#tokn", |_| {}, "has no `tokn`", "did you mean `#token`?"),
        ("vault:secret/ci/github#list", |_| {}, "holds no text", "change `from`"),
        ("vault:secret/ci/github#empty", |_| {}, "is empty", "change `from`"),
        ("vault:old/ci/github#token", |_| {}, "an engine of version 1", "exec:vault"),
        ("vault:pki/ci/github#token", |_| {}, "an engine of type `pki`", "exec:vault"),
        ("vault:team/kv#token", |_| {}, "is an engine of Vault", "behind it"),
        (
            "vault:secret/ci/github#token",
            |it| it.lab.vendors().vault.books.destroy("secret/ci/github"),
            "was destroyed",
            "vault kv put",
        ),
        (
            "vault:secret/ci/github#token",
            |it| {
                let now = it.lab.clock().time();
                it.lab.vendors().vault.books.delete_at("secret/ci/github", now);
            },
            "was deleted",
            "vault kv undelete",
        ),
        (
            "vault:secret/ci/github#token",
            |it| it.lab.vendors().vault.books.seal(true),
            "Vault is sealed",
            "unseal it",
        ),
        (
            "vault:secret/ci/github#token",
            |it| _ = it.vars.insert("VAULT_TOKEN".into(), "hvs.wrong".into()),
            "does not take the token",
            "vault login",
        ),
        (
            "vault:secret/ci/github#token",
            |it| {
                let token =
                    Token { secret: "hvs.small".into(), expires_at: None, reads: vec!["other/".into()] };
                it.lab.vendors().vault.books.add_token(token);
                it.vars.insert("VAULT_TOKEN".into(), "hvs.small".into());
            },
            "does not let this token read",
            "policy",
        ),
        (
            "vault:secret/ci/github#token",
            |it| _ = it.vars.remove("VAULT_TOKEN"),
            "`VAULT_TOKEN` is not set",
            "vault login",
        ),
        (
            "vault:secret/ci/github#token",
            |it| _ = it.vars.remove("VAULT_ADDR"),
            "`VAULT_ADDR` is not set",
            "https://",
        ),
        (
            "vault:secret/ci/github#token",
            |it| _ = it.vars.insert("VAULT_ADDR".into(), "http://127.0.0.1:1".into()),
            "cannot be reached",
            "VAULT_ADDR",
        ),
    ];
    for (source, broken, why, help) in cases {
        let mut kept = Kept::new(&from(source));
        broken(&mut kept);
        kept.is_missing(source, why, help);
    }
    // A token from `vault login` will do.
    let mut kept = Kept::new(&from("vault:secret/ci/github#number"));
    let token = kept.vars.remove("VAULT_TOKEN").unwrap();
    kept.site.write(".vault-token", &format!("{token}\n"));
    kept.fleet(&["apply", "--auto-approve"]).ok();
    assert_eq!(kept.site.read("a.txt"), "7");
}

#[test]
fn check_tells_what_resolves_and_until_when() {
    let text = "secret \"env\" {\n  from = \"env:HERE\"\n}\n\nsecret \"file\" {\n  from = \"file:missing\"\n}\n\n\
                secret \"exec\" {\n  from = \"exec:echo x\"\n}\n\nsecret \"kept\" {\n  from = \"vault:secret/ci/github#token\"\n}\n";
    let mut kept = Kept::new(text);
    kept.vars.insert("HERE".into(), TOKEN.into());
    let end = "2100-01-02T03:04:05Z";
    kept.lab.vendors().vault.books.delete_at("secret/ci/github", end.parse().unwrap());
    let ran = kept.fleet(&["secrets", "check"]);
    assert_eq!(ran.exit, Exit::Failed, "{}", ran.stderr);
    for line in [
        "secret.env  env:HERE\n  resolves\n",
        "secret.file  file:missing\n  missing: cannot read",
        "secret.exec  exec:echo x\n  resolves\n",
    ] {
        assert!(ran.stdout.contains(line), "{line}: {}", ran.stdout);
    }
    assert!(ran.stdout.contains("#token\n  resolves; until 2100-01-02T03:04:05Z, in "), "{}", ran.stdout);
    assert!(ran.stdout.contains("vault\n  valid: its token\n"), "{}", ran.stdout);
    let (soon, now) = ("hvs.ends-soon", kept.lab.clock().time());
    let expires_at = Some(now.after(std::time::Duration::from_secs(3600)));
    kept.lab.vendors().vault.books.add_token(Token {
        secret: soon.into(),
        expires_at,
        reads: vec![String::new()],
    });
    kept.vars.insert("VAULT_TOKEN".into(), soon.into());
    let told = kept.fleet(&["secrets", "check"]).stdout;
    assert!(told.contains("valid: its token; until ") && told.contains("which is soon: in 59m"), "{told}");
    kept.site.write("missing", "there");
    let json: serde_json::Value =
        serde_json::from_str(&kept.fleet(&["secrets", "check", "--json"]).ok()).unwrap();
    let states: Vec<&str> =
        json["secrets"].as_array().unwrap().iter().map(|row| row["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["resolves"; 4]);
    let one: serde_json::Value =
        serde_json::from_str(&kept.fleet(&["secrets", "check", "env", "--json"]).ok()).unwrap();
    assert_eq!(one["secrets"].as_array().unwrap().len(), 1);
    let complaint = kept.fleet(&["secrets", "check", "evn"]).failed();
    assert!(complaint.contains("did you mean `env`?"), "{complaint}");
}

#[test]
fn a_source_that_cannot_be_is_shown_where_it_stands() {
    let cases = [
        ("env:$TOKEN", "malformed source of a secret", "without `$`"),
        ("op://vault/item", "malformed source of a secret", "write `\"op://VAULT/ITEM/FIELD\"`"),
        ("vault:secret/ci", "malformed source of a secret", "write `\"vault:MOUNT/PATH#KEY\"`"),
        ("k8s:ci#key", "malformed source of a secret", "write `\"k8s:NAMESPACE/NAME#KEY\"`"),
        ("op:vault/item/field", "unknown source of a secret", "write `\"op://VAULT/ITEM/FIELD\"`"),
        ("file:", "incomplete source of a secret", "write `\"file:PATH\"`"),
    ];
    for (source, summary, help) in cases {
        let complaint = site(&from(source)).fleet(["validate"]).failed();
        assert!(complaint.contains(summary) && complaint.contains(help), "{source}: {complaint}");
        assert!(complaint.contains("main.fleet.hcl:2:10"), "{source}: {complaint}");
    }
}

/// What GitHub issues when a step needs it.
const ISSUED: &str = r#"
provider "github" {}

secret "runner" {
  from     = "registration-token:https://github.com/example"
  provider = github
}

resource "core_file" "a" {
  path    = "a.txt"
  content = "token ${secret.runner}"
}
"#;

#[test]
fn what_a_provider_issues_is_asked_for_by_apply_alone() {
    let kept = Kept::new(ISSUED);
    let asked = || kept.lab.vendors().github.desk.count("registration_token");
    for words in [&["validate"][..], &["plan"], &["plan", "--resolve-secrets"], &["secrets", "check"]] {
        kept.fleet(words).ok();
        assert_eq!(asked(), 0, "{words:?}");
    }
    kept.fleet(&["apply", "--auto-approve"]).ok();
    assert_eq!(asked(), 1);
    let content = kept.site.read("a.txt");
    let token = content.strip_prefix("token ").unwrap();
    assert!(token.contains("LABTOKEN"), "{token}");
    // Nothing needs another one, however old it is; and it stands nowhere else.
    kept.lab.advance(std::time::Duration::from_secs(7200));
    assert_eq!(kept.fleet(&["apply", "--auto-approve"]).ok(), "No changes.\n");
    kept.fleet(&["plan", "--json"]).ok();
    assert_eq!(asked(), 1);
    let search = Search::new(&[token]);
    for entry in fs::read_dir(kept.site.path().join(".fleet")).unwrap() {
        search.check("state", &fs::read(entry.unwrap().path()).unwrap());
    }
    search.check("log", &fs::read(kept.site.path().join("log")).unwrap());

    let cases = [
        ("registration-token:example", "this cannot be issued", "https://github.com/ORG"),
        ("env:TOKEN", "this cannot be issued", "without `provider`"),
    ];
    for (from, summary, help) in cases {
        kept.site
            .write("main.fleet.hcl", &ISSUED.replace("registration-token:https://github.com/example", from));
        let complaint = kept.fleet(&["validate"]).failed().replace('\n', " ");
        assert!(complaint.contains(summary) && complaint.contains(help), "{complaint}");
    }
    kept.site.write("main.fleet.hcl", &ISSUED.replace("provider = github", "provider = core"));
    let complaint = kept.fleet(&["validate"]).failed();
    assert!(complaint.contains("issues no secrets"), "{complaint}");
}

#[test]
fn check_asks_services_whether_they_take_credentials() {
    let text = "secret \"github\" {\n  from = \"file:github\"\n}\n\nprovider \"github\" {\n  token = secret.github\n}\n";
    let kept = Kept::new(text);
    let end = "2100-01-02T03:04:05Z";
    let personal =
        Personal { token: "ghp_of_mine".into(), login: "me".into(), expires_at: Some(end.parse().unwrap()) };
    kept.lab.vendors().github.books.add_personal(personal);
    kept.site.write("github", "ghp_of_mine");
    let told = kept.fleet(&["secrets", "check"]).ok();
    assert!(told.contains("provider.github\n  valid: a token of me; until 2100-01-02T03:04:05Z"), "{told}");
    // It is there, and of no use.
    kept.site.write("github", "ghp_of_nobody");
    let ran = kept.fleet(&["secrets", "check"]);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.stdout.contains("secret.github  file:github\n  resolves\n"), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("provider.github\n  refused: ") && ran.stdout.contains("help: "),
        "{}",
        ran.stdout
    );
    fs::remove_file(kept.site.path().join("github")).unwrap();
    let ran = kept.fleet(&["secrets", "check"]);
    assert!(ran.stdout.contains("not asked: a secret that it needs is missing"), "{}", ran.stdout);
}

#[test]
fn what_something_was_made_with_is_not_needed_by_what_uses_it() {
    let more = "\nresource \"core_file\" \"b\" {\n  path    = \"b.txt\"\n  content = core_file.a.path\n  mode    = \"0600\"\n}\n";
    let kept = Kept::new(&format!("{}{more}", from("vault:secret/ci/github#token")));
    kept.fleet(&["apply", "--auto-approve"]).ok();
    kept.site.write(
        "main.fleet.hcl",
        &format!("{}{more}", from("vault:secret/ci/github#token")).replace("0600", "0640"),
    );
    kept.fleet(&["apply", "--auto-approve"]).ok();
    assert_eq!(kept.asked(), 1, "only the other file was changed");
}
