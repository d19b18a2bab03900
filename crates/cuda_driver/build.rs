//! Makes `-lcuda`, which cust asks for, succeed on machines without a CUDA toolkit.
//!
//! The functions themselves come from this crate, so the library that the linker finds may be
//! empty: an archive without members.

use std::{env, fs, path::PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    let name = match env::var("CARGO_CFG_TARGET_ENV").as_deref() {
        Ok("msvc") => "cuda.lib",
        _ => "libcuda.a",
    };
    fs::write(folder.join(name), b"!<arch>\n").expect("OUT_DIR can be written to");
    println!("cargo::rustc-link-search=native={}", folder.display());
}
