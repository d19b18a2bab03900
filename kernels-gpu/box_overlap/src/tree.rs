//! The tree of bounding boxes over the sorted second set: where what stands, and one step of a
//! search.
//!
//! Boxes are *entries* of levels: those of level 0 are the leaves, the boxes themselves, and an
//! entry of level l + 1 is the bounding box of four neighbours of level l, which make a *node*. So
//! the tree has no pointers: child c of node i of level l is entry 4i + c of that level, and below
//! it lies node 4i + c of level l − 1. The one node of the highest level is the root. Nodes that
//! are not full have NaN for the missing entries, which overlaps nothing.
//!
//! A node is an array of 24 `f32`: the four entries' minima along x, then along y and z, then the
//! maxima.

use cuda_std::prelude::*;

use crate::boxes::FilterBox;
use crate::counters::Counters;
use crate::levels::{CHILDREN, MAX_LEVELS, NODE_WORDS};

/// Numbers that are read with one instruction.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
struct Four([f32; 4]);

/// The tree of the second set.
#[derive(Clone, Copy)]
pub struct Tree {
    nodes: *const f32,
    /// In shared memory: the first node of each level, in `f32`.
    firsts: *const u64,
}

impl Tree {
    /// Brings to shared memory where the levels begin; has a barrier.
    ///
    /// # Safety
    /// `nodes` are those of a tree, and `counters` those of its search; `firsts` points to
    /// [`MAX_LEVELS`] elements of shared memory; all threads of the block, a warp at least, call
    /// this.
    #[inline(always)]
    pub unsafe fn load(
        nodes: DeviceSlice<f32>,
        counters: DeviceSlice<u64>,
        firsts: *mut u64,
    ) -> Tree {
        let level = thread::thread_idx_x() as usize;
        if level < MAX_LEVELS {
            // SAFETY: an element for each level.
            unsafe {
                let first = counters.at(Counters::FIRST_NODES + level) * NODE_WORDS as u64;
                firsts.add(level).write(first);
            }
        }
        thread::sync_threads();
        Tree {
            nodes: nodes.as_ptr(),
            firsts,
        }
    }

    /// A bit for each entry of a node that overlaps `query`.
    ///
    /// # Safety
    /// There is such a node.
    #[inline(always)]
    pub unsafe fn overlapping(&self, level: u32, node: u32, query: &FilterBox) -> u32 {
        // SAFETY: the level has a first node, and the node its numbers, aligned as all nodes are.
        let numbers = |part: usize| unsafe {
            let first = self.firsts.add(level as usize).read();
            let place = first as usize + node as usize * NODE_WORDS + 4 * part;
            self.nodes.add(place).cast::<Four>().read().0
        };
        let min = [numbers(0), numbers(1), numbers(2)];
        let max = [numbers(3), numbers(4), numbers(5)];
        let mut mask = 0;
        macro_rules! test {
            ($($child:literal)*) => {$(
                let is_hit = min[0][$child] <= query.max[0]
                    && min[1][$child] <= query.max[1]
                    && min[2][$child] <= query.max[2]
                    && max[0][$child] >= query.min[0]
                    && max[1][$child] >= query.min[1]
                    && max[2][$child] >= query.min[2];
                mask |= (is_hit as u32) << $child;
            )*};
        }
        test!(0 1 2 3);
        mask
    }

    /// Whether a leaf overlaps `query`.
    ///
    /// # Safety
    /// There is such a leaf.
    #[inline(always)]
    pub unsafe fn leaf_overlaps(&self, leaf: u32, query: &FilterBox) -> bool {
        let place = (leaf / CHILDREN) as usize * NODE_WORDS + (leaf % CHILDREN) as usize;
        // SAFETY: level 0 is the first, and has the leaf's numbers.
        let number = |part: usize| unsafe { self.nodes.add(place + 4 * part).read() };
        number(0) <= query.max[0]
            && number(1) <= query.max[1]
            && number(2) <= query.max[2]
            && number(3) >= query.min[0]
            && number(4) >= query.min[1]
            && number(5) >= query.min[2]
    }
}
