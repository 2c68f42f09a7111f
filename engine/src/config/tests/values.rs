//! The values of variables. What wins and how text is read was answered by Terraform.

use std::path::Path;

use fleet_lang::outside::Memory;
use fleet_lang::{Marks, Value, print};
use fleet_syntax::{Diagnostics, Sources};

use super::findings;
use crate::config::load;
use crate::config::model::Named;
use crate::config::values::{Given, Setting, values};

/// Variables of many types, all with a default.
const VARIABLES: &str = r#"
variable "text" {
  type    = string
  default = "default"
}
variable "number" {
  type    = number
  default = 1
}
variable "list" {
  type    = list(string)
  default = []
}
variable "any" {
  type    = any
  default = null
}
variable "none" { default = null }
variable "strict" {
  type     = string
  nullable = false
  default  = "default"
}
variable "object" {
  type    = object({ a = string, b = optional(number, 3) })
  default = { a = "x" }
}
"#;

/// A run: files beside the variables, the environment, the options. An option that starts with `@` names a file.
struct Run<'a> {
    variables: &'a str,
    files: &'a [(&'a str, &'a str)],
    environment: &'a [(&'a str, &'a str)],
    options: &'a [&'a str],
}

const RUN: Run<'_> = Run { variables: VARIABLES, files: &[], environment: &[], options: &[] };

impl Run<'_> {
    fn values(&self) -> (Named<Value>, Sources, Diagnostics) {
        let outside = Memory::new().file("main.fleet.hcl", self.variables);
        let outside = self.files.iter().fold(outside, |outside, (name, text)| outside.file(name, *text));
        let mut sources = Sources::default();
        let (config, diagnostics) = load(&outside, Path::new("."), &mut sources);
        assert_eq!(diagnostics, []);
        let environment =
            self.environment.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let option = |option: &&str| match option.strip_prefix('@') {
            Some(path) => Setting::File(path.into()),
            None => Setting::Var((*option).to_owned()),
        };
        let given = Given {
            environment: environment.collect(),
            options: self.options.iter().map(option).collect(),
            partial: false,
        };
        let (values, diagnostics) =
            values(&config.root().variables, &given, &outside, Path::new("."), &mut sources);
        (values, sources, diagnostics)
    }

    /// Checks the printed value of a variable, and that nothing is wrong.
    #[track_caller]
    fn gives(&self, name: &str, expected: &str) {
        let (values, sources, diagnostics) = self.values();
        assert_eq!(findings(&diagnostics, &sources), [""; 0], "{diagnostics:?}");
        assert_eq!(print(&values[name]).split_whitespace().collect::<Vec<_>>().join(" "), expected);
    }

    #[track_caller]
    fn finds(&self, expected: &[&str]) {
        let (_, sources, diagnostics) = self.values();
        assert_eq!(findings(&diagnostics, &sources), expected, "{diagnostics:?}");
    }
}

#[test]
fn the_stronger_source_wins() {
    let environment: &[_] = &[("FLEET_VAR_text", "environment")];
    let default = ("fleet.vars.hcl", "text = \"file\"");
    let auto: [_; 2] = [("b.auto.vars.hcl", "text = \"b\""), ("a.auto.vars.hcl", "text = \"a\"")];
    let early = ("aa.auto.vars.hcl", "number = 2");
    let other = ("other.vars.hcl", "text = \"other\"");
    RUN.gives("text", "\"default\"");
    Run { environment, ..RUN }.gives("text", "\"environment\"");
    Run { environment, files: &[default, other], ..RUN }.gives("text", "\"file\"");
    Run { environment, files: &[default, auto[0], auto[1], early], ..RUN }.gives("text", "\"b\"");
    let files: &[_] = &[default, auto[0], auto[1], other];
    Run { environment, files, options: &["text=var"], ..RUN }.gives("text", "\"var\"");
    Run { environment, files, options: &["@other.vars.hcl"], ..RUN }.gives("text", "\"other\"");
    Run { environment, files, options: &["text=var", "@other.vars.hcl"], ..RUN }.gives("text", "\"other\"");
    Run { environment, files, options: &["@other.vars.hcl", "text=var"], ..RUN }.gives("text", "\"var\"");
    Run { options: &["text=1", "text=2"], ..RUN }.gives("text", "\"2\"");
}

#[test]
fn only_the_strongest_value_is_evaluated() {
    let files: &[_] = &[("fleet.vars.hcl", "number = \"abc\"\nlist = upper(\"x\")")];
    Run { files, options: &["number=5", "list=[]"], ..RUN }.gives("number", "5");
}

#[test]
fn text_is_read_by_type() {
    for (option, name, expected) in [
        ("text=[1]", "text", "\"[1]\""),
        ("text=null", "text", "\"null\""),
        ("text=", "text", "\"\""),
        ("text= 7 ", "text", "\" 7 \""),
        ("text=a=b", "text", "\"a=b\""),
        ("text=${x}", "text", "\"${x}\""),
        ("none=[1]", "none", "\"[1]\""),
        ("number=5", "number", "5"),
        ("list=[\"a\", 2]", "list", "tolist([ \"a\", \"2\", ])"),
        ("list=null", "list", "tolist(null) /* of string */"),
        ("any=\"x\"", "any", "\"x\""),
        ("any={ a = 1 }", "any", "{ \"a\" = 1 }"),
        ("any=null", "any", "null"),
        ("object={ a = 2, c = 3 }", "object", "{ \"a\" = \"2\" \"b\" = 3 }"),
    ] {
        Run { options: &[option], ..RUN }.gives(name, expected);
        let (variable, text) = option.split_once('=').unwrap();
        let variable = format!("FLEET_VAR_{variable}");
        Run { environment: &[(&variable, text)], ..RUN }.gives(name, expected);
    }
}

#[test]
fn unsuitable_text() {
    for (option, expected) in [
        ("number=abc", "<--var number>:1:1 unsuitable value for `var.number`"),
        ("number=null", "<--var number>:1:1 unsuitable value for `var.number`"),
        ("number=\"5\"", "<--var number>:1:1 unsuitable value for `var.number`"),
        ("number= 7 ", "<--var number>:1:1 unsuitable value for `var.number`"),
        ("number=", "<--var number>:1:1 unsuitable value for `var.number`"),
        ("any=x", "<--var any>:1:1 reference in a constant"),
        ("list=foo", "<--var list>:1:1 reference in a constant"),
        ("list=[1, upper(\"x\")]", "<--var list>:1:5 function call in a constant"),
        ("list=5", "<--var list>:1:1 unsuitable value for `var.list`"),
        ("object={}", "<--var object>:1:1 unsuitable value for `var.object`"),
        ("undeclared=1", "- value for an undeclared variable `undeclared`"),
        ("=x", "- value for an undeclared variable ``"),
        ("text =x", "- value for an undeclared variable `text `"),
        ("noequals", "- not a name with a value"),
    ] {
        Run { options: &[option], ..RUN }.finds(&[expected]);
    }
    let (_, _, diagnostics) = Run { options: &["list=[1"], ..RUN }.values();
    assert_eq!(diagnostics.len(), 1);
    Run { environment: &[("FLEET_VAR_number", "0x10")], ..RUN }
        .finds(&["<the environment variable FLEET_VAR_number>:1:1 unsuitable value for `var.number`"]);
    Run { environment: &[("FLEET_VAR_undeclared", "[1"), ("OTHER", "1")], ..RUN }.finds(&[]);
}

#[test]
fn values_files() {
    let with = |text| Run { files: &[("fleet.vars.hcl", text)], ..RUN }.values();
    let (values, sources, diagnostics) =
        with("text = 1 + 1\nlist = [for x in [1, 2] : x]\nstrict = null\nobject = { a = \"y\", b = null }");
    assert_eq!(findings(&diagnostics, &sources), [""; 0]);
    assert_eq!(print(&values["text"]), "\"2\"");
    assert_eq!(print(&values["strict"]), "\"default\"");
    assert!(print(&values["object"]).contains("\"b\" = 3"));

    let (_, sources, diagnostics) =
        with("text = upper(\"x\")\nnumber = var.n\nundeclared = 1\nobject {}\nlocals {}\nlist = 5");
    assert_eq!(
        findings(&diagnostics, &sources),
        [
            "fleet.vars.hcl:4:1 block in a values file",
            "fleet.vars.hcl:5:1 block in a values file",
            "fleet.vars.hcl:3:1 warning: value for an undeclared variable `undeclared`",
            "fleet.vars.hcl:1:8 function call in a constant",
            "fleet.vars.hcl:2:10 reference in a constant",
            "fleet.vars.hcl:6:8 unsuitable value for `var.list`",
        ]
    );
    Run { options: &["@gone.vars.hcl"], ..RUN }.finds(&["- cannot read `gone.vars.hcl`"]);
    let (_, _, diagnostics) = with("txet = 1");
    assert_eq!(diagnostics[0].help.as_deref(), Some("did you mean `text`?"));
}

#[test]
fn missing_values() {
    let variables = "variable \"a\" {}\nvariable \"b\" {\n nullable = false\n}\nvariable \"c\" {}";
    Run { variables, ..RUN }.finds(&[
        "1:1 no value for `var.a`",
        "2:1 no value for `var.b`",
        "5:1 no value for `var.c`",
    ]);
    let files: &[_] = &[("fleet.vars.hcl", "a = null\nb = null")];
    let run = Run { variables, files, options: &["c=x"], ..RUN };
    run.finds(&["2:1 no value for `var.b`"]);
    let (values, _, diagnostics) = run.values();
    assert!(!values["b"].is_known() && values["a"].is_null());
    assert_eq!(
        diagnostics[0].help.as_deref(),
        Some("write `--var b=…`, set `FLEET_VAR_b`, or add `b = …` to `fleet.vars.hcl`")
    );
}

#[test]
fn marks() {
    let variables = "variable \"s\" {\n default = [1]\n sensitive = true\n}\nvariable \"e\" {\n ephemeral = true\n}\nvariable \"m\" {\n sensitive = true\n ephemeral = true\n}";
    let (values, _, _) = Run { variables, options: &["e=x"], ..RUN }.values();
    assert_eq!(values["s"].marks, Marks::SENSITIVE);
    assert_eq!(values["e"].marks, Marks::EPHEMERAL);
    assert_eq!(values["m"].marks, Marks::SENSITIVE | Marks::EPHEMERAL);
}

/// Neither the text nor a place where it is drawn may be in a finding about a sensitive variable.
#[test]
fn sensitive_text_is_not_shown() {
    let variables = "variable \"s\" {\n type = list(number)\n sensitive = true\n}";
    for text in ["hunter2", "[hunter2", "[\"hunter2\"]", "{ a = hunter2() }"] {
        let option = format!("s={text}");
        let run = Run { variables, options: &[&option], ..RUN };
        run.finds(&["1:1 unsuitable value for `var.s`"]);
        let (_, _, diagnostics) = run.values();
        assert!(!format!("{diagnostics:?}").contains("hunter2"), "{diagnostics:?}");
        assert!(diagnostics[0].detail.ends_with("The value comes from --var s."));
    }
    Run { variables, files: &[("fleet.vars.hcl", "s = [\"hunter2\"]")], ..RUN }
        .finds(&["1:1 unsuitable value for `var.s`"]);
}
