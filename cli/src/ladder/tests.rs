//! Every ladder with sizes around those of blocks, in the simulator, and on a GPU if there is one.
//! A ladder fails if one of its versions is wrong.

use gridstride::Device;

use super::rows::{Clock, Ladder};
use super::setup::Setup;
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
fn points_of_whole_and_broken_buckets() {
    for points in [1, 6, 7, 8, 255 * 7, 256 * 7 + 1, 1025 * 7 - 1] {
        let options = timestamps::Options {
            points: Some(points),
            ..Default::default()
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
            "gridstride, page-locked",
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
            ..Default::default()
        };
        let of_cpu = ["V0", "V1", "V2", "V3", "V4"];
        let at_once = [
            "V5, copies",
            "V5",
            "V6",
            "V7",
            "V8",
            "V9",
            "V9, strided",
            "V10",
            "V11",
            "V11, constant",
            "V12",
            "V13",
            "V15",
            "gridstride, direct",
            "gridstride",
            "gridstride, copies",
        ];
        for setup in setups() {
            let ladders = tensor_sketch::climb(&options, &setup).unwrap();
            assert_eq!(versions(&ladders[0]), [&of_cpu[..], &at_once].concat());
            assert_eq!(ladders.len(), if options.equal { 1 } else { 2 });
            if let Some(of_equal) = ladders.get(1) {
                assert_eq!(versions(of_equal), at_once);
                assert!(of_equal.title.starts_with("V14"), "{}", of_equal.title);
            }
        }
    }
}

/// The sketch of 121 978 letters A is the first that need not be within 64 bits.
#[test]
fn sequences_of_any_length_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.fa");
    let long = "A".repeat(130_000);
    std::fs::write(&path, format!(">a\n{long}\n>b\nacgtNu\nACG\n>c\n>d\nT")).unwrap();
    let options = tensor_sketch::Options {
        fasta: Some(path),
        ..Default::default()
    };
    let ladders = tensor_sketch::climb(&options, &on(Device::cpu())).unwrap();
    let (title, rows) = (&ladders[0].title, &ladders[0].rows);
    let said = "4 sequences, 130009 letters, the longest 130000";
    assert!(title.contains(said), "{title}");
    let wrapped = "1 sequences are right modulo 2⁶⁴: i64 wraps around";
    assert_eq!(rows[0].remark, wrapped);
    assert_eq!(rows[2].remark, wrapped);
    let nothing = folder.path().join("nothing.fa");
    for (text, said) in [(">a\nNNN\n", "has no letters"), ("ACGT", "not FASTA")] {
        std::fs::write(&nothing, text).unwrap();
        let options = tensor_sketch::Options {
            fasta: Some(nothing.clone()),
            ..Default::default()
        };
        let error = tensor_sketch::climb(&options, &on(Device::cpu())).unwrap_err();
        assert!(format!("{error:#}").contains(said), "{error:#}");
    }
}

#[test]
fn parts_of_the_work_are_extrapolated_and_marked() {
    let options = tensor_sketch::Options {
        sequences: Some(3),
        letters: Some(1_600_000),
        equal: true,
        ..Default::default()
    };
    let mut setup = on(Device::cpu());
    let shares = |setup: &Setup| {
        let ladders = tensor_sketch::climb(&options, setup).unwrap();
        let rows = &ladders[0].rows;
        (rows[0].share, rows[1].share, rows[3].share)
    };
    let letters = 3.0 * (1_600_000f64 / 3.0).round();
    let part = 1_000_000.0 / letters;
    assert_eq!(shares(&setup), (part, part, 1.0));
    setup.is_whole = true;
    assert_eq!(shares(&setup), (1.0, 1.0, 1.0));
}

#[test]
fn points_at_irregular_times_into_buckets_of_any_length() {
    let seconds = |text: &str| Some(text.parse().unwrap());
    for (step, every, gaps, points) in [
        ("7s", "13s", false, 2000),
        ("7s", "55s", false, 2000),
        ("7s", "300s", false, 2000),
        ("7s", "300s", true, 2000),
        ("5s", "35s", true, 2000),
        ("5s", "1s", false, 300),
        ("1s", "190s", false, 1000),
        ("1ns", "1ns", true, 300),
        ("3s", "3s", false, 1),
    ] {
        let options = timestamps::Options {
            points: Some(points),
            step: seconds(step),
            every: seconds(every),
            gaps,
        };
        for setup in setups() {
            // Rows without a fixed number of points are checked.
            let ladder = timestamps::climb(&options, &setup).unwrap();
            let remarks = ladder.rows.iter().filter(|row| !row.remark.is_empty());
            let wrong: Vec<&str> = remarks.map(|row| row.version.as_str()).collect();
            let is_regular = ["190s", "3s"].contains(&every);
            let expected: &[&str] = if is_regular { &[] } else { &["v1", "v3", "v4"] };
            assert_eq!(wrong, expected, "{step} into {every}");
        }
    }
}

#[test]
fn points_that_cannot_be_are_refused() {
    let of = |step: &str, every: &str, points| timestamps::Options {
        points: Some(points),
        step: Some(step.parse().unwrap()),
        every: Some(every.parse().unwrap()),
        gaps: false,
    };
    for (options, said) in [
        (of("1s", "200s", 10), "--every is 200 times --step"),
        (of("1000d", "1d", 1_000), "go on beyond 2262"),
        (of("100d", "1000w", 870), "the last bucket ends beyond 2262"),
    ] {
        let error = timestamps::climb(&options, &setup()).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
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

#[test]
fn half_precision_gives_wrong_pairs_and_loses_none() {
    let options = box_overlap::Options {
        boxes: Some(600),
        sweep: false,
    };
    let ladder = box_overlap::climb(&options, &setup()).unwrap();
    let remark = &ladder.rows[6].remark;
    assert!(!remark.starts_with("0 pairs are wrong"), "{remark}");
    assert!(remark.ends_with(" 0 are missing"), "{remark}");
}

/// The numbers of values and of times of each sweep, and of its lines.
fn extents(ladder: &Ladder) -> Vec<(usize, usize, usize)> {
    let of_sweep = |sweep: &super::rows::Sweep| {
        let times = sweep.lines.iter().flat_map(|line| &line.times);
        assert!(
            sweep
                .lines
                .iter()
                .all(|line| line.times.len() == sweep.values.len())
        );
        (
            sweep.values.len(),
            sweep.lines.len(),
            times.flatten().count(),
        )
    };
    let svg = plot::svg(ladder).unwrap();
    assert!(svg.starts_with("<svg"));
    for sweep in &ladder.sweeps {
        assert!(svg.contains(&sweep.title) && svg.contains(sweep.parameter));
        for line in &sweep.lines {
            assert!(svg.contains(&line.name), "{}", line.name);
        }
    }
    ladder.sweeps.iter().map(of_sweep).collect()
}

#[test]
fn sweeps_of_boxes_have_a_time_for_all_blocks_that_fit() {
    let options = box_overlap::Options {
        boxes: Some(40),
        sweep: true,
    };
    let ladder = box_overlap::climb(&options, &setup()).unwrap();
    let sweep = &ladder.sweeps[0];
    assert_eq!((sweep.values[0], sweep.values[63]), (16, 1024));
    // 1024 threads with eight boxes each.
    assert_eq!(sweep.lines[5].times[63], None);
    let fits = |bytes: usize| {
        let all = (16..=1024usize)
            .step_by(16)
            .map(move |threads| threads * bytes);
        all.filter(|bytes| *bytes <= 48 << 10).count()
    };
    // The plain kernel, v1, and v2 with one box, which have room for all.
    let in_f32 = 2 * 64 + fits(24 * 2) + fits(24 * 4) + fits(24 * 8);
    let in_halves = fits(12) + fits(24) + fits(48) + fits(96);
    let found = extents(&ladder);
    assert_eq!(found[0], (64, 6, in_f32 + fits(24)));
    assert_eq!(found[1], (64, 4, in_halves));
    assert_eq!((found[2].0, found[2].1, found[3].1), (6, 5, 5));
}

#[test]
fn sweeps_of_sketches_vectors_and_blocks_are_complete() {
    let sketches = tensor_sketch::Options {
        sequences: Some(5),
        letters: Some(40),
        sweep: true,
        equal: true,
        ..Default::default()
    };
    let vectors = vector_add::Options {
        elements: Some(300),
        sweep: true,
    };
    let blocks = block_shape::Options {
        rows: Some(40),
        inner: Some(3),
        columns: Some(10),
        sweep: true,
    };
    for setup in setups() {
        let ladder = &tensor_sketch::climb(&sketches, &setup).unwrap()[0];
        // Up to four sequences a launch.
        let expected = [(11, 2, 22), (11, 4, 3 * 4), (9, 5, 2 * 9)];
        assert_eq!(extents(ladder), expected);
        let ladder = vector_add::climb(&vectors, &setup).unwrap();
        assert_eq!(extents(&ladder), [(9, 2, 18)]);
        let ladder = block_shape::climb(&blocks, &setup).unwrap();
        // From one row to as many as there are threads.
        let shapes = 6 + 7 + 8 + 9 + 10 + 11;
        assert_eq!(extents(&ladder), [(11, 6, shapes), (11, 6, shapes)]);
    }
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
