//! The NVIDIA driver: its version, and the reason if it offers no GPUs.

/// Properties of the NVIDIA driver: see [`Device::driver`](super::Device::driver).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DriverInfo {
    /// The newest CUDA version that the driver supports, major and minor, if there is a driver.
    pub cuda_version: Option<(u32, u32)>,
    /// Whether the driver works.
    pub state: DriverState,
}

/// Whether the NVIDIA driver can be used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DriverState {
    /// This build lacks the feature `cuda`.
    NotBuilt,
    /// The driver's library cannot be loaded.
    Missing {
        /// The names that were tried, and the answer of the system's loader to each.
        reason: String,
    },
    /// The driver's library was loaded, but the driver does not start. That there is no GPU is such
    /// a failure too: `CUDA_ERROR_NO_DEVICE` (100).
    Failed {
        /// The driver's error code.
        code: u32,
        /// The code's name, number and meaning, and what to do about it where this is known.
        reason: String,
    },
    /// The driver works.
    Ready {
        /// The number of GPUs.
        gpus: usize,
    },
}

impl DriverState {
    /// Returns the number of GPUs, or the reason why there are none.
    pub(super) fn count(self) -> Result<usize, String> {
        match self {
            DriverState::NotBuilt => Err("gridstride was built without its feature `cuda`".into()),
            DriverState::Missing { reason } | DriverState::Failed { reason, .. } => Err(reason),
            DriverState::Ready { gpus } => Ok(gpus),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_without_gpus_has_a_reason() {
        let lacks = DriverState::NotBuilt.count().unwrap_err();
        assert!(lacks.contains("feature `cuda`"), "{lacks}");
        let reason = || "because".to_string();
        let missing = DriverState::Missing { reason: reason() };
        let failed = DriverState::Failed {
            code: 100,
            reason: reason(),
        };
        assert_eq!(missing.count(), Err(reason()));
        assert_eq!(failed.count(), Err(reason()));
        assert_eq!(DriverState::Ready { gpus: 3 }.count(), Ok(3));
    }
}
