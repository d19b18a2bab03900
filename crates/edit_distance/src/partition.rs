//! Partitions of pairs: ranges of about equally many entries of D.

use gridstride_runtime::Result;
use gridstride_runtime::partition::Partition;

use super::input::HostPairs;
use super::workspace;

/// The work for a pair besides its entries, in entries.
const ENTRIES_PER_PAIR: u64 = 1 << 12;

impl HostPairs<'_> {
    fn work(&self, pair: usize) -> u128 {
        u128::from(self.entries(pair)) + u128::from(ENTRIES_PER_PAIR)
    }
}

impl Partition for HostPairs<'_> {
    fn bytes(&self) -> u64 {
        workspace::bytes(self)
    }

    fn split(self, count: usize) -> Result<Vec<Self>> {
        let mut pairs = self.out.len();
        let mut work: u128 = (0..pairs).map(|pair| self.work(pair)).sum();
        let (mut partitions, mut rest) = (Vec::new(), self);
        for left in (2..=count).rev() {
            if pairs < 2 {
                break;
            }
            // Takes pairs until the share of this partition is reached, but leaves at least one.
            let share = work / left as u128;
            let (mut end, mut taken) = (0, 0);
            while end < pairs - 1 && (end == 0 || taken < share) {
                taken += rest.work(end);
                end += 1;
            }
            let (partition, behind) = rest.split_at(end);
            partitions.push(partition);
            (rest, pairs, work) = (behind, pairs - end, work - taken);
        }
        partitions.push(rest);
        Ok(partitions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridstride_sequences::Sequences;

    #[test]
    fn partitions_are_about_equal_and_have_all_pairs() {
        for (lengths, count, counts) in [
            (vec![], 3, vec![0]),
            (vec![9], 3, vec![1]),
            (vec![1000; 6], 1, vec![6]),
            (vec![1000; 6], 3, vec![2, 2, 2]),
            (vec![0; 4], 2, vec![2, 2]),
            (vec![1, 1, 9000], 2, vec![2, 1]),
            (vec![9000, 1, 1], 2, vec![1, 2]),
            (vec![5, 5], 7, vec![1, 1]),
            (vec![5, 5, 5], usize::MAX, vec![1, 1, 1]),
        ] {
            let sequences: Sequences = lengths.iter().map(|&length| vec![0; length]).collect();
            let mut out: Vec<u32> = (0..sequences.len() as u32).collect();
            let all = out.clone();
            let (a, b) = (sequences.view(), sequences.view());
            let whole = HostPairs::new("test", 7, a, b, &mut out).unwrap();
            let split = whole.split(count).unwrap();
            let found: Vec<usize> = split.iter().map(|pairs| pairs.out.len()).collect();
            assert_eq!(found, counts, "{lengths:?}");
            let places = split.iter().flat_map(|pairs| pairs.out.iter().copied());
            assert!(places.eq(all));
            let of_a = split.iter().flat_map(|pairs| pairs.a.slices());
            assert!(of_a.eq(sequences.slices()));
            let of_b = split.iter().flat_map(|pairs| pairs.b.slices());
            assert!(of_b.eq(sequences.slices()));
        }
    }
}
