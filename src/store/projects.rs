//! Projects: definitions in TOML, one per tenant and name, counted up at each real change.

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;
use diesel::sql_types::{Integer, Text, Timestamp};

use super::connection::AnyConnection;
use super::schema::projects;
use super::{Error, Store, stored, tenants};

/// A project as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Whose project it is.
    pub tenant: String,
    /// Unique within the tenant.
    pub name: String,
    /// `flow` or `evaluator`.
    pub kind: String,
    /// The definition, TOML.
    pub definition: String,
    /// Counts up with each change, from 1.
    pub version: i32,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// What applying a project did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// There was none of that name.
    Created,
    /// Kind or definition differ from before.
    Changed,
    /// It was there just so; neither version nor time moved.
    Unchanged,
}

/// The outcome of applying a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// What it did.
    pub change: Change,
    /// The version now in force.
    pub version: i32,
}

#[derive(Queryable)]
struct Row {
    tenant: String,
    name: String,
    kind: String,
    definition: String,
    version: i32,
    updated_at: NaiveDateTime,
}

impl From<Row> for Project {
    fn from(row: Row) -> Self {
        Self {
            tenant: row.tenant,
            name: row.name,
            kind: row.kind,
            definition: row.definition,
            version: row.version,
            updated_at: row.updated_at.and_utc(),
        }
    }
}

#[derive(QueryableByName)]
struct Version {
    #[diesel(sql_type = Integer)]
    version: i32,
}

impl Store {
    /// Creates or changes the project that `project` names; its own `version` is not looked at.
    ///
    /// # Errors
    /// [`Error`] when the store does not answer.
    pub async fn apply_project(&self, project: Project) -> Result<Applied, Error> {
        self.run("applying a project", move |connection| {
            connection.transaction(|connection| apply(connection, &project))
        })
        .await
    }

    /// The projects of `tenant`, by name.
    ///
    /// # Errors
    /// [`Error`] when the store does not answer.
    pub async fn projects(&self, tenant: &str) -> Result<Vec<Project>, Error> {
        let tenant = tenant.to_owned();
        self.run("listing the projects", move |connection| {
            let rows: Vec<Row> = projects::table
                .filter(projects::tenant.eq(tenant))
                .order(projects::name)
                .load(connection)?;
            Ok(rows.into_iter().map(Project::from).collect())
        })
        .await
    }

    /// The project `name` of `tenant`, if there is one.
    ///
    /// # Errors
    /// [`Error`] when the store does not answer.
    pub async fn find_project(&self, tenant: &str, name: &str) -> Result<Option<Project>, Error> {
        let key = (tenant.to_owned(), name.to_owned());
        self.run("looking up a project", move |connection| {
            let row: Option<Row> = projects::table.find(key).first(connection).optional()?;
            Ok(row.map(Project::from))
        })
        .await
    }

    /// Removes the project `name` of `tenant`, and says whether there was one.
    ///
    /// # Errors
    /// [`Error`] when the store does not answer.
    pub async fn remove_project(&self, tenant: &str, name: &str) -> Result<bool, Error> {
        let key = (tenant.to_owned(), name.to_owned());
        self.run("removing a project", move |connection| {
            Ok(diesel::delete(projects::table.find(key)).execute(connection)? == 1)
        })
        .await
    }
}

fn apply(connection: &mut AnyConnection, project: &Project) -> QueryResult<Applied> {
    tenants::ensure(connection, &project.tenant, project.updated_at)?;
    // The update's WHERE leaves an equal row alone, so that RETURNING then gives no row.
    let written: Option<Version> = diesel::sql_query(
        "INSERT INTO projects (tenant, name, kind, definition, version, updated_at) VALUES ($1, $2, $3, $4, 1, $5) \
         ON CONFLICT (tenant, name) DO UPDATE SET kind = excluded.kind, definition = excluded.definition, \
         version = projects.version + 1, updated_at = excluded.updated_at \
         WHERE projects.kind <> excluded.kind OR projects.definition <> excluded.definition RETURNING version",
    )
    .bind::<Text, _>(&project.tenant)
    .bind::<Text, _>(&project.name)
    .bind::<Text, _>(&project.kind)
    .bind::<Text, _>(&project.definition)
    .bind::<Timestamp, _>(stored(project.updated_at))
    .get_result(connection)
    .optional()?;
    match written {
        Some(Version { version: 1 }) => Ok(Applied {
            change: Change::Created,
            version: 1,
        }),
        Some(Version { version }) => Ok(Applied {
            change: Change::Changed,
            version,
        }),
        None => {
            let key = (project.tenant.as_str(), project.name.as_str());
            let version = projects::table
                .find(key)
                .select(projects::version)
                .first(connection)?;
            Ok(Applied {
                change: Change::Unchanged,
                version,
            })
        }
    }
}
