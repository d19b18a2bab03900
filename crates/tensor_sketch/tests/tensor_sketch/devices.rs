//! The tensor sketch over several devices and within little memory: the same bits as on one device.

use gridstride::device::DeviceKind;
use gridstride::tensor_sketch::{Entry, Form, Sequences, Tables, TensorSketch};
use gridstride::{Device, DeviceSet, Error, Result};
use ndarray::Array2;

use super::{CHUNK, FORMS, codes};
use test_support::{
    NO_DEVICE, assert_error, cuda, devices, fails_with, is_slow, least_memory, several, simulator,
    with_kernels,
};

fn tables() -> Tables {
    Tables::from_seed(4, 2, 7, 1).unwrap()
}

fn sequences(lengths: &[usize]) -> Sequences {
    let texts = lengths.iter().zip(1..);
    let texts: Vec<_> = texts.map(|(&n, seed)| codes(n, 4, seed)).collect();
    Sequences::from(texts)
}

/// Compares the sketches of `devices` with those of `one`.
#[track_caller]
fn check<T: Entry>(
    devices: &(impl DeviceSet + ?Sized),
    one: &Device,
    sketcher: TensorSketch<T>,
    sequences: &Sequences,
    what: &str,
) {
    let expected = sketcher.sketch(one, sequences).unwrap();
    let found = sketcher.sketch(devices, sequences).unwrap();
    assert_eq!(found, expected, "{what}");
    let sketcher = sketcher.normalize(true);
    let expected = sketcher.sketch_rows(one, sequences).unwrap();
    let found = sketcher.sketch_rows(devices, sequences).unwrap();
    assert_eq!(found, expected, "{what}, all rows");
}

#[test]
fn several_devices() {
    let lengths: [&[usize]; 6] = [
        &[],
        &[5],
        &[0, 0],
        &[CHUNK + 1, 3],
        &[2, 900],
        &[3, 0, 700, 9, 1, 50],
    ];
    for device in devices() {
        for count in [1, 2, 3, 5] {
            let devices = several(&device, count);
            for lengths in lengths {
                let sequences = sequences(lengths);
                for form in FORMS {
                    let sketcher = TensorSketch::new(tables()).form(form);
                    let what = format!("{count} times {device}, {lengths:?}, {form:?}");
                    check(&devices, &device, sketcher, &sequences, &what);
                }
                let sketcher = TensorSketch::new(tables()).double();
                let what = format!("{count} times {device}, {lengths:?}, in f64");
                check(&devices, &device, sketcher, &sequences, &what);
            }
            let sketcher = TensorSketch::new(tables());
            let text = codes(100, 4, 3);
            let found = sketcher.sketch_one(&devices, (&text).into()).unwrap();
            let expected = sketcher.sketch_one(&device, (&text).into()).unwrap();
            assert_eq!(found, expected);
        }
    }
}

/// Lengths, some of them too long for a device's memory.
fn lengths(device: &Device) -> Vec<usize> {
    let longest = if is_slow(device) { 18 } else { 300 };
    vec![700, 0, longest * CHUNK + 5, 3, 4 * CHUNK, 300, 301]
}

#[test]
fn little_memory() {
    for device in with_kernels() {
        let few = sequences(&[100]);
        let all = sequences(&lengths(&device));
        let sketcher = TensorSketch::new(tables());
        let least = least_memory(&device, |limited| sketcher.sketch(limited, &few));
        // A matrix of a sequence's last product is of 16 chunks, or of 256.
        let of_all = least_memory(&device, |limited| sketcher.sketch_rows(limited, &all));
        eprintln!("{least} bytes for a chunk, {of_all} for 16 or more, on {device}");
        let chunks = sequences(&[16 * CHUNK, 1, 5 * CHUNK]);
        for (limit, sequences) in [
            (least + least / 4, &chunks),
            (of_all, &all),
            (of_all + of_all / 3, &all),
            (4 * of_all, &all),
        ] {
            let limited = device.with_memory_limit(limit);
            let what = format!("{limit} bytes of {device}");
            check(&limited, &device, sketcher.clone(), sequences, &what);
        }
    }
}

#[test]
fn little_memory_for_other_forms_and_types() {
    for device in with_kernels() {
        let few = sequences(&[200; 40]);
        let direct = TensorSketch::new(tables()).form(Form::Direct);
        let least = least_memory(&device, |limited| direct.sketch_rows(limited, &few));
        let limited = device.with_memory_limit(least);
        check(&limited, &device, direct, &few, "the direct form");
        let double = TensorSketch::new(tables()).double();
        let least = least_memory(&device, |limited| double.sketch_rows(limited, &few));
        let limited = vec![
            device.with_memory_limit(least),
            device.with_memory_limit(2 * least),
        ];
        check(&limited, &device, double, &few, "f64");
    }
}

#[test]
fn results_larger_than_the_memory() {
    for device in with_kernels() {
        let sketcher = TensorSketch::new(tables());
        let few = sequences(&[9]);
        let many = sequences(&[9; 400]);
        let least = least_memory(&device, |limited| sketcher.sketch_rows(limited, &few));
        let limited = device.with_memory_limit(least + 4000);
        check(&limited, &device, sketcher, &many, &device.to_string());
    }
}

fn session(sketcher: &TensorSketch, device: &Device, sequences: &Sequences) -> Result<Array2<f32>> {
    let mut session = sketcher.session(device)?;
    for i in 0..sequences.len() {
        let text = sequences.get(i).unwrap();
        for piece in text.as_slice().unwrap().chunks(1000) {
            session.push(piece)?;
        }
        session.end_sequence()?;
    }
    session.finish()
}

#[test]
fn sessions_within_little_memory() {
    for device in with_kernels() {
        let all = sequences(&lengths(&device));
        for form in FORMS {
            let sketcher = TensorSketch::new(tables()).form(form);
            let expected = sketcher.sketch(&device, &all).unwrap();
            let least = least_memory(&device, |limited| session(&sketcher, limited, &all));
            for limit in [least, 2 * least] {
                let limited = device.with_memory_limit(limit);
                let found = session(&sketcher, &limited, &all).unwrap();
                assert_eq!(found, expected, "{limit} bytes of {device}, {form:?}");
            }
        }
    }
}

#[test]
fn too_little_memory_is_an_error() {
    let few = sequences(&[5, 7, 0]);
    for device in with_kernels() {
        // A row takes 28 bytes and the tables 32, before any letters.
        for limit in [0, 10, 60] {
            let limited = device.with_memory_limit(limit);
            for form in FORMS {
                let sketcher = TensorSketch::new(tables()).form(form);
                for devices in [1, 2].map(|count| vec![limited.clone(); count]) {
                    let error = sketcher.sketch_rows(&devices, &few);
                    assert_error!(error, Error::Allocation { .. });
                }
                assert_error!(session(&sketcher, &limited, &few), Error::Allocation { .. });
            }
        }
    }
}

#[test]
fn errors_count_all_sequences() {
    let mut texts = vec![codes(20, 4, 1); 9];
    texts[7][3] = 5;
    texts[8][1] = 4;
    let bad: Sequences = texts.iter().collect();
    for device in devices() {
        for count in [1, 2, 3, 5] {
            for form in FORMS {
                let sketcher = TensorSketch::new(tables()).form(form);
                fails_with(
                    sketcher.sketch(&several(&device, count), &bad),
                    "sketch: the code at position 3 of sequence 7 is 5, but the tables have 4 letters, \
                     with the codes 0 to 3: Alphabet::encode turns text into codes",
                );
            }
        }
    }
    let none: [Device; 0] = [];
    let text = codes(20, 4, 1);
    let error = TensorSketch::new(tables()).windows(&none, (&text).into(), 3, 1);
    fails_with(error, format!("windows: {NO_DEVICE}"));
}

#[test]
fn overflows_count_all_sequences() {
    let tables = Tables::new(Array2::zeros((1, 8)).view(), Array2::ones((1, 8)).view(), 1).unwrap();
    let sketcher = TensorSketch::new(tables);
    let mut lengths = [10; 9];
    (lengths[6], lengths[8]) = (300_000, 300_000);
    let sequences: Sequences = lengths.map(|length| vec![0u8; length]).iter().collect();
    for device in [Some(Device::cpu()), cuda()].into_iter().flatten() {
        for count in [1, 2, 4] {
            let error = sketcher.sketch(&several(&device, count), &sequences);
            assert_error!(error, Error::Overflow { index: 6, .. });
        }
    }
}

#[test]
fn devices_of_different_kinds() {
    let mut devices = vec![Device::cpu(), simulator()];
    devices.extend(cuda());
    // Sums of whole numbers are exact in the direct form.
    let sketcher = TensorSketch::new(tables()).form(Form::Direct);
    let sequences = sequences(&[30, 0, 200, 1, 99, 5]);
    let expected = sketcher.sketch(&Device::cpu(), &sequences).unwrap();
    assert_eq!(sketcher.sketch(&devices, &sequences).unwrap(), expected);
}

/// Letters, width and stride: no window, one, windows without common letters, and windows of one
/// and of several runs, with heads.
const WINDOWS: [(usize, usize, usize); 8] = [
    (5, 9, 1),
    (9, 9, 2),
    (100, 3, 7),
    (300, 20, 1),
    (301, 21, 2),
    (500, 140, 1),
    (900, 301, 2),
    (400, 300, 50),
];

#[test]
fn windows_over_several_devices() {
    for device in devices() {
        let sketcher = TensorSketch::new(tables());
        for (letters, width, stride) in WINDOWS {
            let text = codes(letters, 4, 3);
            let windows = |devices: &[Device]| {
                let double = sketcher.clone().double();
                let double = double.windows(devices, (&text).into(), width, stride);
                let single = sketcher.clone().normalize(true);
                let single = single.windows(devices, (&text).into(), width, stride);
                (double.unwrap(), single.unwrap())
            };
            let expected = windows(std::slice::from_ref(&device));
            for count in [2, 3, 5] {
                let found = windows(&several(&device, count));
                let what = format!("{width} of {letters}, every {stride}, {count} times {device}");
                // Whole numbers are exact however they are put together.
                assert_eq!(found.0, expected.0, "{what}");
                match device.kind() {
                    DeviceKind::Cpu => {
                        let error = (&found.1 - &expected.1).mapv(f32::abs);
                        assert!(error.iter().all(|&error| error < 1e-6), "{what}");
                    }
                    _ => assert_eq!(found.1, expected.1, "{what}"),
                }
            }
        }
    }
}

#[test]
fn windows_within_little_memory() {
    for device in with_kernels() {
        let sketcher = TensorSketch::new(tables()).normalize(true);
        for (letters, width, stride) in [(2000, 5, 9), (3000, 33, 1), (5000, 120, 3)] {
            let letters = letters / if is_slow(&device) { 4 } else { 1 };
            let text = codes(letters, 4, 3);
            let windows = |device: &Device| sketcher.windows(device, (&text).into(), width, stride);
            let expected = windows(&device).unwrap();
            let least = least_memory(&device, windows);
            eprintln!("{least} bytes for {width} of {letters}, every {stride}, on {device}");
            for limit in [least, 2 * least, 5 * least] {
                let found = windows(&device.with_memory_limit(limit)).unwrap();
                assert_eq!(found, expected, "{limit} bytes of {device}");
            }
            let too_little = windows(&device.with_memory_limit(100));
            assert_error!(too_little, Error::Allocation { .. });
        }
        let text = codes(5, 4, 3);
        let first = |device: &Device| sketcher.windows(device, (&text).into(), 3, usize::MAX);
        let found = first(&device.with_memory_limit(1 << 20)).unwrap();
        assert_eq!(found, first(&device).unwrap());
    }
}
