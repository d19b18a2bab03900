//! Rust-CUDA's options: the instructions and files of builds that have them.
//!
//! Where no device compiler is installed the tests say so and pass, unless
//! `CUDA_BUILDER_REQUIRE=1`.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{device_compiler, entry, kernels};
use cuda_builder::{
    Arch, BuildError, CudaBuilder, DebugInfo, DeviceCompiler, NvvmArch, PTXAS_VARIABLE, Ptxas,
};
use tempfile::TempDir;

/// A builder for a copy of the kernels, with a target folder that stays between runs.
fn builder(compiler: &DeviceCompiler) -> (TempDir, CudaBuilder) {
    let (folder, kernels) = kernels("options", "");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let builder = CudaBuilder::new(kernels).compiler(compiler.clone());
    (folder, builder.target_dir(target))
}

/// Builds twice, and checks that a kernel has the first instruction without the option and the
/// second with it.
fn assert_changes(
    kernel: &str,
    without: &str,
    with: &str,
    option: impl Fn(CudaBuilder) -> CudaBuilder,
) {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (_folder, builder) = builder(&compiler);
    for (builder, present, absent) in [
        (builder.clone(), without, with),
        (option(builder), with, without),
    ] {
        let ptx = builder.build().unwrap().ptx;
        let text = entry(&ptx, kernel);
        assert!(text.contains(present) && !text.contains(absent), "{text}");
    }
}

#[test]
fn fast_sqrt_approximates() {
    assert_changes("root", "sqrt.rn.f32", "sqrt.approx.f32", |builder| {
        builder.fast_sqrt(true)
    });
}

#[test]
fn fast_div_approximates() {
    assert_changes("divide", "div.rn.f32", "div.full.f32", |builder| {
        builder.fast_div(true)
    });
}

#[test]
fn ftz_flushes_denormals() {
    assert_changes(
        "product_and_sum",
        "mul.rn.f32",
        "mul.rn.ftz.f32",
        |builder| builder.ftz(true),
    );
}

#[test]
fn options_add_up() {
    let fast = |builder: CudaBuilder| builder.ftz(true).fast_sqrt(true).fast_div(true);
    assert_changes("root", "sqrt.rn.f32", "sqrt.approx.ftz.f32", fast);
    assert_changes("divide", "div.rn.f32", "div.full.ftz.f32", fast);
}

#[test]
fn fma_contraction_fuses() {
    assert_changes("product_and_sum", "add.rn.f32", "fma.rn.f32", |builder| {
        builder.fma_contraction(true)
    });
}

#[test]
fn tables_go_to_constant_memory() {
    assert_changes("look_up", "ld.global", "ld.const", |builder| {
        builder.use_constant_memory_space(true)
    });
}

#[test]
fn checked_builds_trap_on_overflow() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (_folder, builder) = builder(&compiler);
    let release = builder.clone().build().unwrap();
    assert!(!entry(&release.ptx, "add").contains("trap;"));
    assert!(!release.ptx.contains(".loc"));
    let optimised = builder.clone().release(false).nvvm_opts(true);
    let ptx = optimised.build().unwrap().ptx;
    assert!(entry(&ptx, "add").contains("trap;"), "{ptx}");
    assert!(ptx.contains("\t.loc\t"), "{ptx}");
    // Without optimisations, the barrier is in a function that the kernel calls.
    let checked = builder.release(false).build().unwrap();
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
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (_folder, builder) = builder(&compiler);
    let plain = builder.clone().build().unwrap();
    let build = builder.debug(DebugInfo::LineTables).build().unwrap();
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
    let (Some(compiler), Ok(_)) = (device_compiler(), Ptxas::find()) else {
        return;
    };
    let Some(ptxas) = std::env::var_os(PTXAS_VARIABLE) else {
        eprintln!("skipped: {PTXAS_VARIABLE} is not set");
        return;
    };
    let (folder, builder) = builder(&compiler);
    let build = builder.debug(DebugInfo::LineTables).build().unwrap();
    let cubin = folder.path().join("kernels.cubin");
    let mut command = Command::new(ptxas);
    command.args(["-lineinfo", "-arch=sm_90", "-o"]);
    assert!(
        command
            .args([&cubin, &*build.ptx_path])
            .status()
            .unwrap()
            .success()
    );
    // DWARF's list of files.
    let cubin = fs::read(cubin).unwrap();
    let has = |text: &[u8]| cubin.windows(text.len()).any(|window| window == text);
    assert!(has(b".debug_line") && has(b"lib.rs"));
}

#[test]
fn capabilities_and_features_are_cfgs() {
    let Some(compiler) = device_compiler() else {
        return;
    };
    let (_folder, builder) = builder(&compiler);
    let stored = |builder: CudaBuilder| {
        let ptx = builder.build().unwrap().ptx;
        let text = entry(&ptx, "capability").to_owned();
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
    assert_eq!(stored(builder.clone()), 61_700);
    assert_eq!(
        stored(builder.clone().build_args(&["--features", "tripled"])),
        3 * 61_700
    );
    assert_eq!(
        stored(builder.arch(NvvmArch::Compute86)),
        61_000 + 80_000 + 700
    );
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
