//! The orders in which blocks and threads run, drawn from a seed.

/// SplitMix64 (Steele, Lea, Flood 2014): a counter and a mixing function. The quality suffices for
/// orders, and all seeds are equally good.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Returns sequence number `stream` of `seed`. A block uses its index as the number, so that
    /// its draws do not depend on the OS thread that runs it.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self(mix(seed) ^ mix(!stream))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Returns a number below `bound`. The bias of at most 2⁻³² · `bound` does not matter here.
    fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// Shuffles `items` (Fisher–Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u32 + 1) as usize);
        }
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// An order of the blocks `0..count`, without a list, since a grid can have billions of blocks.
///
/// Position `i` holds block `(start + i · stride) mod count`. The stride shares no factor with the
/// count, so that every block occurs once. Seed 0 gives ascending order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockOrder {
    count: u64,
    start: u64,
    stride: u64,
}

impl BlockOrder {
    pub(crate) fn new(seed: u64, count: u64) -> Self {
        if seed == 0 {
            return Self {
                count,
                start: 0,
                stride: 1,
            };
        }
        let mut random = Random::new(seed, u64::MAX);
        let start = random.next() % count.max(1);
        let stride = loop {
            let stride = random.next() % count.max(1) + 1;
            if greatest_common_divisor(stride, count) == 1 {
                break stride;
            }
        };
        Self {
            count,
            start,
            stride,
        }
    }

    /// Returns the block at `position`.
    pub(crate) fn at(self, position: u64) -> u64 {
        let [count, start, stride] = [self.count, self.start, self.stride].map(u128::from);
        ((start + u128::from(position) * stride) % count) as u64
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_comes_once() {
        for count in 1..200 {
            for seed in 0..20 {
                let order = BlockOrder::new(seed, count);
                let mut blocks: Vec<_> = (0..count).map(|i| order.at(i)).collect();
                blocks.sort_unstable();
                assert!(blocks.into_iter().eq(0..count), "{order:?}");
            }
        }
    }

    #[test]
    fn seed_zero_is_the_plain_order() {
        let order = BlockOrder::new(0, 7);
        assert!((0..7).all(|i| order.at(i) == i));
    }

    #[test]
    fn the_largest_grid_does_not_overflow() {
        let count = i32::MAX as u64 * 65_535 * 65_535;
        let order = BlockOrder::new(3, count);
        assert!(order.at(count - 1) < count);
        assert_ne!(order.at(0), order.at(count - 1));
    }

    #[test]
    fn shuffles_permute_and_differ() {
        let mut random = Random::new(1, 0);
        let mut a: Vec<u32> = (0..100).collect();
        random.shuffle(&mut a);
        let mut b = a.clone();
        random.shuffle(&mut b);
        assert_ne!(a, b);
        a.sort_unstable();
        assert!(a.into_iter().eq(0..100));
    }
}
