//! The tree while it is built.

use cuda_std::prelude::*;
use cuda_std::warp::FULL_MASK;

use crate::boxes::FilterBox;
use crate::counters::Counters;
use crate::levels::{
    CHILDREN, ENTRY_WORDS, NODE_WORDS, entries, first_entry_word, first_node_word, nodes,
};
use crate::tree::{Four, Frame, limits};

/// The tree that is built, and what it takes to find its nodes.
#[derive(Clone, Copy)]
pub struct Target {
    pub words: DeviceSliceMut<u32>,
    pub counters: DeviceSlice<u64>,
    pub leaves: u32,
    pub root_level: u32,
}

impl Target {
    /// The words of an entry that one launch leaves to the next.
    #[inline(always)]
    pub fn entry_word(&self, level: u32, entry: u32) -> usize {
        first_entry_word(self.leaves, self.root_level, level) + entry as usize * ENTRY_WORDS
    }

    /// Writes an entry for the next launch, if the tree has such a level.
    ///
    /// # Safety
    /// No other thread writes the entry.
    #[inline(always)]
    pub unsafe fn set_entry(&self, level: u32, entry: u32, value: &FilterBox) {
        if level <= self.root_level && entry < entries(self.leaves, level) {
            let word = self.entry_word(level, entry);
            unrolled! { axis in [0 1 2] {
                // SAFETY: the entry's numbers.
                unsafe {
                    self.words.set(word + axis, value.min[axis].to_bits());
                    self.words.set(word + axis + 3, value.max[axis].to_bits());
                }
            }}
        }
    }

    /// Writes the node that has the entry `index` of a level. Each of `distance` neighbouring lanes
    /// has the same `entry`, and all lanes of the node have the bounding box `all` of its four.
    ///
    /// # Safety
    /// All lanes of the warp call this, and no other warp writes the node.
    #[inline(always)]
    pub unsafe fn set_node(
        &self,
        level: u32,
        index: u32,
        distance: u32,
        entry: &FilterBox,
        all: &FilterBox,
    ) {
        let mut frames = [Frame::new(0.0, 0.0); 3];
        unrolled! { axis in [0 1 2] {
            frames[axis] = Frame::new(all.min[axis], all.max[axis]);
        }}
        let mut bytes = limits(&frames, entry);
        unrolled! { i in [0 1 2 3 4 5] {
            bytes[i] <<= 8 * (index % CHILDREN);
            bytes[i] |= warp::shuffle_xor(FULL_MASK, bytes[i], distance);
            bytes[i] |= warp::shuffle_xor(FULL_MASK, bytes[i], 2 * distance);
        }}
        let node = index / CHILDREN;
        let is_first = warp::lane_id().is_multiple_of(CHILDREN * distance);
        if is_first && level <= self.root_level && node < nodes(self.leaves, level) {
            let [x, y, z] = frames;
            let node_words = [
                [x.low, y.low, z.low, x.scale].map(f32::to_bits),
                [y.scale.to_bits(), z.scale.to_bits(), bytes[0], bytes[1]],
                [bytes[2], bytes[3], bytes[4], bytes[5]],
            ];
            // SAFETY: a number for each level, and the node's words.
            unsafe {
                let first = self.counters.at(Counters::FIRST_NODES + level as usize);
                let place = (first + u64::from(node)) as usize * NODE_WORDS;
                let place = first_node_word(self.leaves) + place;
                unrolled! { i in [0 1 2] {
                    let address = self.words.address(place + 4 * i).cast::<Four>();
                    address.write(Four(node_words[i]));
                }}
            }
        }
    }
}
