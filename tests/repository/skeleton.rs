//! The one way through the host code of all kernels, calls → input → dispatch → partition → cpu or
//! gpu, as rules about which file of a kernel's crate imports which.

use std::path::Path;

use crate::imports::{File, Files};
use crate::safety::sources;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn kernels() -> Vec<String> {
    let kernels = new_kernel::kernels(Path::new(ROOT)).expect("the folder can be read");
    assert!(kernels.len() >= 7, "{kernels:?}");
    kernels
}

/// Files or folders with a place in the order, and those that they must not import. All other files
/// of a kernel are concepts that any file may import, so that they import none of these.
const ROLES: [(&str, &[&str]); 6] = [
    ("calls", &["partition", "cpu", "gpu"]),
    ("input", &["calls", "dispatch", "partition", "cpu", "gpu"]),
    ("dispatch", &["calls"]),
    ("partition", &["calls", "dispatch", "cpu", "gpu"]),
    ("cpu", &["calls", "dispatch", "partition", "gpu"]),
    ("gpu", &["calls", "dispatch", "partition", "cpu"]),
];

/// Files other than `input.rs` that make errors of arguments, and why.
const MAKE_ERRORS: [(&str, &str); 7] = [
    (
        "matmul/gpu/mod.rs",
        "knows the strides that no kernel takes",
    ),
    (
        "tensor_sketch/session/mod.rs",
        "knows the state of a session",
    ),
    ("tensor_sketch/tables.rs", "makes a public argument"),
    ("time_series/custom.rs", "makes a public argument"),
    ("time_series/fill.rs", "parses a text"),
    ("time_series/method.rs", "parses a text"),
    ("time_series/output/serialized.rs", "reads a file"),
];

/// Returns the role of a module, the last of its names that is one.
fn role(module: &[String]) -> Option<&'static str> {
    let role = |name: &String| ROLES.iter().find(|(role, _)| role == name);
    let (role, _) = module.iter().rev().find_map(role)?;
    Some(*role)
}

/// Calls `visit` with each file of each kernel, and its path with the name of the kernel.
fn each_file(mut visit: impl FnMut(&Files, &[String], &File, &str)) {
    for name in kernels() {
        let files = Files::read(&Path::new(ROOT).join("crates").join(&name).join("src"));
        for (module, file) in &files.0 {
            visit(&files, module, file, &format!("{name}/{}", file.path));
        }
    }
}

#[test]
fn kernels_import_in_one_direction() {
    let mut wrong = Vec::new();
    each_file(|files, module, _, path| {
        let role_here = role(module);
        let is_list = path.ends_with("mod.rs") || path.ends_with("lib.rs");
        if role_here.is_none() && is_list {
            return;
        }
        let of_concepts = ["calls", "dispatch", "partition", "cpu", "gpu"];
        let refused = match role_here {
            None => &of_concepts[..],
            Some(role) => ROLES.iter().find(|(other, _)| *other == role).unwrap().1,
        };
        for other in files.imports(module) {
            if role(&other).is_some_and(|role| refused.contains(&role)) {
                wrong.push(format!("{path} imports {}", files.0[&other].path));
            }
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn only_dispatch_asks_for_the_kind_of_a_device_and_only_input_makes_errors_of_arguments() {
    let mut wrong = Vec::new();
    each_file(|_, module, file, path| {
        let role = role(module);
        if role != Some("dispatch") && file.has(&["DeviceKind"]) {
            wrong.push(format!("{path} has DeviceKind"));
        }
        for name in ["input", "input_at", "Shape", "Unavailable"] {
            let makes = file.has(&["Error", "::", name]);
            let may = role == Some("input") || MAKE_ERRORS.iter().any(|(known, _)| *known == path);
            if makes && !may {
                wrong.push(format!("{path} makes an Error::{name}"));
            }
        }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Otherwise kernels would have to be compiled and linted once for each device.
#[test]
fn only_the_runtime_has_code_for_cuda() {
    let of_kernels = kernels()
        .into_iter()
        .map(|name| format!("crates/{name}/src"));
    let mut wrong = Vec::new();
    for folder in of_kernels.chain(["src".to_owned()]) {
        let root = Path::new(ROOT).join(&folder);
        sources(&root, &root, &mut |path, source| {
            if source.contains("feature = \"cuda\"") {
                wrong.push(format!("{folder}/{path}"));
            }
        });
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
