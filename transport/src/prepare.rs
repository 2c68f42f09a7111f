//! What steps need before they can be done: contents that are too long for a script, and files that they edit.

use std::collections::BTreeMap;
use std::sync::Arc;

use fleet_engine::host::probe::{Answer, Content as Wanted, What};
use fleet_engine::host::step::{Content, LocalFile};
use fleet_engine::host::{Act, Probe, Reply, Step};
use fleet_engine::resource::Error;

use crate::batch::{Asked, Doing, Segment, ask_along, job};
use crate::failure::{cut, not_held};
use crate::script::frame::escaped_size;
use crate::script::work::{Outcome, Staged, With};
use crate::session::{Round, Session, Sided};
use crate::sudo::Who;
use crate::upload::{Source, digest};

/// What is longer takes a channel of its own.
const INLINE: usize = 64 << 10;

/// Whether something takes a channel of its own.
pub(crate) fn is_long(bytes: &[u8]) -> bool {
    bytes.len() > INLINE || escaped_size(bytes) > INLINE
}

/// Brings to the host what is too long for a script.
pub(crate) async fn bring(session: &mut Session, doing: &mut Doing) {
    for at in 0..doing.work.steps.len() {
        if !doing.is_open() {
            return;
        }
        let brought = match &doing.work.steps[at].act {
            Act::Write { content: Content::Bytes(bytes), .. } if is_long(&bytes.0) => {
                let bytes: Arc<[u8]> = bytes.0.as_slice().into();
                stage(session, bytes).await
            }
            Act::Write { content: Content::Local(file), .. } | Act::Unpack { archive: file, .. } => {
                local(session, &file.clone()).await
            }
            _ => continue,
        };
        match brought {
            Ok(staged) => {
                doing.staged.insert(at, staged);
            }
            Err(error) => {
                session.litter.extend(std::mem::take(&mut doing.staged).into_values().map(|it| it.path));
                // Whose the host is matters more than why it takes no upload.
                let error =
                    if error.transient { error } else { check_hold(session, doing).await.unwrap_or(error) };
                doing.finish(Err(error));
            }
        }
    }
}

async fn stage(session: &mut Session, bytes: Arc<[u8]>) -> Result<Staged, Error> {
    let digest = digest(&bytes);
    let path = session.upload(Source::Bytes(bytes)).await?;
    Ok(Staged { path, digest, is_gzip: false })
}

async fn local(session: &mut Session, file: &LocalFile) -> Result<Staged, Error> {
    let shared = session.shared.clone();
    let source = shared.directory.join(&file.path).to_string_lossy().into_owned();
    let known = shared.digests.check(&source, &file.digest).await?;
    let path = session.upload(Source::File(source)).await?;
    Ok(Staged { path, digest: file.digest.clone(), is_gzip: known.is_gzip })
}

/// Why the host is not ours, if it is not.
async fn check_hold(session: &mut Session, doing: &Doing) -> Option<Error> {
    let segment = Segment { doing: 0, root: false, end: doing.next, reads_back: false };
    let mut job = job(session, doing, &segment, &BTreeMap::new());
    (job.list, job.forget) = (None, None);
    let round = Round { jobs: vec![Sided { root: false, it: job }], ..Round::default() };
    match session.round(&round).await.outcomes.pop()? {
        Ok(Outcome::NotHeld(whose, body)) => {
            Some(not_held(whose, &session.reach.slot, &session.reach.ledger, &body))
        }
        _ => None,
    }
}

/// Reads the files that the next steps edit, unless they were just read, and edits them. Several edits of one file follow
/// on each other.
pub(crate) async fn read_edits(
    session: &mut Session,
    works: &mut [Doing],
    segments: &[Segment],
    asks: &mut Vec<Asked>,
) -> BTreeMap<(usize, usize), With> {
    let mut edited = BTreeMap::new();
    let mut wanted: BTreeMap<(String, bool), Option<Vec<u8>>> = BTreeMap::new();
    let aside = session.has_root_aside();
    let edits = |works: &[Doing], segment: &Segment| -> Vec<(usize, String, bool)> {
        let doing = &works[segment.doing];
        let steps = doing.work.steps.iter().enumerate().take(segment.end).skip(doing.next);
        let edit = |(at, step): (usize, &Step)| match &step.act {
            Act::Edit { path, .. } => Some((at, path.clone(), step.root && aside)),
            _ => None,
        };
        steps.filter_map(edit).collect()
    };
    for (_, path, root) in segments.iter().flat_map(|segment| edits(works, segment)) {
        wanted.insert((path, root), None);
    }
    if wanted.is_empty() {
        return edited;
    }
    // What somebody has just looked at is believed: the step itself sees whether that is still there.
    let mut unknown: Vec<(String, bool)> = Vec::new();
    for (key, content) in &mut wanted {
        match session.contents.remove(key) {
            Some(known) => *content = known,
            None => unknown.push(key.clone()),
        }
    }
    let mut failed: BTreeMap<(String, bool), Error> = BTreeMap::new();
    if !unknown.is_empty() {
        let probe = |(path, root): &(String, bool)| {
            let probe = Probe::new().content(&**path, Wanted::Whole);
            (if *root { probe.as_root() } else { probe }, Who::Worker)
        };
        let mut round = Round { probes: unknown.iter().map(probe).collect(), ..Round::default() };
        let (_, replies) = ask_along(session, &mut round, std::mem::take(asks)).await;
        for (key, reply) in unknown.into_iter().zip(replies) {
            session.contents.remove(&key);
            match reply.and_then(|reply| regular(&key.0, reply)) {
                Ok(found) => {
                    wanted.insert(key, found);
                }
                Err(error) => {
                    failed.insert(key, error);
                }
            }
        }
    }
    let mut together: BTreeMap<(String, bool), Together> = BTreeMap::new();
    for segment in segments {
        for (at, path, root) in edits(works, segment) {
            let key = (path, root);
            let doing = &mut works[segment.doing];
            let Act::Edit { path, edit } = &doing.work.steps[at].act else { continue };
            let before = wanted.get(&key).cloned().flatten();
            let after = match failed.get(&key) {
                Some(error) => Err(error.clone()),
                None => edit
                    .apply(before.as_deref().unwrap_or_default())
                    .map_err(|misfit| Error::permanent(format!("`{path}` cannot be edited: {misfit}"))),
            };
            let after = match after {
                Ok(after) => after,
                Err(error) => {
                    doing.finish(Err(error));
                    break;
                }
            };
            if after == before.as_deref().unwrap_or_default() {
                let with = With::Edited { before: before.as_deref().map(digest), after: None };
                edited.insert((segment.doing, at), with);
                continue;
            }
            let all = together.entry(key.clone()).or_insert_with(|| Together::new(before.as_deref()));
            all.edits.push((segment.doing, at));
            all.after.clone_from(&after);
            wanted.insert(key.clone(), Some(after));
            // What follows in the same work may need the file as it will be.
            if at + 1 < segment.end
                && let Some(all) = together.remove(&key)
            {
                all.settle(session, works, &mut edited).await;
            }
        }
    }
    for all in together.into_values() {
        all.settle(session, works, &mut edited).await;
    }
    edited
}

/// Edits of one file that follow on each other: the last one writes it for all.
struct Together {
    /// The digest of what was there before the first.
    before: Option<String>,
    after: Vec<u8>,
    /// The works, and which step of each.
    edits: Vec<(usize, usize)>,
}

impl Together {
    fn new(before: Option<&[u8]>) -> Together {
        Together { before: before.map(digest), after: Vec::new(), edits: Vec::new() }
    }

    async fn settle(
        self,
        session: &mut Session,
        works: &mut [Doing],
        edited: &mut BTreeMap<(usize, usize), With>,
    ) {
        let Together { before, after, edits } = self;
        let Some((&(writer, at), along)) = edits.split_last() else { return };
        let after = if is_long(&after) {
            match stage(session, after.into()).await {
                Ok(staged) => {
                    let before = works[writer].staged.insert(at, staged.clone());
                    session.litter.extend(before.map(|before| before.path));
                    With::Staged(staged)
                }
                Err(error) => {
                    edits.iter().for_each(|(doing, _)| works[*doing].finish(Err(error.clone())));
                    return;
                }
            }
        } else {
            With::Sent(after)
        };
        edited.insert((writer, at), With::Edited { before, after: Some(Box::new(after)) });
        edited.extend(along.iter().map(|edit| (*edit, With::Along { writer, at })));
    }
}

/// What stands in a file that can be edited; none if nothing is there.
fn regular(path: &str, reply: Reply) -> Result<Option<Vec<u8>>, Error> {
    match reply.0.into_iter().next() {
        Some(Answer::Path(None)) => Ok(None),
        Some(Answer::Path(Some(found))) => match found.what {
            What::File(file) => Ok(Some(file.content.unwrap_or_default())),
            What::Link(_) => Err(Error::permanent(format!("`{path}` is a link, and cannot be edited"))
                .help("name the file that it leads to")),
            _ => Err(Error::permanent(format!("`{path}` is no file, and cannot be edited"))),
        },
        _ => Err(cut("")),
    }
}
