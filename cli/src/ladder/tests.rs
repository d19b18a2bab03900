//! Every ladder with sizes around those of blocks, in the simulator, and on a GPU if there is one.
//! A ladder fails if one of its versions is wrong.

use gridstride::Device;

use super::climb::{Ladder, Setup};
use super::{block_shape, box_overlap, matmul, plot, tensor_sketch, timestamps, vector_add};

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
/// there.
fn setups() -> impl Iterator<Item = Setup> {
    let is_required = std::env::var("GRIDSTRIDE_REQUIRE_CUDA").is_ok_and(|value| value == "1");
    let gpu = match cfg!(feature = "cuda") {
        true if is_required => Some(Device::cuda(0).unwrap()),
        true => Device::cuda(0).ok(),
        // The kernels have no PTX then.
        false => None,
    };
    [setup()].into_iter().chain(gpu.map(on))
}

fn on(device: Device) -> Setup {
    Setup {
        device,
        runs: 0,
        seed: 1,
        has_cpu_rows: true,
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
        };
        let expected = [
            "plain",
            "one thread",
            "kernel",
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
fn points_of_whole_and_broken_buckets() {
    for points in [1, 6, 7, 8, 255 * 7, 256 * 7 + 1, 1025 * 7 - 1] {
        let options = timestamps::Options {
            points: Some(points),
        };
        let expected = [
            "plain",
            "v1",
            "v3",
            "v4",
            "round_timestamps",
            "count_uniqs",
            "sum_uniqs",
            "gridstride",
            "gridstride, copies",
        ];
        for setup in setups() {
            let ladder = timestamps::climb(&options, &setup).unwrap();
            assert_eq!(versions(&ladder), expected);
        }
    }
}

#[test]
fn sequences_of_all_lengths() {
    // Shorter than tuples, around the 64 letters that a block brings at a time, and more sequences
    // than streams.
    for (sequences, letters) in [(1, 0), (3, 9), (6, 6 * 64), (1, 129), (35, 70)] {
        let options = tensor_sketch::Options {
            sequences: Some(sequences),
            letters: Some(letters),
            equal: sequences == 1,
        };
        let expected = [
            "V0",
            "V1",
            "V2",
            "V3",
            "V4",
            "V5",
            "V6",
            "V7",
            "V8",
            "V9",
            "V10",
            "V11",
            "V12",
            "V13",
            "V15",
            "gridstride, direct",
            "gridstride",
        ];
        for setup in setups() {
            let ladder = tensor_sketch::climb(&options, &setup).unwrap();
            assert_eq!(versions(&ladder), expected);
        }
    }
}

#[test]
fn sketches_beyond_64_bits_are_refused() {
    let options = tensor_sketch::Options {
        sequences: Some(1),
        letters: Some(200_000),
        equal: true,
    };
    let error = tensor_sketch::climb(&options, &setup()).unwrap_err();
    assert!(error.to_string().contains("121977"), "{error}");
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

#[test]
fn half_precision_gives_wrong_pairs_and_loses_none() {
    let options = box_overlap::Options {
        boxes: Some(600),
        sweep: false,
    };
    let ladder = box_overlap::climb(&options, &setup()).unwrap();
    let remark = &ladder.rows[5].remark;
    assert!(!remark.starts_with("0 pairs are wrong"), "{remark}");
    assert!(remark.ends_with(" 0 are missing"), "{remark}");
}

#[test]
fn a_sweep_has_a_time_for_all_blocks_that_fit() {
    let options = box_overlap::Options {
        boxes: Some(40),
        sweep: true,
    };
    let ladder = box_overlap::climb(&options, &setup()).unwrap();
    let sweep = ladder.sweep.as_ref().unwrap();
    assert_eq!((sweep.threads[0], sweep.threads[63]), (16, 1024));
    assert_eq!(sweep.lines.len(), 5);
    assert!(sweep.lines[0].times.iter().all(Option::is_some));
    // 1024 threads with eight boxes each.
    assert_eq!(sweep.lines[4].times[63], None);
    let svg = plot::svg(&ladder).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("v2, 8 boxes"));
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
    };
    let boxes = box_overlap::Options {
        boxes: small,
        sweep: true,
    };
    let sketches = tensor_sketch::Options {
        sequences: Some(2),
        letters: small,
        equal: false,
    };
    let vectors = vector_add::Options { elements: small };
    let points = timestamps::Options { points: small };
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
            tensor_sketch::climb(&sketches, &setup).unwrap(),
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
        assert!(ladder.sweep.is_none());
    }
}
