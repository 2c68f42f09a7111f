//! `host_block`: a block in somebody else's file.

use fleet_derive::Schema;
use fleet_engine::attributes::Misfit;
use fleet_engine::host::edit::{Pattern, blocks, lines, outside};
use fleet_engine::host::{Act, Content, Edit, HostKind, Probe, Reply, Revert, Step};
use fleet_engine::resource::{At, Change, Error, Resource};

use super::common::{check_path, is_another, named, revert_of, shared};

/// A block of lines in a file that others write, too.
///
/// It stands between two marker lines, `# BEGIN managed NAME` and `# END managed NAME`, and there is exactly one of
/// them. Everything else in the file survives byte for byte, several blocks in one file included. A file that is not
/// there is made, and stays when the block goes; mode and owner of one that is there stay.
///
/// `supersedes` takes away older forms of the same thing that have no markers: whole lines outside of the block that
/// match one of its regular expressions go, and stay away.
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
///   resource "host_block" "registry" {
///     path       = "/etc/hosts"
///     name       = "registry"
///     content    = "10.0.0.5 registry\n"
///     supersedes = ["\\S+\\s+registry"]
///     sudo       = true
///   }
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Schema)]
pub(super) struct Block {
    /// Where the file lies: a whole path, without `.` and `..`.
    #[fleet(replace)]
    path: String,
    /// The name of the block, for its marker lines.
    #[fleet(replace)]
    name: String,
    /// What a comment starts with in this file, for the marker lines.
    #[fleet(replace, default = "#")]
    comment: String,
    /// The lines of the block; a newline at the end may be left out. A block that is not UTF-8 text, or that is there
    /// more than once, is observed as null.
    #[fleet(required)]
    content: Option<String>,
    /// Regular expressions for whole lines that the block takes the place of. Of these, those are observed that no line
    /// matches.
    #[fleet(default = Vec::new())]
    supersedes: Vec<String>,
    /// Whether root looks at it and writes it.
    #[fleet(default = false)]
    sudo: bool,
}

impl Resource for Block {
    const NAME: &'static str = "host_block";

    fn normalize(&mut self) -> Result<(), Misfit> {
        check_path(&self.path)?;
        let name = self.name.trim() == self.name && !self.name.is_empty() && is_one_line(&self.name);
        if !name {
            return Err(Misfit::new("name", "a name of one line is needed, without space around it"));
        }
        if !is_one_line(&self.comment) {
            return Err(Misfit::new("comment", "what starts a comment must stand in one line"));
        }
        if let Err(misfit) = Pattern::all(&self.supersedes) {
            return Err(Misfit { attribute: "supersedes".into(), ..misfit });
        }
        let (begin, end) = self.markers();
        if let Some(content) = &mut self.content {
            if !content.is_empty() && !content.ends_with('\n') {
                content.push('\n');
            }
            if lines(content.as_bytes()).any(|line| line == begin.as_bytes() || line == end.as_bytes()) {
                return Err(Misfit::new("content", "it holds a marker line of this very block"));
            }
        }
        Ok(())
    }
}

impl HostKind for Block {
    fn probe(at: &At<Block>) -> Result<Probe, Error> {
        let block = named(at)?;
        let probe = Probe::new().content(&block.path, Content::Whole);
        Ok(if block.sudo { probe.as_root() } else { probe })
    }

    fn parse(at: &At<Block>, reply: &Reply) -> Result<Option<Block>, Error> {
        let asked = named(at)?;
        if is_another(at, |a, b| a.path == b.path && a.markers() == b.markers()) {
            return Ok(None);
        }
        let file = shared(&asked.path, reply.path(0)?)?;
        let (begin, end) = asked.markers();
        let unclear = |misfit: Misfit| {
            let error = Error::permanent(format!("`{}` cannot be understood: {misfit}", asked.path));
            error.help(format!("put the line `{end}` where the block ends, or remove the line `{begin}`"))
        };
        let found = blocks(file, &begin, &end).map_err(unclear)?;
        let content = match found[..] {
            [] => return Ok(None),
            [one] => String::from_utf8(one.to_vec()).ok(),
            _ => None,
        };
        let rest = outside(file, &begin, &end).map_err(unclear)?;
        let mut supersedes = Vec::new();
        for text in &asked.supersedes {
            let pattern = Pattern::new(text)?;
            if !rest.iter().any(|line| pattern.is_match(line)) {
                supersedes.push(text.clone());
            }
        }
        Ok(Some(Block { content, supersedes, ..asked.clone() }))
    }

    fn steps(self, change: Change<Block>) -> Result<Vec<Step>, Error> {
        if let Change::Update { from } = &change
            && (&from.content, &from.supersedes) == (&self.content, &self.supersedes)
        {
            return Ok(Vec::new());
        }
        let text = self.content.clone().unwrap_or_default();
        let edit = self.edit(Some(text), self.supersedes.clone());
        Ok(vec![Step::new(Act::Edit { path: self.path, edit }).by_root(self.sudo)])
    }

    fn remove(observed: Block) -> Result<Vec<Step>, Error> {
        let edit = observed.edit(None, Vec::new());
        Ok(vec![Step::new(Act::Edit { path: observed.path, edit }).by_root(observed.sudo)])
    }

    fn cuts_access(&self, is_removed: bool) -> Option<Revert> {
        revert_of(&self.path, is_removed)
    }
}

impl Block {
    /// The lines before and after it.
    fn markers(&self) -> (String, String) {
        let Block { comment, name, .. } = self;
        let space = if comment.is_empty() { "" } else { " " };
        (format!("{comment}{space}BEGIN managed {name}"), format!("{comment}{space}END managed {name}"))
    }

    fn edit(&self, text: Option<String>, supersedes: Vec<String>) -> Edit {
        let (begin, end) = self.markers();
        Edit::Block { begin, end, text, supersedes }
    }
}

fn is_one_line(text: &str) -> bool {
    !text.contains(['\n', '\r', '\0'])
}

#[cfg(test)]
pub(super) fn sample(path: &str, name: &str, content: &str, supersedes: &[&str]) -> Block {
    Block {
        path: path.into(),
        name: name.into(),
        comment: "#".into(),
        content: Some(content.into()),
        supersedes: supersedes.iter().map(ToString::to_string).collect(),
        sudo: false,
    }
}

#[cfg(test)]
mod tests {
    use fleet_engine::host::Answer;
    use fleet_engine::host::probe::{File, Found, What};

    use super::*;

    fn see(block: &Block, file: &str) -> Result<Option<Block>, Error> {
        let content = Some(file.as_bytes().to_vec());
        let what = What::File(File { size: 0, digest: None, content });
        let found = Found { what, mode: 0o644, owner: "a".into(), group: "b".into() };
        Block::parse(&At::Recorded(block.clone()), &Reply(vec![Answer::Path(Some(found))]))
    }

    #[test]
    fn a_block_is_one_block_with_a_name_of_one_line() {
        let check = |block: Block, expected: Option<&str>| {
            let misfit = block.clone().normalize().err();
            assert_eq!(misfit.map(|misfit| misfit.attribute).as_deref(), expected, "{block:?}");
        };
        let good = sample("/a", "x", "y", &["a.*"]);
        check(good.clone(), None);
        check(Block { name: "x\ny".into(), ..good.clone() }, Some("name"));
        check(Block { name: String::new(), ..good.clone() }, Some("name"));
        check(Block { comment: "\n".into(), ..good.clone() }, Some("comment"));
        check(Block { supersedes: vec!["(".into()], ..good.clone() }, Some("supersedes"));
        check(Block { content: Some("# END managed x".into()), ..good.clone() }, Some("content"));
        let mut normal = good;
        normal.normalize().unwrap();
        assert_eq!(normal.content.as_deref(), Some("y\n"));
    }

    #[test]
    fn what_is_seen_of_a_block_is_all_that_can_differ() {
        let block = sample("/a", "x", "y\n", &["old", "older"]);
        let one = "# BEGIN managed x\ny\n# END managed x\n";
        assert_eq!(see(&block, "").unwrap(), None);
        assert_eq!(see(&block, "# BEGIN managed xy\n# END managed xy\n").unwrap(), None);
        assert_eq!(see(&block, one).unwrap(), Some(block.clone()));
        let superseded = see(&block, &format!("old\n{one}")).unwrap().unwrap();
        assert_eq!(superseded, Block { supersedes: vec!["older".into()], ..block.clone() });
        let twice = see(&block, &one.repeat(2)).unwrap().unwrap();
        assert_eq!(twice, Block { content: None, ..block.clone() });
        let open = see(&block, "# BEGIN managed x\ny\n").unwrap_err();
        assert!(open.to_string().contains("line 1") && open.help.is_some(), "{open}");
    }

    #[test]
    fn the_comment_is_the_file_s_own() {
        let markers =
            |comment: &str| Block { comment: comment.into(), ..sample("/a", "x", "", &[]) }.markers().0;
        assert_eq!(markers("//"), "// BEGIN managed x");
        assert_eq!(markers(""), "BEGIN managed x");
    }
}
