//! Variables that cargo sets in the environment of the programs that it starts.

use std::process::Command;

/// Settings of the user that a nested cargo should see; all other `CARGO_…` variables are either
/// the outer cargo's or would change what is built.
const KEPT: &[&str] = &[
    "CARGO_HOME",
    "CARGO_HTTP_",
    "CARGO_NET_",
    "CARGO_REGISTRIES_",
    "CARGO_REGISTRY_",
    "CARGO_SOURCE_",
    "CARGO_TERM_",
    "CARGO_CACHE_",
];

/// Takes every variable of an outer cargo or rustup away from `command`.
pub(crate) fn clear_outer_cargo(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_outer_cargos) {
            command.env_remove(name);
        }
    }
}

fn is_outer_cargos(name: &str) -> bool {
    let kept = KEPT.iter().any(|kept| name.starts_with(kept));
    let of_cargo = name == "CARGO" || name.starts_with("CARGO_");
    let of_rustc = name.starts_with("RUSTC") || name.starts_with("RUSTDOC");
    let of_build_script = matches!(
        name,
        "RUSTFLAGS"
            | "RUSTUP_TOOLCHAIN"
            | "MAKEFLAGS"
            | "MFLAGS"
            | "TARGET"
            | "HOST"
            | "OUT_DIR"
            | "NUM_JOBS"
            | "OPT_LEVEL"
            | "DEBUG"
            | "PROFILE"
            | "__CARGO_DEFAULT_LIB_METADATA"
    );
    (of_cargo && !kept) || of_rustc || of_build_script
}

#[cfg(test)]
mod tests {
    use super::is_outer_cargos;

    #[test]
    fn the_outer_cargos_variables_go() {
        for name in [
            "CARGO",
            "RUSTC",
            "RUSTC_WRAPPER",
            "RUSTC_WORKSPACE_WRAPPER",
            "RUSTC_BOOTSTRAP",
            "RUSTUP_TOOLCHAIN",
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET",
            "CARGO_MAKEFLAGS",
            "CARGO_PROFILE_RELEASE_LTO",
            "OUT_DIR",
        ] {
            assert!(is_outer_cargos(name), "{name} should go");
        }
    }

    #[test]
    fn the_users_settings_stay() {
        for name in [
            "CARGO_HOME",
            "RUSTUP_HOME",
            "CARGO_HTTP_PROXY",
            "CARGO_NET_OFFLINE",
            "PATH",
            "HOME",
            "CARGO_REGISTRIES_MINE_INDEX",
            "RUST_BACKTRACE",
            "CUDA_BUILDER_RUSTC",
            "https_proxy",
        ] {
            assert!(!is_outer_cargos(name), "{name} should stay");
        }
    }
}
