//! The graph as text: for Graphviz, for Mermaid and for programs.

use std::collections::HashSet;
use std::fmt::Write;

use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::stable_graph::StableDiGraph;

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
    let graph = contract(graph, expansion);
    let mut nodes: Vec<(String, NodeIndex)> =
        graph.node_indices().map(|index| (graph[index].label(expansion), index)).collect();
    nodes.sort();
    let mut number = vec![0; nodes.iter().map(|(_, index)| index.index() + 1).max().unwrap_or(0)];
    for (at, (_, index)) in nodes.iter().enumerate() {
        number[index.index()] = at;
    }
    let mut edges: Vec<(usize, usize)> = graph
        .edge_indices()
        .filter_map(|edge| graph.edge_endpoints(edge))
        .map(|(from, to)| (number[from.index()], number[to.index()]))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let kinds: Vec<&str> = nodes.iter().map(|(_, index)| kind(&graph[*index])).collect();
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
/// takes away.
fn contract(graph: &Graph, expansion: &Expansion<'_>) -> StableDiGraph<Vertex, ()> {
    let mut graph = StableDiGraph::from(graph.edges.clone());
    let others: Vec<NodeIndex> =
        graph.node_indices().filter(|index| !graph[*index].is_resource(expansion)).collect();
    for index in others {
        let users: HashSet<NodeIndex> = graph.neighbors_directed(index, Direction::Incoming).collect();
        let used: HashSet<NodeIndex> = graph.neighbors_directed(index, Direction::Outgoing).collect();
        if users.len() > 1 && used.len() > 1 {
            continue;
        }
        for from in &users {
            for to in &used {
                graph.update_edge(*from, *to, ());
            }
        }
        graph.remove_node(index);
    }
    graph
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
