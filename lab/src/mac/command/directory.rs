//! Users and groups: `id`, `whoami`, `groups` and `dscl`.

use super::options::Options;
use super::{Call, Done, Failure, Outcome, gids, group_name, shown_id};
use crate::mac::disk::{ADMIN, GROUPS};

const ID_USAGE: &str = "usage: id [user]\n       id -A\n       id -F [user]\n       id -G [-n] [user]\n       \
                        id -M\n       id -P [user]\n       id -g [-nr] [user]\n       id -p [user]\n       \
                        id -u [-nr] [user]\n";

pub(super) fn whoami(call: &mut Call) -> Outcome {
    let user = call.user.clone();
    call.say(format!("{user}\n"))
}

pub(super) fn groups(call: &mut Call) -> Outcome {
    let names: Vec<String> = call.gids().into_iter().map(group_name).collect();
    call.say(format!("{}\n", names.join(" ")))
}

pub(super) fn id(call: &mut Call) -> Outcome {
    let options = Options::read(&call.words, "AFGMPgnpru")
        .map_err(|wrong| Failure { text: format!("id: {}\n{ID_USAGE}", wrong.text()), status: 1 })?;
    let (user, uid) = match options.operands.first() {
        None => (call.user.clone(), call.uid()),
        Some(wanted) => {
            let wanted = wanted.to_string_lossy();
            let is_it = |(name, uid): &(String, u32)| *name == wanted || shown_id(*uid) == wanted;
            let found = call.mac.users().into_iter().find(is_it);
            found.ok_or_else(|| call.failure(&format!("{wanted}: no such user")))?
        }
    };
    let gids = gids(&call.mac, &user);
    let shown = |id: u32, name: String| if options.has('n') { name } else { shown_id(id) };
    let text = if options.has('u') {
        shown(uid, user)
    } else if options.has('g') {
        shown(gids[0], group_name(gids[0]))
    } else if options.has('G') {
        gids.iter().map(|gid| shown(*gid, group_name(*gid))).collect::<Vec<_>>().join(" ")
    } else {
        let with_name = |gid: &u32| format!("{}({})", shown_id(*gid), group_name(*gid));
        let all: Vec<String> = gids.iter().map(with_name).collect();
        format!("uid={}({user}) gid={} groups={}", shown_id(uid), with_name(&gids[0]), all.join(","))
    };
    call.say(format!("{text}\n"))
}

/// Reading in the local directory of users and groups.
pub(super) fn dscl(call: &mut Call) -> Outcome {
    let words = call.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let not_found = || Failure { text: "<dscl_cmd> DS Error: -14136 (eDSRecordNotFound)".into(), status: 56 };
    let [node, verb, rest @ ..] = &words[..] else { return Err(dscl_usage()) };
    if !matches!(*node, "." | "localhost" | "/Local/Default") {
        return Err(Failure {
            text: format!("Cannot open remote host, error: DSOpenDirServiceErr {node}"),
            status: 1,
        });
    }
    match (verb.trim_start_matches('-'), rest) {
        ("list" | "ls", ["/Users", keys @ ..]) => {
            let mut lines = String::new();
            for (name, _) in call.mac.users() {
                let value = keys.first().and_then(|key| attribute(call, &name, key)).unwrap_or_default();
                lines.push_str(format!("{name:<24}{value}").trim_end());
                lines.push('\n');
            }
            call.say(lines)
        }
        ("list" | "ls", ["/Groups", ..]) => {
            let names: String = GROUPS.iter().flat_map(|(name, _)| [*name, "\n"]).collect();
            call.say(names)
        }
        ("read" | "cat", [path, keys @ ..]) => {
            let record = path.strip_prefix("/Users/").or_else(|| path.strip_prefix("/Groups/"));
            let record = record.ok_or_else(not_found)?.to_owned();
            let is_user = path.starts_with("/Users/");
            let is_there = if is_user {
                call.mac.users().iter().any(|(name, _)| *name == record)
            } else {
                GROUPS.iter().any(|(name, _)| *name == record)
            };
            if !is_there {
                return Err(not_found());
            }
            let all = ["NFSHomeDirectory", "PrimaryGroupID", "RecordName", "UniqueID", "UserShell"];
            let keys = if keys.is_empty() { &all[..] } else { keys };
            let mut lines = String::new();
            for key in keys {
                let value =
                    if is_user { attribute(call, &record, key) } else { group_attribute(call, &record, key) };
                match value {
                    Some(value) => lines.push_str(&format!("{key}: {value}\n")),
                    None => lines.push_str(&format!("No such key: {key}\n")),
                }
            }
            call.say(lines)
        }
        _ => Err(dscl_usage()),
    }
}

fn dscl_usage() -> Failure {
    Failure { text: "dscl (v20.4)\nusage: dscl [options] [<datasource> [<command>]]".into(), status: 64 }
}

fn attribute(call: &Call, user: &str, key: &str) -> Option<String> {
    let uid = call.mac.users().into_iter().find(|(name, _)| name == user)?.1;
    let is_person = call.mac.is_administrator(user);
    let home = match user {
        "root" => "/var/root".into(),
        _ if is_person => format!("/Users/{user}"),
        _ => "/var/empty".into(),
    };
    match key {
        "NFSHomeDirectory" => Some(home),
        "PrimaryGroupID" => Some(shown_id(gids(&call.mac, user)[0])),
        "RecordName" => Some(user.to_owned()),
        "UniqueID" => Some(shown_id(uid)),
        "UserShell" => Some(if is_person { "/bin/zsh" } else { "/usr/bin/false" }.to_owned()),
        _ => None,
    }
}

fn group_attribute(call: &Call, group: &str, key: &str) -> Option<String> {
    let (_, gid) = GROUPS.iter().find(|(name, _)| *name == group)?;
    match key {
        "PrimaryGroupID" => Some(shown_id(*gid)),
        "RecordName" => Some(group.to_owned()),
        "GroupMembership" if *gid == ADMIN => {
            let user = call.mac.installation().map(|installation| installation.user);
            Some(format!("root {}", user.unwrap_or_default()))
        }
        _ => None,
    }
}

/// What a user of the Mac is called who has this name or number.
pub(super) fn find_user(call: &Call, wanted: &str) -> Option<u32> {
    let known = call.mac.users().into_iter().find(|(name, _)| name == wanted).map(|(_, uid)| uid);
    known.or_else(|| wanted.parse().ok())
}

/// The same for a group.
pub(super) fn find_group(wanted: &str) -> Option<u32> {
    let known = GROUPS.iter().find(|(name, _)| *name == wanted).map(|(_, gid)| *gid);
    known.or_else(|| wanted.parse().ok())
}

/// The end of a command that did nothing wrong so far.
pub(super) fn ended(status: u8) -> Outcome {
    Ok(Done::Exit(status))
}
