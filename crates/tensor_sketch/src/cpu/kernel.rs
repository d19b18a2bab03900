//! The inner loop: the matrices S of a chunk in the lanes of one vector, word by word.
//!
//! For a word w, S(xw) = S(x) · S(w). A row of S(xw) needs only the same row of S(x), so rows go
//! through the text in groups that fit in the registers. The *width* of a group is the number of
//! entries of its first row. Operators are stored such that a group reads a prefix of the entries.

use std::marker::PhantomData;

use pulp::{Simd, WithSimd};

use super::vector::{Vector, lanes_of};
use crate::fourier::pairs;

/// The largest distance from the diagonal of an entry of a word's operator, unless t is less.
pub(super) const MAX_DEPTH: usize = 4;

/// Returns the number of rows in a group of the given width: about a third of the registers stays
/// free.
const fn group_rows(width: usize, registers: usize) -> usize {
    // References, so that the tables are not built on the stack in each call.
    const WITH_16: &[usize; 9] = &[0, 1, 2, 3, 1, 1, 1, 1, 1];
    const WITH_32: &[usize; 9] = &[0, 1, 2, 3, 4, 2, 2, 1, 1];
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

/// Multiplies the first row of S, or all `rows` = t rows, by the operators of `words`, in place.
/// `state` has the real and the imaginary vector of each entry, row t − 1 first.
#[inline(always)]
pub(super) fn advance_rows<T: Vector, S: Simd>(
    simd: S,
    tuple: usize,
    rows: usize,
    words: Words<T>,
    mut state: &mut [T],
) {
    if const { S::IS_SCALAR } {
        return advance_plainly(simd, tuple, rows, words, state);
    }
    if rows == 1 {
        return advance(simd, tuple, 1, words, state);
    }
    let mut width = tuple;
    while width > 0 {
        let group = group_rows(width, S::REGISTER_COUNT);
        let (others, rows) = state.split_at_mut(pairs(width - group) * 2 * lanes_of::<T, S>());
        advance(simd, width, group, words, rows);
        state = others;
        width -= group;
    }
}

/// Multiplies a group of `rows` rows.
#[inline(always)]
fn advance<T: Vector, S: Simd>(
    simd: S,
    width: usize,
    rows: usize,
    words: Words<T>,
    state: &mut [T],
) {
    macro_rules! select {
        ($(($width:literal, $rows:literal): $group:ty, [$($depth:literal)*];)*) => {
            match (width, rows, words.depth.min(width)) {
                $($(($width, $rows, $depth) if const { is_used::<T, S>($width, $rows, $depth) } => {
                    simd.vectorize(Advance::<T, $group, $depth> {
                        words,
                        state,
                        group: PhantomData,
                    })
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
const fn is_used<T, S: Simd>(width: usize, rows: usize, depth: usize) -> bool {
    // Only matrices, which are in `f64`, have entries at larger distances.
    let has_operators = depth <= MAX_DEPTH || size_of::<T>() == size_of::<f64>();
    has_operators && (rows == 1 || rows == group_rows(width, S::REGISTER_COUNT))
}

/// [`advance_rows`] as plain loops, compiled once for all shapes. Few machines have no vectors.
fn advance_plainly<T: Vector, S: Simd>(
    simd: S,
    tuple: usize,
    rows: usize,
    words: Words<T>,
    state: &mut [T],
) {
    let operators: &[Complex<T, S>] = bytemuck::cast_slice(words.operators);
    let squares: Option<&[T::Of<S>]> = words.squares.map(bytemuck::cast_slice);
    let squares = squares.map(|squares| squares[0]);
    let state: &mut [Complex<T, S>] = bytemuck::cast_slice_mut(state);
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
                for (i, &before) in (first..j).zip(&row[first..]) {
                    let operator = entry(width - i - 1, j - i - 1);
                    sum = add_product::<T, S>(simd, sum, before, operator, squares);
                }
                row[j] = if own {
                    add::<T, S>(simd, row[j], sum)
                } else {
                    sum
                };
            }
            rest = others;
        }
    }
}

struct Advance<'a, T, G, const DEPTH: usize> {
    words: Words<'a, T>,
    state: &'a mut [T],
    group: PhantomData<G>,
}

impl<T: Vector, G: Group, const DEPTH: usize> WithSimd for Advance<'_, T, G, DEPTH> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let entries = self.words.entries;
        let operators: &[Complex<T, S>] = bytemuck::cast_slice(self.words.operators);
        let operator = |word: u32| {
            let operator = &operators[word as usize * entries..][..entries];
            &operator[..operator_start(G::WIDTH + 1, DEPTH)]
        };
        let state: &mut [Complex<T, S>] = bytemuck::cast_slice_mut(self.state);
        let mut rows = G::load::<T, S>(state);
        match self.words.squares {
            None => {
                for &word in self.words.words {
                    G::step::<T, S, DEPTH>(simd, &mut rows, operator(word), None);
                }
            }
            Some(squares) => {
                let squares: &[T::Of<S>] = bytemuck::cast_slice(squares);
                for &word in self.words.words {
                    G::step::<T, S, DEPTH>(simd, &mut rows, operator(word), Some(squares[0]));
                }
            }
        }
        G::store::<T, S>(&rows, state);
    }
}

type Complex<T, S> = [<T as Vector>::Of<S>; 2];

#[inline(always)]
fn add<T: Vector, S: Simd>(simd: S, a: Complex<T, S>, b: Complex<T, S>) -> Complex<T, S> {
    [T::add(simd, a[0], b[0]), T::add(simd, a[1], b[1])]
}

/// Adds (x + yz)(u + vz) = xu + yvz² + (xv + yu)z to a sum.
#[inline(always)]
fn add_product<T: Vector, S: Simd>(
    simd: S,
    [real, imaginary]: Complex<T, S>,
    [x, y]: Complex<T, S>,
    [u, v]: Complex<T, S>,
    squares: Option<T::Of<S>>,
) -> Complex<T, S> {
    let real = T::mul_add(simd, x, u, real);
    let real = match squares {
        None => T::mul_sub_from(simd, y, v, real),
        Some(squares) => T::mul_add(simd, T::mul(simd, y, squares), v, real),
    };
    let imaginary = T::mul_add(simd, x, v, imaginary);
    [real, T::mul_add(simd, y, u, imaginary)]
}

/// A group of rows of S: `(Row<W>, rows after it)`, or `()`.
///
/// The steps are written out, since the compiler does not keep arrays that a loop indexes in
/// registers.
trait Group {
    const WIDTH: usize;
    type State<T: Vector, S: Simd>;

    fn load<T: Vector, S: Simd>(state: &[Complex<T, S>]) -> Self::State<T, S>;

    /// S ← S · P.
    fn step<T: Vector, S: Simd, const DEPTH: usize>(
        simd: S,
        rows: &mut Self::State<T, S>,
        operator: &[Complex<T, S>],
        squares: Option<T::Of<S>>,
    );

    fn store<T: Vector, S: Simd>(rows: &Self::State<T, S>, state: &mut [Complex<T, S>]);
}

/// Row r of S with `WIDTH` entries: entry j is S_{r, r+1+j}.
struct Row<const WIDTH: usize>;

impl Group for () {
    const WIDTH: usize = 0;
    type State<T: Vector, S: Simd> = ();

    #[inline(always)]
    fn load<T: Vector, S: Simd>(_: &[Complex<T, S>]) {}

    #[inline(always)]
    fn step<T: Vector, S: Simd, const DEPTH: usize>(
        _: S,
        (): &mut (),
        _: &[Complex<T, S>],
        _: Option<T::Of<S>>,
    ) {
    }

    #[inline(always)]
    fn store<T: Vector, S: Simd>((): &(), _: &mut [Complex<T, S>]) {}
}

impl<const WIDTH: usize, Rest: Group> Group for (Row<WIDTH>, Rest) {
    const WIDTH: usize = WIDTH;
    type State<T: Vector, S: Simd> = ([Complex<T, S>; WIDTH], Rest::State<T, S>);

    #[inline(always)]
    fn load<T: Vector, S: Simd>(state: &[Complex<T, S>]) -> Self::State<T, S> {
        let (rest, row) = state.split_last_chunk().expect("a row");
        (*row, Rest::load::<T, S>(rest))
    }

    /// Rounds a tuple that stays in its entry once, or at most twice for each of up to DEPTH added
    /// products. A tuple that moves has at most one more rounding, that of its own product.
    #[inline(always)]
    fn step<T: Vector, S: Simd, const DEPTH: usize>(
        simd: S,
        (row, rest): &mut Self::State<T, S>,
        operator: &[Complex<T, S>],
        squares: Option<T::Of<S>>,
    ) {
        macro_rules! entry {
            ($j:literal: $($i:literal)*) => {
                if const { $j < WIDTH } {
                    // Whether the operator has an entry here.
                    let own = const { $j < DEPTH };
                    let sum = if own {
                        operator[const { operator_start(WIDTH, DEPTH) + $j }]
                    } else {
                        row[$j]
                    };
                    $(
                        let sum = if const { $j - $i <= DEPTH } {
                            let place = const {
                                operator_start(WIDTH.saturating_sub($i + 1), DEPTH) + $j - $i - 1
                            };
                            add_product::<T, S>(simd, sum, row[$i], operator[place], squares)
                        } else {
                            sum
                        };
                    )*
                    row[$j] = if own { add::<T, S>(simd, row[$j], sum) } else { sum };
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
        Rest::step::<T, S, DEPTH>(simd, rest, operator, squares);
    }

    #[inline(always)]
    fn store<T: Vector, S: Simd>((row, rest): &Self::State<T, S>, state: &mut [Complex<T, S>]) {
        let (others, target) = state.split_last_chunk_mut().expect("a row");
        *target = *row;
        Rest::store::<T, S>(rest, others);
    }
}
