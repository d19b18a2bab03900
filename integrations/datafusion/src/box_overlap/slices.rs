//! The pairs of two sets of boxes, some rows at a time.

use datafusion::common::Result;
use gridstride::Device;
use gridstride::box_overlap::{BoxOverlap, OverlapSlice, OverlapSlices};
use gridstride::ndarray::s;

use super::boxes::{ArrowCoordinate, Boxes};
use super::parameters::EXEC_NAME;
use crate::config;
use crate::error::external;

/// The pairs of two sets of boxes.
pub enum Slices<'a, T: ArrowCoordinate> {
    /// The boxes and their index stay on the device.
    Resident(OverlapSlices<'a>),
    /// Each slice is a search of its own, for devices with a memory limit: the boxes of several
    /// partitions together may need more than that, and waiting for another partition while some of
    /// its memory is taken could last for ever, if this partition's rows have to be read first.
    Alone {
        device: &'a Device,
        sets: [&'a Boxes<T>; 2],
        counts: Vec<u32>,
        most: u64,
        next: usize,
    },
}

impl<'a, T: ArrowCoordinate> Slices<'a, T> {
    /// Counts the pairs of each row of the first set. Slices have at most `most` pairs, or a single
    /// row.
    pub fn new(device: &'a Device, sets: [&'a Boxes<T>; 2], most: usize) -> Result<Self> {
        let search = BoxOverlap::new();
        let [a, b] = sets.map(Boxes::view);
        Ok(match config::turn(device) {
            None => Slices::Resident(search.slices(device, a, b, most).map_err(failed)?),
            Some(_turn) => Slices::Alone {
                device,
                sets,
                counts: search.counts(device, a, b).map_err(failed)?.to_vec(),
                most: most as u64,
                next: 0,
            },
        })
    }

    /// Returns how many boxes of the second set overlap each of the first.
    pub fn counts(&self) -> &[u32] {
        match self {
            Slices::Resident(slices) => slices.counts(),
            Slices::Alone { counts, .. } => counts,
        }
    }
}

fn failed(error: gridstride::Error) -> datafusion::common::DataFusionError {
    external(EXEC_NAME)(error)
}

impl<T: ArrowCoordinate> Iterator for Slices<'_, T> {
    type Item = Result<OverlapSlice>;

    fn next(&mut self) -> Option<Result<OverlapSlice>> {
        match self {
            Slices::Resident(slices) => slices.next().map(|slice| slice.map_err(failed)),
            Slices::Alone {
                device,
                sets: [a, b],
                counts,
                most,
                next,
            } => {
                let start = *next;
                let mut pairs = 0;
                let rest = counts[start..].iter().take_while(|&&count| {
                    pairs += u64::from(count);
                    pairs <= *most
                });
                *next = counts.len().min(start + rest.count().max(1));
                if start == *next {
                    return None;
                }
                let rows = start..*next;
                let part = a.view().slice_move(s![rows.clone(), ..]);
                let _turn = config::turn(device);
                let overlaps = BoxOverlap::new().overlaps(*device, part, b.view());
                let slice = overlaps.map(|overlaps| OverlapSlice { rows, overlaps });
                Some(slice.map_err(failed))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, Int32Array, RecordBatch};

    use super::super::box_type::BoxColumns;
    use super::*;

    /// Boxes [i, i + 3] along x.
    fn chain(rows: i32) -> Boxes<i32> {
        let column = |add: i32, scale: i32| -> ArrayRef {
            Arc::new(Int32Array::from_iter_values(
                (0..rows).map(|i| scale * i + add),
            ))
        };
        let columns = [
            ("x0", column(0, 1)),
            ("y0", column(0, 0)),
            ("x1", column(3, 1)),
            ("y1", column(0, 0)),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let columns = BoxColumns {
            table: "t".into(),
            columns: vec![0, 1, 2, 3],
        };
        Boxes::new(&columns, &batch, 0).unwrap()
    }

    /// Two searches of one limited device are read in turns on one thread: a guard that outlived a
    /// call would block for ever.
    #[test]
    fn slices_of_a_limited_device_are_the_same_and_take_turns() {
        let (a, b) = (chain(50), chain(40));
        let simulator = Device::simulator().unwrap();
        let limited = simulator.with_memory_limit(16 << 20);
        let collect = |slices: Slices<i32>| slices.collect::<Result<Vec<_>>>().unwrap();
        for most in [1, 7, 20, 1000] {
            let expected = collect(Slices::new(&simulator, [&a, &b], most).unwrap());
            let mut slices = Slices::new(&limited, [&a, &b], most).unwrap();
            let first = slices.next().unwrap().unwrap();
            assert_eq!(
                collect(Slices::new(&limited, [&a, &b], most).unwrap()),
                expected
            );
            assert_eq!(first, expected[0]);
            assert_eq!(collect(slices), expected[1..]);
        }
    }
}
