//! The inner loop: the matrices S of a chunk in the lanes of one vector, word by word.
//!
//! For a word w, S(xw) = S(x) · S(w). A row of S(xw) needs only the same row of S(x), so rows go
//! through the text in groups that fit in the registers. The *width* of a group is the number of
//! entries of its first row. Operators are stored such that a group reads a prefix of the entries.

use bytemuck::Zeroable;

use super::instructions::{Instructions, Register};
use super::vector::{Vector, lanes_of};
use crate::fourier::pairs;
use crate::tables::MAX_TUPLE;

/// The largest distance from the diagonal of an entry of a word's operator, unless t is less.
pub(super) const MAX_DEPTH: usize = 4;

/// Returns the number of rows in a group of the given width: about a third of the registers stays
/// free.
const fn group_rows(width: usize, registers: usize) -> usize {
    // References, so that the tables are not built on the stack in each call.
    const WITH_16: &[usize; MAX_TUPLE + 1] = &[0, 1, 2, 3, 1, 1, 1, 1, 1];
    const WITH_32: &[usize; MAX_TUPLE + 1] = &[0, 1, 2, 3, 4, 2, 2, 1, 1];
    match registers {
        ..32 => WITH_16[width],
        _ => WITH_32[width],
    }
}

/// Returns the index in an operator of the first entry of row t − `end`. Rows are stored from the
/// last to the first, each with its entries at distance 1, 2, … from the diagonal.
pub(super) const fn operator_start(end: usize, depth: usize) -> usize {
    let mut start = 0;
    let mut row = 1;
    while row < end {
        start += if row < depth { row } else { depth };
        row += 1;
    }
    start
}

/// Consecutive words and their operators.
#[derive(Clone, Copy)]
pub(super) struct Words<'a, T> {
    /// The indices of the words.
    pub words: &'a [u32],
    /// The operators of all words, one after the other.
    pub operators: &'a [T],
    /// The number of entries of an operator.
    pub entries: usize,
    /// The largest distance from the diagonal of an entry.
    pub depth: usize,
    /// z² in each lane of the vector that has lane 0. In all other vectors z² = −1.
    pub squares: Option<&'a [T]>,
}

/// Multiplies a group of rows.
type GroupOf<T, S> = fn(S, &Words<T>, &mut [T]);

/// The multiplication of the first row of S, or of all `rows` = t rows, by operators of one depth.
pub(super) struct Advance<T, S> {
    simd: S,
    tuple: usize,
    rows: usize,
    /// The groups, the widest first, and the place of each one's last row in the state.
    groups: [Option<(GroupOf<T, S>, usize)>; MAX_TUPLE],
}

impl<T: Vector, S: Instructions> Advance<T, S> {
    pub fn new(simd: S, tuple: usize, rows: usize, depth: usize) -> Advance<T, S> {
        let mut groups = [None; MAX_TUPLE];
        let mut width = if const { S::REGISTERS == 0 } {
            0
        } else {
            tuple
        };
        for place in &mut groups {
            if width == 0 {
                break;
            }
            let (count, rest) = match rows {
                1 => (1, 0),
                _ => {
                    let count = group_rows(width, S::REGISTERS);
                    (count, width - count)
                }
            };
            let start = pairs(rest) * 2 * lanes_of::<T, S>();
            *place = Some((group(width, count, depth.min(width)), start));
            width = rest;
        }
        Advance {
            simd,
            tuple,
            rows,
            groups,
        }
    }

    /// Multiplies the rows by the operators of `words`, in place. `state` has the real and the
    /// imaginary vector of each entry, row t − 1 first.
    #[inline(always)]
    pub fn run(&self, words: &Words<T>, mut state: &mut [T]) {
        if const { S::REGISTERS == 0 } {
            return advance_plainly(self.simd, self.tuple, self.rows, words, state);
        }
        for (group, start) in self.groups.iter().map_while(|group| *group) {
            let (others, rows) = state.split_at_mut(start);
            group(self.simd, words, rows);
            state = others;
        }
    }
}

/// Returns the function for a group of `rows` rows.
fn group<T: Vector, S: Instructions>(width: usize, rows: usize, depth: usize) -> GroupOf<T, S> {
    macro_rules! select {
        ($(($width:literal, $rows:literal): $group:ty, [$($depth:literal)*];)*) => {
            match (width, rows, depth) {
                $($(($width, $rows, $depth) if const { is_used::<T, S>($width, $rows, $depth) } => {
                    |simd, words, state| simd.call(
                        #[inline(always)]
                        || advance_group::<T, S, $group, $depth>(simd, words, state),
                    )
                })*)*
                shape => unreachable!("no kernel for {shape:?}"),
            }
        };
    }
    type One = (Row<1>, ());
    type Two = (Row<2>, One);
    type Three = (Row<3>, Two);
    select! {
        (1, 1): One, [1];
        (2, 1): (Row<2>, ()), [1 2];
        (2, 2): Two, [1 2];
        (3, 1): (Row<3>, ()), [1 2 3];
        (3, 3): Three, [1 2 3];
        (4, 1): (Row<4>, ()), [1 2 3 4];
        (4, 4): (Row<4>, Three), [1 2 3 4];
        (5, 1): (Row<5>, ()), [1 2 3 4 5];
        (5, 2): (Row<5>, (Row<4>, ())), [1 2 3 4 5];
        (6, 1): (Row<6>, ()), [1 2 3 4 6];
        (6, 2): (Row<6>, (Row<5>, ())), [1 2 3 4 6];
        (7, 1): (Row<7>, ()), [1 2 3 4 7];
        (8, 1): (Row<8>, ()), [1 2 3 4 8];
    }
}

/// Whether such groups and operators occur. Kernels for other shapes are not compiled.
const fn is_used<T, S: Instructions>(width: usize, rows: usize, depth: usize) -> bool {
    // Only matrices, which are in `f64`, have entries at larger distances.
    let has_operators = depth <= MAX_DEPTH || size_of::<T>() == size_of::<f64>();
    has_operators && (rows == 1 || rows == group_rows(width, S::REGISTERS))
}

/// [`Advance::run`] as plain loops, compiled once for all shapes. Few machines have no vectors.
fn advance_plainly<T: Vector, S: Instructions>(
    simd: S,
    tuple: usize,
    rows: usize,
    words: &Words<T>,
    state: &mut [T],
) {
    let operators: &[[T::Of<S>; 2]] = bytemuck::cast_slice(words.operators);
    let squares = vector::<T, S>(words.squares.unwrap_or(&[T::from_f64(-1.0)]));
    let state: &mut [[T::Of<S>; 2]] = bytemuck::cast_slice_mut(state);
    for &word in words.words {
        let operator = &operators[word as usize * words.entries..][..words.entries];
        let entry =
            |end: usize, distance: usize| operator[operator_start(end, words.depth) + distance];
        let mut rest = &mut state[..];
        for width in if rows == 1 { tuple } else { 1 }..=tuple {
            let (row, others) = rest.split_at_mut(width);
            // The last entry comes first, since each reads the old values of the entries before it.
            for j in (0..width).rev() {
                let own = j < words.depth;
                let mut sum = if own { entry(width, j) } else { row[j] };
                let first = j.saturating_sub(words.depth);
                for (i, before) in (first..j).zip(&row[first..]) {
                    let operator = entry(width - i - 1, j - i - 1);
                    Register::add_product::<true>(simd, &mut sum, before, &operator, &squares);
                }
                if own {
                    Register::add(simd, &mut row[j], &sum);
                } else {
                    row[j] = sum;
                }
            }
            rest = others;
        }
    }
}

/// Multiplies a group of rows by operators whose entries are at a distance of at most `DEPTH`.
#[inline(always)]
fn advance_group<T: Vector, S: Instructions, G: Group, const DEPTH: usize>(
    simd: S,
    words: &Words<T>,
    state: &mut [T],
) {
    let operators: &[[T::Of<S>; 2]] = bytemuck::cast_slice(words.operators);
    let operator = |word: u32| {
        let operator = &operators[word as usize * words.entries..][..words.entries];
        &operator[..operator_start(G::WIDTH + 1, DEPTH)]
    };
    let state: &mut [[T::Of<S>; 2]] = bytemuck::cast_slice_mut(state);
    let mut rows = G::load(state);
    match words.squares.map(vector::<T, S>) {
        None => {
            for &word in words.words {
                G::step::<S, _, DEPTH, false>(simd, &mut rows, operator(word), Zeroable::zeroed());
            }
        }
        Some(squares) => {
            for &word in words.words {
                G::step::<S, _, DEPTH, true>(simd, &mut rows, operator(word), squares);
            }
        }
    }
    G::store(&rows, state);
}

/// Returns the first vector of `numbers`.
#[inline(always)]
fn vector<T: Vector, S: Instructions>(numbers: &[T]) -> T::Of<S> {
    bytemuck::pod_read_unaligned(bytemuck::cast_slice(&numbers[..lanes_of::<T, S>()]))
}

/// A group of rows of S: `(Row<W>, rows after it)`, or `()`.
///
/// The steps are written out, since the compiler does not keep arrays that a loop indexes in
/// registers.
trait Group {
    const WIDTH: usize;
    type State<V: Copy>: Copy;

    fn load<V: Copy>(state: &[[V; 2]]) -> Self::State<V>;

    /// S ← S · P. If `SQUARES`, `squares` has z² in each lane; otherwise z² = −1.
    fn step<S: Copy, V: Register<S>, const DEPTH: usize, const SQUARES: bool>(
        simd: S,
        rows: &mut Self::State<V>,
        operator: &[[V; 2]],
        squares: V,
    );

    fn store<V: Copy>(rows: &Self::State<V>, state: &mut [[V; 2]]);
}

/// Row r of S with `WIDTH` entries: entry j is S_{r, r+1+j}.
struct Row<const WIDTH: usize>;

impl Group for () {
    const WIDTH: usize = 0;
    type State<V: Copy> = ();

    #[inline(always)]
    fn load<V: Copy>(_: &[[V; 2]]) {}

    #[inline(always)]
    fn step<S: Copy, V: Register<S>, const DEPTH: usize, const SQUARES: bool>(
        _: S,
        (): &mut (),
        _: &[[V; 2]],
        _: V,
    ) {
    }

    #[inline(always)]
    fn store<V: Copy>((): &(), _: &mut [[V; 2]]) {}
}

impl<const WIDTH: usize, Rest: Group> Group for (Row<WIDTH>, Rest) {
    const WIDTH: usize = WIDTH;
    type State<V: Copy> = ([[V; 2]; WIDTH], Rest::State<V>);

    #[inline(always)]
    fn load<V: Copy>(state: &[[V; 2]]) -> Self::State<V> {
        let (rest, row) = state.split_last_chunk().expect("a row");
        (*row, Rest::load(rest))
    }

    /// Rounds a tuple that stays in its entry once, or at most twice for each of up to DEPTH added
    /// products. A tuple that moves has at most one more rounding, that of its own product.
    #[inline(always)]
    fn step<S: Copy, V: Register<S>, const DEPTH: usize, const SQUARES: bool>(
        simd: S,
        (row, rest): &mut Self::State<V>,
        operator: &[[V; 2]],
        squares: V,
    ) {
        macro_rules! entry {
            ($j:literal: $($i:literal)*) => {
                if const { $j < WIDTH } {
                    // Whether the operator has an entry here.
                    let own = const { $j < DEPTH };
                    let sum = &mut if own {
                        operator[const { operator_start(WIDTH, DEPTH) + $j }]
                    } else {
                        row[$j]
                    };
                    $(
                        if const { $j - $i <= DEPTH } {
                            let place = const {
                                operator_start(WIDTH.saturating_sub($i + 1), DEPTH) + $j - $i - 1
                            };
                            V::add_product::<SQUARES>(
                                simd, sum, &row[$i], &operator[place], &squares,
                            );
                        }
                    )*
                    if own {
                        V::add(simd, &mut row[$j], sum);
                    } else {
                        row[$j] = *sum;
                    }
                }
            };
        }
        // The last entry comes first, since each reads the old values of the entries before it.
        entry!(7: 0 1 2 3 4 5 6);
        entry!(6: 0 1 2 3 4 5);
        entry!(5: 0 1 2 3 4);
        entry!(4: 0 1 2 3);
        entry!(3: 0 1 2);
        entry!(2: 0 1);
        entry!(1: 0);
        entry!(0:);
        Rest::step::<S, V, DEPTH, SQUARES>(simd, rest, operator, squares);
    }

    #[inline(always)]
    fn store<V: Copy>((row, rest): &Self::State<V>, state: &mut [[V; 2]]) {
        let (others, target) = state.split_last_chunk_mut().expect("a row");
        *target = *row;
        Rest::store(rest, others);
    }
}
