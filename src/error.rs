//! The one error type of the crate.

/// What can go wrong in gridstride, as a sentence that says what and where.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument's shape does not fit the operation or another argument.
    #[error("{operation}: {message}")]
    Shape {
        /// The operation that was asked for, for example `tensor_sketch`.
        operation: &'static str,
        /// What does not fit, with all the shapes.
        message: String,
    },
    /// An argument's value is outside of what the operation accepts.
    #[error("{operation}: {message}")]
    InvalidInput {
        /// The operation that was asked for.
        operation: &'static str,
        /// Which value, where it stands, and what is accepted.
        message: String,
    },
    /// A result cannot be represented in the requested element type.
    #[error("{operation}: {message}")]
    Overflow {
        /// The operation that was asked for.
        operation: &'static str,
        /// Which result, and what to do about it.
        message: String,
    },
}

/// `Result` with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
