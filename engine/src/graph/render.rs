//! The graph as text: for Graphviz, for Mermaid and for programs.

use std::collections::HashSet;
use std::fmt::Write;

use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::{Graph, Vertex};
use crate::expand::Expansion;

/// How a graph is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Graphviz.
    Dot,
    /// Mermaid flowchart.
    Mermaid,
    /// JSON with `nodes` and `edges`.
    Json,
}

/// Writes the instances of a graph and how they depend on each other.
#[must_use]
pub fn render(graph: &Graph, expansion: &Expansion<'_>, format: Format) -> String {
    let (kept, used) = contract(graph, expansion);
    let mut nodes: Vec<(String, NodeIndex)> =
        kept.into_iter().map(|index| (graph.edges[index].label(expansion), index)).collect();
    nodes.sort();
    let mut number = vec![0; used.len()];
    for (at, (_, index)) in nodes.iter().enumerate() {
        number[index.index()] = at;
    }
    let mut edges: Vec<(usize, usize)> = Vec::new();
    for (at, (_, index)) in nodes.iter().enumerate() {
        edges.extend(used[index.index()].iter().map(|to| (at, number[to.index()])));
    }
    edges.sort_unstable();
    let kinds: Vec<&str> = nodes.iter().map(|(_, index)| kind(&graph.edges[*index])).collect();
    let labels: Vec<&str> = nodes.iter().map(|(label, _)| &**label).collect();
    match format {
        Format::Dot => dot(&labels, &kinds, &edges),
        Format::Mermaid => mermaid(&labels, &kinds, &edges),
        Format::Json => json(&labels, &kinds, &edges),
    }
}

fn kind(vertex: &Vertex) -> &'static str {
    match vertex {
        Vertex::Instance(_) => "instance",
        Vertex::Whole(..) | Vertex::Collected(_) => "group",
    }
}

/// Takes out everything but instances, joining what it stood between, except where that would make more edges than it
/// takes away. What is left, and for each vertex what it uses.
fn contract(graph: &Graph, expansion: &Expansion<'_>) -> (Vec<NodeIndex>, Vec<HashSet<NodeIndex>>) {
    // Sets, because an edge of a vertex with very many must be found and taken out in no time.
    let mut users = vec![HashSet::new(); graph.edges.node_count()];
    let mut used = users.clone();
    for edge in graph.edges.edge_references() {
        used[edge.source().index()].insert(edge.target());
        users[edge.target().index()].insert(edge.source());
    }
    let mut kept = Vec::with_capacity(graph.instances.len());
    for index in graph.edges.node_indices() {
        let at = index.index();
        let is_between = !graph.edges[index].is_resource(expansion);
        if !is_between || (users[at].len() > 1 && used[at].len() > 1) {
            kept.push(index);
            continue;
        }
        let (above, below) = (std::mem::take(&mut users[at]), std::mem::take(&mut used[at]));
        for from in &above {
            used[from.index()].remove(&index);
            used[from.index()].extend(&below);
        }
        for to in &below {
            users[to.index()].remove(&index);
            users[to.index()].extend(&above);
        }
    }
    (kept, used)
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn dot(labels: &[&str], kinds: &[&str], edges: &[(usize, usize)]) -> String {
    let mut text = String::from("digraph {\n  rankdir = \"RL\"\n  node [shape = box]\n");
    for (label, kind) in labels.iter().zip(kinds) {
        let style = if *kind == "instance" { "" } else { " [style = dashed]" };
        let _ = writeln!(text, "  {}{style}", quoted(label));
    }
    for (from, to) in edges {
        let _ = writeln!(text, "  {} -> {}", quoted(labels[*from]), quoted(labels[*to]));
    }
    text.push_str("}\n");
    text
}

fn mermaid(labels: &[&str], kinds: &[&str], edges: &[(usize, usize)]) -> String {
    let mut text = String::from("flowchart RL\n");
    for (at, (label, kind)) in labels.iter().zip(kinds).enumerate() {
        let label = label.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
        let (open, close) = if *kind == "instance" { ("[", "]") } else { ("([", "])") };
        let _ = writeln!(text, "  n{at}{open}\"{label}\"{close}");
    }
    for (from, to) in edges {
        let _ = writeln!(text, "  n{from} --> n{to}");
    }
    text
}

fn json(labels: &[&str], kinds: &[&str], edges: &[(usize, usize)]) -> String {
    let nodes: Vec<_> = labels
        .iter()
        .zip(kinds)
        .map(|(label, kind)| serde_json::json!({ "address": label, "kind": kind }))
        .collect();
    let edges: Vec<_> = edges
        .iter()
        .map(|(from, to)| serde_json::json!({ "from": labels[*from], "to": labels[*to] }))
        .collect();
    let graph = serde_json::json!({ "format_version": "1.0", "nodes": nodes, "edges": edges });
    format!("{graph:#}\n")
}
