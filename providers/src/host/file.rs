//! `host_file`: a file on a host.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::step::{self, LocalFile};
use fleet_engine::host::{Act, Bytes, Content, HostKind, Probe, Reply, Revert, Step};
use fleet_engine::resource::{At, Change, Error, Resource};

use super::common::{
    asked, check_path, is_another, keep, keep_step, local, normal_digest, path_of, regular, revert_of, sha256,
};
use crate::mode;

/// A file on a host.
///
/// Written beside its place and renamed, so that readers see the old or the new content and nothing between. The
/// directory must be there: a `host_directory` makes it. The content may be secret; it is read back and compared, and
/// kept nowhere else.
///
/// ```hcl
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
/// }
///
/// fleet "desk" {
///   pool     = pool.desk
///   hosts    = ["mini-a"]
///   hostname = host.key
///   connection "ssh" {}
///
///   resource "host_file" "sudoers" {
///     path     = "/etc/sudoers.d/admin"
///     content  = "admin ALL=(ALL) NOPASSWD: ALL\n"
///     mode     = "0440"
///     validate = "visudo -cf {}"
///     sudo     = true
///   }
/// }
/// ```
///
/// What is too large or no text is given by `source`, a file on the machine that runs fleet. It is sent only where the
/// digest differs:
///
/// ```hcl
/// pool "static" "desk" {
///   host "mini-a" { address = "10.0.0.11" }
/// }
///
/// fleet "desk" {
///   pool     = pool.desk
///   hosts    = ["mini-a"]
///   hostname = host.key
///   connection "ssh" {}
///
///   resource "host_file" "logo" {
///     path          = "/srv/logo.png"
///     source        = "logo.png"
///     source_sha256 = "ab211233b6576dbb0f8b5826447eeac61e2a833a99ac5d788fbc1a174c3c6ce5"
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct File {
    /// Where it lies: a whole path, without `.` and `..`.
    #[fleet(replace)]
    path: String,
    /// The whole content; either this or `source` is given. A file that is not UTF-8 text is observed as null.
    content: Option<String>,
    /// The file on the machine that runs fleet with the content.
    source: Option<String>,
    /// The SHA-256 of `source`: as it was published, or `filesha256` of its path.
    source_sha256: Option<String>,
    /// The permission bits, in octal.
    #[fleet(default = "0644")]
    mode: String,
    /// The name of the owner; it stays as it is if this is not given.
    #[fleet(optional_computed)]
    owner: Option<String>,
    /// The name of the group; it stays as it is if this is not given.
    #[fleet(optional_computed)]
    group: Option<String>,
    /// A command that must succeed before the new content is put in place; `{}` in it is where that lies by then.
    validate: Option<String>,
    /// Whether root looks at it and writes it.
    #[fleet(default = false)]
    sudo: bool,
}

impl Resource for File {
    const NAME: &'static str = "host_file";
    const ID: Option<&'static str> = Some("the path");

    fn normalize(&mut self) -> Result<(), Misfit> {
        check_path(&self.path)?;
        self.mode = mode::normal(&self.mode)?;
        self.source_sha256 = self.source_sha256.as_deref().map(normal_digest).transpose()?;
        match (&self.content, self.local()?) {
            (Some(_), Some(_)) => {
                return Err(Misfit::new("content", "either `content` or `source` is given, not both"));
            }
            (None, None) => return Err(Misfit::new("content", "either `content` or `source` is needed")),
            _ => {}
        }
        match &self.validate {
            Some(command) if !command.contains("{}") => {
                let message = "`{}` must stand where the command takes the file, such as \"visudo -cf {}\"";
                Err(Misfit::new("validate", message))
            }
            _ => Ok(()),
        }
    }
}

impl HostKind for File {
    fn probe(at: &At<File>) -> Result<Probe, Error> {
        let content = match asked(at) {
            Some(File { content: Some(content), .. }) => Content::Unless(sha256(content.as_bytes())),
            Some(File { source: Some(_), .. }) => Content::Digest,
            // Nothing is known of a content that is secret.
            _ => Content::Whole,
        };
        let probe = Probe::new().content(path_of(at, |file| &file.path), content);
        Ok(if asked(at).is_some_and(|file| file.sudo) { probe.as_root() } else { probe })
    }

    fn parse(at: &At<File>, reply: &Reply) -> Result<Option<File>, Error> {
        let path = path_of(at, |file| &file.path);
        let Some(found) = reply.path(0)?.filter(|_| !is_another(at, |a, b| a.path == b.path)) else {
            return Ok(None);
        };
        let file = regular(path, found)?;
        let asked = asked(at);
        let source = asked.and_then(|asked| asked.source.clone());
        let expected = asked.and_then(|asked| asked.content.as_ref());
        let is_expected = |content: &&String| file.digest == Some(sha256(content.as_bytes()));
        let content = match (&file.content, &source) {
            (_, Some(_)) => None,
            (Some(content), None) => String::from_utf8(content.clone()).ok(),
            (None, None) => expected.filter(is_expected).cloned(),
        };
        Ok(Some(File {
            path: path.to_owned(),
            content,
            source_sha256: source.as_ref().and_then(|_| file.digest.clone()),
            source,
            mode: mode::format(found.mode),
            owner: Some(found.owner.clone()),
            group: Some(found.group.clone()),
            validate: asked.and_then(|asked| asked.validate.clone()),
            sudo: asked.is_some_and(|asked| asked.sudo),
        }))
    }

    fn steps(self, change: Change<File>) -> Result<Vec<Step>, Error> {
        let keep = keep(&self.mode, &self.owner, &self.group);
        let step = match change {
            Change::Update { from } if self.has_content_of(&from) && self.is_kept_as(&from) => {
                return Ok(Vec::new());
            }
            Change::Update { from } if self.has_content_of(&from) => keep_step(self.path, keep),
            Change::Update { .. } | Change::Create => {
                let content = match self.local()? {
                    Some(local) => step::Content::Local(local),
                    None => step::Content::Bytes(Bytes(self.content.unwrap_or_default().into_bytes())),
                };
                Step::new(Act::Write { path: self.path, content, keep, validate: self.validate })
            }
        };
        Ok(vec![step.by_root(self.sudo)])
    }

    fn remove(observed: File) -> Result<Vec<Step>, Error> {
        Ok(vec![Step::new(Act::Remove { path: observed.path }).by_root(observed.sudo)])
    }

    fn cuts_access(&self, is_removed: bool) -> Option<Revert> {
        revert_of(&self.path, is_removed)
    }
}

impl File {
    fn local(&self) -> Result<Option<LocalFile>, Misfit> {
        local(self.source.as_ref(), self.source_sha256.as_ref())
    }

    fn has_content_of(&self, from: &File) -> bool {
        match &self.source_sha256 {
            Some(_) => self.source_sha256 == from.source_sha256,
            None => self.content.is_some() && self.content == from.content,
        }
    }

    fn is_kept_as(&self, from: &File) -> bool {
        let given = |wish: &Option<String>, is: &Option<String>| wish.is_none() || wish == is;
        self.mode == from.mode && given(&self.owner, &from.owner) && given(&self.group, &from.group)
    }
}

#[cfg(test)]
pub(super) fn sample(path: &str, content: &str) -> File {
    File {
        path: path.into(),
        content: Some(content.into()),
        source: None,
        source_sha256: None,
        mode: "0644".into(),
        owner: None,
        group: None,
        validate: None,
        sudo: false,
    }
}

#[cfg(test)]
mod tests {
    use fleet_engine::host::Read;

    use super::*;

    #[test]
    fn the_content_comes_from_one_place() {
        let check = |file: File, expected: Option<&str>| {
            let misfit = file.clone().normalize().err();
            assert_eq!(misfit.map(|misfit| misfit.attribute).as_deref(), expected, "{file:?}");
        };
        let (plain, digest) = (sample("/a", "x"), "0".repeat(64));
        let source = Some("b".to_owned());
        let from_source = File {
            content: None,
            source: source.clone(),
            source_sha256: Some(digest.clone()),
            ..plain.clone()
        };
        check(plain.clone(), None);
        check(from_source.clone(), None);
        check(File { content: None, ..plain.clone() }, Some("content"));
        check(File { content: Some("x".into()), ..from_source.clone() }, Some("content"));
        check(File { source, ..plain.clone() }, Some("source_sha256"));
        check(File { source_sha256: Some("x".into()), ..from_source }, Some("source_sha256"));
        check(File { validate: Some("true".into()), ..plain.clone() }, Some("validate"));
        check(File { path: "a".into(), ..plain }, Some("path"));
    }

    #[test]
    fn no_more_is_read_than_is_needed() {
        let check = |at: At<File>, expected: Content| {
            assert_eq!(File::probe(&at).unwrap().reads(), [Read::Path("/a".into(), expected)]);
        };
        let plain = sample("/a", "x");
        check(At::Declared(plain.clone()), Content::Unless(sha256(b"x")));
        check(At::Recorded(File { content: None, ..plain.clone() }), Content::Whole);
        check(
            At::Recorded(File { content: None, source: Some("b".into()), ..plain.clone() }),
            Content::Digest,
        );
        check(At::Id("/a".into()), Content::Whole);
        assert!(File::probe(&At::Recorded(File { sudo: true, ..plain })).unwrap().needs_root());
    }

    #[test]
    fn no_more_is_done_than_is_needed() {
        let plain = sample("/a", "x");
        let from = File { owner: Some("m1".into()), group: Some("staff".into()), ..plain.clone() };
        let acts = |wish: File| -> Vec<Act> {
            let steps = wish.steps(Change::Update { from: from.clone() }).unwrap();
            steps.into_iter().map(|step| step.act).collect()
        };
        assert_eq!(acts(File { validate: Some("test {}".into()), ..plain.clone() }), []);
        let kept = acts(File { mode: "0600".into(), ..plain.clone() });
        assert!(matches!(&kept[..], [Act::Keep { keep, .. }] if keep.mode == Some(0o600)), "{kept:?}");
        let kept = acts(File { owner: Some("root".into()), ..plain.clone() });
        assert!(matches!(&kept[..], [Act::Keep { keep, .. }] if keep.owner.as_deref() == Some("root")));
        assert!(matches!(&acts(File { content: Some("y".into()), ..plain })[..], [Act::Write { .. }]));
    }
}
