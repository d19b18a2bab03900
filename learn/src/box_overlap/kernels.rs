//! The kernels.

use anyhow::Result;
use gridstride::Device;
use gridstride::device::{Buffer, LaunchConfig};
use half::f16;
use ladder_kernels::box_overlap::{
    MATCHES, NUMBERS, overlaps_half, overlaps_plain, overlaps_shared, overlaps_shared_items,
};

use super::expected::Expected;
use crate::KERNELS;
use crate::climb::Climb;

/// Threads of a block, and boxes that each brings to shared memory.
const THREADS: u32 = 256;
const ITEMS: u32 = 4;

/// Runs the kernels.
pub fn climb(climb: &mut Climb, data: &Data) -> Result<()> {
    let by_occupancy = data
        .device
        .suggested_block(&KERNELS, &overlaps_shared, |threads| {
            Version::Shared.config(1, threads).shared_bytes
        })?;
    for (name, version, threads, changed) in [
        (
            "kernel",
            Version::Plain,
            THREADS,
            "a thread per box of the first set, a loop over the second",
        ),
        (
            "v1",
            Version::Shared,
            THREADS,
            "tiles of the second set in shared memory, a box for each thread",
        ),
        (
            "v1, occupancy",
            Version::Shared,
            by_occupancy,
            "v1 in the blocks of which a multiprocessor runs the most threads",
        ),
        (
            "v2",
            Version::SharedItems(ITEMS),
            THREADS,
            "four boxes for each thread",
        ),
        (
            "v3",
            Version::Half(ITEMS),
            THREADS,
            "half precision: coordinates are rounded, and pairs are wrong",
        ),
    ] {
        let mut matches = data.room()?;
        let config = version.config(data.len(), threads);
        climb.kernel(
            name,
            changed,
            || data.launch(version, threads, &mut matches),
            |()| Ok(String::new()),
        )?;
        let checked = data.check(version, &matches);
        climb.checked(checked.map(|remark| match threads {
            THREADS => remark,
            _ => format!("{threads} threads; {remark}"),
        }))?;
        match version {
            Version::Plain => climb.occupancy(&overlaps_plain, config),
            Version::Shared => climb.occupancy(&overlaps_shared, config),
            Version::SharedItems(_) => climb.occupancy(&overlaps_shared_items, config),
            Version::Half(_) => climb.occupancy(&overlaps_half, config),
        }?;
    }
    Ok(())
}

/// A kernel, with the boxes that each thread brings to shared memory.
#[derive(Clone, Copy)]
pub enum Version {
    Plain,
    Shared,
    SharedItems(u32),
    Half(u32),
}

impl Version {
    pub fn name(self) -> String {
        match self {
            Version::Plain => "kernel".to_owned(),
            Version::Shared => "v1".to_owned(),
            Version::SharedItems(1) => "v2, 1 box".to_owned(),
            Version::SharedItems(items) => format!("v2, {items} boxes"),
            Version::Half(1) => "v3, 1 box".to_owned(),
            Version::Half(items) => format!("v3, {items} boxes"),
        }
    }

    /// A thread for each of so many boxes, and shared memory for a tile.
    pub fn config(self, boxes: usize, threads: u32) -> LaunchConfig {
        let bytes = match self {
            Version::Plain => 0,
            Version::Shared => size_of::<f32>() as u32,
            Version::SharedItems(items) => items * size_of::<f32>() as u32,
            Version::Half(items) => items * size_of::<u16>() as u32,
        };
        LaunchConfig::for_len(boxes, threads).with_shared_bytes(threads * bytes * NUMBERS as u32)
    }
}

/// The sets on the device.
pub struct Data<'a> {
    device: &'a Device,
    sets: [Buffer<f32>; 2],
    /// The same in half precision, as bits.
    halves: [Buffer<u16>; 2],
    expected: &'a Expected,
}

impl<'a> Data<'a> {
    pub fn new(
        device: &'a Device,
        sets: &[Vec<f32>; 2],
        expected: &'a Expected,
    ) -> Result<Data<'a>> {
        let halves = |set: &[f32]| -> Vec<u16> {
            let bits = set.iter().map(|number| f16::from_f32(*number).to_bits());
            bits.collect()
        };
        Ok(Data {
            device,
            sets: [device.buffer_from(&sets[0])?, device.buffer_from(&sets[1])?],
            halves: [
                device.buffer_from(&halves(&sets[0]))?,
                device.buffer_from(&halves(&sets[1]))?,
            ],
            expected,
        })
    }

    /// Boxes of the first set.
    fn len(&self) -> usize {
        self.sets[0].len() / NUMBERS
    }

    /// Room for the matches.
    pub fn room(&self) -> Result<Buffer<i32>> {
        Ok(self.device.alloc(self.len() * MATCHES)?)
    }

    pub fn launch(&self, version: Version, threads: u32, matches: &mut Buffer<i32>) -> Result<()> {
        let config = version.config(self.len(), threads);
        let device = self.device;
        let [set1, set2] = &self.sets;
        let (set1, set2, out) = (set1.slice(), set2.slice(), matches.slice_mut());
        match version {
            Version::Plain => {
                let arguments = (set1, set2, out);
                // SAFETY: the sets have whole boxes, each one of the first a thread and places; the
                // main stream runs what follows only when this is done, freeing too.
                unsafe { device.launch(&KERNELS, &overlaps_plain, config, arguments) }
            }
            Version::Shared => {
                let arguments = (set1, set2, out);
                // SAFETY: the sets have whole boxes, each one of the first a thread and places;
                // shared memory has room for a tile; the main stream runs what follows only when
                // this is done, freeing too.
                unsafe { device.launch(&KERNELS, &overlaps_shared, config, arguments) }
            }
            Version::SharedItems(items) => {
                let arguments = (items, set1, set2, out);
                // SAFETY: the sets have whole boxes, each one of the first a thread and places;
                // shared memory has room for a tile; the main stream runs what follows only when
                // this is done, freeing too.
                unsafe { device.launch(&KERNELS, &overlaps_shared_items, config, arguments) }
            }
            Version::Half(items) => {
                let [half1, half2] = &self.halves;
                let arguments = (items, half1.slice(), half2.slice(), out);
                // SAFETY: the sets in half precision have the boxes of the others, each one of the
                // first a thread and places; the main stream runs what follows only when this is
                // done, freeing too.
                unsafe { device.launch(&KERNELS, &overlaps_half, config, arguments) }
            }
        }?;
        Ok(())
    }

    /// Fails unless the matches are right; in half precision counts those that are not.
    pub fn check(&self, version: Version, matches: &Buffer<i32>) -> Result<String> {
        let found = matches.to_vec()?;
        match version {
            Version::Half(_) => self.expected.count_wrong(&found),
            _ => self.expected.check(&found),
        }
    }
}
