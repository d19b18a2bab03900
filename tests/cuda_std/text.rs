//! Text from kernels, and assertions.

use super::children::in_children;
use super::*;
use cuda_std_tests_kernels::text;

#[test]
fn kernels_print() {
    let work = |device: &Device| {
        // For the text of an `f32`.
        device.set_stack_size(8 << 10).unwrap();
        let values = device.buffer_from(&[1.5_f32, -0.25, 100.0]).unwrap();
        let config = LaunchConfig::new(3, 2);
        // SAFETY: a value for each block.
        unsafe { launch_of(&COMMON, device, &text::prints, config, (values.slice(),)) };
        device.synchronize().unwrap();
    };
    let check = |device: &Device, output: &std::process::Output| {
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{device}: {printed}{errors}");
        for line in [
            "block 0: [1.5, -0.25],   1.50% %d\n",
            "block 1: [1.5, -0.25],  -0.25% %d\n",
            "block 2: [1.5, -0.25], 100.00% %d\n",
            "no end",
            " of xx\n",
        ] {
            assert_eq!(
                printed.matches(line).count(),
                1,
                "{device}: {line:?} in {printed}"
            );
        }
        assert!(printed.contains("\n\n"), "{device}: {printed}");
    };
    in_children("text::kernels_print", work, check);
}

/// The values of [`text::asserts`], of which the thread with number 2 breaks the assertions.
const VALUES: [u32; 4] = [1, 2, 5, 4];

fn asserted(device: &Device, broken: u32) -> gridstride::Result<()> {
    let values = device.buffer_from(&VALUES).unwrap();
    let config = LaunchConfig::new(2, 2);
    // SAFETY: a value for each thread.
    unsafe { device.launch(&COMMON, &text::asserts, config, (broken, values.slice())) }?;
    device.synchronize()
}

/// What each assertion says when it is broken, or nothing.
const MESSAGES: [&[&str]; 7] = [
    &["assertion failed: broken != 0 || value != 5"],
    &["5 at 2 is not allowed"],
    &[
        "assertion failed: value.min(5 - (broken == 2) as u32) == value",
        "left: 4",
        "right: 5",
    ],
    &["== value: of thread", "left: 4", "right: 5"],
    &[
        "assertion failed: value + (broken == 4) as u32 != 6",
        "left: 6",
        "right: 6",
    ],
    &["!= 6: never 6", "left: 6"],
    &[],
];

#[test]
fn assertions_name_thread_and_line() {
    let device = simulator();
    for ((broken, message), line) in (0..).zip(MESSAGES).zip([29, 30, 31, 32, 38, 39, 0]) {
        let result = asserted(&device, broken);
        if message.is_empty() {
            result.unwrap();
            continue;
        }
        let text = result.unwrap_err().to_string();
        let line = format!("cuda_std_tests/src/text.rs:{line}:");
        for part in ["`asserts`", "block (1, 0, 0)", "thread (0, 0, 0)", &line] {
            assert!(text.contains(part), "{part} in {text}");
        }
        for part in message {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}

/// On a GPU the driver prints the message.
#[test]
fn broken_assertions_are_printed() {
    let work = |device: &Device| {
        let error = asserted(device, 3).unwrap_err();
        eprintln!("{error}");
    };
    let check = |device: &Device, output: &std::process::Output| {
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{device}: {printed}");
        for part in ["== value: of thread", "text.rs:32"] {
            assert!(printed.contains(part), "{device}: {part} in {printed}");
        }
    };
    in_children("text::broken_assertions_are_printed", work, check);
}
