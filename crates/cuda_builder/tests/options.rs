//! Rust-CUDA's options: the instructions and files of builds that have them.
//!
//! Where no device compiler is installed the tests say so and pass, unless
//! `CUDA_BUILDER_REQUIRE=1`.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use common::{device_compiler, entry, kernels};
use cuda_builder::{
    Arch, Build, BuildError, CudaBuilder, DebugInfo, DeviceCompiler, NvvmArch, PTXAS_VARIABLE,
    Ptxas,
};
use tempfile::TempDir;

/// A builder for a copy of the kernels, with a target folder that stays between runs.
fn builder(compiler: &DeviceCompiler) -> (TempDir, CudaBuilder) {
    let (folder, kernels) = kernels("options", "");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let builder = CudaBuilder::new(kernels).compiler(compiler.clone());
    (folder, builder.target_dir(target))
}

/// Builds once, for all tests that look at the build.
fn shared(
    build: &'static OnceLock<Build>,
    option: impl FnOnce(CudaBuilder) -> CudaBuilder,
) -> Option<&'static Build> {
    let compiler = device_compiler()?;
    Some(build.get_or_init(|| {
        let (_folder, builder) = builder(&compiler);
        option(builder).build().unwrap()
    }))
}

/// The build without options.
fn plain() -> Option<&'static Build> {
    static PLAIN: OnceLock<Build> = OnceLock::new();
    shared(&PLAIN, |builder| builder)
}

/// The build with line tables.
fn with_lines() -> Option<&'static Build> {
    static LINES: OnceLock<Build> = OnceLock::new();
    shared(&LINES, |builder| builder.debug(DebugInfo::LineTables))
}

/// Sets checks and another architecture together, so that `core` is compiled once more instead of
/// twice.
fn checked(builder: CudaBuilder) -> CudaBuilder {
    builder.arch(NvvmArch::Compute86).release(false)
}

/// The checked build with LLVM's optimisations.
fn checked_and_optimised() -> Option<&'static Build> {
    static CHECKED: OnceLock<Build> = OnceLock::new();
    shared(&CHECKED, |builder| checked(builder).nvvm_opts(true))
}

/// Checks that kernels have their first instruction without the option and the second with it.
fn assert_changes(entries: &[[&str; 3]], option: impl FnOnce(CudaBuilder) -> CudaBuilder) {
    let Some(plain) = plain() else {
        return;
    };
    let (_folder, builder) = builder(&plain.compiler);
    let changed = option(builder).build().unwrap();
    for &[kernel, without, with] in entries {
        for (build, present, absent) in [(plain, without, with), (&changed, with, without)] {
            let text = entry(&build.ptx, kernel);
            assert!(text.contains(present) && !text.contains(absent), "{text}");
        }
    }
}

#[test]
fn fast_sqrt_approximates() {
    let root = ["root", "sqrt.rn.f32", "sqrt.approx.f32"];
    assert_changes(&[root], |builder| builder.fast_sqrt(true));
}

#[test]
fn fast_div_approximates() {
    let divide = ["divide", "div.rn.f32", "div.full.f32"];
    assert_changes(&[divide], |builder| builder.fast_div(true));
}

#[test]
fn ftz_flushes_denormals() {
    let product = ["product_and_sum", "mul.rn.f32", "mul.rn.ftz.f32"];
    assert_changes(&[product], |builder| builder.ftz(true));
}

#[test]
fn options_add_up() {
    let root = ["root", "sqrt.rn.f32", "sqrt.approx.ftz.f32"];
    let divide = ["divide", "div.rn.f32", "div.full.ftz.f32"];
    assert_changes(&[root, divide], |builder| {
        builder.ftz(true).fast_sqrt(true).fast_div(true)
    });
}

#[test]
fn fma_contraction_fuses() {
    let sum = ["product_and_sum", "add.rn.f32", "fma.rn.f32"];
    assert_changes(&[sum], |builder| builder.fma_contraction(true));
}

#[test]
fn tables_go_to_constant_memory() {
    let look_up = ["look_up", "ld.global", "ld.const"];
    assert_changes(&[look_up], |builder| {
        builder.use_constant_memory_space(true)
    });
}

#[test]
fn checked_builds_trap_on_overflow() {
    let (Some(release), Some(optimised)) = (plain(), checked_and_optimised()) else {
        return;
    };
    assert!(!entry(&release.ptx, "add").contains("trap;"));
    assert!(!release.ptx.contains(".loc"));
    let ptx = &optimised.ptx;
    assert!(entry(ptx, "add").contains("trap;"), "{ptx}");
    assert!(ptx.contains("\t.loc\t"), "{ptx}");
    // Without optimisations, the barrier is in a function that the kernel calls.
    let (_folder, builder) = builder(&release.compiler);
    let checked = checked(builder).build().unwrap();
    assert_eq!(checked.summary.barriers.values().sum::<usize>(), 1);
    if let Ok(ptxas) = Ptxas::find() {
        ptxas.assemble(&checked, Arch::Sm90).unwrap();
    }
}

/// The instructions without directives and comments, which tell of lines.
fn instructions(ptx: &str) -> Vec<&str> {
    let lines = ptx
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default().trim());
    let is_code = |line: &&str| {
        let is_directive = [".loc", ".file", ".section"]
            .iter()
            .any(|word| line.starts_with(word));
        let is_label = line.starts_with("$L__tmp") || line.starts_with("$L__func");
        !line.is_empty() && !is_directive && !is_label
    };
    lines.filter(is_code).collect()
}

#[test]
fn line_tables_name_the_lines_of_the_source() {
    let (Some(plain), Some(build)) = (plain(), with_lines()) else {
        return;
    };
    assert!(!plain.ptx.contains(".loc") && !plain.ptx.contains(".file"));
    // A debugger's information would make the driver compile without optimisations.
    assert!(build.ptx.contains(".target sm_70\n"), "{}", build.ptx);
    // The line of the atomic addition, which the builder has put in the place of a call.
    let source = include_str!("fixtures/options/src/lib.rs");
    let is_addition = |line: &str| line.contains("__atomic_add_f32(out");
    let addition = 1 + source.lines().position(is_addition).unwrap();
    let before = entry(&build.ptx, "rewritten")
        .split("atom.")
        .next()
        .unwrap();
    let location = before.rsplit("\t.loc\t").next().unwrap();
    let mut numbers = location.split_whitespace();
    let file = numbers.next().unwrap();
    assert_eq!(numbers.next(), Some(&*addition.to_string()), "{location}");
    let named = build.ptx.lines().any(|line| {
        line.starts_with(&format!("\t.file\t{file} ")) && line.ends_with("src/lib.rs\"")
    });
    assert!(named, "{}", build.ptx);
    assert_eq!(instructions(&plain.ptx), instructions(&build.ptx));
}

#[test]
fn ptxas_keeps_the_lines() {
    let (Some(build), Ok(_)) = (with_lines(), Ptxas::find()) else {
        return;
    };
    let Some(ptxas) = std::env::var_os(PTXAS_VARIABLE) else {
        eprintln!("skipped: {PTXAS_VARIABLE} is not set");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (ptx, cubin) = (
        folder.path().join("kernels.ptx"),
        folder.path().join("kernels.cubin"),
    );
    fs::write(&ptx, &build.ptx).unwrap();
    let mut command = Command::new(ptxas);
    command.args(["-lineinfo", "-arch=sm_90", "-o"]);
    assert!(command.args([&cubin, &ptx]).status().unwrap().success());
    // DWARF's list of files.
    let cubin = fs::read(cubin).unwrap();
    let has = |text: &[u8]| cubin.windows(text.len()).any(|window| window == text);
    assert!(has(b".debug_line") && has(b"lib.rs"));
}

#[test]
fn capabilities_and_features_are_cfgs() {
    let (Some(plain), Some(later)) = (plain(), checked_and_optimised()) else {
        return;
    };
    let stored = |build: &Build| {
        let text = entry(&build.ptx, "capability").to_owned();
        let number = text
            .split("st.global")
            .nth(1)
            .unwrap()
            .split(", ")
            .nth(1)
            .unwrap();
        let number = number.split(';').next().unwrap();
        number.parse::<u32>().unwrap()
    };
    assert_eq!(stored(plain), 61_700);
    assert_eq!(stored(later), 61_000 + 80_000 + 700);
    let (_folder, builder) = builder(&plain.compiler);
    let tripled = builder.build_args(&["--features", "tripled"]);
    assert_eq!(stored(&tripled.build().unwrap()), 3 * 61_700);
}

#[test]
fn builds_are_paths_and_leave_what_is_asked_for() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (folder, builder) = builder(&compiler);
    let copy = folder.path().join("out/kernels.ptx");
    let module = folder.path().join("module.ll");
    let builder = builder.copy_to(&copy).final_module_path(&module);
    let build = builder.clone().emit_llvm_ir(true).build().unwrap();
    assert!(
        fs::read_to_string(&build)
            .unwrap()
            .contains(".entry divide(")
    );
    assert!(build.ends_with("out/kernels.ptx"));
    let written = |extension: &str| fs::read(copy.with_extension(extension)).unwrap_or_default();
    let ir = String::from_utf8(written("ll")).unwrap();
    assert!(ir.contains("@__atomic_add_f32(") && written("bc").is_empty());
    let module = fs::read_to_string(module).unwrap();
    assert!(module.contains("atomicrmw fadd") && module.contains("addrspace(3)"));
    let path = PathBuf::from(builder.emit_llvm_bitcode(true).build().unwrap());
    assert_eq!(path, copy);
    assert!(written("bc").starts_with(b"BC\xC0\xDE"));
}

#[test]
fn what_cannot_be_compiled_is_refused() {
    let refused = |builder: CudaBuilder| builder.build().unwrap_err();
    let kernels = || CudaBuilder::new("tests/fixtures/options");
    let error = refused(kernels().arch(NvvmArch::Compute61));
    assert!(
        matches!(error, BuildError::UnsupportedArch { .. }),
        "{error}"
    );
    let error = refused(kernels().optix(true));
    assert!(
        matches!(error, BuildError::Unsupported { option: "optix" }),
        "{error}"
    );
    assert!(error.to_string().contains("OptiX"), "{error}");
}
