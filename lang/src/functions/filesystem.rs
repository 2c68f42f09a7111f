//! Functions over paths and files. Relative paths start from the directory the command works in.

mod fileset;
mod path;
mod pattern;

use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use self::fileset::{ENTRY_LIMIT, GlobError, Pattern};
use super::args::string;
use super::{Body, CallError, Function, Group, Param, ParamType, Returns};
use crate::outside::Entry;
use crate::{Outside, Type, Value};

pub(super) const TABLE: &[Function] = &[
    Function {
        name: "abspath",
        group: Group::Filesystem,
        doc: "Makes a path absolute and takes `.`, `..` and doubled slashes out of it. Links are not followed.",
        examples: &[("abspath(\"/a/./b/../c\")", "\"/a/c\"")],
        params: &[PATH],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Outside(abspath),
    },
    Function {
        name: "basename",
        group: Group::Filesystem,
        doc: "Takes the last name of a path.",
        examples: &[("basename(\"foo/bar/baz.txt\")", "\"baz.txt\"")],
        params: &[PATH],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(|args| Ok(path::base(string(args, 0)).into())),
    },
    Function {
        name: "dirname",
        group: Group::Filesystem,
        doc: "Takes all but the last name of a path.",
        examples: &[("dirname(\"foo/bar/baz.txt\")", "\"foo/bar\""), ("dirname(\"baz.txt\")", "\".\"")],
        params: &[PATH],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(|args| Ok(path::directory(string(args, 0)).as_str().into())),
    },
    Function {
        name: "file",
        group: Group::Filesystem,
        doc: "Reads a file of UTF-8 text. The file must be there before anything is planned.",
        examples: &[("file(\"hello.txt\")", "\"hello world\"")],
        params: &[PATH],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Outside(|outside, args| Ok(read_text(outside, string(args, 0))?.as_str().into())),
    },
    Function {
        name: "filebase64",
        group: Group::Filesystem,
        doc: "Reads a file of any bytes as Base64.",
        examples: &[("filebase64(\"hello.txt\")", "\"aGVsbG8gd29ybGQ=\"")],
        params: &[PATH],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Outside(|outside, args| {
            Ok(BASE64_STANDARD.encode(read(outside, string(args, 0))?).as_str().into())
        }),
    },
    Function {
        name: "fileexists",
        group: Group::Filesystem,
        doc: "Says whether there is a file at a path. It is an error if something else is there, such as a directory.",
        examples: &[("fileexists(\"hello.txt\")", "true"), ("fileexists(\"nothing.txt\")", "false")],
        params: &[PATH],
        variadic: None,
        returns: Returns::Always(ParamType::Bool),
        body: Body::Outside(fileexists),
    },
    Function {
        name: "fileset",
        group: Group::Filesystem,
        doc: "Finds the files below a directory whose path matches a pattern. In the pattern `*` is any text in a \
              name, `?` one character, `[a-z]` one of a class, `[^a-z]` one of none, `{a,b}` one of several, `**` \
              any number of directories, and `\\` takes the meaning from the next character. Names that start with \
              a dot match like others, links are followed.",
        examples: &[
            ("fileset(\".\", \"*.txt\")", "toset([\n  \"hello.txt\",\n])"),
            ("fileset(\".\", \"**/*.{conf,plist}\")", "toset([\n  \"etc/app.conf\",\n])"),
        ],
        params: &[PATH, Param::new("pattern", ParamType::String)],
        variadic: None,
        returns: Returns::Always(ParamType::Set(&ParamType::String)),
        body: Body::Outside(fileset),
    },
    Function {
        name: "pathexpand",
        group: Group::Filesystem,
        doc: "Replaces a `~` at the start of a path by the user's home directory.",
        examples: &[("pathexpand(\"/etc/~\")", "\"/etc/~\"")],
        params: &[PATH],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Outside(|outside, args| Ok(Value::from(&*expand(outside, string(args, 0))?))),
    },
];

const PATH: Param = Param::new("path", ParamType::String);

/// The text of a file, for functions that read one; `~` at the start of the path is the home directory.
pub(super) fn read_text(outside: &dyn Outside, path: &str) -> Result<String, CallError> {
    String::from_utf8(read(outside, path)?).map_err(|_| {
        CallError::arg(0, format!("the file {path:?} is not UTF-8 text; `filebase64` reads any file"))
    })
}

/// The bytes of a file, for functions that read one; `~` at the start of the path is the home directory.
pub(super) fn read(outside: &dyn Outside, path: &str) -> Result<Vec<u8>, CallError> {
    let expanded = expand(outside, path)?;
    let expanded = Path::new(local(&expanded));
    // A device may never end, and a pipe gives its content only once.
    if matches!(outside.look(expanded), Ok(Entry::Other)) {
        return Err(CallError::arg(0, format!("{path:?} is not a regular file")));
    }
    outside.read(expanded).map_err(|error| {
        CallError::arg(
            0,
            match error.kind() {
                ErrorKind::NotFound => format!("there is no file {path:?}"),
                ErrorKind::IsADirectory => format!("{path:?} is a directory, not a file"),
                _ => format!("the file {path:?} cannot be read: {error}"),
            },
        )
    })
}

fn abspath(outside: &dyn Outside, args: &[Value]) -> Result<Value, CallError> {
    let path = string(args, 0);
    let absolute = outside
        .absolute(Path::new(local(path)))
        .map_err(|error| CallError::arg(0, format!("{path:?} cannot be made absolute: {error}")))?;
    Ok(path::clean(&absolute.to_string_lossy()).as_str().into())
}

fn fileexists(outside: &dyn Outside, args: &[Value]) -> Result<Value, CallError> {
    let path = string(args, 0);
    let expanded = expand(outside, path)?;
    match outside.look(Path::new(local(&expanded))) {
        Ok(Entry::File) => Ok(true.into()),
        Ok(Entry::Directory) => Err(CallError::arg(0, format!("{path:?} is a directory, not a file"))),
        Ok(Entry::Other) => Err(CallError::arg(0, format!("{path:?} is not a regular file"))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false.into()),
        Err(error) => Err(CallError::arg(0, format!("{path:?} cannot be looked at: {error}"))),
    }
}

fn fileset(outside: &dyn Outside, args: &[Value]) -> Result<Value, CallError> {
    let explain = |error| match error {
        GlobError::Pattern(message) => CallError::arg(1, message),
        GlobError::Io(path, error) => {
            CallError::new(format!("{path:?} matches but cannot be looked at: {error}"))
        }
        GlobError::TooMany => {
            CallError::arg(0, format!("there are more than {ENTRY_LIMIT} entries to look at"))
        }
    };
    let pattern = Pattern::parse(string(args, 1)).map_err(explain)?;
    let files = pattern.files(outside, string(args, 0)).map_err(explain)?;
    Ok(Value::set(Type::String, files.iter().map(|file| file.as_str().into()).collect()))
}

/// A path with its leading `~` replaced.
fn expand<'p>(outside: &dyn Outside, path: &'p str) -> Result<Cow<'p, str>, CallError> {
    let Some(rest) = path.strip_prefix('~') else { return Ok(Cow::Borrowed(path)) };
    if !rest.is_empty() && !rest.starts_with('/') {
        let message = "the home directories of other users are not known, only `~/` is";
        return Err(CallError::arg(0, message));
    }
    let home = outside.home().ok_or_else(|| CallError::arg(0, "the home directory is not known"))?;
    Ok(Cow::Owned(path::join(&home.to_string_lossy(), rest)))
}

/// An empty path means the directory itself.
fn local(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}
