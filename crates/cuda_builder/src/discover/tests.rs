//! Discovery over fake toolchains: folders of shell scripts.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use tempfile::TempDir;

use super::*;

/// A folder that stands for a machine with nothing on it.
struct Machine(TempDir);

impl Machine {
    fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn script(&self, name: &str, body: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Another process writes it: a file that this one has open for writing might be passed on
        // to a child of another test just then, and could not be executed.
        let mut shell = Command::new("sh")
            .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
            .arg(&path)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let text = format!("#!/bin/sh\n{body}\n");
        shell
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        assert!(shell.wait().unwrap().success());
    }

    /// rustc in `bin` with its sysroot at `sysroot`.
    fn rustc(&self, bin: &str, sysroot: &str, release: &str) {
        let sysroot = self.path(sysroot);
        self.script(
            &format!("{bin}/rustc"),
            &format!(
                "[ \"$1\" = --print ] && echo {} && exit\n\
                 echo 'rustc {release} (abc 2026-01-01)'\necho 'host: x86_64-unknown-linux-gnu'\n\
                 echo 'release: {release}'\necho 'LLVM version: 22.1.8'",
                sysroot.display()
            ),
        );
        self.script(&format!("{bin}/cargo"), "");
    }

    fn core(&self, sysroot: &str) {
        self.script(
            &format!("{sysroot}/lib/rustlib/src/rust/library/core/Cargo.toml"),
            "",
        );
    }

    fn llvm(&self, opt: &str, llc: &str, version: &str) {
        let body = format!("echo 'Debian LLVM version {version}'");
        self.script(opt, &body);
        self.script(llc, &body);
    }

    /// A distribution's compiler with all its parts.
    fn distribution(&self) {
        self.rustc("usr/bin", "usr", "1.96.0");
        self.core("usr");
        self.llvm("usr/bin/opt-22", "usr/bin/llc-22", "22.1.8");
    }

    fn nightly(&self) {
        self.script(
            "rustup",
            &format!("echo {}/$4", self.path("nightly/bin").display()),
        );
        self.rustc("nightly/bin", "nightly", "1.98.0-nightly");
        self.core("nightly");
        let tools = "nightly/lib/rustlib/x86_64-unknown-linux-gnu/bin";
        self.llvm(
            &format!("{tools}/opt"),
            &format!("{tools}/llc"),
            "22.1.4-rust-1.98.0",
        );
    }

    fn search(&self) -> Search {
        Search {
            cargo: None,
            rustc: None,
            llvm_bin: None,
            system: self.path("usr"),
            rustup: self.path("rustup"),
        }
    }
}

fn reasons(search: &Search) -> Vec<String> {
    match search.run() {
        Err(BuildError::NoDeviceCompiler { rejected }) => rejected
            .into_iter()
            .map(|rejected| rejected.reason)
            .collect(),
        other => panic!("expected no compiler, got {other:?}"),
    }
}

#[test]
fn the_distribution_comes_first() {
    let machine = Machine::empty();
    machine.distribution();
    machine.nightly();
    let compiler = machine.search().run().unwrap();
    assert_eq!(compiler.rustc, machine.path("usr/bin/rustc"));
    assert_eq!(compiler.llc, machine.path("usr/bin/llc-22"));
    assert_eq!(compiler.rustc_version, "rustc 1.96.0 (abc 2026-01-01)");
    assert_eq!(compiler.llvm_version, "22.1.8");
}

#[test]
fn rustup_is_next() {
    let machine = Machine::empty();
    machine.nightly();
    let compiler = machine.search().run().unwrap();
    assert_eq!(compiler.cargo, machine.path("nightly/bin/cargo"));
    assert_eq!(compiler.llvm_version, "22.1.4-rust-1.98.0");
}

#[test]
fn the_environment_decides_before_all() {
    let machine = Machine::empty();
    machine.distribution();
    machine.nightly();
    let rustc = Some(machine.path("nightly/bin/rustc"));
    let compiler = Search {
        rustc,
        ..machine.search()
    }
    .run()
    .unwrap();
    assert_eq!(compiler.rustc, machine.path("nightly/bin/rustc"));
}

#[test]
fn a_named_compiler_that_fails_has_no_substitute() {
    let machine = Machine::empty();
    machine.distribution();
    let rustc = Some(machine.path("nowhere/rustc"));
    let reasons = reasons(&Search {
        rustc,
        ..machine.search()
    });
    assert_eq!(reasons.len(), 1);
    assert!(reasons[0].contains("nowhere/rustc"), "{reasons:?}");
    assert!(
        reasons[0].contains("Correct or unset CUDA_BUILDER_RUSTC"),
        "{reasons:?}"
    );
}

#[test]
fn a_named_cargo_needs_a_named_rustc() {
    let machine = Machine::empty();
    let cargo = Some(machine.path("usr/bin/cargo"));
    assert!(
        reasons(&Search {
            cargo,
            ..machine.search()
        })[0]
            .contains("CUDA_BUILDER_RUSTC")
    );
}

#[test]
fn every_candidate_gives_its_reason() {
    let machine = Machine::empty();
    let reasons = reasons(&machine.search());
    assert!(reasons[0].contains("there is no rustc") && reasons[0].contains("rustc-web"));
    assert!(reasons[1].contains("rustup toolchain install nightly -c rust-src -c llvm-tools"));
}

#[test]
fn an_old_rustc_is_refused() {
    let machine = Machine::empty();
    machine.distribution();
    machine.rustc("usr/bin", "usr", "1.63.0");
    assert!(reasons(&machine.search())[0].contains("is rustc 1.63.0, but 1.95 or later"));
}

#[test]
fn missing_sources_of_core_are_named() {
    let machine = Machine::empty();
    machine.rustc("usr/bin", "usr", "1.96.0");
    assert!(reasons(&machine.search())[0].contains("rust-web-src"));
}

#[test]
fn llvm_has_to_be_there_and_of_rustcs_version() {
    let machine = Machine::empty();
    machine.rustc("usr/bin", "usr", "1.96.0");
    machine.core("usr");
    let missing = &reasons(&machine.search())[0];
    assert!(missing.contains("opt and llc of LLVM 22"), "{missing}");
    machine.llvm("elsewhere/opt", "elsewhere/llc", "19.1.0");
    let llvm_bin = Some(machine.path("elsewhere"));
    let other = &reasons(&Search {
        llvm_bin,
        ..machine.search()
    })[0];
    assert!(other.contains("is of LLVM 19.1.0"), "{other}");
    assert!(
        other.contains("correct or unset CUDA_BUILDER_LLVM_BIN"),
        "{other}"
    );
}

#[test]
fn a_missing_cargo_is_set_by_its_variable() {
    let machine = Machine::empty();
    machine.distribution();
    let rustc = Some(machine.path("usr/bin/rustc"));
    for (cargo, hint) in [
        (None, "set CUDA_BUILDER_CARGO to the cargo"),
        (
            Some(machine.path("nowhere/cargo")),
            "correct or unset CUDA_BUILDER_CARGO",
        ),
    ] {
        std::fs::remove_file(machine.path("usr/bin/cargo")).ok();
        let reasons = reasons(&Search {
            rustc: rustc.clone(),
            cargo,
            ..machine.search()
        });
        assert!(reasons[0].contains(hint), "{reasons:?}");
    }
}
