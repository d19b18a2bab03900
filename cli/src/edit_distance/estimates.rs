//! Distances of sketches, which estimate edit distances.

use std::num::NonZero;
use std::ops::Range;

use anyhow::Result;
use gridstride::Device;
use gridstride::distances::{Windows as WindowRows, slide_paired};
use gridstride::tensor_sketch::{Tables, TensorSketch};

use super::records::{Pairs, Records};
use super::rows::{NUMBERS, Rows, end_of_text};
use crate::tensor_sketch::args::Windows;

/// Sketches of one kind, on some devices. Each record is sketched once, however many pairs have it.
pub struct Estimates<'a> {
    devices: &'a [Device],
    pairs: &'a Pairs,
    sketcher: TensorSketch,
}

impl<'a> Estimates<'a> {
    /// Takes normalised sketches, whose distances do not grow with the length of the sequences.
    pub fn new(devices: &'a [Device], pairs: &'a Pairs, tables: Tables) -> Estimates<'a> {
        Estimates {
            devices,
            pairs,
            sketcher: TensorSketch::new(tables).normalize(true),
        }
    }

    /// Returns the distance of the sketches of each pair.
    pub fn plain(&self) -> Result<Vec<f64>> {
        let mut distances = self.pairs.room()?;
        let sketch = |records| Rows::of_sequences(self.devices, &self.sketcher, records);
        let a = sketch(&self.pairs.a)?;
        let b = self.pairs.b.as_ref().map(sketch).transpose()?;
        // As sequences of a single window.
        self.compare(&a, b.as_ref(), 0..self.pairs.count(), &mut distances)?;
        Ok(distances)
    }

    /// Returns the slide distance of each pair, NaN if a sequence of it is shorter than a window.
    ///
    /// The sketches of all windows of a group are in memory together.
    pub fn slide(&self, windows: Windows) -> Result<Vec<f64>> {
        let windows = self.bounded(windows);
        let mut distances = self.pairs.room()?;
        let (count, group) = (self.pairs.a.names.len(), self.pairs.group);
        let mut first = 0;
        while first < count {
            let records = first..self.end_of_groups(first, windows);
            first = records.end;
            let sketch = |of: &Records| {
                Rows::of_windows(self.devices, &self.sketcher, of, records.clone(), windows)
            };
            let a = sketch(&self.pairs.a)?;
            let b = self.pairs.b.as_ref().map(sketch).transpose()?;
            // All groups have equally many pairs.
            let end = first / group * (self.pairs.count() / (count / group));
            self.compare(&a, b.as_ref(), distances.len()..end, &mut distances)?;
        }
        Ok(distances)
    }

    /// Adds the slide distances of a range of pairs, whose records have these rows. Without `b`,
    /// the second records are of the same file.
    fn compare(
        &self,
        a: &Rows,
        b: Option<&Rows>,
        pairs: Range<usize>,
        distances: &mut Vec<f64>,
    ) -> Result<()> {
        let b = b.unwrap_or(a);
        let most = NUMBERS / self.sketcher.tables().dim();
        let mut left = &self.pairs.indices[pairs];
        while !left.is_empty() {
            let mut rows = 0;
            let fits = |[i, j]: &&[usize; 2]| {
                rows += a.count(*i) + b.count(*j);
                rows <= most
            };
            let chunk;
            (chunk, left) = left.split_at(left.iter().take_while(fits).count().max(1));
            let (a, offsets_a) = a.gathered(chunk.iter().map(|pair| pair[0]))?;
            let (b, offsets_b) = b.gathered(chunk.iter().map(|pair| pair[1]))?;
            let a = WindowRows::new(a.view(), &offsets_a)?;
            let b = WindowRows::new(b.view(), &offsets_b)?;
            distances.extend(slide_paired(self.devices, a, b)?);
        }
        Ok(())
    }

    /// Returns the same windows with the least stride that leaves a single window of the longest
    /// sequence, if the stride is greater: the texts are padded to multiples of the stride.
    fn bounded(&self, windows: Windows) -> Windows {
        let sides = [&self.pairs.a, self.pairs.second()];
        let longest = sides.map(|records| records.sequences.longest());
        let last = longest[0]
            .max(longest[1])
            .saturating_sub(windows.width.get());
        let single = NonZero::new(last + 1).unwrap_or(NonZero::<usize>::MIN);
        Windows {
            stride: windows.stride.min(single),
            ..windows
        }
    }

    /// Returns the end of a range of records, at least one group, whose windows are in memory
    /// together: groups that are a text in each file.
    fn end_of_groups(&self, first: usize, windows: Windows) -> usize {
        let (group, dim) = (self.pairs.group, self.sketcher.tables().dim());
        let end =
            |records: &Records| end_of_text(records, first..records.names.len(), windows, dim);
        let end = end(&self.pairs.a).min(end(self.pairs.second()));
        first + ((end - first) / group * group).max(group)
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::pairs_of_group;
    use super::*;
    use checks::random::Random;

    /// A size at which 81 sequences are sketched together and 43 pairs are compared.
    const DIM: usize = 8;
    const LENGTH: u64 = 101;

    fn records<'a>(sequences: impl Iterator<Item = &'a Vec<u8>>) -> Records {
        let mut records = Records::default();
        records.sequences = sequences.collect();
        records.names = vec![String::new(); records.sequences.len()];
        records
    }

    /// Distances are the same in one text or several, and of one group or several. Numbers of
    /// letters are whole, so that sketches do not depend on the order of additions.
    #[test]
    fn distances_in_chunks() {
        let random = &mut Random::new(1, 2);
        let sequence = |i: u64| (0..LENGTH - i % 3).map(|_| random.below(4) as u8).collect();
        let sequences: Vec<Vec<u8>> = (0..92).map(sequence).collect();
        let windows: Windows = "8:1".parse().unwrap();
        let devices = [Device::cpu()];
        let distances = |pairs: &Pairs| {
            let tables = Tables::from_seed(4, 1, DIM, 3).unwrap();
            let estimates = Estimates::new(&devices, pairs, tables);
            [
                estimates.plain().unwrap(),
                estimates.slide(windows).unwrap(),
            ]
        };
        let neighbours: Vec<[usize; 2]> = (1..92).map(|i| [i - 1, i]).collect();
        let groups = (0..23).flat_map(|group| {
            let first = 4 * group;
            pairs_of_group(4).map(move |(i, j)| [first + i, first + j])
        });
        for (group, indices) in [(92, neighbours), (4, groups.collect())] {
            let side =
                |side: usize| Some(records(indices.iter().map(|pair| &sequences[pair[side]])));
            let two_files = Pairs {
                a: side(0).unwrap(),
                b: side(1),
                indices: (0..indices.len()).map(|i| [i, i]).collect(),
                group: 1,
            };
            let expected = distances(&two_files);
            for i in [0, 40, 43, 85] {
                let single = Pairs {
                    a: records([&sequences[indices[i][0]]].into_iter()),
                    b: Some(records([&sequences[indices[i][1]]].into_iter())),
                    indices: vec![[0, 0]],
                    group: 1,
                };
                let single = distances(&single).map(|distances| distances[0]);
                assert!(single[1] > 0.0);
                assert_eq!(single, expected.each_ref().map(|distances| distances[i]));
            }
            let pairs = Pairs {
                a: records(sequences.iter()),
                b: None,
                indices,
                group,
            };
            assert_eq!(distances(&pairs), expected);
        }
    }
}
