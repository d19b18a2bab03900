//! The error type of the crate.

use crate::device::MemoryKind;
use std::fmt;

/// An error of a gridstride call. The message says what is wrong and where.
///
/// `Debug` gives the same text as `Display`, so that `unwrap` and a `main` that returns
/// `gridstride::Result<()>` print the message. The message includes the cause, so that
/// [`source`](std::error::Error::source) has nothing to add, and returns `None`.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument's shape does not match the operation or another argument.
    #[error("{operation}: {message}")]
    Shape {
        /// The operation that the caller called, for example `sketch`.
        operation: &'static str,
        /// The mismatch, with all shapes.
        message: String,
    },
    /// An argument has a value that the operation does not accept.
    #[error("{operation}: {message}")]
    InvalidInput {
        /// The operation that the caller called.
        operation: &'static str,
        /// The index of the element of the argument: a row, a point, a sequence or a code, counted
        /// from 0. `None` if the error does not concern a single element.
        index: Option<usize>,
        /// The elements that `index` counts, as a plural: `timestamps`, `offsets`,
        /// `rows`, `sequences` or `codes`. Empty without an index.
        of: &'static str,
        /// The value, its place, and the accepted values.
        message: String,
    },
    /// A result cannot be represented in the requested element type.
    #[error("{operation}: {message}")]
    Overflow {
        /// The operation that the caller called.
        operation: &'static str,
        /// The index of the result, counted from 0.
        index: usize,
        /// The result, and how to avoid the overflow.
        message: String,
    },
    /// A device cannot be used.
    #[error("device {device} cannot be used: {reason}")]
    Unavailable {
        /// The requested device, for example `cuda:0`.
        device: String,
        /// The reason, and what to do about it.
        reason: String,
    },
    /// A device or the host has too little memory for an allocation.
    #[error("{operation}: {}", allocation(memory, *requested, free, total))]
    Allocation {
        /// The operation that the caller called.
        operation: &'static str,
        /// The memory that is exhausted.
        memory: MemoryKind,
        /// The size of the allocation in bytes; `u64::MAX` for larger sizes.
        requested: u64,
        /// The free bytes at that time, if known. For the host they include free swap space.
        free: Option<u64>,
        /// The total bytes, if known.
        total: Option<u64>,
    },
    /// Arguments that must be on one device are on different devices.
    #[error("{operation}: one argument is on {left}, another on {right}")]
    DifferentDevices {
        /// The operation that the caller called.
        operation: &'static str,
        /// The device of the operation or of its first argument.
        left: String,
        /// The device of the other argument.
        right: String,
    },
    /// The driver rejects a kernel module.
    #[error(transparent)]
    Load(Box<LoadError>),
    /// A launch breaks a limit of its kernel or of the device. Nothing was started.
    #[error("kernel `{kernel}` cannot be launched: {message}")]
    Launch {
        /// The kernel's name.
        kernel: String,
        /// The limit, and the value that breaks it.
        message: String,
    },
    /// The CUDA driver reported an error.
    #[error("{operation} failed on {device}: {message}")]
    Driver {
        /// The step that failed.
        operation: String,
        /// The device.
        device: String,
        /// The driver's error code.
        code: u32,
        /// The code's name, number and meaning, and what to do about it where this is known.
        message: String,
    },
    /// The simulator found a mistake in a kernel.
    #[error("the simulator stopped: {0}")]
    Simulation(Box<dyn std::error::Error + Send + Sync>),
}

/// Why a kernel module cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[error(
    "module {module} (PTX {ptx_version}, for {ptx_target}) cannot be loaded on {device}, \
     driver for CUDA {driver_version}: {reason}{}",
    log_lines(.log)
)]
pub struct LoadError {
    /// The module's name.
    pub module: String,
    /// The version of the PTX language that the module is written in.
    pub ptx_version: String,
    /// The architecture for which the module was compiled.
    pub ptx_target: String,
    /// The device that was to load the module.
    pub device: String,
    /// The newest CUDA version that the driver supports.
    pub driver_version: String,
    /// The driver's answer, or what is missing.
    pub reason: String,
    /// The log of the driver's compiler; empty if it wrote none.
    pub log: String,
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Returns an [`Error::InvalidInput`] about an argument as a whole.
    #[doc(hidden)]
    pub fn input(operation: &'static str, message: impl Into<String>) -> Error {
        Error::InvalidInput {
            operation,
            index: None,
            of: "",
            message: message.into(),
        }
    }

    /// Returns an [`Error::InvalidInput`] about one element `of` an argument, such as `rows`.
    #[doc(hidden)]
    pub fn input_at(
        operation: &'static str,
        of: &'static str,
        index: usize,
        message: String,
    ) -> Error {
        Error::InvalidInput {
            operation,
            index: Some(index),
            of,
            message,
        }
    }

    /// Names the public operation in memory errors. Other errors name it where they are made.
    #[doc(hidden)]
    pub fn during(mut self, name: &'static str) -> Error {
        if let Error::Allocation { operation, .. } = &mut self {
            *operation = name;
        }
        self
    }

    /// Returns another error about the same allocation, for a second call that waits for it.
    ///
    /// # Panics
    /// Panics if the error is not about memory.
    #[doc(hidden)]
    pub fn same_shortage(&self) -> Error {
        match *self {
            Error::Allocation {
                operation,
                memory,
                requested,
                free,
                total,
            } => Error::Allocation {
                operation,
                memory,
                requested,
                free,
                total,
            },
            _ => unreachable!("{self}"),
        }
    }
}

/// [`Error::during`] for results.
pub trait During {
    /// Names the public operation if the error is about memory.
    fn during(self, operation: &'static str) -> Self;
}

impl<T> During for Result<T> {
    fn during(self, operation: &'static str) -> Self {
        self.map_err(|error| error.during(operation))
    }
}

fn allocation(
    memory: &MemoryKind,
    requested: u64,
    free: &Option<u64>,
    total: &Option<u64>,
) -> String {
    let size = match i64::try_from(requested) {
        Ok(bytes) => format!("{bytes} bytes"),
        Err(_) => "more bytes than the address space has".into(),
    };
    let free = match (free, total) {
        (Some(free), Some(total)) => format!(": {free} of {total} bytes are free"),
        _ => String::new(),
    };
    match memory {
        MemoryKind::PageLocked => format!("the host cannot page-lock {size}{free}"),
        memory => format!("{memory} cannot allocate {size}{free}"),
    }
}

fn log_lines(log: &str) -> String {
    match log.trim() {
        "" => String::new(),
        log => format!("\n{log}"),
    }
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_the_message() {
        let error = Error::Launch {
            kernel: "add".to_owned(),
            message: "its block has 2048 along x, more than 1024".to_owned(),
        };
        let message = "kernel `add` cannot be launched: its block has 2048 along x, more than 1024";
        assert_eq!(format!("{error:?}"), message);
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn a_cause_is_printed_once() {
        let cause = std::io::Error::other("thread 3 left its slice");
        let error = Error::Simulation(Box::new(cause));
        assert_eq!(
            error.to_string(),
            "the simulator stopped: thread 3 left its slice"
        );
        assert!(std::error::Error::source(&error).is_none());
    }
}
