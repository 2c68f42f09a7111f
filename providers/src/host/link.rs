//! `host_link`: a symbolic link on a host.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::probe::What;
use fleet_engine::host::{Act, HostKind, Probe, Reply, Step};
use fleet_engine::resource::{At, Change, Error, Resource};

use super::common::{asked, check_path, in_the_way, is_another, path_of};

/// A symbolic link on a host.
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
///   resource "host_link" "current" {
///     path   = "/opt/agent/current"
///     target = "releases/2.1.0"
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Link {
    /// Where it lies: a whole path, without `.` and `..`.
    #[fleet(replace)]
    path: String,
    /// Where it leads; relative to the directory that it lies in, unless it starts with `/`. Nothing has to be there. A
    /// target that is not UTF-8 text is observed as null.
    #[fleet(required)]
    target: Option<String>,
    /// Whether root looks at it and makes it.
    #[fleet(default = false)]
    sudo: bool,
}

impl Resource for Link {
    const NAME: &'static str = "host_link";
    const ID: Option<&'static str> = Some("the path");

    fn normalize(&mut self) -> Result<(), Misfit> {
        check_path(&self.path)?;
        match self.target.as_deref() {
            Some(target) if target.is_empty() || target.contains('\0') => {
                Err(Misfit::new("target", "a path is needed"))
            }
            _ => Ok(()),
        }
    }
}

impl HostKind for Link {
    fn probe(at: &At<Link>) -> Result<Probe, Error> {
        let probe = Probe::new().path(path_of(at, |link| &link.path));
        Ok(if asked(at).is_some_and(|link| link.sudo) { probe.as_root() } else { probe })
    }

    fn parse(at: &At<Link>, reply: &Reply) -> Result<Option<Link>, Error> {
        let path = path_of(at, |link| &link.path);
        let Some(found) = reply.path(0)?.filter(|_| !is_another(at, |a, b| a.path == b.path)) else {
            return Ok(None);
        };
        let What::Link(target) = &found.what else { return Err(in_the_way(path, &found.what, "a link")) };
        let target = String::from_utf8(target.clone()).ok();
        Ok(Some(Link { path: path.to_owned(), target, sudo: asked(at).is_some_and(|asked| asked.sudo) }))
    }

    fn steps(self, change: Change<Link>) -> Result<Vec<Step>, Error> {
        if matches!(&change, Change::Update { from } if from.target == self.target) {
            return Ok(Vec::new());
        }
        let target = self.target.ok_or_else(|| Misfit::new("target", "a path is needed"))?;
        Ok(vec![Step::new(Act::Link { path: self.path, target }).by_root(self.sudo)])
    }

    fn remove(observed: Link) -> Result<Vec<Step>, Error> {
        Ok(vec![Step::new(Act::Remove { path: observed.path }).by_root(observed.sudo)])
    }
}

#[cfg(test)]
pub(super) fn sample(path: &str, target: &str) -> Link {
    Link { path: path.into(), target: Some(target.into()), sudo: false }
}
