//! What the driver's errors mean: whether a request did something, and what the caller can do.

use scylla::errors::{DbError, ExecutionError, NewSessionError, PrepareError, RequestAttemptError};

use crate::error::Error;

/// What is known of a conditional write that gave no answer.
pub enum Fate {
    /// It was not done and won't be.
    NotDone(Error),
    /// It was done, or not, or will be.
    Unknown(Error),
}

impl Fate {
    /// Reads it from an error.
    pub fn of(error: ExecutionError) -> Self {
        match never_begun(&error) {
            true => Self::NotDone(executing(error)),
            false => Self::Unknown(executing(error)),
        }
    }

    /// What went wrong, where it doesn't matter what was done.
    pub fn into_error(self) -> Error {
        match self {
            Self::NotDone(error) | Self::Unknown(error) => error,
        }
    }
}

/// Whether no node can have acted on the request.
fn never_begun(error: &ExecutionError) -> bool {
    match error {
        ExecutionError::BadQuery(_)
        | ExecutionError::EmptyPlan
        | ExecutionError::PrepareError(_)
        | ExecutionError::ConnectionPoolError(_) => true,
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(error, _)) => matches!(
            error,
            DbError::Unavailable { .. }
                | DbError::IsBootstrapping
                | DbError::SyntaxError
                | DbError::Invalid
                | DbError::Unauthorized
                | DbError::Unprepared { .. }
        ),
        ExecutionError::LastAttemptError(
            RequestAttemptError::SerializationError(_)
            | RequestAttemptError::CqlRequestSerialization(_)
            | RequestAttemptError::UnableToAllocStreamId,
        ) => true,
        _ => false,
    }
}

/// Whether a node no longer knew the statement, as after a restart.
pub fn is_forgotten(error: &ExecutionError) -> bool {
    matches!(
        error,
        ExecutionError::LastAttemptError(RequestAttemptError::DbError(
            DbError::Unprepared { .. },
            _
        ))
    )
}

/// Whether there was no connection to send it through.
pub fn is_unsent(error: &ExecutionError) -> bool {
    matches!(error, ExecutionError::ConnectionPoolError(_))
}

/// Whether a statement is none that this cluster knows.
pub fn is_refused(error: &ExecutionError) -> bool {
    let attempt = match error {
        ExecutionError::LastAttemptError(attempt) => attempt,
        ExecutionError::PrepareError(PrepareError::AllAttemptsFailed { first_attempt }) => {
            first_attempt
        }
        _ => return false,
    };
    matches!(
        attempt,
        RequestAttemptError::DbError(
            DbError::SyntaxError | DbError::Invalid | DbError::ConfigError,
            _
        )
    )
}

/// A request that failed.
pub fn executing(error: ExecutionError) -> Error {
    let ours = match &error {
        ExecutionError::BadQuery(_) => true,
        ExecutionError::LastAttemptError(attempt) => is_ours(attempt),
        _ => false,
    };
    match ours {
        true => Error::internal("the cluster refused a statement of ours").because(error),
        false => Error::unavailable("the cluster doesn't answer").because(error),
    }
}

/// A statement that could not be prepared.
pub fn preparing(error: PrepareError) -> Error {
    match &error {
        PrepareError::AllAttemptsFailed { first_attempt } if is_ours(first_attempt) => {
            Error::internal("the cluster refused a statement of ours").because(error)
        }
        _ => Error::unavailable("the cluster doesn't answer").because(error),
    }
}

/// A cluster that could not be reached.
pub fn connecting(error: NewSessionError) -> Error {
    Error::unavailable("the cluster can't be reached").because(error)
}

/// Rows that are not what the statement asked for.
pub fn misread(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::internal("the cluster's answer can't be read").because(error)
}

fn is_ours(error: &RequestAttemptError) -> bool {
    matches!(
        error,
        RequestAttemptError::SerializationError(_)
            | RequestAttemptError::CqlRequestSerialization(_)
            | RequestAttemptError::DbError(DbError::SyntaxError | DbError::Invalid, _)
    )
}
