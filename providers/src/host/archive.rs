//! `host_archive`: a directory on a host that comes out of an archive.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::probe::What;
use fleet_engine::host::step::LocalFile;
use fleet_engine::host::{Act, HostKind, Probe, Read, Reply, Step};
use fleet_engine::resource::{At, Change, Error, Resource};

use super::common::{asked, check_path, in_the_way, is_another, normal_digest, path_of};

/// The longest names have fewer parts than this.
const DEEPEST: i64 = 1024;

/// A directory on a host that holds what an archive holds, and nothing else.
///
/// The archive is a tar file, which may be compressed by gzip. It is unpacked beside its place, which the new directory
/// takes in one step. The digest of all that came out of it is remembered: a file that is changed, added or lost below
/// the directory makes it be unpacked again.
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
///   resource "host_archive" "tart" {
///     path          = "/usr/local/lib/tart.app"
///     source        = "tart.tar.gz"
///     source_sha256 = "15eb11601ba0d4d78f787715b9c4787ba06f9e5539b5834f797a2b76ca5630f9"
///     strip         = 1
///     sudo          = true
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Archive {
    /// Where the directory lies: a whole path, without `.` and `..`.
    #[fleet(replace)]
    path: String,
    /// The archive on the machine that runs fleet.
    source: String,
    /// The SHA-256 of `source`: as it was published, or `filesha256` of its path. It is observed as null if the directory does not hold what came
    /// out of the archive.
    #[fleet(required)]
    source_sha256: Option<String>,
    /// How many leading parts of the names in the archive are left out.
    #[fleet(default = 0)]
    strip: i64,
    /// Whether root looks at it and unpacks it.
    #[fleet(default = false)]
    sudo: bool,
    /// The digest of everything below the directory.
    #[fleet(computed, follows = "source_sha256", follows = "strip")]
    tree: Option<String>,
}

impl Resource for Archive {
    const NAME: &'static str = "host_archive";

    fn normalize(&mut self) -> Result<(), Misfit> {
        check_path(&self.path)?;
        self.source_sha256 = self.source_sha256.as_deref().map(normal_digest).transpose()?;
        let fits = (0..=DEEPEST).contains(&self.strip);
        if fits { Ok(()) } else { Err(Misfit::new("strip", "a small number is needed that is not negative")) }
    }
}

impl HostKind for Archive {
    fn probe(at: &At<Archive>) -> Result<Probe, Error> {
        let path = path_of(at, |archive| &archive.path);
        let probe = Probe::new().path(path).and(Read::Tree(path.to_owned()));
        Ok(if asked(at).is_some_and(|archive| archive.sudo) { probe.as_root() } else { probe })
    }

    fn parse(at: &At<Archive>, reply: &Reply) -> Result<Option<Archive>, Error> {
        let Some(asked) = asked(at).filter(|_| !is_another(at, |a, b| a.path == b.path)) else {
            return Ok(None);
        };
        let Some(found) = reply.path(0)? else { return Ok(None) };
        if found.what != What::Directory {
            return Err(in_the_way(&asked.path, &found.what, "a directory"));
        }
        let tree = reply.tree(1)?.map(str::to_owned);
        // Right after it was unpacked nothing else can be there; later it is what it was then, or it is not it. What is
        // there before anything was unpacked can be anything.
        let is_it = match at {
            At::Recorded(Archive { tree: None, .. }) => true,
            At::Recorded(recorded) => recorded.tree == tree,
            At::Declared(_) | At::Begun { .. } | At::Id(_) => false,
        };
        let source_sha256 = asked.source_sha256.clone().filter(|_| is_it);
        Ok(Some(Archive { source_sha256, tree, ..asked.clone() }))
    }

    /// It is unpacked whatever changes: what is found right afterwards is taken for what came out of the archive.
    fn steps(self, _: Change<Archive>) -> Result<Vec<Step>, Error> {
        let digest = self.source_sha256.ok_or_else(|| Misfit::new("source_sha256", "a digest is needed"))?;
        let strip =
            u32::try_from(self.strip).map_err(|_| Misfit::new("strip", "a small number is needed"))?;
        let archive = LocalFile { path: self.source, digest };
        Ok(vec![Step::new(Act::Unpack { path: self.path, archive, strip }).by_root(self.sudo)])
    }

    fn remove(observed: Archive) -> Result<Vec<Step>, Error> {
        Ok(vec![Step::new(Act::RemoveTree { path: observed.path }).by_root(observed.sudo)])
    }
}

#[cfg(test)]
pub(super) fn sample(path: &str, source: &str, digest: &str) -> Archive {
    Archive {
        path: path.into(),
        source: source.into(),
        source_sha256: Some(digest.into()),
        strip: 0,
        sudo: false,
        tree: None,
    }
}

#[cfg(test)]
mod tests {
    use fleet_engine::host::Answer;
    use fleet_engine::host::probe::Found;

    use super::*;

    #[test]
    fn only_what_came_out_of_the_archive_is_taken_for_it() {
        let wish = sample("/a", "a.tgz", "d");
        let recorded = |tree: &str, digest: Option<&str>| {
            let (tree, source_sha256) = (Some(tree.to_owned()), digest.map(Into::into));
            At::Recorded(Archive { tree, source_sha256, ..wish.clone() })
        };
        let check = |at: At<Archive>, expected: Option<&str>| {
            let found = Found { what: What::Directory, mode: 0, owner: "a".into(), group: "b".into() };
            let reply = Reply(vec![Answer::Path(Some(found)), Answer::Tree(Some("t".into()))]);
            let seen = Archive::parse(&at, &reply).unwrap().unwrap();
            assert_eq!(
                (seen.source_sha256.as_deref(), seen.tree.as_deref()),
                (expected, Some("t")),
                "{at:?}"
            );
        };
        check(At::Recorded(wish.clone()), Some("d"));
        check(recorded("t", Some("d")), Some("d"));
        check(recorded("other", Some("d")), None);
        // A drift that was recorded is still one.
        check(recorded("t", None), None);
        check(At::Declared(wish.clone()), None);
        check(At::Begun { wish, except: Vec::new() }, None);
    }
}
