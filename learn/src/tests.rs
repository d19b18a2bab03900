//! Every ladder with sizes around those of blocks, in the simulator, and on a GPU if there is one.
//! A ladder fails if one of its versions is wrong.

mod points;
mod sketches;
mod sweeps;

use gridstride::Device;

use super::rows::{Clock, Ladder};
use super::setup::Setup;
use super::{block_shape, box_overlap, matmul, tensor_sketch, timestamps, vector_add};

/// On the CPU and in the simulator, whose schedule is drawn from `GRIDSTRIDE_SIMULATOR_SEED`
/// (default 1).
fn setup() -> Setup {
    let seed = std::env::var("GRIDSTRIDE_SIMULATOR_SEED").map_or(1, |seed| {
        seed.parse().expect("GRIDSTRIDE_SIMULATOR_SEED is a number")
    });
    on(Device::simulator_with(
        simt::Simulator::default().seed(seed),
    ))
}

/// And on the first GPU, in builds with `cuda`; with `GRIDSTRIDE_REQUIRE_CUDA=1` it has to be
/// there. With `GRIDSTRIDE_TEST_ONLY_CUDA=1`, as under compute-sanitizer, only there.
pub fn setups() -> impl Iterator<Item = Setup> {
    let is_set = |name| std::env::var(name).is_ok_and(|value| value == "1");
    let gpu = match cfg!(feature = "cuda") {
        true if is_set("GRIDSTRIDE_REQUIRE_CUDA") => Some(Device::cuda(0).unwrap()),
        true => Device::cuda(0).ok(),
        // The kernels have no PTX then.
        false => None,
    };
    let simulator = (!is_set("GRIDSTRIDE_TEST_ONLY_CUDA")).then(setup);
    simulator.into_iter().chain(gpu.map(on))
}

fn on(device: Device) -> Setup {
    Setup {
        device,
        runs: 0,
        seed: 1,
        has_cpu_rows: true,
        is_whole: false,
    }
}

fn versions(ladder: &Ladder) -> Vec<&str> {
    ladder.rows.iter().map(|row| row.version.as_str()).collect()
}

#[test]
fn matrix_products_of_all_sizes() {
    for (m, k, n) in [
        (1, 1, 1),
        (16, 16, 16),
        (15, 17, 33),
        (33, 1, 15),
        (17, 32, 16),
    ] {
        let options = matmul::Options {
            m: Some(m),
            k: Some(k),
            n: Some(n),
        };
        for setup in setups() {
            let ladder = matmul::climb(&options, &setup).unwrap();
            assert_eq!(versions(&ladder), ["plain", "naive", "tiled", "gridstride"]);
        }
    }
}

#[test]
fn blocks_of_all_shapes() {
    for (rows, inner, columns) in [(1, 1, 1), (255, 3, 10), (257, 2, 17)] {
        let options = block_shape::Options {
            rows: Some(rows),
            inner: Some(inner),
            columns: Some(columns),
            sweep: false,
        };
        let expected = [
            "plain",
            "16×16",
            "1×256",
            "256×1",
            "1×256 transposed",
            "gridstride",
        ];
        for setup in setups() {
            let ladder = block_shape::climb(&options, &setup).unwrap();
            assert_eq!(versions(&ladder), expected);
        }
    }
}

#[test]
fn vectors_of_all_lengths() {
    for elements in [1, 4, 6, 255, 257, 2049] {
        let options = vector_add::Options {
            elements: Some(elements),
            sweep: false,
        };
        let expected = [
            "plain",
            "one thread",
            "kernel",
            "index_3d",
            "one stream",
            "five streams",
            "pinned",
        ];
        for setup in setups() {
            let ladder = vector_add::climb(&options, &setup).unwrap();
            assert_eq!(versions(&ladder), expected);
        }
    }
}

#[test]
fn speed_ups_are_those_over_the_first_row_of_the_same_clock() {
    let options = vector_add::Options {
        elements: Some(300),
        sweep: false,
    };
    let ladder = vector_add::climb(&options, &setup()).unwrap();
    let clocks: Vec<Clock> = ladder.rows.iter().map(|row| row.clock).collect();
    let (whole, kernel) = (Clock::WholeCall, Clock::Kernel);
    let expected = [whole, kernel, kernel, kernel, whole, whole, whole];
    assert_eq!(clocks, expected);
    let speed_ups = ladder.speed_ups();
    assert_eq!((speed_ups[0], speed_ups[1]), (1.0, 1.0));
    let time = |row: usize| ladder.rows[row].time.as_secs_f64();
    assert_eq!(speed_ups[2], time(1) / time(2));
    assert_eq!(speed_ups[6], time(0) / time(6));
}

#[test]
fn boxes_in_blocks_and_tiles_of_all_sizes() {
    for boxes in [1, 255, 257, 1030] {
        let options = box_overlap::Options {
            boxes: Some(boxes),
            sweep: false,
        };
        let expected = [
            "plain",
            "threads",
            "kernel",
            "v1",
            "v1, occupancy",
            "v2",
            "v3",
            "gridstride, all pairs",
            "gridstride",
        ];
        for setup in setups() {
            let ladder = box_overlap::climb(&options, &setup).unwrap();
            assert_eq!(versions(&ladder), expected);
        }
    }
}

/// So few boxes lie too far apart for wrong pairs, which the row counts.
#[test]
fn half_precision_loses_no_pairs() {
    let options = box_overlap::Options {
        boxes: Some(600),
        sweep: false,
    };
    let ladder = box_overlap::climb(&options, &setup()).unwrap();
    let remark = &ladder.rows[6].remark;
    assert!(remark.ends_with(" 0 are missing"), "{remark}");
}

#[test]
fn the_cpu_alone_has_its_own_versions() {
    let setup = on(Device::cpu());
    let small = Some(50);
    let product = matmul::Options {
        m: small,
        k: small,
        n: small,
    };
    let blocks = block_shape::Options {
        rows: small,
        inner: small,
        columns: small,
        sweep: true,
    };
    let boxes = box_overlap::Options {
        boxes: small,
        sweep: true,
    };
    let sketches = tensor_sketch::Options {
        sequences: Some(2),
        letters: small,
        sweep: true,
        ..Default::default()
    };
    let vectors = vector_add::Options {
        elements: small,
        sweep: true,
    };
    let points = timestamps::Options {
        points: small,
        ..Default::default()
    };
    let expected: [(Ladder, &[&str]); 6] = [
        (
            matmul::climb(&product, &setup).unwrap(),
            &["plain", "gridstride"],
        ),
        (
            block_shape::climb(&blocks, &setup).unwrap(),
            &["plain", "gridstride"],
        ),
        (
            box_overlap::climb(&boxes, &setup).unwrap(),
            &["plain", "threads", "gridstride, all pairs", "gridstride"],
        ),
        (
            tensor_sketch::climb(&sketches, &setup).unwrap().remove(0),
            &["V0", "V1", "V2", "gridstride, direct", "gridstride"],
        ),
        (vector_add::climb(&vectors, &setup).unwrap(), &["plain"]),
        (
            timestamps::climb(&points, &setup).unwrap(),
            &["plain", "gridstride"],
        ),
    ];
    for (ladder, expected) in expected {
        assert_eq!(versions(&ladder), expected);
        assert!(ladder.sweeps.is_empty());
    }
}
