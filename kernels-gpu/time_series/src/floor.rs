//! Buckets of the time axis, found without a division.

use cuda_std::DeviceParam;

/// The buckets \[origin + k·width, origin + (k + 1)·width) for whole k.
///
/// Timestamps t are taken as t + 2⁶³, which is unsigned, and the division by the width is a
/// multiplication by its reciprocal, exact for all numbers of 64 bits: T. Granlund, P. Montgomery,
/// 'Division by Invariant Integers using Multiplication' (1994).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, DeviceParam)]
pub struct Floor {
    width: u64,
    /// The start of the first bucket whose start is an `i64`, as an offset from `i64::MIN`; less
    /// than `width`.
    phase: u64,
    reciprocal: u64,
    /// The two right shifts after the multiplication by `reciprocal`.
    shifts: [u32; 2],
}

const SIGN: u64 = 1 << 63;

impl Floor {
    /// Buckets of `width`, one of which begins at `origin`. `None` unless the width is positive.
    pub const fn new(width: i64, origin: i64) -> Option<Floor> {
        if width <= 0 {
            return None;
        }
        let width = width as u64;
        // The smallest power of two that is not below the width: below 2⁶⁴.
        let bits = u64::BITS - (width - 1).leading_zeros();
        let power = 1u128 << bits;
        let reciprocal = ((power - width as u128) << 64) / width as u128 + 1;
        let shifts = match bits {
            0 => [0, 0],
            _ => [1, bits - 1],
        };
        Some(Floor {
            width,
            phase: (origin as u64 ^ SIGN) % width,
            reciprocal: reciprocal as u64,
            shifts,
        })
    }

    /// The width of a bucket.
    pub const fn width(&self) -> i64 {
        self.width as i64
    }

    /// The first timestamp of the first bucket that begins with a timestamp. Earlier ones have no
    /// label.
    pub const fn lowest(&self) -> i64 {
        (self.phase ^ SIGN) as i64
    }

    /// The number of the timestamp's bucket, counted from the one that begins at
    /// [`lowest`](Self::lowest), below which no timestamp may be.
    #[inline(always)]
    pub const fn bucket(&self, timestamp: i64) -> u64 {
        let number = (timestamp as u64 ^ SIGN).wrapping_sub(self.phase);
        let high = ((number as u128 * self.reciprocal as u128) >> 64) as u64;
        (high + ((number - high) >> self.shifts[0])) >> self.shifts[1]
    }

    /// The first timestamp of a bucket: its label.
    #[inline(always)]
    pub const fn start(&self, bucket: u64) -> i64 {
        (bucket.wrapping_mul(self.width).wrapping_add(self.phase) ^ SIGN) as i64
    }

    /// The label of the timestamp's bucket, for timestamps from [`lowest`](Self::lowest) on.
    #[inline(always)]
    pub const fn floor(&self, timestamp: i64) -> i64 {
        self.start(self.bucket(timestamp))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_exact() {
        let widths = [
            1,
            2,
            3,
            5,
            7,
            35,
            1 << 20,
            1_000_000_007,
            i64::MAX / 2,
            i64::MAX - 1,
            i64::MAX,
        ];
        let origins = [0, 1, -1, 17, i64::MIN, i64::MIN + 1, i64::MAX];
        let timestamps = [
            i64::MIN,
            i64::MIN + 1,
            -36,
            -35,
            -34,
            -1,
            0,
            1,
            34,
            35,
            36,
            1 << 40,
            i64::MAX - 1,
            i64::MAX,
        ];
        for width in widths {
            for origin in origins {
                let floor = Floor::new(width, origin).expect("a positive width");
                for timestamp in timestamps {
                    let (t, o, w) = (timestamp as i128, origin as i128, width as i128);
                    let left = o + (t - o).div_euclid(w) * w;
                    let has_label = left >= i64::MIN as i128;
                    assert_eq!(timestamp >= floor.lowest(), has_label, "{t} {w} {o}");
                    if has_label {
                        assert_eq!(floor.floor(timestamp) as i128, left, "{t} {w} {o}");
                    }
                }
            }
        }
        assert_eq!(Floor::new(0, 0), None);
        assert_eq!(Floor::new(-1, 0), None);
    }
}
