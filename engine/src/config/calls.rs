//! Modules that call each other in a circle would never end: the calls that close a circle are reported and cut.

use std::collections::HashSet;

use fleet_syntax::{Diagnostic, Diagnostics, Span};

use super::model::{Call, Config, Module, ModuleId};

/// Cuts every call that leads back to a module it was reached from.
pub(super) fn break_loops(config: &mut Config, diagnostics: &mut Diagnostics) {
    let edges: Vec<Vec<Edge>> = config.modules.iter().map(edges).collect();
    let mut states = vec![State::New; config.modules.len()];
    let mut closing: HashSet<Span> = HashSet::new();
    // The root is the first, and every other module is reached from it.
    let mut path = vec![Visit { module: Config::ROOT, followed: 0 }];
    states[0] = State::Open;
    while let Some(visit) = path.last_mut() {
        let Some(edge) = edges[visit.module.0 as usize].get(visit.followed) else {
            states[visit.module.0 as usize] = State::Done;
            path.pop();
            continue;
        };
        visit.followed += 1;
        let state = &mut states[edge.callee.0 as usize];
        match state {
            State::Done => {}
            State::New => {
                *state = State::Open;
                path.push(Visit { module: edge.callee, followed: 0 });
            }
            State::Open => {
                let taken = path.iter().skip_while(|visit| visit.module != edge.callee);
                let taken: Vec<&Edge> =
                    taken.map(|visit| &edges[visit.module.0 as usize][visit.followed - 1]).collect();
                diagnostics.push(describe(config, edge, &taken));
                closing.insert(edge.call);
            }
        }
    }
    if closing.is_empty() {
        return;
    }
    for module in &mut config.modules {
        for call in module.all_calls_mut().filter(|call| closing.contains(&call.header)) {
            call.module = None;
        }
    }
}

/// One call.
struct Edge {
    callee: ModuleId,
    call: Span,
}

#[derive(Clone, Copy)]
enum State {
    New,
    Open,
    Done,
}

/// A module on the way, and how many of its calls have been followed.
struct Visit {
    module: ModuleId,
    followed: usize,
}

fn edges(module: &Module) -> Vec<Edge> {
    let edge = |call: &Call| Some(Edge { callee: call.module?, call: call.header });
    module.all_calls().filter_map(edge).collect()
}

/// `closing` is the last of the calls `taken` around the circle.
fn describe(config: &Config, closing: &Edge, taken: &[&Edge]) -> Diagnostic {
    let dir = |id: ModuleId| config.module(id).dir.display();
    let way = taken.iter().map(|edge| format!("`{}`", dir(edge.callee))).collect::<Vec<_>>().join(" → ");
    let detail = format!("The calls lead in a circle: `{}` → {way}.", dir(closing.callee));
    let error = Diagnostic::error(closing.call, "module calls itself", detail)
        .help("remove one of these calls, or move what both modules need into a third one");
    let (_, others) = taken.split_last().unwrap_or((&closing, &[]));
    others.iter().fold(error, |error, edge| error.related(edge.call, format!("calls `{}`", dir(edge.callee))))
}
