//! Tests in processes of their own, also over `driver.rs`, a library that plays the driver of a GPU.
#![allow(missing_docs, reason = "it is read by those who write tests")]

use std::process::Command;

#[cfg(target_os = "linux")]
mod control;

#[cfg(target_os = "linux")]
pub use control::*;

/// Runs `work` in a separate process. `test` is the calling test, which the process runs alone.
/// `prepare` may configure the command.
pub fn in_own_process<T>(test: T, prepare: impl FnOnce(&mut Command), work: impl FnOnce()) {
    const CHILD: &str = "GRIDSTRIDE_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return work();
    }
    let name = name_of(&test);
    let program = std::env::current_exe().expect("the path of this program");
    let mut command = Command::new(program);
    command
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1");
    prepare(&mut command);
    let output = command.output().expect("this program runs");
    let [out, err] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let has_run = output.status.success() && out.contains(" 1 passed;");
    assert!(has_run, "{name}: {}\n{out}\n{err}", output.status);
    // Also what was skipped.
    eprint!("{err}");
}

/// Returns the path of a test without the name of its program, by which tests do not begin.
pub fn name_of<T>(test: &T) -> &'static str {
    let (_, name) = (std::any::type_name_of_val(test).split_once("::")).expect("a path");
    name
}
