//! Runs both programs.

use std::process::Command;

/// Runs a program. Returns whether it succeeded, and what it printed.
fn run(program: &str) -> (bool, String) {
    let output = Command::new(program).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text.into_owned())
}

#[test]
fn gridstride_runs_the_kernels_on_any_machine() {
    let (succeeded, text) = run(env!("CARGO_BIN_EXE_rust_cuda_style_gridstride"));
    assert!(succeeded, "{text}");
    assert!(text.contains("100000 sums are right"), "{text}");
    assert!(text.contains("digests are those of the CPU"), "{text}");
    assert_eq!(text.matches(" GB/s").count(), 2, "{text}");
}

#[test]
fn plain_cust_runs_the_kernels_or_says_that_there_is_no_gpu() {
    let (succeeded, text) = run(env!("CARGO_BIN_EXE_rust_cuda_style"));
    let has_gpu = cust::init(cust::CudaFlags::empty()).is_ok();
    assert_eq!(succeeded, has_gpu, "{text}");
    match has_gpu {
        true => assert!(text.contains("digests are those of the CPU"), "{text}"),
        false => assert!(
            text.contains("error: there is no GPU to run on: "),
            "{text}"
        ),
    }
    if cust::driver::load_status().is_err() {
        assert!(
            text.contains("the NVIDIA driver's library could not be loaded"),
            "{text}"
        );
    }
}
