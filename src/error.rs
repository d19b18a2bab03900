//! The one error type of the crate.

use crate::device::MemoryKind;

/// What can go wrong in gridstride, as a sentence that says what and where.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument's shape does not fit the operation or another argument.
    #[error("{operation}: {message}")]
    Shape {
        /// The operation that was asked for, for example `sketch`.
        operation: &'static str,
        /// What does not fit, with all the shapes.
        message: String,
    },
    /// An argument's value is outside of what the operation accepts.
    #[error("{operation}: {message}")]
    InvalidInput {
        /// The operation that was asked for.
        operation: &'static str,
        /// Which element of the argument it is, counted from 0: a row, a point, a sequence. `None` if the error is not
        /// about a single element.
        index: Option<usize>,
        /// Which value, where it stands, and what is accepted.
        message: String,
    },
    /// A result cannot be represented in the requested element type.
    #[error("{operation}: {message}")]
    Overflow {
        /// The operation that was asked for.
        operation: &'static str,
        /// Which of the results, counted from 0.
        index: usize,
        /// Which result, and what to do about it.
        message: String,
    },
    /// A device cannot be used.
    #[error("device {device} cannot be used: {reason}")]
    Unavailable {
        /// The device that was asked for, for example `cuda:0`.
        device: String,
        /// Why not, and what to do about it.
        reason: String,
    },
    /// The memory of a device or of the host does not suffice for an allocation.
    #[error("{operation}: {}", allocation(memory, *requested, free, total))]
    Allocation {
        /// The operation that was asked for.
        operation: &'static str,
        /// The memory that does not suffice.
        memory: MemoryKind,
        /// The size of the allocation in bytes; `u64::MAX` for anything above that.
        requested: u64,
        /// Bytes that were free at that time, where they are known. For the host they include free swap space.
        free: Option<u64>,
        /// Bytes that there are in all, where they are known.
        total: Option<u64>,
    },
    /// Two things that must be on one device are on different ones.
    #[error("{operation}: one argument is on {left}, another on {right}")]
    DifferentDevices {
        /// The operation that was asked for.
        operation: &'static str,
        /// The device of the operation or of its first argument.
        left: String,
        /// The device of the argument that does not fit.
        right: String,
    },
    /// The driver does not accept a kernel module.
    #[error(transparent)]
    Load(Box<LoadError>),
    /// A launch breaks a limit of its kernel or of the device; nothing was started.
    #[error("kernel {kernel} cannot be launched: {message}")]
    Launch {
        /// The kernel's name.
        kernel: String,
        /// The limit, and the value that breaks it.
        message: String,
    },
    /// The CUDA driver reported an error.
    #[error("{operation} failed on {device}: {message}")]
    Driver {
        /// What was being done.
        operation: String,
        /// The device.
        device: String,
        /// The driver's code.
        code: u32,
        /// The code's name, number and meaning.
        message: String,
    },
    /// The simulator found a mistake in a kernel.
    #[error("the simulator stopped: {0}")]
    Simulation(#[source] Box<dyn std::error::Error + Send + Sync>),
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
    /// The architecture that the module was compiled for.
    pub ptx_target: String,
    /// The device that should have loaded it.
    pub device: String,
    /// The newest CUDA version that the driver supports.
    pub driver_version: String,
    /// What the driver answered, or what is missing.
    pub reason: String,
    /// The log of the driver's compiler; empty if it wrote none.
    pub log: String,
}

impl Error {
    /// Returns an [`Error::InvalidInput`] about an argument as a whole.
    pub(crate) fn input(operation: &'static str, message: impl Into<String>) -> Error {
        Error::InvalidInput {
            operation,
            index: None,
            message: message.into(),
        }
    }

    /// Returns an [`Error::InvalidInput`] about one element of an argument.
    pub(crate) fn input_at(operation: &'static str, index: usize, message: String) -> Error {
        Error::InvalidInput {
            operation,
            index: Some(index),
            message,
        }
    }

    /// Names the public operation that ran out of memory. All other errors name theirs where they arise.
    pub(crate) fn during(mut self, name: &'static str) -> Error {
        if let Error::Allocation { operation, .. } = &mut self {
            *operation = name;
        }
        self
    }

    /// A second error of the same allocation, which several calls wait for.
    ///
    /// # Panics
    /// If memory is not what the error is about.
    pub(crate) fn same_shortage(&self) -> Error {
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
pub(crate) trait During {
    /// Names the public operation if it ran out of memory.
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
    let size = match requested {
        // The largest size that pointers tell apart.
        bytes if bytes > i64::MAX as u64 => "more bytes than the address space has".to_string(),
        bytes => format!("{bytes} bytes"),
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
