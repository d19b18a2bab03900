//! Identifies the build of a program: programs of different builds refuse to work together, because a plan
//! that one of them encodes could decode in the other and mean something else.

use std::sync::OnceLock;

/// Replaces the fingerprint of a process. For tests of a cluster of mixed builds only.
pub const FINGERPRINT_VARIABLE: &str = "GRIDSTRIDE_TEST_FINGERPRINT";

/// Returns the fingerprint of this build: the package's version and a hash of the sources of both
/// packages, of gridstride with its kernels, and of the lock file.
pub fn fingerprint() -> &'static str {
    static FINGERPRINT: OnceLock<String> = OnceLock::new();
    FINGERPRINT.get_or_init(|| {
        std::env::var(FINGERPRINT_VARIABLE).unwrap_or_else(|_| {
            format!(
                "{}-{}",
                env!("CARGO_PKG_VERSION"),
                env!("GRIDSTRIDE_SOURCES")
            )
        })
    })
}

/// Makes the identifier under which an executor of this build registers.
///
/// The identifier carries the fingerprint because it is the one free text of a registration.
pub(crate) fn executor_id(instance: &str) -> String {
    format!("gridstride-{}.{instance}", fingerprint())
}

/// Checks that an executor's identifier comes from this build.
///
/// # Errors
/// A sentence that names both builds.
pub(crate) fn check_executor(id: &str) -> Result<(), String> {
    let theirs = id
        .strip_prefix("gridstride-")
        .and_then(|rest| rest.rsplit_once('.'))
        .map(|(build, _)| build);
    match theirs {
        Some(build) if build == fingerprint() => Ok(()),
        Some(build) => Err(format!(
            "the executor is of build {build} and the scheduler of build {}: install the same \
             build of gridstride everywhere",
            fingerprint()
        )),
        None => Err(format!(
            "executor {id} is no gridstride-executor: start the gridstride-executor of build {}",
            fingerprint()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_build_is_accepted_and_others_are_named() {
        assert_eq!(check_executor(&executor_id("host-7")), Ok(()));
        let refused = check_executor("gridstride-0.0.9-beef.host-7").unwrap_err();
        assert!(refused.contains("of build 0.0.9-beef"), "{refused}");
        assert!(refused.contains(fingerprint()), "{refused}");
        let foreign = check_executor("0193-uuid").unwrap_err();
        assert!(foreign.contains("no gridstride-executor"), "{foreign}");
    }
}
