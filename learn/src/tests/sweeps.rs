//! Sweeps have all their times, and are drawn.

use super::{setup, setups};
use crate::rows::{Ladder, Sweep};
use crate::{block_shape, box_overlap, plot, tensor_sketch, vector_add};

/// The numbers of values and of times of each sweep, and of its lines.
fn extents(ladder: &Ladder) -> Vec<(usize, usize, usize)> {
    let of_sweep = |sweep: &Sweep| {
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
