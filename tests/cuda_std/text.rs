//! Text from kernels, and assertions.

use super::children::in_children;
use super::*;
use cuda_std_tests_kernels::text;
use gridstride::Result;
use gridstride::device::DeviceKind;

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

fn asserted(device: &Device, broken: u32) -> Result<()> {
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

/// Checks what a child prints on which assertion `broken` fails. On a GPU the driver prints it.
fn check_printed(test: &str, launch: fn(&Device, u32) -> Result<()>, broken: u32, parts: &[&str]) {
    let work = |device: &Device| {
        let error = launch(device, broken).unwrap_err();
        eprintln!("{error}");
    };
    let check = |device: &Device, output: &std::process::Output| {
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{device}: {printed}");
        // The driver writes "block: [1,0,0], thread: [0,0,0]".
        let place = match device.kind() {
            DeviceKind::Simulator => ["block (1, 0, 0)", "thread (0, 0, 0)"],
            _ => ["block: [1,0,0]", "thread: [0,0,0]"],
        };
        for part in parts.iter().chain(&place) {
            assert!(printed.contains(part), "{device}: {part} in {printed}");
        }
    };
    in_children(test, work, check);
}

#[test]
fn broken_assertions_are_printed() {
    let test = "text::broken_assertions_are_printed";
    check_printed(test, asserted, 3, &["== value: of thread", "text.rs:32"]);
}

fn asserted_by_name(device: &Device, broken: u32) -> Result<()> {
    let values = device.buffer_from(&VALUES).unwrap();
    let (config, arguments) = (LaunchConfig::new(2, 2), (broken, values.slice()));
    let kernel = &text::imported::asserts_by_name;
    // SAFETY: a value for each thread.
    unsafe { device.launch(&COMMON, kernel, config, arguments) }?;
    device.synchronize()
}

#[test]
fn imported_assertions_hold() {
    for device in with_kernels() {
        asserted_by_name(&device, 4).unwrap();
    }
}

#[test]
fn imported_assert_is_printed() {
    let test = "text::imported_assert_is_printed";
    let parts = ["5 at 2 is no value", "text.rs:56"];
    check_printed(test, asserted_by_name, 1, &parts);
}

#[test]
fn imported_assert_without_a_message_is_printed() {
    let test = "text::imported_assert_without_a_message_is_printed";
    let parts = ["broken != 0 || value != 5", "text.rs:55"];
    check_printed(test, asserted_by_name, 0, &parts);
}

#[test]
fn imported_assert_eq_is_printed() {
    let test = "text::imported_assert_eq_is_printed";
    let parts = ["of 2", "left: 4", "right: 5", "text.rs:57"];
    check_printed(test, asserted_by_name, 2, &parts);
}

/// On a GPU without their message.
#[test]
fn assertions_of_core_end_the_launch() {
    let work = |device: &Device| {
        let values = device.buffer_from(&VALUES).unwrap();
        let (config, arguments) = (LaunchConfig::new(2, 2), (values.slice(),));
        // SAFETY: a value for each thread.
        let launched = unsafe { device.launch(&COMMON, &text::asserts_of_core, config, arguments) };
        let error = launched.and_then(|()| device.synchronize()).unwrap_err();
        eprintln!("{error}");
    };
    let check = |device: &Device, output: &std::process::Output| {
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{device}: {printed}");
        let has_message = printed.contains("5 is no value");
        let is_simulator = device.kind() == DeviceKind::Simulator;
        assert_eq!(has_message, is_simulator, "{device}: {printed}");
    };
    in_children("text::assertions_of_core_end_the_launch", work, check);
}
