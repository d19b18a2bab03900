//! From a kernel crate to PTX with a real compiler.
//!
//! Where no device compiler is installed the tests say so and pass, unless
//! `CUDA_BUILDER_REQUIRE=1`.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{device_compiler, entry};
use cuda_builder::{Arch, Build, BuildError, CudaBuilder, DeviceCompiler, PtxVersion, Ptxas};
use tempfile::TempDir;

/// A copy of the smoke kernels, with `extra` behind their source.
fn smoke_kernels(extra: &str) -> (TempDir, PathBuf) {
    common::kernels("smoke", extra)
}

/// Builds in a target folder that stays between runs, so that `core` is compiled once.
fn build(kernels: &Path, compiler: DeviceCompiler) -> Result<Build, BuildError> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    CudaBuilder::new(kernels)
        .compiler(compiler)
        .target_dir(target)
        .build()
}

#[test]
fn kernels_become_ptx() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (folder, kernels) = smoke_kernels("");
    let copy = folder.path().join("out/smoke.ptx");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let builder = CudaBuilder::new(&kernels)
        .compiler(compiler)
        .target_dir(target)
        .copy_to(&copy);
    let build = builder.build().unwrap();

    assert_eq!(fs::read_to_string(&copy).unwrap(), build.ptx);
    assert!(build.ptx.contains(".version 7.0\n.target sm_70\n"));
    let mut entries = build.summary.entries.clone();
    entries.sort();
    assert_eq!(
        entries,
        ["double", "gather", "reverse_blocks", "sum_blocks"]
    );

    // The barrier behind the branch is still one, and the one in the loop too.
    assert_eq!(build.summary.barriers["reverse_blocks"], 1);
    assert_eq!(build.summary.barriers["sum_blocks"], 2);
    assert_eq!(build.summary.barriers["gather"], 0);

    let reverse = entry(&build.ptx, "reverse_blocks");
    assert!(reverse.contains(".reqntid 256, 1, 1"), "{reverse}");
    assert!(
        reverse.contains("ld.shared") && reverse.contains("st.shared"),
        "{reverse}"
    );
    let sum = entry(&build.ptx, "sum_blocks");
    assert!(
        sum.contains(".maxntid 512, 1, 1") && sum.contains(".minnctapersm 2"),
        "{sum}"
    );
    assert!(
        sum.contains("ld.shared") && sum.contains("st.shared"),
        "{sum}"
    );
    assert!(
        build
            .ptx
            .contains(".extern .shared .align 1024 .b8 __dynamic_smem[];")
    );
    assert!(
        !build.ptx.contains("cuda_builder reqntid"),
        "the markers are gone"
    );
    // A failed bounds check stops the kernel without any of core's message.
    assert!(entry(&build.ptx, "gather").contains("trap;"));
    assert!(
        !build.ptx.contains(".global .align"),
        "no messages in the PTX"
    );

    if let Ok(ptxas) = Ptxas::find() {
        let resources = ptxas.assemble(&build.ptx_path, Arch::Sm90).unwrap();
        assert_eq!(resources.len(), 4);
        assert_eq!(resources[2].entry, "reverse_blocks");
        assert_eq!(resources[2].shared, 1024);
        assert!(
            resources
                .iter()
                .all(|kernel| kernel.registers > 0 && kernel.spill_stores == 0)
        );
    }
}

#[test]
fn the_same_sources_give_the_same_ptx_anywhere() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (_one, first) = smoke_kernels("");
    let (two, second) = smoke_kernels("");
    let second = {
        let longer = two.path().join("a folder/of another name");
        fs::create_dir_all(longer.parent().unwrap()).unwrap();
        fs::rename(second, &longer).unwrap();
        longer
    };
    let first = build(&first, compiler.clone()).unwrap();
    // Stays between runs, as the folder of `build` does.
    let other_target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("another folder/of kernels");
    let second = CudaBuilder::new(second)
        .compiler(compiler)
        .target_dir(other_target);
    let second = second.build().unwrap();
    assert_eq!(first.ptx, second.ptx);
    assert_eq!(first.sources.hash, second.sources.hash);
}

#[test]
fn profiles_of_packages_do_not_reach_kernels() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (folder, kernels) = smoke_kernels(
        "#[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn add(out: *mut u32, a: u32, b: u32) {\n\
         // SAFETY: never run.\nunsafe { *out = a + helper::doubled(b) } }",
    );
    let helper = folder.path().join("helper");
    fs::create_dir_all(helper.join("src")).unwrap();
    let manifest = "[package]\nname = \"helper\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    fs::write(helper.join("Cargo.toml"), manifest).unwrap();
    let source = "#![no_std]\n#[inline]\npub fn doubled(x: u32) -> u32 { x + x }\n";
    fs::write(helper.join("src/lib.rs"), source).unwrap();
    let manifest = kernels.join("Cargo.toml");
    let mut text = fs::read_to_string(&manifest).unwrap();
    text += "\n[dependencies]\nhelper = { path = \"../helper\" }\n";
    for package in ["smoke_kernels", "helper", "*"] {
        text += &format!(
            "[profile.release.package.\"{package}\"]\noverflow-checks = true\ndebug = true\nopt-level = 0\n"
        );
    }
    fs::write(manifest, text).unwrap();
    let build = build(&kernels, compiler).unwrap();
    let add = entry(&build.ptx, "add");
    assert!(!add.contains("trap;") && !add.contains("call"), "{add}");
    assert!(build.ptx.contains(".target sm_70\n"), "{}", build.ptx);
}

/// The kernels' helper has the same name, version and place in both workspaces.
#[test]
fn a_target_folder_of_two_workspaces_mixes_nothing() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let workspaces = [1234, 5678].map(|number| {
        let (folder, kernels) = smoke_kernels(
            "#[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn number(out: *mut u32) {\n\
             // SAFETY: never run.\nunsafe { *out = helper::number() } }",
        );
        let helper = kernels.join("helper");
        fs::create_dir_all(helper.join("src")).unwrap();
        let manifest = "[package]\nname = \"helper\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        fs::write(helper.join("Cargo.toml"), manifest).unwrap();
        let source = format!("#![no_std]\n#[inline]\npub fn number() -> u32 {{ {number} }}\n");
        fs::write(helper.join("src/lib.rs"), source).unwrap();
        let manifest = kernels.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        let dependency = "[dependencies]\nhelper = { path = \"helper\" }\n";
        fs::write(manifest, text + dependency).unwrap();
        (folder, kernels, number)
    });
    for (_folder, kernels, number) in &workspaces {
        let build = build(kernels, compiler.clone()).unwrap();
        let text = entry(&build.ptx, "number");
        assert!(text.contains(&format!(", {number};")), "{text}");
    }
}

#[test]
fn versions_that_llvm_does_not_know_are_refused() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (_folder, kernels) = smoke_kernels("");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let builder = CudaBuilder::new(&kernels).compiler(compiler);
    let builder = builder
        .target_dir(target)
        .ptx_version(PtxVersion::new(9, 99));
    let error = builder.build().unwrap_err().to_string();
    assert!(error.contains("no PTX with `.version 9.99`"), "{error}");
}

#[test]
fn what_rustc_says_is_in_the_error() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (_folder, kernels) = smoke_kernels("fn broken() -> u32 { \"text\" }");
    let error = build(&kernels, compiler).unwrap_err();
    assert!(matches!(error, BuildError::Compile { .. }));
    assert!(error.to_string().contains("mismatched types"), "{error}");
}

#[test]
fn two_kernels_of_a_name_are_refused_with_both_places() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let kernel = "#[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn twice(_: *mut u32) {}";
    let extra = format!("\npub mod first {{\n{kernel}\n}}\npub mod second {{\n{kernel}\n}}\n");
    let (_folder, kernels) = smoke_kernels(&extra);
    let error = build(&kernels, compiler).unwrap_err();
    let BuildError::KernelNames { name, places, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!((name.as_str(), places.len()), ("twice", 2), "{error}");
    assert!(error.to_string().contains("rename one"), "{error}");
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (_folder, kernels) = smoke_kernels(
        "#[repr(C)] pub struct Table([u32; 1090]);\n\
         #[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn large(table: Table, out: *mut u32) {\n\
         // SAFETY: never run.\nunsafe { *out = table.0[7] } }",
    );
    let error = build(&kernels, compiler).unwrap_err();
    let BuildError::Parameters { kernel, bytes, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!((kernel.as_str(), *bytes), ("large", 4368), "{error}");
}

#[test]
fn errors_of_llvm_name_the_function() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (_folder, kernels) = smoke_kernels(
        "pub struct Wave;\nimpl Wave {\n#[inline(never)]\n\
         pub fn height(&self, x: f64) -> f64 { core::intrinsics::sinf64(x) }\n}\n\
         #[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn wave(out: *mut f64, x: f64) {\n\
         // SAFETY: never run.\nunsafe { *out = Wave.height(x) } }",
    );
    let source = kernels.join("src/lib.rs");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(
        source,
        format!("#![feature(core_intrinsics)]\n#![allow(internal_features)]\n{text}"),
    )
    .unwrap();
    let error = build(&kernels, compiler).unwrap_err();
    let BuildError::Llvm { function, .. } = &error else {
        panic!("{error}");
    };
    assert!(
        function.contains("Wave") && function.ends_with("::height"),
        "{error}"
    );
    assert!(!error.to_string().contains("Stack dump"), "{error}");
}

#[test]
fn a_missing_function_is_named() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (_folder, kernels) = smoke_kernels(
        "unsafe extern \"C\" { fn nowhere(x: u32) -> u32; }\n\
         #[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn calls(out: *mut u32) {\n\
         // SAFETY: never run.\nunsafe { *out = nowhere(1) } }",
    );
    let error = build(&kernels, compiler).unwrap_err();
    assert!(
        matches!(&error, BuildError::Undefined { names, .. } if names == &["nowhere"]),
        "{error}"
    );
}

#[test]
fn a_shared_static_with_a_value_is_refused() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (_folder, kernels) = smoke_kernels(
        "#[unsafe(link_section = \".shared\")] static mut ONES: [u32; 4] = [1; 4];\n\
         #[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn ones(out: *mut u32, i: usize) {\n\
         // SAFETY: never run.\nunsafe { ONES[i] += 1; *out = ONES[i] } }",
    );
    let error = build(&kernels, compiler).unwrap_err();
    assert!(
        matches!(&error, BuildError::SharedInitialiser { .. }),
        "{error}"
    );
}

#[test]
fn statics_that_do_not_fit_are_refused() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (_folder, kernels) = smoke_kernels(
        "#[unsafe(link_section = \".shared.static\")] static mut FIRST: [u32; 8192] = [0; 8192];\n\
         #[unsafe(link_section = \".shared.static\")] static mut SECOND: [u32; 4097] = [0; 4097];\n\
         #[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn shares(out: *mut u32, i: usize) {\n\
         // SAFETY: never run.\nunsafe { FIRST[i] += 1; SECOND[i] += 1; *out = FIRST[i] + SECOND[i] } }",
    );
    let error = build(&kernels, compiler.clone()).unwrap_err();
    let BuildError::SharedMemory {
        kernel,
        bytes,
        largest,
        ..
    } = &error
    else {
        panic!("{error}");
    };
    assert_eq!((kernel.as_str(), *bytes), ("shares", 49_156));
    assert!(largest[0].0.contains("FIRST"), "{error}");

    let (_folder, kernels) = smoke_kernels(
        "#[unsafe(no_mangle)] #[unsafe(link_section = \".constant\")]\n\
         static mut TABLE: [u8; 65536] = [1; 65536];\n\
         #[unsafe(no_mangle)] #[unsafe(link_section = \".constant\")]\n\
         static mut FLAG: u8 = 1;\n",
    );
    let error = build(&kernels, compiler).unwrap_err();
    assert!(
        matches!(&error, BuildError::ConstantMemory { bytes: 65_537, .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("`TABLE` (65536 bytes)"),
        "{error}"
    );
}

#[test]
fn a_value_of_a_shared_static_is_refused_unless_it_is_zero() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    for (value, is_accepted) in [("0", true), ("7", false)] {
        let (_folder, kernels) = smoke_kernels(&format!(
            "#[unsafe(link_section = \".shared.static\")] static mut LAST: u32 = {value};\n\
             #[unsafe(no_mangle)] pub unsafe extern \"ptx-kernel\" fn last(out: *mut u32, value: u32) {{\n\
             // SAFETY: never run.\nunsafe {{ LAST += value; *out = LAST }} }}"
        ));
        match build(&kernels, compiler.clone()) {
            Ok(_) => assert!(is_accepted, "the value {value} was dropped"),
            Err(error) => assert!(
                !is_accepted && matches!(&error, BuildError::SharedInitialiser { .. }),
                "{error}"
            ),
        }
    }
}

/// A package whose kernels are in a module, beside code of the host.
fn package_with_kernels() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let cuda_std = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuda_std");
    let manifest = format!(
        "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\n\
         cuda_std = {{ package = \"gridstride_cuda_std\", path = {cuda_std:?} }}\n[workspace]\n"
    );
    let kernels = "//! Kernels.\nuse cuda_std::prelude::*;\nmod parts;\n\
        /// # Safety\n/// The slice is valid.\n#[kernel]\npub unsafe fn twice(data: DeviceSliceMut<f32>) {\n\
        for i in thread::grid_stride(data.len()) {\n unsafe { data.set(i, parts::of(data.at(i))) };\n }\n}\n";
    for (name, text) in [
        ("Cargo.toml", manifest.as_str()),
        ("src/main.rs", "mod kernels;\nfn main() {}\n"),
        ("src/kernels.rs", kernels),
        (
            "src/kernels/parts.rs",
            "pub fn of(x: f32) -> f32 { crate::kernels::parts::FACTOR * x }\nconst FACTOR: f32 = 2.0;\n",
        ),
    ] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let file = folder.path().join("src/kernels.rs");
    (folder, file)
}

#[test]
fn a_module_has_kernels() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (folder, file) = package_with_kernels();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("module");
    let build = |file: &Path| {
        let builder = CudaBuilder::module(file).compiler(compiler.clone());
        builder.target_dir(&target).build()
    };
    let built = build(&file).unwrap();
    assert_eq!(built.summary.entries, ["twice"]);
    assert!(
        built.ptx.starts_with("// The kernels of app for sm_70"),
        "{}",
        built.ptx
    );
    let root = folder.path().canonicalize().unwrap();
    let files = built
        .sources
        .files
        .iter()
        .filter_map(|file| file.strip_prefix(&root).ok());
    let files: Vec<_> = files.filter(|file| !file.starts_with("target")).collect();
    assert!(
        files.contains(&Path::new("src/kernels/parts.rs"))
            && files.contains(&Path::new("Cargo.toml")),
        "{files:?}"
    );

    // Another module of the package has its own PTX.
    let text = fs::read_to_string(&file).unwrap();
    let other = folder.path().join("src/others.rs");
    let others = text.replace("mod parts;", "").replace("parts::of", "");
    fs::write(&other, others.replace("fn twice", "fn copy")).unwrap();
    let other = build(&other).unwrap();
    assert_eq!(other.summary.entries, ["copy"]);
    assert_eq!(fs::read_to_string(&built).unwrap(), built.ptx);
    assert_eq!(fs::read_to_string(&other).unwrap(), other.ptx);

    // A mistake is shown with its place in the package.
    fs::write(&file, text.replace("parts::of", "parts::off")).unwrap();
    let message = build(&file).unwrap_err().to_string();
    assert!(message.contains("src/kernels.rs:9:"), "{message}");
}
