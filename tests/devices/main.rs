//! Devices: what they say of themselves, their memory, launches, streams and pipelines.

#[path = "../common/mod.rs"]
mod common;
mod device;
mod graph;
mod occupancy;
mod on_stream;
#[cfg(target_os = "linux")]
mod out_of_memory;
mod pipeline;
mod reopening;

use std::process::Command;

/// Runs `work` in a separate process. `test` is the calling test, which the process runs alone.
/// `prepare` may configure the command.
fn in_own_process<T>(test: T, prepare: impl FnOnce(&mut Command), work: impl FnOnce()) {
    const CHILD: &str = "GRIDSTRIDE_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return work();
    }
    // Without the name of this program, by which tests do not begin.
    let (_, name) = (std::any::type_name_of_val(&test).split_once("::")).expect("a path");
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
