//! Compares results bit by bit where the table of the section "Determinism" of the guide's page
//! `calls.md` says that they are the same. The tests read the table, so they fail if a call of
//! `test_support::calls` has no row.
//!
//! `GRIDSTRIDE_TEST_RUNS` sets how often the simulator makes each call, each time under another
//! schedule, for example 100.

use std::collections::BTreeSet;

use gridstride::Device;
use gridstride::device::DeviceKind;
use rayon::ThreadPoolBuilder;
use simt::Simulator;

use test_support::calls::{CALLS, Call, Data};
use test_support::{devices, is_slow, several, small};

const PAGE: &str = include_str!("../../../docs/guide/calls.md");

/// What stays the same, in the order of the table's columns.
#[derive(Clone, Copy)]
enum Change {
    Runs,
    Streams,
    Partitions,
    Devices,
}

/// What a cell of the table says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Claim {
    Same,
    SameExceptOnTheCpu,
    None,
}

/// A row of the table: the functions, which results of them, and the claims.
#[derive(Debug)]
struct Row {
    functions: Vec<&'static str>,
    of: &'static str,
    claims: [Claim; 4],
}

/// Returns the text between grave accents.
fn quoted(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split('`').skip(1).step_by(2)
}

fn claim(cell: &str) -> Claim {
    match cell {
        "yes" => Claim::Same,
        "yes, except on the CPU" => Claim::SameExceptOnTheCpu,
        // Without several partitions there is nothing to claim.
        "no" | "–" => Claim::None,
        other => panic!("{other:?} is in the table"),
    }
}

/// Returns the rows of the table.
fn rows() -> Vec<Row> {
    let (_, section) = PAGE.split_once("\n## Determinism\n").expect("the section");
    let section = section.split("\n## ").next().expect("a first part");
    let lines = section.lines().filter(|line| line.starts_with('|'));
    // Behind the heading and the line below it.
    let rows = lines.skip(2).map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, calls, of, claims @ .., _] = &cells[..] else {
            panic!("{line:?} has too few cells");
        };
        let claims: Vec<Claim> = claims.iter().copied().map(claim).collect();
        Row {
            functions: quoted(calls).collect(),
            of,
            claims: claims.try_into().expect("four claims"),
        }
    });
    rows.collect()
}

/// Returns the row of a call: one with what the call's name has in brackets, else the one for the
/// function's other calls.
fn row_of<'a>(rows: &'a [Row], call: &Call) -> Option<&'a Row> {
    let brackets = call.name.split_once(" (");
    let of = brackets.map_or("", |(_, rest)| rest.trim_end_matches(')'));
    let with = |of: &str| {
        let mut rows = rows.iter().filter(|row| row.of == of);
        rows.find(|row| row.functions.contains(&call.function()))
    };
    with(of).or_else(|| with(""))
}

/// Returns the calls whose results are the same on this kind of devices after a change.
fn same_after(change: Change, device: &Device) -> Vec<&'static Call> {
    let rows = rows();
    let is_cpu = device.kind() == DeviceKind::Cpu;
    let is_same = |call: &&Call| match row_of(&rows, call).expect(call.name).claims[change as usize]
    {
        Claim::Same => true,
        Claim::SameExceptOnTheCpu => !is_cpu,
        Claim::None => false,
    };
    CALLS.iter().filter(is_same).collect()
}

fn bits(call: &Call, data: &Data, devices: &[Device]) -> Vec<u64> {
    let numbers = (call.run)(data, devices);
    let numbers = numbers.unwrap_or_else(|error| panic!("{} on {devices:?}: {error}", call.name));
    numbers.into_iter().map(f64::to_bits).collect()
}

#[track_caller]
fn assert_same(call: &Call, what: &str, found: &[u64], expected: &[u64]) {
    assert_eq!(found.len(), expected.len(), "{} {what}", call.name);
    let differ = found.iter().zip(expected).filter(|(a, b)| a != b);
    let count = differ.count();
    let (name, all) = (call.name, found.len());
    assert_eq!(count, 0, "{name} {what}: {count} of {all} numbers differ");
}

/// Few rows of many numbers, and buckets of few and of many values.
fn data(device: &Device) -> Data {
    match (small(), is_slow(device)) {
        (true, _) => Data::fractions(9, 20, 300),
        (_, true) => Data::fractions(12, 65, 900),
        _ => Data::fractions(70, 300, 9000),
    }
}

#[test]
fn every_call_has_a_row() {
    let rows = rows();
    for call in CALLS {
        assert!(row_of(&rows, call).is_some(), "{} has no row", call.name);
    }
    let of_rows = |row: &Row| {
        let of = row.of;
        let name = move |function: &&'static str| match of {
            "" => (*function).to_owned(),
            of => format!("{function} ({of})"),
        };
        row.functions.iter().map(name).collect::<Vec<_>>()
    };
    let names: Vec<String> = rows.iter().flat_map(of_rows).collect();
    let is_called = |name: &String| {
        let mut calls = CALLS.iter();
        calls.any(|call| call.name == name || !name.contains(' ') && call.function() == name)
    };
    let unknown: Vec<_> = names.iter().filter(|name| !is_called(name)).collect();
    assert!(unknown.is_empty(), "no test calls {unknown:?}");
    let different: BTreeSet<_> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "a call has two rows");
    // The tables of the page name all calls. User-defined aggregates have a row without a test:
    // what they add, and how, is theirs.
    let (_, tables) = PAGE
        .split_once("\n## Matrix multiplication\n")
        .expect("the first kernel");
    let lines = tables.lines().filter(|line| line.starts_with("| "));
    for call in lines.flat_map(quoted) {
        let function = call.split('(').next().expect("a first part");
        let is_listed = rows.iter().any(|row| row.functions.contains(&function));
        let is_custom = function.starts_with("custom");
        assert!(is_listed || is_custom, "{function} is not in the table");
    }
}

/// In the simulator each run has another schedule, on the CPU another number of threads.
#[test]
fn the_same_bits_in_every_run() {
    let data = match small() {
        true => Data::fractions(5, 9, 100),
        false => Data::fractions(7, 33, 300),
    };
    for device in devices() {
        let usual = match device.kind() {
            DeviceKind::Simulator => 16,
            _ => 100,
        };
        let runs = std::env::var("GRIDSTRIDE_TEST_RUNS");
        let runs: u64 = runs.map_or(usual, |runs| runs.parse().unwrap());
        let pools = [1, 2, 3, 8].map(|threads| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap()
        });
        let calls = same_after(Change::Runs, &device);
        // The table says so of all.
        assert_eq!(calls.len(), CALLS.len());
        for call in calls {
            let expected = bits(call, &data, std::slice::from_ref(&device));
            for run in 0..runs {
                let found = match device.kind() {
                    DeviceKind::Simulator => {
                        let simulator = Simulator::default().seed(1000 + run);
                        bits(call, &data, &[Device::simulator_with(simulator)])
                    }
                    DeviceKind::Cpu => {
                        let pool = &pools[run as usize % pools.len()];
                        pool.install(|| bits(call, &data, std::slice::from_ref(&device)))
                    }
                    _ => bits(call, &data, std::slice::from_ref(&device)),
                };
                assert_same(call, &format!("on {device}, run {run}"), &found, &expected);
            }
        }
    }
}

#[test]
fn the_same_bits_on_every_stream() {
    for device in devices() {
        let data = data(&device);
        let stream = device.stream().unwrap();
        for call in same_after(Change::Streams, &device) {
            let expected = bits(call, &data, std::slice::from_ref(&device));
            let found = bits(call, &data, &[device.on(&stream).unwrap()]);
            assert_same(call, &format!("on a stream of {device}"), &found, &expected);
        }
    }
}

#[test]
fn the_same_bits_in_any_partitions() {
    for device in devices() {
        let data = data(&device);
        for call in same_after(Change::Partitions, &device) {
            let expected = bits(call, &data, std::slice::from_ref(&device));
            for count in [2, 3] {
                let found = bits(call, &data, &several(&device, count));
                assert_same(call, &format!("on {count} × {device}"), &found, &expected);
            }
            // The CPU has no limit.
            if device.kind() == DeviceKind::Cpu {
                continue;
            }
            // The least power of four that suffices, and the next one.
            let limits = (4..15).map(|power| 1 << (2 * power));
            let suffices = |limit: &u64| {
                let limited = [device.with_memory_limit(*limit)];
                (call.run)(&data, &limited).is_ok()
            };
            let limits = limits.skip_while(|limit| !suffices(limit)).take(2);
            let limits = Vec::from_iter(limits);
            assert_eq!(limits.len(), 2, "{} needs more memory", call.name);
            for limit in limits {
                let found = bits(call, &data, &[device.with_memory_limit(limit)]);
                let what = format!("on {device} within {limit} bytes");
                assert_same(call, &what, &found, &expected);
            }
        }
    }
}

#[test]
fn the_same_bits_on_every_device() {
    let cpu = Device::cpu();
    for device in devices() {
        let data = data(&device);
        for call in same_after(Change::Devices, &device) {
            let expected = bits(call, &data, std::slice::from_ref(&cpu));
            let found = bits(call, &data, std::slice::from_ref(&device));
            assert_same(
                call,
                &format!("on {device} and on the CPU"),
                &found,
                &expected,
            );
        }
    }
}
