//! `callwright project`: what a tenant's calls run through.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use callwright_actors::nodes::Registry;
use callwright_actors::ports::{RecordingFault, RecordingInfo, RecordingSink, Recordings};
use callwright_domain::flow::{Definition, Plan};
use callwright_domain::identity::TenantId;
use chrono::{DateTime, SecondsFormat, Utc};
use clap::Subcommand;
use serde::Serialize;

use super::operate::{tenant, with_store};
use super::{Context, Failure, print, print_json};
use crate::store::{Change, Project, Store};

/// Apply, list, show and remove projects; list the node types they are made of.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check a definition whole and put it into force for sessions that start from now on.
    Apply {
        /// The definition, TOML.
        file: PathBuf,
        /// Whose project it is.
        #[arg(long, value_parser = tenant, default_value = "default")]
        tenant: TenantId,
        /// Only check.
        #[arg(long)]
        dry_run: bool,
    },
    /// List the projects of a tenant.
    List {
        /// Whose projects.
        #[arg(long, value_parser = tenant, default_value = "default")]
        tenant: TenantId,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print a project's definition.
    Show {
        /// The project.
        name: String,
        /// Whose project it is.
        #[arg(long, value_parser = tenant, default_value = "default")]
        tenant: TenantId,
        /// With version and time, as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a project; sessions that run it go on.
    Remove {
        /// The project.
        name: String,
        /// Whose project it is.
        #[arg(long, value_parser = tenant, default_value = "default")]
        tenant: TenantId,
    },
    /// List the node types and their settings.
    Nodes {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Serialize)]
struct Listed {
    name: String,
    kind: String,
    version: i32,
    updated_at: DateTime<Utc>,
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<String>,
}

/// Does what is asked.
///
/// # Errors
/// A [`Failure`] with every fault of a definition, or when there is no such project.
pub fn run(args: Args, context: &Context) -> Result<(), Failure> {
    match args.action {
        Action::Nodes { json } => nodes(json),
        Action::Apply {
            file,
            tenant,
            dry_run,
        } => apply(&file, tenant, dry_run, context),
        Action::List { tenant, json } => with_store(context, |_, store| async move {
            list(&store, &tenant, json).await
        }),
        Action::Show { name, tenant, json } => with_store(context, |_, store| async move {
            show(&store, &tenant, &name, json).await
        }),
        Action::Remove { name, tenant } => with_store(context, |_, store| async move {
            if store.remove_project(tenant.as_str(), &name).await? {
                print(&format!("removed `{name}`"))
            } else {
                Err(absent(&tenant, &name))
            }
        }),
    }
}

fn absent(tenant: &TenantId, name: &str) -> Failure {
    Failure::failed(format!("tenant `{tenant}` has no project `{name}`"))
}

fn apply(
    file: &PathBuf,
    tenant: TenantId,
    dry_run: bool,
    context: &Context,
) -> Result<(), Failure> {
    let shown = file.display();
    let text = fs::read_to_string(file)
        .map_err(|fault| Failure::failed(format!("{shown} cannot be read: {fault}")))?;
    let definition = Definition::from_toml(&text)
        .map_err(|fault| Failure::failed(format!("{shown}: {fault}")))?;
    let plan = Plan::new(&definition, &registry()).map_err(|faults| {
        Failure::failed(format!(
            "{shown} is not applied:\n  {}",
            faults.0.join("\n  ")
        ))
    })?;
    if dry_run {
        return print(&format!(
            "`{}` can be applied: {} nodes",
            plan.project,
            plan.nodes.len()
        ));
    }
    with_store(context, |_, store| async move {
        let new = store.ensure_tenant(tenant.as_str(), Utc::now()).await?;
        if new {
            print(&format!("tenant `{tenant}` is new"))?;
        }
        let applied = store
            .apply_project(Project {
                tenant: tenant.as_str().to_owned(),
                name: definition.name.clone(),
                kind: definition.kind.clone(),
                definition: text,
                version: 0,
                updated_at: Utc::now(),
            })
            .await?;
        let what = match applied.change {
            Change::Created => "made",
            Change::Changed => "changed",
            Change::Unchanged => "was just so",
        };
        print(&format!(
            "project `{}` of tenant `{tenant}` {what}: version {}",
            definition.name, applied.version
        ))
    })
}

async fn list(store: &Store, tenant: &TenantId, json: bool) -> Result<(), Failure> {
    let listed: Vec<_> = store
        .projects(tenant.as_str())
        .await?
        .into_iter()
        .map(|project| shown(project, false))
        .collect();
    if json {
        return print_json(&listed);
    }
    for project in &listed {
        let changed = project
            .updated_at
            .to_rfc3339_opts(SecondsFormat::Secs, true);
        print(&format!(
            "{}  {}  version {}  {changed}",
            project.name, project.kind, project.version
        ))?;
    }
    if listed.is_empty() {
        print(&format!("tenant `{tenant}` has no projects"))?;
    }
    Ok(())
}

async fn show(store: &Store, tenant: &TenantId, name: &str, json: bool) -> Result<(), Failure> {
    let found = store
        .find_project(tenant.as_str(), name)
        .await?
        .ok_or_else(|| absent(tenant, name))?;
    if json {
        print_json(&shown(found, true))
    } else {
        print(found.definition.trim_end())
    }
}

fn shown(project: Project, whole: bool) -> Listed {
    Listed {
        name: project.name,
        kind: project.kind,
        version: project.version,
        updated_at: project.updated_at,
        definition: whole.then_some(project.definition),
    }
}

/// The node types, for checking: nothing built from this registry could record.
fn registry() -> Registry {
    struct Nowhere;

    impl Recordings for Nowhere {
        fn begin(&self, _: RecordingInfo) -> Result<Box<dyn RecordingSink>, RecordingFault> {
            Err(RecordingFault::Failed(
                "this registry only checks definitions".to_owned(),
            ))
        }
    }

    let nowhere: Arc<dyn Recordings> = Arc::new(Nowhere);
    Registry::standard(&nowhere)
}

#[derive(Serialize)]
struct NodeType {
    name: &'static str,
    help: &'static str,
    settings: Vec<Setting>,
}

#[derive(Serialize)]
struct Setting {
    name: &'static str,
    allowed: String,
    default: &'static str,
    help: &'static str,
}

fn nodes(json: bool) -> Result<(), Failure> {
    let registry = registry();
    let types: Vec<_> = registry
        .schemas()
        .map(|schema| NodeType {
            name: schema.name,
            help: schema.help,
            settings: schema
                .settings
                .iter()
                .map(|spec| Setting {
                    name: spec.name,
                    allowed: spec.allowed(),
                    default: spec.default,
                    help: spec.help,
                })
                .collect(),
        })
        .collect();
    if json {
        return print_json(&types);
    }
    for node in &types {
        print(&format!("{}\n    {}", node.name, node.help))?;
        for setting in &node.settings {
            print(&format!(
                "    {} ({}; {}): {}",
                setting.name, setting.allowed, setting.default, setting.help
            ))?;
        }
    }
    Ok(())
}
