//! Sets of boxes of several kinds, in `f32`: rows of minX, minY, minZ, maxX, maxY, maxZ.
//!
//! The same numbers for the same arguments, on every machine.

use ndarray::Array2;

use super::Random;

/// Boxes of set 1 and of set 2.
pub type Sets = [Array2<f32>; 2];

/// Welds and the pipes that they join, about two pairs a weld: for 200 000 rows the data of the
/// article.
pub fn pipes(rows: usize) -> Sets {
    article_data::pipes::boxes(rows, article_data::pipes::SEED)
}

/// Cubes anywhere in the unit cube, about two pairs a row.
pub fn uniform(rows: usize) -> Sets {
    let mut random = Random(2);
    let edge = edge_for(rows);
    [(); 2].map(|()| {
        let rows = (0..rows).map(|_| cube(&mut random, edge));
        rows.collect::<Vec<_>>().into()
    })
}

/// [`uniform`], but in each set ten boxes, or all if there are less, are half as long as everything.
pub fn giants(rows: usize) -> Sets {
    const GIANTS: usize = 10;
    let mut random = Random(3);
    let mut sets = uniform(rows);
    for set in &mut sets {
        for giant in 0..GIANTS.min(rows) {
            let giant = giant * rows / GIANTS.min(rows);
            let limits = cube(&mut random, 0.5);
            set.row_mut(giant)
                .iter_mut()
                .zip(limits)
                .for_each(|(limit, new)| *limit = new);
        }
    }
    sets
}

/// Boxes that are all the same: rows² pairs.
pub fn equal(rows: usize) -> Sets {
    [(); 2].map(|()| vec![[1.0, 1.0, 1.0, 2.0, 2.0, 2.0]; rows].into())
}

/// Cubes anywhere in the unit cube, so large that one pair in twenty overlaps.
pub fn dense(rows: usize) -> Sets {
    let mut random = Random(6);
    [(); 2].map(|()| {
        let rows = (0..rows).map(|_| cube(&mut random, 0.05f64.cbrt() / 2.0));
        rows.collect::<Vec<_>>().into()
    })
}

/// Cubes in clusters of about a thousand, each a hundred thousand times narrower than the
/// whole space; about two pairs a row.
pub fn clustered(rows: usize) -> Sets {
    const SIZE: f64 = 1e-3;
    let mut random = Random(4);
    let clusters: Vec<[f64; 3]> = (0..rows.div_ceil(1000))
        .map(|_| [(); 3].map(|()| random.uniform() * 100.0))
        .collect();
    let edge = edge_for(rows.min(1000));
    [(); 2].map(|()| {
        let rows = (0..rows).map(|i| {
            let cluster = clusters[i % clusters.len()];
            let [x, y, z, to_x, to_y, to_z] =
                cube(&mut random, edge).map(|limit| f64::from(limit) * SIZE);
            row(|axis| [[x, to_x], [y, to_y], [z, to_z]][axis].map(|limit| cluster[axis] + limit))
        });
        rows.collect::<Vec<_>>().into()
    })
}

/// Thin sticks along random axes, a tenth as long as the unit cube; about two pairs a row.
pub fn sticks(rows: usize) -> Sets {
    sticks_of(rows, 0.1, 5)
}

/// Thin sticks along random axes through the whole unit cube, about two pairs a row. Neighbours by their centres cross,
/// so that the bounding box of nearly any few of them is the whole cube.
pub fn long_sticks(rows: usize) -> Sets {
    sticks_of(rows, 2.0, 7)
}

/// Sticks whose starts, or centres if they are longer than the unit cube, are anywhere in it.
fn sticks_of(rows: usize, length: f64, seed: u64) -> Sets {
    let mut random = Random(seed);
    // Two sticks along different axes meet where their third axis agrees to within a thickness.
    let reach = length.min(1.0);
    let thickness = 1.5 / (rows as f64 * reach * reach);
    [(); 2].map(|()| {
        let rows = (0..rows).map(|_| {
            let along = random.below(3);
            let mut start = [(); 3].map(|()| random.uniform());
            if length > 1.0 {
                start[along] -= length / 2.0;
            }
            row(|axis| {
                let extent = if axis == along { length } else { thickness };
                [start[axis], start[axis] + extent]
            })
        });
        rows.collect::<Vec<_>>().into()
    })
}

/// The mean edge with which each of `rows` cubes in the unit cube overlaps two of `rows` others.
fn edge_for(rows: usize) -> f64 {
    // Where two cubes overlap, centres differ by less than an edge along each axis: (2e)³ · rows = 2.
    (2.0 / rows as f64).cbrt() / 2.0
}

/// A cube of random place and size.
fn cube(random: &mut Random, edge: f64) -> [f32; 6] {
    let edge = edge * (0.5 + random.uniform());
    let start = [(); 3].map(|()| random.uniform());
    row(|axis| [start[axis], start[axis] + edge])
}

/// A box by its limits along each axis.
fn row(limits: impl Fn(usize) -> [f64; 2]) -> [f32; 6] {
    std::array::from_fn(|i| limits(i % 3)[i / 3] as f32)
}
