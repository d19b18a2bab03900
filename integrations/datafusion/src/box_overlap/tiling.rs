//! Tiles of space, and the bins that they are distributed over.

use datafusion::common::{Result, plan_err};
use serde::{Deserialize, Serialize};

use super::boxes::ArrowCoordinate;

/// A grid of tiles, whose tiles are distributed over bins by a hash.
///
/// A box belongs to the bins of all tiles that it touches, and a pair of overlapping boxes to the
/// bin of the tile that has the lower corner of their intersection. Both boxes touch this tile, so
/// each pair is found in its bin, and reported nowhere else. The number of bins bounds the number
/// of copies of a box, however large it is.
///
/// The results of joins do not depend on the tiling, but their cost does: boxes much larger than a
/// tile are copied to many bins, and with fewer tiles than bins some bins stay empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tiling {
    /// The length of a tile along each axis. Tile 0 begins at 0.
    #[serde(with = "exact")]
    pub size: Vec<f64>,
    /// The number of bins.
    pub bins: u32,
}

/// The most bins. Tilings that are chosen automatically have no more.
pub(super) const MOST_BINS: u32 = 1 << 16;

impl Tiling {
    /// Fails unless there is a finite length above 0 for each of the axes, and a number of bins that
    /// a box can be copied to.
    pub fn check(&self, axes: usize) -> Result<()> {
        if self.size.len() != axes {
            return plan_err!(
                "box_overlap: the tile size {:?} has {} numbers, but the boxes have {axes} axes",
                self.size,
                self.size.len()
            );
        }
        if let Some(size) = self
            .size
            .iter()
            .find(|&&size| !(size > 0.0 && size.is_finite()))
        {
            return plan_err!("box_overlap: the tile size {size} is not a finite number above 0");
        }
        if self.bins == 0 || self.bins > MOST_BINS {
            return plan_err!(
                "box_overlap: {} bins: use 1 to {MOST_BINS}; a large box is copied to every bin, so \
                 that more bins take much memory for each such box",
                self.bins
            );
        }
        Ok(())
    }

    /// Returns the index of the tiles at a coordinate. Never decreases with the coordinate, also
    /// where the division rounds, and saturates: [`bins`](Self::bins) depends on this.
    fn index(&self, axis: usize, coordinate: f64) -> i64 {
        (coordinate / self.size[axis]).floor() as i64
    }

    /// Writes the bins of a box to `bins`, each once, ascending.
    pub fn bins<T: ArrowCoordinate>(&self, numbers: &[T], bins: &mut Vec<i32>) {
        /// Boxes with more tiles per bin are copied to all bins: e⁻⁸ of the bins would be spared.
        const TILES_PER_BIN: u128 = 8;
        bins.clear();
        let (minima, maxima) = numbers.split_at(numbers.len() / 2);
        let mut low = [0i64; 3];
        let mut high = [0i64; 3];
        let mut tiles = 1u128;
        for (axis, (&min, &max)) in minima.iter().zip(maxima).enumerate() {
            low[axis] = self.index(axis, min.into());
            high[axis] = self.index(axis, max.into());
            let length = (i128::from(high[axis]) - i128::from(low[axis])) as u128 + 1;
            tiles = tiles.saturating_mul(length);
        }
        if tiles > TILES_PER_BIN * u128::from(self.bins) {
            bins.extend(0..self.bins as i32);
            return;
        }
        let axes = minima.len();
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                for z in low[2]..=high[2] {
                    bins.push(self.bin(&[x, y, z][..axes]));
                }
            }
        }
        bins.sort_unstable();
        bins.dedup();
    }

    /// Returns the bin of the pair of two overlapping boxes.
    pub fn bin_of_pair<T: ArrowCoordinate>(&self, a: &[T], b: &[T]) -> i32 {
        let axes = a.len() / 2;
        let mut tile = [0i64; 3];
        for axis in 0..axes {
            let corner = if a[axis] < b[axis] { b[axis] } else { a[axis] };
            tile[axis] = self.index(axis, corner.into());
        }
        self.bin(&tile[..axes])
    }

    /// Returns the bin where the rows without a partner are reported: that of the lower corner.
    pub fn home<T: ArrowCoordinate>(&self, numbers: &[T]) -> i32 {
        self.bin_of_pair(numbers, numbers)
    }

    /// All processes of a cluster must agree on the hash, so that it is written out here:
    /// the finaliser of SplitMix64.
    fn bin(&self, tile: &[i64]) -> i32 {
        let mut hash = 0u64;
        for &index in tile {
            hash = hash.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ index as u64;
            hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            hash ^= hash >> 31;
        }
        (hash % u64::from(self.bins)) as i32
    }
}

/// Numbers as text, which they survive without a change. JSON's numbers may not, and all processes
/// of a cluster must agree on the tiles.
mod exact {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(size: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<String> = size.iter().map(f64::to_string).collect();
        texts.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let sizes: Result<_, _> = texts.iter().map(|text| text.parse()).collect();
        sizes.map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tilings_survive_json() {
        let mut size = 0.1f64;
        for bins in 0..1000 {
            size = (size * 1.61803398875).sin().abs() * 10f64.powi(bins as i32 % 40 - 20);
            let tiling = Tiling {
                size: vec![size, f64::MAX, f64::MIN_POSITIVE],
                bins,
            };
            let json = serde_json::to_string(&tiling).unwrap();
            assert_eq!(serde_json::from_str::<Tiling>(&json).unwrap(), tiling);
        }
    }

    fn bins(tiling: &Tiling, numbers: &[f64]) -> Vec<i32> {
        let mut bins = vec![7];
        tiling.bins(numbers, &mut bins);
        bins
    }

    #[test]
    fn the_bin_of_a_pair_is_among_the_bins_of_both_boxes() {
        let tiling = Tiling {
            size: vec![1.0, 0.1, 3.0],
            bins: 5,
        };
        let boxes = [
            [-1.0, -0.3, 0.0, 1.0, 0.3, 0.0],
            [0.0, 0.1, -3.0, 0.5, 0.30000000000000004, 9.0],
            [1.0, 0.3, 0.0, 1.0, 0.3, 0.0],
            [
                f64::NEG_INFINITY,
                f64::MIN,
                -0.0,
                f64::INFINITY,
                f64::MAX,
                0.0,
            ],
        ];
        for a in &boxes {
            assert!(bins(&tiling, a).contains(&tiling.home(a)), "{a:?}");
            for b in &boxes {
                if (0..3).all(|axis| a[axis] <= b[axis + 3] && b[axis] <= a[axis + 3]) {
                    let bin = tiling.bin_of_pair(a, b);
                    assert!(bins(&tiling, a).contains(&bin), "{a:?}, {b:?}");
                    assert!(bins(&tiling, b).contains(&bin), "{a:?}, {b:?}");
                }
            }
        }
    }

    #[test]
    fn bins_of_a_box_are_ascending_and_bounded() {
        let tiling = Tiling {
            size: vec![1.0, 1.0],
            bins: 6,
        };
        assert_eq!(bins(&tiling, &[0.2, 0.2, 0.3, 0.3]).len(), 1);
        let some = bins(&tiling, &[0.0, 0.0, 1.0, 0.5]);
        assert!(some.is_sorted() && (1..=2).contains(&some.len()));
        let everywhere = [f64::NEG_INFINITY, 0.0, f64::INFINITY, 0.0];
        assert_eq!(bins(&tiling, &everywhere), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn wrong_tilings_are_refused() {
        let check = |size: &[f64], bins| {
            let size = size.to_vec();
            Tiling { size, bins }
                .check(2)
                .map_err(|error| error.to_string())
        };
        check(&[1.0, 2.0], 1).unwrap();
        let lengths = check(&[1.0], 1).unwrap_err();
        assert!(
            lengths.contains("has 1 numbers, but the boxes have 2 axes"),
            "{lengths}"
        );
        for size in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = check(&[1.0, size], 1).unwrap_err();
            assert!(error.contains("is not a finite number above 0"), "{error}");
        }
        check(&[1.0, 1.0], MOST_BINS).unwrap();
        for bins in [0, MOST_BINS + 1, u32::MAX] {
            let error = check(&[1.0, 1.0], bins).unwrap_err();
            let expected = format!("{bins} bins: use 1 to 65536");
            assert!(error.contains(&expected), "{error}");
        }
    }
}
