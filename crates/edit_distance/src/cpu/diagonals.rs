//! The band in strips of 64 rows per lane of a vector, along the table's diagonals.
//!
//! As on GPUs, the rows' letters are kept as bit planes, and the lowest horizontal differences of a
//! strip are kept for the strip below.

use gridstride_runtime::Result;
use gridstride_runtime::device::reserve;
use pulp::{Simd, WithSimd};

use super::lanes::{CHUNK, Edge, Lanes, MOST_LANES, bits_from};

/// The fewest lanes of a vector for which vectors pay.
const FEWEST_LANES: usize = 4;

/// Memory that the computation of one pair leaves to the next one.
#[derive(Default)]
pub struct Scratch {
    /// The bits of the columns' letters, plane by plane, the first column in the highest bit.
    planes: Vec<u64>,
    /// The lowest differences of the strip above, as its last lane computes them in each chunk.
    edges: Vec<Edge>,
}

/// A pair and the distance up to which the band reaches, as in
/// [`Band::distance`](super::band::Band::distance).
pub struct BandedPair<'a> {
    pub scratch: &'a mut Scratch,
    pub rows: &'a [u8],
    pub columns: &'a [u8],
    pub bound: usize,
    pub reach: u32,
}

impl WithSimd for BandedPair<'_> {
    /// `None` if vectors do not pay.
    type Output = Result<Option<u32>>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Result<Option<u32>> {
        let BandedPair {
            scratch,
            rows,
            columns,
            bound,
            reach,
        } = self;
        if const { S::U64_LANES < FEWEST_LANES } {
            return Ok(None);
        }
        let distance = match bound {
            ..=4 => strips::<S, 2>(simd, scratch, rows, columns, reach),
            5..=32 => strips::<S, 5>(simd, scratch, rows, columns, reach),
            _ => strips::<S, 8>(simd, scratch, rows, columns, reach),
        };
        distance.map(Some)
    }
}

#[inline(always)]
fn strips<S: Simd, const PLANES: usize>(
    simd: S,
    scratch: &mut Scratch,
    rows: &[u8],
    columns: &[u8],
    reach: u32,
) -> Result<u32> {
    let (m, n) = (rows.len(), columns.len());
    let (difference, reach) = (n - m, reach as usize);
    let (left, right) = ((reach - difference) / 2, (reach + difference) / 2);
    let strip_rows = CHUNK * S::U64_LANES;
    // Columns that the last lane is behind the first one.
    let delay = S::U64_LANES - 1;
    let chunks_to = |end: usize| (end + delay).div_ceil(CHUNK);
    scratch.prepare::<PLANES>(columns, chunks_to(n))?;
    let Scratch { planes, edges } = scratch;
    let planes = planes.chunks_exact(chunks_to(n) + 1);

    // The entry above the strip's rows, in the column before its first one.
    let mut corner = 0;
    let mut end_above = 0;
    for first_row in (0..m).step_by(strip_rows) {
        let end_row = m.min(first_row + strip_rows);
        let is_last = end_row == m;
        let first_chunk = first_row.saturating_sub(left) / CHUNK;
        let next_chunk = end_row.saturating_sub(left) / CHUNK;
        let end = n.min((end_row + right).next_multiple_of(CHUNK));
        let mut lanes = Lanes::<S, PLANES>::new(simd, &rows[first_row..end_row]);
        for chunk in first_chunk..chunks_to(end) {
            let first = chunk * CHUNK;
            let mut above = Edge::OF_TABLE;
            if first < end_above {
                // The last lane of the strip above has computed the chunk's last columns in the
                // next chunk.
                let next = match chunk + 1 < chunks_to(end_above) {
                    true => edges[chunk + 1],
                    false => Edge { plus: 0, minus: 0 },
                };
                let joined = |own: u64, next: u64| own << delay | next >> (CHUNK - delay);
                above = Edge {
                    plus: joined(edges[chunk].plus, next.plus),
                    minus: joined(edges[chunk].minus, next.minus),
                };
            }
            let letters = per_lane_and_plane(planes.clone(), chunk);
            let is_whole = chunk > first_chunk && first + CHUNK <= end;
            edges[chunk] = match is_whole {
                true => lanes.chunk::<false>(simd, &letters, above, &[0; MOST_LANES]),
                false => {
                    let active = std::array::from_fn(|lane| {
                        let from = (first_chunk * CHUNK + lane).saturating_sub(first);
                        let to = (end + lane).saturating_sub(first);
                        bits_from(from) & !bits_from(to)
                    });
                    lanes.chunk::<true>(simd, &letters, above, &active)
                }
            };
            if is_last {
                corner += above.sum(!bits_from(n.saturating_sub(first)));
            } else if chunk <= next_chunk {
                // On the way to the next strip's first column: of the first chunk without the
                // columns before it, and of the next strip's first chunk only those before it.
                let mut mask = u64::MAX;
                if chunk == first_chunk {
                    mask &= bits_from(delay);
                }
                if chunk == next_chunk {
                    mask &= !bits_from(delay);
                }
                corner += edges[chunk].sum(mask);
            }
        }
        end_above = end;
        corner += match is_last {
            true => lanes.height(simd, end_row - first_row),
            false => strip_rows as i64,
        };
    }
    Ok(u32::try_from(corner).unwrap_or(u32::MAX))
}

/// Returns the bits of the letters that each lane compares in a chunk, plane by plane.
#[inline(always)]
fn per_lane_and_plane<'a, const PLANES: usize>(
    planes: impl Iterator<Item = &'a [u64]>,
    chunk: usize,
) -> [[u64; MOST_LANES]; PLANES] {
    let mut letters = [[0; MOST_LANES]; PLANES];
    for (letters, plane) in letters.iter_mut().zip(planes) {
        // A word of zeros comes first.
        let [before, own] = [plane[chunk], plane[chunk + 1]];
        letters[0] = own;
        for (lane, letters) in letters.iter_mut().enumerate().skip(1) {
            *letters = before << (CHUNK - lane) | own >> lane;
        }
    }
    letters
}

impl Scratch {
    /// Writes the columns' letters as bit planes of `chunks` words, with a word of zeros before.
    fn prepare<const PLANES: usize>(&mut self, columns: &[u8], chunks: usize) -> Result<()> {
        let words = PLANES * (chunks + 1);
        let more = words.saturating_sub(self.planes.len());
        reserve(&mut self.planes, more)?;
        self.planes.clear();
        self.planes.resize(words, 0);
        for (k, plane) in self.planes.chunks_exact_mut(chunks + 1).enumerate() {
            for (word, letters) in plane[1..].iter_mut().zip(columns.chunks(CHUNK)) {
                for (i, letter) in letters.iter().enumerate() {
                    *word |= u64::from(letter >> k & 1) << (CHUNK - 1 - i);
                }
            }
        }
        let more = chunks.saturating_sub(self.edges.len());
        reserve(&mut self.edges, more)?;
        self.edges
            .resize(chunks.max(self.edges.len()), Edge::OF_TABLE);
        Ok(())
    }
}
