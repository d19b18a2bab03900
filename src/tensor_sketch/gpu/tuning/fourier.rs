//! How the kernels of the Fourier form are launched.

use std::fmt;

use tensor_sketch_kernels::fourier::{Number, entries, quads};

use crate::tensor_sketch::fourier::lanes;

/// The most letters in a word: their number has to fit 16 bits, and [`Chunk::first_unit`] counts on
/// it.
///
/// [`Chunk::first_unit`]: tensor_sketch_kernels::fourier::words::Chunk::first_unit
const MAX_WORD: u32 = 6;

/// Cycles that a quarter of a warp waits for a 16-byte read a lane, when it has 8, 4, 2 or 1 lanes of
/// a chunk together: the expected largest number of the independent groups that meet in one of the
/// places that they can take.
const CONFLICTS: [(u32, f64); 4] = [(8, 1.0), (4, 1.5), (2, 2.125), (1, 2.6)];

/// The matrices of chunks: what stands in shared memory, and which kernel reads it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    /// Letters in a word, m.
    pub word_letters: u32,
    /// The number of words, A^m.
    pub words: u32,
    /// Rows of the table of operators: words, single letters where m > 1, and the identity.
    pub rows: u32,
    /// Entries of an operator reach so far above the diagonal.
    pub depth: u32,
    /// Lanes in a group: those that a block works on.
    pub width: u32,
    /// Groups, so that all lanes are in one.
    pub groups: u32,
    /// Bytes of the table of one group.
    pub shared_bytes: u32,
    /// The most threads of a block.
    pub max_threads: u32,
    /// Estimated cycles of a multiprocessor for a letter in all lanes.
    pub cycles: f64,
}

impl Policy {
    /// The policy with the least estimated time among those whose tables fit.
    ///
    /// There always is one if a block can have 48 KiB: a lane's operators of 256 single letters, with
    /// t = 8 and `f64`, take 36 KiB.
    pub fn new<N: Number>(
        alphabet: u32,
        tuple: u32,
        dim: u32,
        shared_bytes: u32,
    ) -> Option<Policy> {
        let mut best: Option<Policy> = None;
        for word_letters in 1..=MAX_WORD {
            let depth = word_letters.min(tuple);
            if depth > max_depth::<N>(tuple) {
                break;
            }
            let Some(words) = alphabet.checked_pow(word_letters) else {
                break;
            };
            let singles = if word_letters > 1 { alphabet } else { 0 };
            let rows = words.saturating_add(singles).saturating_add(1);
            if rows > 1 << 16 {
                break;
            }
            for (width, conflicts) in CONFLICTS {
                let bytes = u64::from(rows * width)
                    * quads::<N>(tuple as usize, depth as usize) as u64
                    * 16;
                if bytes > u64::from(shared_bytes) {
                    continue;
                }
                let groups = (lanes(dim as usize) as u32).div_ceil(width);
                let cycles = step_cycles::<N>(tuple as usize, depth as usize, conflicts)
                    * f64::from(groups * width)
                    / 32.0
                    / f64::from(word_letters);
                if best.is_none_or(|best| cycles < best.cycles) {
                    best = Some(Policy {
                        word_letters,
                        words,
                        rows,
                        depth,
                        width,
                        groups,
                        shared_bytes: bytes as u32,
                        max_threads: max_threads::<N>(tuple),
                        cycles,
                    });
                }
            }
        }
        best
    }

    /// Blocks for each of `launched` groups, and threads of a block, for so many chunks on a device
    /// of so many multiprocessors.
    pub fn grid(&self, launched: u32, chunks: u32, processors: u32) -> (u32, u32) {
        let processors = processors.max(1);
        // Each block has a multiprocessor to itself, and each wave of them takes as long as one: the
        // number of blocks for a group that leaves the fewest idle in the last wave, but each fills
        // its table anew, so few.
        let time = |blocks: u32| {
            let waves = (launched * blocks).div_ceil(processors);
            f64::from(waves) * (1.0 / f64::from(blocks) + 0.002)
        };
        let fill = (processors / launched).max(1);
        let blocks = (fill..fill + 8)
            .min_by(|a, b| time(*a).total_cmp(&time(*b)))
            .unwrap_or(fill);
        let slots = |threads: u32| threads / self.width;
        // A block of fewer threads where there is too little for all.
        let blocks = blocks.min(chunks.div_ceil(slots(32)).max(1));
        let wanted = chunks.div_ceil(blocks) * self.width;
        (
            blocks,
            wanted.next_multiple_of(32).clamp(32, self.max_threads),
        )
    }
}

/// The largest depth for which there is a kernel.
fn max_depth<N: Number>(tuple: u32) -> u32 {
    match (N::PER_QUAD, tuple) {
        (2, 1..=4) => tuple,
        (2, _) => 3,
        (_, 1..=3) => tuple,
        (_, 4) => 3,
        _ => 2,
    }
}

/// The bound that the kernels state.
fn max_threads<N: Number>(tuple: u32) -> u32 {
    match (N::PER_QUAD, tuple) {
        (2, 1..=4) => 768,
        (2, 5..=6) | (1, 1..=4) => 512,
        (2, _) => 384,
        _ => 256,
    }
}

/// Cycles of a multiprocessor for one step of one warp: shared memory gives 128 bytes a cycle, four
/// schedulers issue an instruction each, and one for `f64` takes two.
fn step_cycles<N: Number>(tuple: usize, depth: usize, conflicts: f64) -> f64 {
    let reads = entries(tuple, depth).div_ceil(N::PER_QUAD);
    let (mut products, mut factors) = (0, 0);
    for b in 1..=tuple {
        for m in b.saturating_sub(depth).max(1)..b {
            products += m;
            factors += 1;
        }
    }
    let arithmetic = 4 * products + 2 * entries(tuple, depth) + factors;
    let doubled = 3 - N::PER_QUAD;
    let issue = (arithmetic * doubled + reads + 4) as f64 / 4.0;
    let shared = 4.0 * reads as f64 * conflicts;
    // Neither is ever used fully while the other waits.
    issue.max(shared) + 0.25 * issue.min(shared)
}

/// What a user may want to know of it.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "words of {} letters, {} groups of {} lanes, {} bytes of shared memory",
            self.word_letters, self.groups, self.width, self.shared_bytes
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const H100: u32 = 227 << 10;

    #[test]
    fn the_usual_sketch_has_words_of_four_letters() {
        let policy = Policy::new::<f32>(4, 4, 96, H100).unwrap();
        assert_eq!(
            (policy.word_letters, policy.width, policy.groups),
            (4, 8, 6)
        );
        // 256 words, 4 letters and the identity, 8 lanes, 10 entries of 8 bytes.
        assert_eq!(policy.shared_bytes, 261 * 8 * 80);
        // A multiprocessor for each block.
        assert_eq!(policy.grid(6, 50_000, 132), (22, 768));
        assert_eq!(policy.grid(6, 1, 132), (1, 32));
        let (blocks, threads) = policy.grid(6, 489, 132);
        assert!(
            blocks * threads / 8 >= 489 && blocks == 22,
            "{blocks} {threads}"
        );
    }

    #[test]
    fn every_sketch_fits_every_device() {
        for shared in [48 << 10, 64 << 10, 99 << 10, 163 << 10, H100] {
            for alphabet in [1, 2, 4, 20, 256] {
                for tuple in 1..=8 {
                    for dim in [1, 96, 4096] {
                        for policy in [
                            Policy::new::<f32>(alphabet, tuple, dim, shared),
                            Policy::new::<f64>(alphabet, tuple, dim, shared),
                        ] {
                            let policy = policy.expect("there is one");
                            assert!(policy.shared_bytes <= shared);
                            assert!(policy.depth >= policy.word_letters.min(tuple));
                            assert!(policy.groups * policy.width >= dim.div_ceil(2));
                        }
                    }
                }
            }
        }
    }

    /// With the alphabets of the test `every_kernel_of_the_fourier_form` in
    /// tests/kernels/tensor_sketch/accuracy.rs.
    #[test]
    fn every_kernel_is_chosen_and_tested() {
        for shared in [48 << 10, 99 << 10, 163 << 10, H100] {
            for tuple in 1..=8 {
                let (mut singles, mut doubles) = (BTreeSet::new(), BTreeSet::new());
                for alphabet in [3, 4, 6, 8, 16, 256] {
                    singles
                        .extend(Policy::new::<f32>(alphabet, tuple, 33, shared).map(|p| p.depth));
                    doubles
                        .extend(Policy::new::<f64>(alphabet, tuple, 33, shared).map(|p| p.depth));
                }
                assert!(singles.into_iter().eq(1..=max_depth::<f32>(tuple)));
                assert!(doubles.into_iter().eq(1..=max_depth::<f64>(tuple)));
            }
        }
    }
}
