//! Launch shapes of kernels, as functions of the tables, the windows and the device.

use std::fmt;

use tensor_sketch_kernels::fourier::{Number, entries, quads};
use tensor_sketch_kernels::{Parameters, shared_words};

use super::fourier::lanes;
use super::options::binomial;

const WARP: u32 = 32;

/// Values per thread for which the direct form has a kernel, ascending.
const VALUES: [u32; 10] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];

/// Up to this number of values per thread, a thread more costs more than a value more: each thread
/// reads the letter and its table entry and waits at the barrier; a value is a read, sum and write.
const CHEAP_VALUES: u32 = 8;

const MAX_THREADS: u32 = 1024;

/// The shape of a launch of the direct form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectPolicy {
    /// Values per thread, one of [`VALUES`].
    pub values: u32,
    /// Threads per row, a multiple of the warp's size.
    pub lanes: u32,
    /// Dynamic shared memory per block.
    pub shared_bytes: u64,
}

impl DirectPolicy {
    /// Returns the policy for a tuple length from 1 to 8 and a dimension from 1 to 4096.
    pub fn new(parameters: &Parameters) -> DirectPolicy {
        let Parameters { tuple, dim, .. } = *parameters;
        let lanes = |values: u32| dim.div_ceil(WARP * values) * WARP;
        let fits = |values: &u32| lanes(*values) * tuple <= MAX_THREADS;
        let fitting = || VALUES.into_iter().filter(fits);
        let cheap = fitting().take_while(|&values| values <= CHEAP_VALUES);
        let values = cheap
            // Among equally few threads, the fewest values: they leave the least padding.
            .min_by_key(|&values| lanes(values))
            .or_else(|| fitting().next())
            .expect("32 values per thread fit every tuple length and dimension");
        DirectPolicy {
            values,
            lanes: lanes(values),
            shared_bytes: shared_words(parameters, lanes(values) * values) * 4,
        }
    }
}

/// The exponent of the largest sum that the kernel may reach: far enough below `f32`'s 2¹²⁸ that
/// rounding does not matter.
const MAX_EXPONENT: f64 = 126.0;

/// Returns the smallest e ≥ 0 such that row k, at most C(n, k) · 2^(−e·k), stays within `f32`'s
/// range for every k up to t.
///
/// Scaling by a power of two changes no rounding if the smallest entry of row t, 2^(−e·t), is a
/// normal number. All sequences of fewer than 2³² letters have one: e is at most 15 for t = 8. Much
/// longer sequences give `None`.
pub fn step_exponent(longest: u64, tuple: usize) -> Option<i32> {
    let needed = |k: usize| (binomial(longest, k as u64).max(1.0).log2() - MAX_EXPONENT) / k as f64;
    let exponent = (1..=tuple).map(needed).fold(0.0, f64::max).ceil() as i32;
    (exponent * tuple as i32 <= -f32::MIN_EXP).then_some(exponent)
}

/// The most letters in a word: the number of words has to fit in 16 bits, and [`Chunk::first_unit`]
/// depends on the bound.
///
/// [`Chunk::first_unit`]: tensor_sketch_kernels::fourier::words::Chunk::first_unit
const MAX_WORD: u32 = 6;

/// Cycles in which a quarter of a warp reads 16 bytes per lane from shared memory, if 8, 4, 2 or 1
/// neighbouring lanes belong to the same chunk. The groups of lanes read independently: the cycles
/// are the expected largest number of groups that read from the same banks.
const CONFLICTS: [(u32, f64); 4] = [(8, 1.0), (4, 1.5), (2, 2.125), (1, 2.6)];

/// The shape of a launch for the matrices of chunks: the table of operators in shared memory, and
/// the kernel that reads the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FourierPolicy {
    /// Letters in a word, m.
    pub word_letters: u32,
    /// The number of words, A^m.
    pub words: u32,
    /// Rows of the table of operators: words, single letters if m > 1, and the identity.
    pub rows: u32,
    /// Diagonals of an operator above the main diagonal.
    pub depth: u32,
    /// Lanes in a group, which a block works on.
    pub width: u32,
    /// Groups that together have all lanes.
    pub groups: u32,
    /// Bytes of the table of one group.
    pub shared_bytes: u32,
    /// The most threads of a block.
    pub max_threads: u32,
    /// Estimated cycles of a multiprocessor for a letter in all lanes.
    pub cycles: f64,
}

impl FourierPolicy {
    /// Returns the policy with the least estimated time whose table fits in shared memory.
    ///
    /// There is one if a block can have 48 KiB: with t = 8 and `f64`, a lane's operators of 256
    /// single letters take 36 KiB.
    pub fn new<N: Number>(
        alphabet: u32,
        tuple: u32,
        dim: u32,
        shared_bytes: u32,
    ) -> Option<FourierPolicy> {
        let mut best: Option<FourierPolicy> = None;
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
            let row_bytes = quads::<N>(tuple as usize, depth as usize) as u64 * 16;
            for (width, conflicts) in CONFLICTS {
                let bytes = u64::from(rows * width) * row_bytes;
                if bytes > u64::from(shared_bytes) {
                    continue;
                }
                let groups = (lanes(dim as usize) as u32).div_ceil(width);
                let step = step_cycles::<N>(tuple as usize, depth as usize, conflicts);
                let cycles = step * f64::from(groups * width) / 32.0 / f64::from(word_letters);
                if best.is_none_or(|best| cycles < best.cycles) {
                    best = Some(FourierPolicy {
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

    /// Returns the blocks for each of `launched` groups and the threads of a block, for the chunks
    /// of a batch on a device with `processors` multiprocessors, at least one.
    pub fn grid(&self, launched: u32, chunks: u32, processors: u32) -> (u32, u32) {
        // Each block has a multiprocessor to itself, and each wave of blocks takes as long as one
        // block. Choose the number of blocks for a group that leaves the fewest processors idle in
        // the last wave, but a small one, because each block fills its table anew.
        let time = |blocks: u32| {
            let waves = (launched * blocks).div_ceil(processors);
            f64::from(waves) * (1.0 / f64::from(blocks) + 0.002)
        };
        let fill = (processors / launched).max(1);
        let blocks = (fill..fill + 8)
            .min_by(|a, b| time(*a).total_cmp(&time(*b)))
            .unwrap_or(fill);
        // Fewer and smaller blocks if there are too few chunks for all threads, but enough threads
        // to fill the table: with 32 that takes 60 us.
        let blocks = blocks.min(chunks.div_ceil(WARP / self.width).max(1));
        let wanted = chunks.div_ceil(blocks) * self.width;
        let threads = wanted.next_multiple_of(WARP).max(FILLING);
        (blocks, threads.min(self.max_threads))
    }
}

/// The fewest threads of a block for the matrices of chunks.
const FILLING: u32 = 256;

/// Returns the largest depth for which there is a kernel.
fn max_depth<N: Number>(tuple: u32) -> u32 {
    match (N::PER_QUAD, tuple) {
        (2, 1..=4) => tuple,
        (2, _) => 3,
        (_, 1..=3) => tuple,
        (_, 4) => 3,
        _ => 2,
    }
}

/// Returns the bound on a block's threads that the kernels declare.
fn max_threads<N: Number>(tuple: u32) -> u32 {
    match (N::PER_QUAD, tuple) {
        (2, 1..=4) => 768,
        (2, 5) | (1, 1..=3) => 512,
        (2, 6..=7) | (1, 4) => 384,
        _ => 256,
    }
}

/// Returns the cycles of a multiprocessor for one step of one warp: shared memory delivers 128
/// bytes a cycle, four schedulers issue an instruction each, and one for `f64` takes two.
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
    // Neither is ever fully used while the other waits.
    issue.max(shared) + 0.25 * issue.min(shared)
}

impl fmt::Display for FourierPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "words of {} letters, {} groups of {} lanes, {} bytes of shared memory",
            self.word_letters, self.groups, self.width, self.shared_bytes
        )
    }
}

/// The form of the kernels for a sketch.
pub enum Policy {
    Direct(DirectPolicy),
    Fourier(FourierPolicy),
}

/// The text of [`Plan`](crate::Plan).
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Policy::Fourier(policy) => policy.fmt(f),
            Policy::Direct(policy) => write!(
                f,
                "{} threads of {} values for each row, {} bytes of shared memory",
                policy.lanes, policy.values, policy.shared_bytes
            ),
        }
    }
}

/// The most strides in a run: one thread computes all windows that begin in a run, in each lane.
const LONGEST: u64 = 64;

/// The fewest strides in a run if a window has several runs.
const SHORTEST: u64 = 16;

/// The largest prime factor of the number of whole runs, because a thread multiplies that many
/// matrices.
const LARGEST_PRIME: u64 = 61;

/// The most matrices of runs that a thread multiplies at a time, if their number has such factors.
const TOGETHER: u64 = 16;

/// The runs of a sliding window: first `length` strides, then whole runs of `length` strides each,
/// whose number is the product of `factors`, then `rest` strides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Strides in a run.
    pub length: u64,
    /// The number of matrices that each level of products multiplies. Empty without whole runs.
    pub factors: Vec<u64>,
    /// Strides after the whole runs.
    pub rest: u64,
}

impl Runs {
    /// Returns the runs with the fewest products for windows of `strides` strides, at least one.
    pub fn new(strides: u64) -> Runs {
        if strides <= LONGEST {
            return Runs {
                length: strides,
                factors: vec![],
                rest: 0,
            };
        }
        let longest = LONGEST.min(strides / 2);
        let candidates = (SHORTEST..=longest).rev().map(|length| {
            let (whole, factors) = (1..strides / length)
                .rev()
                .find_map(|whole| Some((whole, factors(whole)?)))
                .expect("one run has the factor 1");
            Runs {
                length,
                factors,
                rest: strides - (whole + 1) * length,
            }
        });
        let cheapest = candidates.min_by(|a, b| a.products().total_cmp(&b.products()));
        cheapest.expect("there is a length")
    }

    /// Returns the number of whole runs between the run in which a window begins and the rest.
    pub fn whole(&self) -> u64 {
        match self.factors[..] {
            [] => 0,
            ref factors => factors.iter().product(),
        }
    }

    /// Returns the products of matrices for each window: one on its left side, one on its right
    /// side, and its share of the products of its run.
    fn products(&self) -> f64 {
        let of_runs = match self.factors[..] {
            [] => 0,
            ref factors => self.length + factors.iter().sum::<u64>(),
        };
        2.0 + (self.rest + of_runs) as f64 / self.length as f64
    }

    /// Returns the most products that a letter's matrix goes through, with `segments` per stride.
    pub fn depth(&self, segments: u64) -> u64 {
        segments * (3 * self.length + self.rest) + self.factors.iter().sum::<u64>() + 4
    }
}

/// Returns factors of a number whose primes are at most [`LARGEST_PRIME`]. Primes are combined up
/// to [`TOGETHER`].
fn factors(mut number: u64) -> Option<Vec<u64>> {
    let mut factors = vec![1];
    for prime in 2..=LARGEST_PRIME {
        while number.is_multiple_of(prime) {
            number /= prime;
            match factors.last_mut() {
                Some(last) if *last * prime <= TOGETHER => *last *= prime,
                _ => factors.push(prime),
            }
        }
    }
    (number == 1).then_some(factors)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const H100: u32 = 227 << 10;

    fn direct(tuple: u32, dim: u32) -> DirectPolicy {
        DirectPolicy::new(&Parameters {
            alphabet: 4,
            tuple,
            dim,
            bits: 2,
            all_rows: 0,
            step: 1.0,
        })
    }

    #[test]
    fn sums_stay_in_range() {
        assert!(step_exponent(1 << 36, 8).is_none());
        assert_eq!(step_exponent(0, 8).unwrap(), 0);
        assert_eq!(step_exponent(1 << 31, 4).unwrap(), 0);
        for n in [300_000u64, 1 << 24, 1 << 32] {
            for tuple in 1..=8 {
                let e = step_exponent(n, tuple).unwrap();
                assert!((0..=15).contains(&e));
                for k in 1..=tuple {
                    let largest = binomial(n, k as u64) * f64::from(-e * k as i32).exp2();
                    assert!(
                        largest <= MAX_EXPONENT.exp2(),
                        "n = {n}, t = {tuple}, k = {k}"
                    );
                }
            }
        }
    }

    #[test]
    fn every_direct_sketch_has_a_launch_that_covers_it() {
        for tuple in 1..=8 {
            for dim in 1..=4096 {
                let DirectPolicy { values, lanes, .. } = direct(tuple, dim);
                assert!(VALUES.contains(&values));
                assert!(lanes % WARP == 0 && lanes * tuple <= MAX_THREADS);
                assert!(lanes * values >= dim, "t = {tuple}, D = {dim}");
            }
        }
    }

    /// The shapes of the test `every_kernel_of_the_direct_form` in
    /// tests/tensor_sketch/accuracy.rs, and the usual shape.
    #[test]
    fn every_direct_kernel_is_chosen_and_tested() {
        let tuples = [4, 4, 4, 4, 1, 8, 5, 4, 8, 8];
        let dims = [1, 64, 96, 128, 192, 256, 2100, 4096, 2100, 4096];
        let shapes = tuples.into_iter().zip(dims);
        let values: Vec<u32> = shapes
            .map(|(tuple, dim)| direct(tuple, dim).values)
            .collect();
        assert_eq!(values, VALUES);
    }

    #[test]
    fn the_usual_direct_sketch_gives_each_row_a_warp() {
        let usual = direct(4, 96);
        assert_eq!((usual.values, usual.lanes), (3, 32));
        // Twice three rows of 96, the tables, a tile of 1024 letters and one word.
        assert_eq!(usual.shared_bytes, 4 * (2 * 3 * 96 + 16 + 256 + 1));
    }

    #[test]
    fn the_usual_sketch_has_words_of_four_letters() {
        let policy = FourierPolicy::new::<f32>(4, 4, 96, H100).unwrap();
        let shape = (policy.word_letters, policy.width, policy.groups);
        assert_eq!(shape, (4, 8, 6));
        // 256 words, 4 letters and the identity, 8 lanes, 10 entries of 8 bytes.
        assert_eq!(policy.shared_bytes, 261 * 8 * 80);
        // A multiprocessor for each block.
        assert_eq!(policy.grid(6, 50_000, 132), (22, 768));
        assert_eq!(policy.grid(6, 1, 132), (1, 256));
        let (blocks, threads) = policy.grid(6, 489, 132);
        let enough = blocks * threads / 8 >= 489;
        assert!(enough && blocks == 22, "{blocks} {threads}");
    }

    #[test]
    fn every_sketch_fits_every_device() {
        for shared in [48 << 10, 64 << 10, 99 << 10, 163 << 10, H100] {
            for alphabet in [1, 2, 4, 20, 256] {
                let shapes = (1..=8).flat_map(|tuple| [1, 96, 4096].map(|dim| (tuple, dim)));
                for (tuple, dim) in shapes {
                    for policy in [
                        FourierPolicy::new::<f32>(alphabet, tuple, dim, shared),
                        FourierPolicy::new::<f64>(alphabet, tuple, dim, shared),
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

    /// The alphabets of the test `every_kernel_of_the_fourier_form` in
    /// tests/tensor_sketch/accuracy.rs.
    #[test]
    fn every_kernel_is_chosen_and_tested() {
        fn check<N: Number>(tuple: u32, shared: u32) {
            let policy = |alphabet| FourierPolicy::new::<N>(alphabet, tuple, 33, shared);
            let policies = [3, 4, 6, 8, 16, 256].into_iter().filter_map(policy);
            let depths: BTreeSet<u32> = policies.map(|policy| policy.depth).collect();
            assert!(depths.into_iter().eq(1..=max_depth::<N>(tuple)));
        }
        for shared in [48 << 10, 99 << 10, 163 << 10, H100] {
            for tuple in 1..=8 {
                check::<f32>(tuple, shared);
                check::<f64>(tuple, shared);
            }
        }
    }

    #[test]
    fn runs_make_up_windows() {
        for strides in (1..3000).chain([99_000, 1_000_003, 12_345_678]) {
            let runs = Runs::new(strides);
            let made = match runs.factors[..] {
                [] => runs.length,
                _ => (1 + runs.whole()) * runs.length + runs.rest,
            };
            assert_eq!(made, strides, "{runs:?}");
            assert!(runs.length <= LONGEST && runs.length <= strides);
            // Numbers with small factors get rare.
            let most = if strides < 2_000_000 { 5.0 } else { 7.0 };
            assert!(runs.products() < most, "{strides}: {runs:?}");
        }
    }

    #[test]
    fn the_last_factor_counts() {
        assert_eq!(factors(1), Some(vec![1]));
        assert_eq!(factors(24), Some(vec![8, 3]));
        assert_eq!(factors(64), Some(vec![16, 4]));
        assert_eq!(factors(61 * 62), Some(vec![2, 31, 61]));
        assert_eq!(factors(67), None);
    }
}
