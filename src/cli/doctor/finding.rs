//! One line of the doctor's report.

use std::fmt;

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    /// As it should be.
    Ok,
    /// The service runs, but worse than it could, or not for long.
    Warn,
    /// The service will not run.
    Fail,
}

/// What was looked at, how it is, and what to do about it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    pub(super) check: String,
    pub(super) status: Status,
    pub(super) detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) todo: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            check: check.into(),
            status: Status::Ok,
            detail: detail.into(),
            todo: None,
        }
    }

    pub(super) fn warn(
        check: impl Into<String>,
        detail: impl Into<String>,
        todo: impl Into<String>,
    ) -> Self {
        Self {
            status: Status::Warn,
            todo: Some(todo.into()),
            ..Self::ok(check, detail)
        }
    }

    pub(super) fn fail(
        check: impl Into<String>,
        detail: impl Into<String>,
        todo: impl Into<String>,
    ) -> Self {
        Self {
            status: Status::Fail,
            todo: Some(todo.into()),
            ..Self::ok(check, detail)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = match self.status {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Fail => "fail",
        };
        write!(f, "{status:<5} {:<15} {}", self.check, self.detail)?;
        match &self.todo {
            Some(todo) => write!(f, ": {todo}"),
            None => Ok(()),
        }
    }
}
