//! Means of the sketches of one sequence.

use std::collections::VecDeque;

use gridstride::tensor_sketch::Entry;
use ndarray::{Array2, ArrayView1};

use super::name::Name;

/// Adds up the sketches of one sequence after the other.
#[derive(Default)]
pub struct Means {
    current: Option<Sum>,
    /// The letters and skipped characters of sequences that have ended and whose mean was not taken.
    ended: VecDeque<(u64, u64)>,
}

struct Sum {
    name: Name,
    count: usize,
    values: Vec<f64>,
}

impl Means {
    /// Adds the sketch of a window. Returns the mean of the sequence before, 1×D, if this window is the
    /// first of another sequence.
    pub fn add<T: Entry>(
        &mut self,
        name: Name,
        sketch: ArrayView1<T>,
    ) -> Option<(Name, Array2<T>)> {
        let is_same = |sum: &Sum| sum.name.sequence == name.sequence;
        let finished = match self.current.as_ref().is_some_and(is_same) {
            true => None,
            false => self.take(),
        };
        let sum = self.current.get_or_insert_with(|| Sum {
            name,
            count: 0,
            values: vec![0.0; sketch.len()],
        });
        sum.count += 1;
        for (value, added) in sum.values.iter_mut().zip(sketch) {
            *value += added.to_f64();
        }
        finished
    }

    /// Records the whole length of a sequence that has windows, after its last window and
    /// before the first one of the next sequence was made.
    pub fn end_sequence(&mut self, length: u64, skipped: u64) {
        self.ended.push_back((length, skipped));
    }

    /// Takes the mean of the last sequence.
    pub fn take<T: Entry>(&mut self) -> Option<(Name, Array2<T>)> {
        let Sum {
            mut name,
            count,
            values,
        } = self.current.take()?;
        if let Some((length, skipped)) = self.ended.pop_front() {
            name.length = length;
            name.skipped = Some(skipped);
        }
        let mean = Array2::from_shape_fn((1, values.len()), |(_, i)| {
            T::from_f64(values[i] / count as f64)
        });
        Some((name, mean))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{arr1, arr2};

    use super::*;

    fn name(sequence: u64) -> Name {
        Name {
            name: "the same".into(),
            length: 3,
            skipped: None,
            sequence,
        }
    }

    #[test]
    fn each_sequence_has_its_mean() {
        let mut means = Means::default();
        let mut add = |sequence, sketch: [f32; 2]| {
            let done = means.add(name(sequence), arr1(&sketch).view());
            done.map(|(name, mean)| (name.sequence, mean))
        };
        assert_eq!(add(0, [1.0, 2.0]), None);
        assert_eq!(add(0, [3.0, 2.0]), None);
        assert_eq!(add(1, [5.0, 7.0]), Some((0, arr2(&[[2.0, 2.0]]))));
        let last = means
            .take::<f32>()
            .map(|(name, mean)| (name.sequence, mean));
        assert_eq!(last, Some((1, arr2(&[[5.0, 7.0]]))));
        assert!(means.take::<f32>().is_none());
    }
}
