//! What the test programs share.

use std::fs;
use std::path::{Path, PathBuf};

use cuda_builder::DeviceCompiler;
use tempfile::TempDir;

/// The device compiler, if one is installed or has to be.
pub fn device_compiler() -> Option<DeviceCompiler> {
    match DeviceCompiler::discover() {
        Ok(compiler) => Some(compiler),
        Err(error) if std::env::var("CUDA_BUILDER_REQUIRE").is_ok_and(|value| value == "1") => {
            panic!("CUDA_BUILDER_REQUIRE is set, but {error}")
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// A copy of a fixture's kernels, with `extra` behind their source.
pub fn kernels(fixture: &str, extra: &str) -> (TempDir, PathBuf) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let original = fixtures.join(fixture);
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("kernels");
    fs::create_dir_all(copy.join("src")).unwrap();
    fs::copy(original.join("Cargo.toml"), copy.join("Cargo.toml")).unwrap();
    let source = fs::read_to_string(original.join("src/lib.rs")).unwrap();
    fs::write(copy.join("src/lib.rs"), source + extra).unwrap();
    (folder, copy)
}

/// The text of one kernel.
pub fn entry<'a>(ptx: &'a str, name: &str) -> &'a str {
    let start = ptx.find(&format!(".entry {name}(")).unwrap();
    let end = ptx[start..].find("\n}").unwrap();
    &ptx[start..start + end]
}
