//! Validation: from a definition to a plan that can run, or every fault at once.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde_json::{Map, Value};

use super::definition::{Definition, FaultPolicy, NodeDefinition};
use super::schema::{Hears, NodeCatalog, NodeSchema, Settings};
use super::{ENTRY, NODE_LIMIT, PUBLISHER};
use crate::protocol::fold_key;

/// Parameter values for one session: folded name to value.
pub type Parameters = BTreeMap<String, Value>;

/// A definition that passed every check: nodes in an order in which every wire points forward.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The project's name.
    pub project: String,
    /// The nodes; a wire goes only from a lower index to a higher one.
    pub nodes: Vec<PlanNode>,
    /// Parameter names as written, with their defaults.
    parameters: BTreeMap<String, Value>,
}

/// One node of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanNode {
    /// Unique within the project.
    pub id: String,
    /// The node type.
    pub schema: NodeSchema,
    /// What a fault does.
    pub on_fault: FaultPolicy,
    /// Indices of the nodes that hear this one.
    pub to: Vec<usize>,
    /// Indices of the nodes that this one hears.
    pub from: Vec<usize>,
    /// The settings as written, parameters not yet filled in.
    written: Map<String, Value>,
}

/// Everything that is wrong with a definition or with the parameters of a session; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PlanFaults(pub Vec<String>);

impl fmt::Display for PlanFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl Plan {
    /// Checks `definition` whole against the node types that exist.
    ///
    /// # Errors
    /// [`PlanFaults`] with every fault: names, types, settings, wires, cycles, parameters.
    pub fn new(definition: &Definition, catalog: &dyn NodeCatalog) -> Result<Self, PlanFaults> {
        let mut faults = Vec::new();
        check_name("the project", &definition.name, &mut faults);
        check_parameters(definition, &mut faults);
        let definitions = with_ends(&definition.nodes);
        if definitions.len() > NODE_LIMIT {
            faults.push(format!(
                "{} nodes; a project has at most {NODE_LIMIT}",
                definitions.len()
            ));
            return Err(PlanFaults(faults));
        }
        let mut nodes = plan_nodes(&definitions, catalog, &mut faults);
        lay_wires(&mut nodes, &definition.wires, &mut faults);
        let order = topological(&nodes, &mut faults);
        check_reach(&nodes, &mut faults);
        let mut plan = Self {
            project: definition.name.clone(),
            nodes,
            parameters: definition.parameters.clone(),
        };
        // Before they are put in order: a node on a cycle has no place in it.
        if let Err(more) = plan.settings(&Parameters::new()) {
            faults.extend(more.0);
        }
        if faults.is_empty() {
            plan.nodes = reorder(plan.nodes, &order);
            Ok(plan)
        } else {
            Err(PlanFaults(faults))
        }
    }

    /// The settings of every node, in the order of `nodes`, with `overrides` in place of parameter defaults.
    ///
    /// # Errors
    /// [`PlanFaults`] with every unknown parameter and every setting that its value does not fit.
    pub fn settings(&self, overrides: &Parameters) -> Result<Vec<Settings>, PlanFaults> {
        let mut faults = Vec::new();
        let values = self.parameter_values(overrides, &mut faults);
        let mut all = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let given = fill_in(&node.written, &values, &node.id, &mut faults);
            match Settings::check(node.schema.settings, &given) {
                Ok(settings) => all.push(settings),
                Err(more) => faults.extend(
                    more.into_iter()
                        .map(|fault| format!("node `{}`: {fault}", node.id)),
                ),
            }
        }
        if faults.is_empty() {
            Ok(all)
        } else {
            Err(PlanFaults(faults))
        }
    }

    /// The most demanding form of call audio that any node hears.
    #[must_use]
    pub fn hears(&self) -> Hears {
        let hears = |wanted| self.nodes.iter().any(|node| node.schema.hears == wanted);
        if hears(Hears::Samples) {
            Hears::Samples
        } else if hears(Hears::Bytes) {
            Hears::Bytes
        } else {
            Hears::Nothing
        }
    }

    fn parameter_values(
        &self,
        overrides: &Parameters,
        faults: &mut Vec<String>,
    ) -> BTreeMap<String, Value> {
        let mut values: BTreeMap<_, _> = self.parameters.clone();
        let names: HashMap<_, _> = self
            .parameters
            .keys()
            .map(|name| (fold_key(name), name))
            .collect();
        for (name, value) in overrides {
            match names.get(&fold_key(name)) {
                Some(known) => drop(values.insert((*known).clone(), value.clone())),
                None => faults.push(self.unknown_parameter(name)),
            }
        }
        values
    }

    fn unknown_parameter(&self, name: &str) -> String {
        if self.parameters.is_empty() {
            return format!(
                "`{name}` is no parameter: project `{}` has none",
                self.project
            );
        }
        let known: Vec<_> = self.parameters.keys().map(String::as_str).collect();
        format!(
            "`{name}` is no parameter of project `{}`, which has {}",
            self.project,
            known.join(", ")
        )
    }
}

fn check_name(what: &str, name: &str, faults: &mut Vec<String>) {
    const LONGEST: usize = 64;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(allowed) {
        let shown: String = name.chars().take(LONGEST).collect();
        faults.push(format!(
            "{what} is named `{shown}`: a name has 1 to {LONGEST} letters, digits, `-`, `_` or `.`"
        ));
    }
}

fn check_parameters(definition: &Definition, faults: &mut Vec<String>) {
    let mut folded = HashMap::new();
    for (name, value) in &definition.parameters {
        check_name("a parameter", name, faults);
        if let Some(other) = folded.insert(fold_key(name), name) {
            faults.push(format!(
                "parameters `{other}` and `{name}` differ only in case, `-` or `_`"
            ));
        }
        if value.is_object() || value.is_array() || value.is_null() {
            faults.push(format!(
                "parameter `{name}` must be a number, a text, true or false"
            ));
        }
        let used = |node: &NodeDefinition| {
            node.settings
                .values()
                .any(|value| reference(value) == Some(name))
        };
        if !definition.nodes.iter().any(used) {
            faults.push(format!("parameter `{name}` is used by no node"));
        }
    }
}

fn with_ends(nodes: &[NodeDefinition]) -> Vec<NodeDefinition> {
    let mut all = nodes.to_vec();
    for end in [ENTRY, PUBLISHER] {
        if !all.iter().any(|node| node.kind == end) {
            all.push(NodeDefinition {
                id: end.to_owned(),
                kind: end.to_owned(),
                on_fault: FaultPolicy::End,
                settings: Map::new(),
            });
        }
    }
    all
}

fn plan_nodes(
    definitions: &[NodeDefinition],
    catalog: &dyn NodeCatalog,
    faults: &mut Vec<String>,
) -> Vec<PlanNode> {
    let mut nodes: Vec<PlanNode> = Vec::new();
    for definition in definitions {
        check_name("a node", &definition.id, faults);
        if nodes.iter().any(|node| node.id == definition.id) {
            faults.push(format!("two nodes are named `{}`", definition.id));
        }
        if is_end(&definition.kind) && nodes.iter().any(|node| node.schema.name == definition.kind)
        {
            faults.push(format!(
                "node `{}`: a project has one `{}`",
                definition.id, definition.kind
            ));
        }
        let schema = catalog
            .schema(&definition.kind)
            .copied()
            .unwrap_or_else(|| {
                faults.push(format!(
                    "node `{}` is of type `{}`, which does not exist; there are {}",
                    definition.id,
                    definition.kind,
                    catalog.names().join(", ")
                ));
                // A stand-in without settings, so that the wires are still checked; the plan is refused.
                NodeSchema {
                    name: "",
                    help: "",
                    hears: Hears::Nothing,
                    settings: &[],
                }
            });
        let written = if schema.name.is_empty() {
            Map::new()
        } else {
            definition.settings.clone()
        };
        nodes.push(PlanNode {
            id: definition.id.clone(),
            schema,
            on_fault: definition.on_fault,
            to: Vec::new(),
            from: Vec::new(),
            written,
        });
    }
    nodes
}

fn is_end(kind: &str) -> bool {
    kind == ENTRY || kind == PUBLISHER
}

fn lay_wires(nodes: &mut [PlanNode], wires: &[String], faults: &mut Vec<String>) {
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
fn topological(nodes: &[PlanNode], faults: &mut Vec<String>) -> Vec<usize> {
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

fn check_reach(nodes: &[PlanNode], faults: &mut Vec<String>) {
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

fn reorder(nodes: Vec<PlanNode>, order: &[usize]) -> Vec<PlanNode> {
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

/// The parameter that a written setting refers to.
fn reference(value: &Value) -> Option<&str> {
    value.as_str().and_then(|text| text.strip_prefix('$'))
}

fn fill_in(
    written: &Map<String, Value>,
    values: &BTreeMap<String, Value>,
    node: &str,
    faults: &mut Vec<String>,
) -> Map<String, Value> {
    let mut filled = Map::new();
    for (name, value) in written {
        match reference(value) {
            None => drop(filled.insert(name.clone(), value.clone())),
            Some(parameter) => match values.get(parameter) {
                Some(value) => drop(filled.insert(name.clone(), value.clone())),
                None => faults.push(format!("node `{node}`: setting `{name}` takes parameter `{parameter}`, which does not exist")),
            },
        }
    }
    filled
}
