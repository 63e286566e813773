//! Validation: from a definition to a plan that can run, or every fault at once.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde_json::{Map, Value};

use super::definition::{Definition, FaultPolicy, NodeDefinition};
use super::schema::{Hears, NodeCatalog, NodeSchema, Settings};
use super::wires::{check_reach, lay_wires, reorder, topological};
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
    pub(super) written: Map<String, Value>,
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
