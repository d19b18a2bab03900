//! Tests in a process of their own: of what kernels print, and of launches that leave a GPU's
//! context useless.

use super::common::devices;
use gridstride::Device;
use gridstride::device::DeviceKind;
use std::process::{Command, Output};

const VARIABLE: &str = "GRIDSTRIDE_TEST_CHILD";

/// Calls `work` for each device that runs kernels in a child process, and `check` on what the child
/// printed.
///
/// `test` is the path of the calling test, which the child runs again.
pub fn in_children(test: &str, work: impl Fn(&Device), check: impl Fn(&Device, &Output)) {
    let kind = |device: &Device| match device.kind() {
        DeviceKind::Cpu => None,
        DeviceKind::Simulator => Some("simulator"),
        _ => Some("cuda"),
    };
    let wanted = std::env::var(VARIABLE).ok();
    for device in devices() {
        let Some(kind) = kind(&device) else { continue };
        match &wanted {
            Some(wanted) if wanted == kind => work(&device),
            Some(_) => {}
            None => {
                let program = std::env::current_exe().unwrap();
                let output = Command::new(program)
                    .args(["--exact", test, "--nocapture", "--test-threads=1"])
                    .env(VARIABLE, kind)
                    .output()
                    .unwrap();
                let text = String::from_utf8_lossy(&output.stdout);
                assert!(text.contains("running 1 test"), "no test {test}: {text}");
                check(&device, &output);
            }
        }
    }
}
