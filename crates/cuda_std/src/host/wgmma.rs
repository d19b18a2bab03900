//! The matrix instructions of a warp group: [`crate::wgmma`] on the host.

use super::access::{Access, AccessKind, AccessSite};
use super::lane::{Lane, Position, dynamic_shared, lane};
use super::numbers::Unpack;
use super::shared::DynamicShared;
pub(crate) use super::tiles::Type;
use super::tiles::{Issued, Tile, hash};
use super::{Misuse, WarpOperation};
use crate::operand::Operand;
use core::panic::Location;

/// Rows of A and of D.
const ROWS: usize = 64;
const A: &str = "A of a wgmma";
const B: &str = "B of a wgmma";

/// Words that a thread hands in and gets back, before its sums.
const HEAD: usize = 4;

pub(crate) fn multiply(
    numbers: Type,
    sums: &mut [f32],
    a: Operand,
    b: Operand,
    across: &[bool],
    site: &'static Location<'static>,
) {
    let lane = lane();
    let shared = dynamic_shared(lane);
    let columns = 2 * sums.len();
    let [a_across, b_across] = [0, 1].map(|i| across.get(i).copied().unwrap_or(false));
    let tiles = || -> Result<[Tile; 2], Misuse> {
        Ok([
            Tile::new(A, a, a_across, ROWS, numbers.bytes(), shared)?,
            Tile::new(B, b, b_across, columns, numbers.bytes(), shared)?,
        ])
    };
    let perform = |threads: &mut [&mut [u32]]| {
        let same = |words: &&mut [u32]| words[..HEAD] == threads[0][..HEAD];
        if let Some(other) = threads.iter().position(|words| !same(words)) {
            return Err((other, Misuse::OperandsDiffer));
        }
        perform(tiles, numbers.unpack(), shared, threads).map_err(|misuse| (0, misuse))
    };
    let halves = |operand: Operand| [operand.bits() as u32, (operand.bits() >> 32) as u32];
    let mut words = [halves(a), halves(b)].concat();
    words.extend(sums.iter().map(|sum| sum.to_bits()));
    let operation = match columns {
        64 => WarpOperation::WgmmaN64,
        128 => WarpOperation::WgmmaN128,
        _ => WarpOperation::WgmmaN256,
    };
    lane.collective(operation, &mut words, &perform, site);
    for (sum, &word) in sums.iter_mut().zip(&words[HEAD..]) {
        *sum = f32::from_bits(word);
    }
    // What cannot be decoded has been reported.
    if let Ok(tiles) = tiles() {
        let hash = u64::from(words[1]) << 32 | u64::from(words[0]);
        let issued = Issued { tiles, hash, site };
        issued.tell(lane, shared);
        lane.pending_wgmma().borrow_mut().open.push(issued);
    }
}

/// Gives every thread the hash of the operands and its sums. The products are exact; each is added,
/// in the order of k, with one rounding of f64, and the sum is rounded to f32 at the end. A GPU
/// rounds or cuts after some products, which is left open.
fn perform(
    tiles: impl Fn() -> Result<[Tile; 2], Misuse>,
    unpack: Unpack,
    shared: DynamicShared,
    threads: &mut [&mut [u32]],
) -> Result<(), Misuse> {
    let [a, b] = tiles()?;
    let (a_words, b_words) = (a.words(shared)?, b.words(shared)?);
    let hash = hash(&a_words, &b_words);
    let columns = b.count;
    let (a, b) = (a.numbers(&a_words, unpack), b.numbers(&b_words, unpack));
    let mut sums = vec![0.0; columns];
    for (row, first) in (0..ROWS).map(|row| (row, row / 16 * 32 + row % 8 * 4)) {
        // Where the threads of this row have its element of a column.
        let place = |column: usize| {
            let element = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
            (first + column % 8 / 2, HEAD + element)
        };
        for (column, sum) in sums.iter_mut().enumerate() {
            let (thread, element) = place(column);
            *sum = f64::from(f32::from_bits(threads[thread][element]));
        }
        for (of_a, of_b) in a.chunks_exact(ROWS).zip(b.chunks_exact(columns)) {
            let of_a = of_a[row];
            for (sum, of_b) in sums.iter_mut().zip(of_b) {
                *sum += of_a * of_b;
            }
        }
        for (column, &sum) in sums.iter().enumerate() {
            let (thread, element) = place(column);
            threads[thread][element] = (sum as f32).to_bits();
        }
    }
    for words in threads {
        (words[0], words[1]) = (hash as u32, (hash >> 32) as u32);
    }
    Ok(())
}

pub(crate) fn commit() {
    let mut pending = lane().pending_wgmma().borrow_mut();
    let group = core::mem::take(&mut pending.open);
    pending.groups.push_back(group);
}

pub(crate) fn wait(latest: u32, site: &'static Location<'static>) {
    let lane = lane();
    let shared = dynamic_shared(lane);
    let finished: Vec<_> = {
        let mut pending = lane.pending_wgmma().borrow_mut();
        let count = pending.groups.len().saturating_sub(latest as usize);
        pending.groups.drain(..count).flatten().collect()
    };
    // Operands are read until here.
    finished.iter().for_each(|issued| issued.tell(lane, shared));
    // The lanes of a warp have the same instructions, so that one of them looks for all.
    let perform = |_: &mut [&mut [u32]]| {
        let check = |issued: &Issued| issued.check(shared);
        finished
            .iter()
            .try_for_each(check)
            .map_err(|misuse| (0, misuse))
    };
    lane.collective(WarpOperation::WgmmaWait, &mut [], &perform, site);
}

/// Threads of a warp group.
const GROUP: usize = 128;

impl Tile {
    /// Tells of reads, of which each thread of the warp group makes a part.
    fn tell(&self, lane: &dyn Lane, shared: DynamicShared, site: &'static Location<'static>) {
        let Position {
            thread, block_dim, ..
        } = *lane.position();
        let index = thread.x + block_dim.x * (thread.y + block_dim.y * thread.z);
        for address in self.pieces().skip(index as usize % GROUP).step_by(GROUP) {
            lane.access(Access {
                address: shared.address(address),
                bytes: 16,
                kind: AccessKind::Read,
                alignment: 1,
                site: AccessSite::Call(site),
            });
        }
    }
}

impl Issued {
    /// Tells of the reads of the calling thread's part of the operands.
    fn tell(&self, lane: &dyn Lane, shared: DynamicShared) {
        for tile in &self.tiles {
            tile.tell(lane, shared, self.site);
        }
    }
}
