//! A flow project as a person writes it, in TOML.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Largest definition taken, in bytes.
const DEFINITION_LIMIT: usize = 256 * 1024;

/// A flow project: named parameters, nodes, and the wires between them.
///
/// ```toml
/// name = "demo-stream"
/// kind = "flow"
/// wires = ["entry -> voice -> publisher"]
/// [parameters]
/// sensitivity = 0.5
/// [[nodes]]
/// id = "voice"
/// type = "voice-activity"
/// settings = { sensitivity = "$sensitivity" }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The name clients give in `ProjectName`.
    pub name: String,
    /// `flow`.
    pub kind: String,
    /// One sentence for people.
    #[serde(default)]
    pub description: String,
    /// Parameters with their defaults; a setting `"$name"` takes the value of one, and `Settings` in Start may override it.
    #[serde(default)]
    pub parameters: BTreeMap<String, Value>,
    /// The nodes. `entry` and `publisher` are there without being named.
    #[serde(default)]
    pub nodes: Vec<NodeDefinition>,
    /// Chains of node ids joined by `->`.
    #[serde(default)]
    pub wires: Vec<String>,
}

/// One node as a person writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeDefinition {
    /// Unique within the project.
    pub id: String,
    /// The node type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What a fault of this node does to the session.
    #[serde(default, rename = "on-fault")]
    pub on_fault: FaultPolicy,
    /// Settings of the node type.
    #[serde(default)]
    pub settings: Map<String, Value>,
}

/// What a fault of a node does to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultPolicy {
    /// The node is left out from then on; the session goes on.
    #[default]
    Continue,
    /// The session ends.
    End,
}

/// Why a text is no definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionFault {
    /// Too long to be read.
    #[error("the definition has {0} bytes; at most {DEFINITION_LIMIT} are read")]
    TooLong(usize),
    /// Not TOML of this shape; the text says where.
    #[error("{0}")]
    Malformed(String),
    /// Another kind of project.
    #[error("the project is of kind `{0}`, not `flow`")]
    OtherKind(String),
}

impl Definition {
    /// Reads a definition from TOML.
    ///
    /// # Errors
    /// [`DefinitionFault`] says what is wrong and where.
    pub fn from_toml(text: &str) -> Result<Self, DefinitionFault> {
        if text.len() > DEFINITION_LIMIT {
            return Err(DefinitionFault::TooLong(text.len()));
        }
        let definition: Self =
            toml::from_str(text).map_err(|fault| DefinitionFault::Malformed(fault.to_string()))?;
        if definition.kind == "flow" {
            Ok(definition)
        } else {
            Err(DefinitionFault::OtherKind(definition.kind))
        }
    }
}
