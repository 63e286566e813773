//! The wires of a plan: which node hears which, in an order in which every wire points forward.

use super::plan::PlanNode;
use super::schema::Hears;
use super::{ENTRY, PUBLISHER};

pub(super) fn lay_wires(nodes: &mut [PlanNode], wires: &[String], faults: &mut Vec<String>) {
    for wire in wires {
        let ids: Vec<_> = wire.split("->").map(str::trim).collect();
        if ids.len() < 2 {
            faults.push(format!("wire `{wire}` joins nothing: write `from -> to`"));
        }
        for pair in ids.windows(2) {
            if let [from, to] = pair {
                lay_wire(nodes, from, to, faults);
            }
        }
    }
}

fn lay_wire(nodes: &mut [PlanNode], from: &str, to: &str, faults: &mut Vec<String>) {
    let mut find = |id: &str| {
        let found = nodes.iter().position(|node| node.id == id);
        if found.is_none() {
            faults.push(format!("wire `{from} -> {to}`: there is no node `{id}`"));
        }
        found
    };
    let (Some(start), Some(end)) = (find(from), find(to)) else {
        return;
    };
    if let Some(node) = nodes.get_mut(start)
        && !node.to.contains(&end)
    {
        node.to.push(end);
    }
    if let Some(node) = nodes.get_mut(end)
        && !node.from.contains(&start)
    {
        node.from.push(start);
    }
}

/// Kahn's algorithm; what is left over is on a cycle or behind one.
pub(super) fn topological(nodes: &[PlanNode], faults: &mut Vec<String>) -> Vec<usize> {
    let mut waiting_for: Vec<usize> = nodes.iter().map(|node| node.from.len()).collect();
    let mut order: Vec<usize> = (0..nodes.len())
        .filter(|&node| waiting_for.get(node) == Some(&0))
        .collect();
    let mut next = 0;
    while let Some(&done) = order.get(next) {
        next += 1;
        for &target in nodes.get(done).map_or(&[][..], |node| &node.to) {
            if let Some(count) = waiting_for.get_mut(target) {
                *count -= 1;
                if *count == 0 {
                    order.push(target);
                }
            }
        }
    }
    if order.len() < nodes.len() {
        let stuck: Vec<_> = on_cycles(nodes, &order);
        faults.push(format!(
            "the wires run in a cycle through {}",
            stuck.join(", ")
        ));
    }
    order
}

/// Of the nodes that no order was found for, those that can reach themselves.
fn on_cycles(nodes: &[PlanNode], ordered: &[usize]) -> Vec<String> {
    let reaches_itself = |start: usize| {
        let mut seen = vec![false; nodes.len()];
        let mut next = vec![start];
        while let Some(here) = next.pop() {
            for &target in nodes.get(here).map_or(&[][..], |node| &node.to) {
                if target == start {
                    return true;
                }
                if let Some(mark) = seen.get_mut(target)
                    && !std::mem::replace(mark, true)
                {
                    next.push(target);
                }
            }
        }
        false
    };
    (0..nodes.len())
        .filter(|node| !ordered.contains(node) && reaches_itself(*node))
        .filter_map(|node| nodes.get(node).map(|node| format!("`{}`", node.id)))
        .collect()
}

pub(super) fn check_reach(nodes: &[PlanNode], faults: &mut Vec<String>) {
    let entry = nodes.iter().position(|node| node.schema.name == ENTRY);
    for node in nodes {
        let hears_audio = node.schema.hears != Hears::Nothing;
        match node.schema.name {
            ENTRY if !node.from.is_empty() => {
                faults.push(format!("nothing can be wired to `{}`", node.id))
            }
            PUBLISHER if !node.to.is_empty() => {
                faults.push(format!("nothing can be wired from `{}`", node.id))
            }
            ENTRY | PUBLISHER | "" => {}
            _ if node.from.is_empty() => faults.push(format!(
                "node `{}` dangles: nothing is wired to it",
                node.id
            )),
            _ if hears_audio && !entry.is_some_and(|entry| node.from.contains(&entry)) => faults
                .push(format!(
                    "node `{}` needs call audio: wire it from `entry`",
                    node.id
                )),
            _ => {}
        }
    }
}

pub(super) fn reorder(nodes: Vec<PlanNode>, order: &[usize]) -> Vec<PlanNode> {
    let mut place = vec![0; nodes.len()];
    for (new, &old) in order.iter().enumerate() {
        if let Some(slot) = place.get_mut(old) {
            *slot = new;
        }
    }
    let moved = |targets: &[usize]| {
        let mut moved: Vec<usize> = targets
            .iter()
            .filter_map(|&old| place.get(old).copied())
            .collect();
        moved.sort_unstable();
        moved
    };
    order
        .iter()
        .filter_map(|&old| nodes.get(old))
        .map(|node| PlanNode {
            to: moved(&node.to),
            from: moved(&node.from),
            ..node.clone()
        })
        .collect()
}
