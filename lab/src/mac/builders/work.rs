//! What a Mac does for others: jobs of its runners and Pods of its Node. Each is a process there, as long as it lasts.
//!
//! Nobody tells the Mac: who looks at its processes has it look at GitHub's books and at the cluster first.

use std::sync::Weak;

use super::kubelet::{PROGRAM, agent};
use crate::mac::Mac;
use crate::mac::launchd::Process;
use crate::runners::{Agents, Runner};

/// Where an agent of a Node finds Tart.
const TART: &str = "/usr/local/bin/tart";

/// How the work of a Node is told from that of runners.
const POD: &str = "pod ";

/// Something that is done for somebody.
struct Work {
    what: String,
    user: String,
    arguments: Vec<String>,
}

/// The processes that work for others, as they are now.
pub(in crate::mac) fn processes(mac: &Mac) -> Vec<Process> {
    let pods = pods(mac);
    let knows_pods = pods.is_some();
    let wanted: Vec<Work> = jobs(mac).into_iter().chain(pods.into_iter().flatten()).collect();
    let now = mac.clock().time();
    let mut live = mac.live();
    let Some(live) = &mut *live else { return Vec::new() };
    // A VM goes on while its agent is away.
    let stays =
        |what: &String| wanted.iter().any(|work| work.what == *what) || what.starts_with(POD) && !knows_pods;
    live.work.retain(|what, _| stays(what));
    for Work { what, user, arguments } in wanted {
        if !live.work.contains_key(&what) {
            let program = arguments[0].clone();
            let process = Process::new(live.launchd.new_pid(), &user, &program, arguments, now);
            live.work.insert(what, process);
        }
    }
    live.work.values().cloned().collect()
}

/// The jobs that run here: those of runners that GitHub calls busy, and whose agent is there.
fn jobs(mac: &Mac) -> Vec<Work> {
    let busy = mac.tools.runners.busy_at(mac.id()).into_iter();
    let busy = busy.filter(|runner| mac.tools.is_listening(mac.id(), &runner.place.1, &runner.client));
    let job = |runner: Runner| {
        let directory = &runner.place.1;
        let user = user_of(mac, |program| program == format!("{directory}/runsvc.sh"))?;
        let words = [&format!("{directory}/bin/Runner.Worker"), "spawnclient", "110", "113"];
        let arguments = words.map(str::to_owned).to_vec();
        Some(Work { what: format!("job {}", runner.id), user, arguments })
    };
    busy.filter_map(job).collect()
}

/// The VMs of the Pods that are on the Node of this Mac; none if no agent is there to know them.
fn pods(mac: &Mac) -> Option<Vec<Work>> {
    let node = agent(mac)?.node;
    let user = user_of(mac, |program| program.ends_with(PROGRAM))?;
    let clusters = mac.tools.clusters().clone();
    let names = clusters.iter().filter_map(Weak::upgrade).flat_map(|pods| pods.on(&node));
    let vm = |name: String| {
        let arguments = [TART, "run", "--no-graphics", &name].map(str::to_owned).to_vec();
        Work { what: format!("{POD}{name}"), user: user.clone(), arguments }
    };
    Some(names.map(vm).collect())
}

/// Whose process of launchd this is.
fn user_of(mac: &Mac, is_it: impl Fn(&str) -> bool) -> Option<String> {
    let live = mac.live();
    let mut all = live.as_ref()?.launchd.processes();
    all.find(|(_, process)| is_it(&process.program)).map(|(_, process)| process.user.clone())
}
