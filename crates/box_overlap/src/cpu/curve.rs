//! Boxes in the order of a Hilbert curve through their centres: boxes near each other in the order
//! are near each other in space.
//!
//! The curve goes from each cell of a grid to a neighbour (J. Skilling, 'Programming the Hilbert
//! curve', AIP Conference Proceedings 707, 2004), without the jumps of a Morton curve, so a search
//! visits half as many nodes. Boxes much larger than most come after all others, class by class: a
//! tree over the order has them in separate branches, and they do not enlarge the bounding boxes of
//! small boxes.
//!
//! The order affects speed alone, never the result.

use gridstride_runtime::device::reserve;
use gridstride_runtime::{Number, Result, parallel};

use super::collect::collect;
use super::lanes::{Isa, LANES, Tester, WithTester};
use crate::input::Boxes;

/// Bits of a key for the class of the box's size.
const CLASS_BITS: u32 = 2;

/// Bits of a key for the direction of a stick.
const DIRECTION_BITS: u32 = 2;

/// A stick is this many times longer along one axis than along the others.
const STICK: f64 = 2.0;

/// Boxes among which sticks are sorted by direction: eight parallel sticks have a slim bounding
/// box, and eight sticks of all directions a bulky one. For two million sticks, searches with 64
/// neighbours take twice as long, and searches with 4096 as long.
const NEIGHBOURS: usize = 64 * LANES;

/// The ratio between the largest extents of consecutive classes.
const CLASS_FACTOR: f64 = 8.0;

/// Boxes whose extents are sampled for the usual extent.
const SAMPLE: usize = 255;

/// The most boxes of a cell. A finer grid is laid over cells with more.
const CROWD: usize = 4 * LANES;

/// The most refinements of a grid. Each grid has at least 2¹⁰ cells along an axis.
const MAX_DEPTH: usize = 16;

/// Returns the indices of the boxes in order, padded with zeros to a multiple of [`LANES`].
pub(super) fn order<T: Number>(boxes: Boxes<'_, T>) -> Result<Vec<u32>> {
    let mut ids = collect(boxes.len().next_multiple_of(LANES), |i| i as u32)?;
    let (ids_of_boxes, padding) = ids.split_at_mut(boxes.len());
    match boxes.axes {
        2 => sort::<2>(&boxes, ids_of_boxes, 0)?,
        _ => sort::<3>(&boxes, ids_of_boxes, 0)?,
    }
    padding.fill(0);
    Ok(ids)
}

/// Boxes of any type. Their limits are converted to `f64`, so that the order is compiled once.
trait Limits: Sync {
    /// Reads the limits of the boxes with these indices, column by column.
    fn read(&self, ids: [u32; LANES], columns: &mut [[f64; LANES]]);
}

impl<T: Number> Limits for Boxes<'_, T> {
    fn read(&self, ids: [u32; LANES], columns: &mut [[f64; LANES]]) {
        for (lane, id) in ids.into_iter().enumerate() {
            for (column, limit) in columns.iter_mut().zip(self.row(id as usize)) {
                column[lane] = limit.to_f64();
            }
        }
    }
}

/// Sorts the boxes with the indices `ids`.
fn sort<const AXES: usize>(boxes: &dyn Limits, ids: &mut [u32], depth: usize) -> Result<()> {
    if ids.len() <= LANES {
        return Ok(());
    }
    // The low bits of a key are the position of its box, so that numbers are sorted, not pairs.
    let place_bits = usize::BITS - (ids.len() - 1).leading_zeros();
    let grid = Grid::<AXES>::new(boxes, ids, u64::BITS - place_bits);
    let isa = Isa::new();
    let keys_of_group = |group: usize| {
        let (first, mut keys) = (group * LANES, [0; LANES]);
        let rows = Rows::new(boxes, &ids[first..]);
        isa.run(KeysOf(&grid, &rows, &mut keys));
        let with_place = |lane: usize| (keys[lane] << place_bits) | (first + lane) as u64;
        std::array::from_fn::<_, LANES, _>(with_place)
    };
    let mut keys = collect(ids.len().div_ceil(LANES), keys_of_group)?.into_flattened();
    keys.truncate(ids.len());
    parallel::sort(&mut keys);
    let place = |key: u64| (key & ((1 << place_bits) - 1)) as usize;
    let sorted = collect(ids.len(), |i| ids[place(keys[i])])?;
    ids.copy_from_slice(&sorted);
    if depth == MAX_DEPTH {
        return Ok(());
    }
    let crowds = crowds(ids, &keys, place_bits)?;
    drop(keys);
    parallel::try_each(crowds, |ids| sort::<AXES>(boxes, ids, depth + 1))
}

/// Returns the boxes of each cell that has more than [`CROWD`] boxes, but not all.
fn crowds<'a>(
    mut ids: &'a mut [u32],
    mut keys: &[u64],
    place_bits: u32,
) -> Result<Vec<&'a mut [u32]>> {
    let mut crowds = Vec::new();
    let all = ids.len();
    while keys.len() > CROWD {
        let cell = keys[0] >> place_bits;
        // Most cells have few boxes. A single key tells whether this cell has many.
        let count = match keys[CROWD] >> place_bits == cell {
            true => keys.partition_point(|key| key >> place_bits == cell),
            false => (keys.iter().take_while(|&key| key >> place_bits == cell)).count(),
        };
        let (crowd, rest) = ids.split_at_mut(count);
        if count > CROWD && count < all {
            reserve(&mut crowds, 1)?;
            crowds.push(crowd);
        }
        (ids, keys) = (rest, &keys[count..]);
    }
    Ok(crowds)
}

/// A grid of cells in the bounding box of the centres.
struct Grid<const AXES: usize> {
    /// The minimum of the bounding box, in halves of coordinates.
    min: [f64; AXES],
    /// Cells per half of a coordinate.
    scale: [f64; AXES],
    /// The bits of a cell's coordinate.
    bits: u32,
    /// The low bits of a place on the curve, which come after the direction.
    fine_bits: u32,
    /// The largest extent of each class but the last.
    classes: [f64; (1 << CLASS_BITS) - 1],
}

impl<const AXES: usize> Grid<AXES> {
    fn new(boxes: &dyn Limits, ids: &[u32], bits: u32) -> Self {
        let limits = parallel::map(ids.chunks(1 << 14), |ids| {
            let mut limits = [[f64::INFINITY, f64::NEG_INFINITY]; AXES];
            for ids in ids.chunks(LANES) {
                let rows = Rows::<AXES>::new(boxes, ids);
                for (axis, [min, max]) in limits.iter_mut().enumerate() {
                    for centre in rows.centres(axis) {
                        if centre.is_finite() {
                            (*min, *max) = (min.min(centre), max.max(centre));
                        }
                    }
                }
            }
            limits
        });
        let limit = |axis: usize, side: usize, choose: fn(f64, f64) -> f64| {
            let limits = limits.iter().map(|limits| limits[axis][side]);
            limits.reduce(choose).expect("there are boxes")
        };
        let min: [f64; AXES] = std::array::from_fn(|axis| limit(axis, 0, f64::min));
        let max: [f64; AXES] = std::array::from_fn(|axis| limit(axis, 1, f64::max));
        let bits = ((bits - CLASS_BITS - DIRECTION_BITS) / AXES as u32).min(MAX_CELL_BITS);
        let cells = (1u64 << bits) as f64;
        let usual = usual_extent::<AXES>(boxes, ids);
        // The bits that tell neighbourhoods apart come first.
        let coarse_bits = usize::BITS - (ids.len() / NEIGHBOURS).leading_zeros();
        Grid {
            fine_bits: (bits * AXES as u32).saturating_sub(coarse_bits),
            min,
            scale: std::array::from_fn(|axis| cells / (max[axis] - min[axis])),
            bits,
            classes: std::array::from_fn(|class| usual * CLASS_FACTOR.powi(class as i32 + 1)),
        }
    }

    #[inline(always)]
    fn keys(&self, rows: &Rows<AXES>) -> [u64; LANES] {
        let last = (1 << self.bits) - 1;
        let mut cells = [[0; LANES]; AXES];
        for (axis, cells) in cells.iter_mut().enumerate() {
            for (cell, centre) in cells.iter_mut().zip(rows.centres(axis)) {
                // Infinity, and NaN where all centres are equal, become cells too: `as` saturates.
                *cell = (((centre - self.min[axis]) * self.scale[axis]) as u32).min(last);
            }
        }
        let places = places_on_curve(cells, self.bits);
        std::array::from_fn(|lane| self.key(rows.edges(lane), places[lane]))
    }

    /// Returns the key of a box from its edges and the place of its centre on the curve.
    #[inline(always)]
    fn key(&self, edges: [f64; AXES], place: u64) -> u64 {
        let extent = longest(edges);
        let class = self.classes.iter().filter(|&&most| extent > most).count() as u64;
        let (coarse, fine) = (place >> self.fine_bits, place & ((1 << self.fine_bits) - 1));
        let front = (class << (self.bits * AXES as u32 - self.fine_bits)) | coarse;
        (((front << DIRECTION_BITS) | direction(edges)) << self.fine_bits) | fine
    }
}

/// Writes the keys of boxes.
struct KeysOf<'a, const AXES: usize>(&'a Grid<AXES>, &'a Rows<AXES>, &'a mut [u64; LANES]);

impl<const AXES: usize> WithTester for KeysOf<'_, AXES> {
    #[inline(always)]
    fn run(self, _: impl Tester) {
        *self.2 = self.0.keys(self.1);
    }
}

/// The limits of up to [`LANES`] boxes. Lanes beyond the last box repeat the last box.
struct Rows<const AXES: usize>([[[f64; LANES]; AXES]; 2]);

impl<const AXES: usize> Rows<AXES> {
    /// Reads the limits of the first boxes of `ids`.
    fn new(boxes: &dyn Limits, ids: &[u32]) -> Self {
        let mut columns = [[[0.0; LANES]; AXES]; 2];
        let ids = std::array::from_fn(|lane| ids[lane.min(ids.len() - 1)]);
        boxes.read(ids, columns.as_flattened_mut());
        Rows(columns)
    }

    /// Returns half the centres of the boxes. Half centres of finite limits and their differences
    /// are finite.
    #[inline(always)]
    fn centres(&self, axis: usize) -> [f64; LANES] {
        let Rows([min, max]) = self;
        std::array::from_fn(|lane| 0.25 * min[axis][lane] + 0.25 * max[axis][lane])
    }

    /// Returns the edges of a box.
    #[inline(always)]
    fn edges(&self, lane: usize) -> [f64; AXES] {
        let Rows([min, max]) = self;
        std::array::from_fn(|axis| max[axis][lane] - min[axis][lane])
    }
}

/// Returns the longest edge of a box.
#[inline(always)]
fn longest<const AXES: usize>(edges: [f64; AXES]) -> f64 {
    edges.into_iter().fold(0.0, f64::max)
}

/// Returns 1 + the axis along which a box is a stick, or 0 if the box is no stick.
#[inline(always)]
fn direction<const AXES: usize>(edges: [f64; AXES]) -> u64 {
    // All comparisons, without a branch that would often be mispredicted. At most one axis is long.
    let is_long = |axis: usize| {
        let exceeds = |other: usize| other == axis || edges[axis] > STICK * edges[other];
        (0..AXES).fold(true, |all, other| all & exceeds(other))
    };
    (0..AXES).fold(0, |direction, axis| {
        direction | (u64::from(is_long(axis)) * (axis as u64 + 1))
    })
}

/// Returns the median extent of a sample of the boxes.
fn usual_extent<const AXES: usize>(boxes: &dyn Limits, ids: &[u32]) -> f64 {
    let sample = ids.iter().step_by(ids.len().div_ceil(SAMPLE));
    let extent = |&id: &u32| longest(Rows::<AXES>::new(boxes, &[id]).edges(0));
    let mut extents: Vec<f64> = sample.map(extent).collect();
    let middle = extents.len() / 2;
    *extents.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Returns the places on Hilbert's curve of cells whose coordinates have `bits` bits each.
///
/// Vectorized and without branches, half of which would be mispredicted.
#[inline(always)]
fn places_on_curve<const AXES: usize>(mut cells: [[u32; LANES]; AXES], bits: u32) -> [u64; LANES] {
    // From the coarsest grid to the finest but one: the contents of each cell are turned and
    // mirrored as the curve runs through it.
    for bit in (1..bits).rev() {
        let within = (1 << bit) - 1;
        for axis in 0..AXES {
            let (mut firsts, mut owns) = (cells[0], cells[axis]);
            for (first, own) in firsts.iter_mut().zip(&mut owns) {
                let is_set = ((*own >> bit) & 1).wrapping_neg();
                let different = (*first ^ *own) & within & !is_set;
                *own ^= different;
                *first ^= different | (within & is_set);
            }
            cells[axis] = owns;
            cells[0] = firsts;
        }
    }
    std::array::from_fn(|lane| {
        // Consecutive cells of the curve differ in one coordinate, as numbers of a Gray code in one
        // bit.
        let mut cell = cells.map(|lanes| lanes[lane]);
        for axis in 1..AXES {
            cell[axis] ^= cell[axis - 1];
        }
        // A bit is flipped where the number of set bits above it is odd.
        let mut flips = cell[AXES - 1] >> 1;
        for shift in [1, 2, 4, 8, 16] {
            flips ^= flips >> shift;
        }
        let spread =
            |axis: usize| spread::<AXES>(u64::from(cell[axis] ^ flips)) << (AXES - 1 - axis);
        (0..AXES).fold(0, |place, axis| place | spread(axis))
    })
}

/// The most bits that [`spread`] takes, for two and three axes.
const MAX_CELL_BITS: u32 = 21;

/// Puts AXES − 1 zeros between the bits of a number of at most [`MAX_CELL_BITS`] bits.
#[inline(always)]
fn spread<const AXES: usize>(bits: u64) -> u64 {
    let steps: &[(u32, u64)] = match AXES {
        2 => &[
            (16, 0x0000_ffff_0000_ffff),
            (8, 0x00ff_00ff_00ff_00ff),
            (4, 0x0f0f_0f0f_0f0f_0f0f),
            (2, 0x3333_3333_3333_3333),
            (1, 0x5555_5555_5555_5555),
        ],
        _ => &[
            (32, 0x001f_0000_0000_ffff),
            (16, 0x001f_0000_ff00_00ff),
            (8, 0x100f_00f0_0f00_f00f),
            (4, 0x10c3_0c30_c30c_30c3),
            (2, 0x1249_2492_4924_9249),
        ],
    };
    steps
        .iter()
        .fold(bits, |bits, &(shift, mask)| (bits | (bits << shift)) & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All cells of a grid in the order of the curve.
    fn walk<const AXES: usize>(bits: u32) -> Vec<[u32; AXES]> {
        let mut cells = vec![None; 1 << (bits * AXES as u32)];
        for number in 0..cells.len() as u32 {
            let coordinate = |axis| (number >> (bits * axis as u32)) & ((1 << bits) - 1);
            let cell = std::array::from_fn(coordinate);
            let places = places_on_curve::<AXES>(cell.map(|x| [x; LANES]), bits);
            assert_eq!(places, [places[0]; LANES]);
            assert_eq!(cells[places[0] as usize].replace(cell), None);
        }
        cells.into_iter().flatten().collect()
    }

    fn check_steps<const AXES: usize>(bits: u32) {
        for step in walk::<AXES>(bits).windows(2) {
            let distance = |axis: usize| step[0][axis].abs_diff(step[1][axis]);
            assert_eq!((0..AXES).map(distance).sum::<u32>(), 1, "{step:?}");
        }
    }

    #[test]
    fn the_curve_goes_from_each_cell_to_a_neighbour() {
        for bits in 1..=4 {
            check_steps::<2>(bits);
            check_steps::<3>(bits);
        }
    }

    #[test]
    fn bits_are_spread() {
        assert_eq!(spread::<2>(0b1011), 0b100_0101);
        assert_eq!(spread::<3>(0b1011), 0b10_0000_1001);
        let all = (1 << MAX_CELL_BITS) - 1;
        for bit in 0..MAX_CELL_BITS {
            assert_eq!(spread::<2>(1 << bit), 1 << (2 * bit));
            assert_eq!(spread::<3>(1 << bit), 1 << (3 * bit));
        }
        assert_eq!(spread::<2>(all).count_ones(), MAX_CELL_BITS);
        assert_eq!(spread::<3>(all).count_ones(), MAX_CELL_BITS);
    }

    fn ordered(numbers: &[f64]) -> Vec<u32> {
        let boxes = Boxes { numbers, axes: 2 };
        let ids = order(boxes).unwrap();
        let mut sorted = ids[..boxes.len()].to_vec();
        sorted.sort();
        assert!(sorted.into_iter().eq(0..boxes.len() as u32));
        assert_eq!(ids.len() % LANES, 0);
        ids[..boxes.len()].to_vec()
    }

    #[test]
    fn giants_come_last_and_neighbours_together() {
        let row = |i: u32| {
            let (x, y) = (f64::from(i * 37 % 100), f64::from(i % 7));
            let width = if i.is_multiple_of(50) { 90.0 } else { 1.0 };
            [x, y, x + width, y + 1.0]
        };
        let numbers: Vec<f64> = (0..1000).flat_map(row).collect();
        let ids = ordered(&numbers);
        assert!(ids[980..].iter().all(|id| id % 50 == 0));
        let x = |id: u32| f64::from(id * 37 % 100);
        let steps = ids[..980].windows(2);
        let steps = steps.map(|ids| (x(ids[0]) - x(ids[1])).abs());
        assert!(steps.sum::<f64>() / 979.0 < 4.0);
    }

    /// One box far away makes a grid over all boxes too coarse for the others.
    #[test]
    fn a_crowd_gets_a_finer_grid() {
        let at = |x: f64| [x, 0.0, x, 0.0];
        let place = |i: usize| if i == 5 { 1e30 } else { (i * 37 % 1000) as f64 };
        let numbers: Vec<f64> = (0..1000).flat_map(|i| at(place(i))).collect();
        let ids = ordered(&numbers);
        assert!(ids.is_sorted_by_key(|&id| place(id as usize)));
    }

    #[test]
    fn infinite_and_equal_boxes_are_kept() {
        let infinity = f64::INFINITY;
        ordered(&[-infinity, -infinity, infinity, infinity].repeat(100));
        ordered(&[infinity, 0.0, infinity, 1.0].repeat(100));
        ordered(&[f64::MIN, f64::MIN, f64::MAX, f64::MAX].repeat(100));
        ordered(&[]);
    }
}
