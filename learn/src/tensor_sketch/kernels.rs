//! V6 to V15: numbers of 32 bits, on data in the device's memory.

use std::sync::Mutex;

use anyhow::Result;
use cuda_std::host::Kernel;
use cuda_std::{DeviceSlice, DeviceSliceMut};
use gridstride::Device;
use gridstride::device::{Buffer, Element, LaunchConfig};
use gridstride::tensor_sketch::Tables;
use ladder_kernels::tensor_sketch::*;

use super::exact::{Entries, Expected};
use super::letters::Letters;
use crate::KERNELS;
use crate::climb::Climb;
use crate::streams::Streams;

/// Streams, over which launches are dealt out: as many grids as a GPU runs at a time.
pub const STREAMS: usize = 128;

/// Sequences of a launch of V12.
const SEQUENCES: usize = 4;

/// Blocks: rows along x, places along x, six places a thread.
pub const ALONG_ROWS: (u32, u32) = (TUPLE as u32, DIM as u32);
const ALONG_PLACES: (u32, u32) = (DIM as u32, TUPLE as u32);
const SIX_PLACES: (u32, u32) = ((DIM / PLACES) as u32, TUPLE as u32);

/// A kernel for all sequences at once, with numbers of 32 bits.
pub type Narrow = Kernel<(
    DeviceSlice<u8>,
    DeviceSlice<u64>,
    DeviceSlice<i32>,
    DeviceSlice<f32>,
    DeviceSliceMut<f32>,
)>;

/// The arguments of the kernels of 32 bits, on the device.
pub struct Data<'a> {
    pub device: &'a Device,
    letters: Buffer<u8>,
    offsets: Buffer<u64>,
    hashes: Buffer<i32>,
    signs: Buffer<f32>,
    pub count: usize,
    /// The expected result.
    pub expected: &'a Expected,
}

/// The tables as a kernel takes them, with the entries of a letter side by side.
pub fn of_tables<T: Element>(
    device: &Device,
    tables: &Tables,
    entry: impl Fn(u8, usize) -> T,
) -> Result<Buffer<T>> {
    let letters = 0..tables.alphabet_size() as u8;
    let entries = letters.flat_map(|letter| (0..tables.tuple_length()).map(move |k| (letter, k)));
    let entries: Vec<T> = entries.map(|(letter, k)| entry(letter, k)).collect();
    Ok(device.buffer_from(&entries)?)
}

impl<'a> Data<'a> {
    pub fn new(
        device: &'a Device,
        letters: &Letters,
        tables: &Tables,
        expected: &'a Expected,
    ) -> Result<Data<'a>> {
        let hash = |letter, k| tables.hash(letter, k) as i32;
        let sign = |letter, k| f32::from(tables.sign(letter, k));
        Ok(Data {
            device,
            letters: device.buffer_from(&letters.codes)?,
            offsets: device.buffer_from(&letters.offsets)?,
            hashes: of_tables(device, tables, hash)?,
            signs: of_tables(device, tables, sign)?,
            count: letters.count(),
            expected,
        })
    }

    /// Room for the sketches.
    pub fn room(&self) -> Result<Buffer<f32>> {
        Ok(self.device.alloc(self.count * DIM)?)
    }

    /// Fails unless the sketches are right.
    pub fn check(&self, sketches: &Buffer<f32>) -> Result<String> {
        self.expected.check_rounded(&sketches.to_vec()?)
    }

    pub fn launch(
        &self,
        kernel: &Narrow,
        block: (u32, u32),
        sketches: DeviceSliceMut<f32>,
    ) -> Result<()> {
        let config = LaunchConfig::new(self.count as u32, block);
        let arguments = (
            self.letters.slice(),
            self.offsets.slice(),
            self.hashes.slice(),
            self.signs.slice(),
            sketches,
        );
        // SAFETY: letters and tables are in the ranges that the kernel has, a block and D numbers
        // for each sequence; all live until the sketches have been read.
        Ok(unsafe { self.device.launch(&KERNELS, kernel, config, arguments) }?)
    }

    /// Launches V12: `sequences` of them at a time, on the streams in turn.
    pub fn launch_few(
        &self,
        sequences: usize,
        streams: &Streams,
        out: DeviceSliceMut<f32>,
    ) -> Result<()> {
        let offsets = self.offsets.slice();
        streams.launch_in_turn(self.count.div_ceil(sequences), |i, stream| {
            let first = i * sequences;
            let count = sequences.min(self.count - first);
            // SAFETY: parts of both slices.
            let (offsets, out) = unsafe {
                (
                    DeviceSlice::from_raw_parts(offsets.as_ptr().add(first), count + 1),
                    DeviceSliceMut::from_raw_parts(out.as_mut_ptr().add(first * DIM), count * DIM),
                )
            };
            let (hashes, signs) = (self.hashes.slice(), self.signs.slice());
            let arguments = (self.letters.slice(), offsets, hashes, signs, out);
            let config = LaunchConfig::new(count as u32, SIX_PLACES);
            // SAFETY: the arguments have the sizes of `launch`; the main stream waits for the others.
            Ok(unsafe { stream.launch(&KERNELS, &sketch_staged_tables, config, arguments) }?)
        })
    }
}

/// Runs V6 to V15.
pub fn climb(climb: &mut Climb, data: &Data, letters: &Letters, tables: &Tables) -> Result<()> {
    let steps: [(&str, &Narrow, (u32, u32), &str); 7] = [
        (
            "V6",
            &sketch_32_bits,
            ALONG_ROWS,
            "tables of i32 and f32, sums in f32",
        ),
        (
            "V7",
            &sketch_one_barrier,
            ALONG_ROWS,
            "two layers of rows in turn: one barrier a letter",
        ),
        (
            "V8",
            &sketch_along_places,
            ALONG_PLACES,
            "neighbouring threads at neighbouring places",
        ),
        (
            "V9",
            &sketch_consecutive_6,
            SIX_PLACES,
            "six consecutive places a thread",
        ),
        (
            "V9, strided",
            &sketch_strided_6,
            SIX_PLACES,
            "six places a thread, 16 apart: neighbouring threads at neighbouring places",
        ),
        (
            "V10",
            &sketch_staged_letters,
            SIX_PLACES,
            "V9 with letters through shared memory, a block-full at a time",
        ),
        (
            "V11",
            &sketch_staged_tables,
            SIX_PLACES,
            "tables in shared memory, results written by neighbours",
        ),
    ];
    for (version, kernel, block, changed) in steps {
        let mut sketches = data.room()?;
        let out = sketches.slice_mut();
        climb.kernel(
            version,
            changed,
            || data.launch(kernel, block, out),
            |()| data.check(&sketches),
        )?;
        climb.occupancy(kernel, LaunchConfig::new(1, block))?;
    }
    constant_tables(climb, data, tables)?;
    few_a_launch(climb, data)?;
    pointers(climb, data, letters)?;
    run_time_sizes(climb, data)
}

/// V11 with tables in constant memory.
fn constant_tables(climb: &mut Climb, data: &Data, tables: &Tables) -> Result<()> {
    // All simulators of a process share their constants. The lock outlives the kernels, whose
    // sketches are read before it ends.
    static CONSTANTS: Mutex<()> = Mutex::new(());
    let _alone = CONSTANTS.lock().unwrap_or_else(|lock| lock.into_inner());
    let device = data.device;
    let Entries { hashes, signs } = Entries::new(tables);
    let (hashes, signs) = (hashes.concat(), signs.concat());
    let hashes: [i32; LETTERS * TUPLE] = std::array::from_fn(|i| hashes[i] as i32);
    let signs: [f32; LETTERS * TUPLE] = std::array::from_fn(|i| signs[i] as f32);
    // SAFETY: the types are those of the statics, and only this function launches their kernel.
    unsafe {
        device.set_constant(&KERNELS, &raw const HASHES, &hashes)?;
        device.set_constant(&KERNELS, &raw const SIGNS, &signs)?;
    }
    let mut sketches = data.room()?;
    let arguments = (
        data.letters.slice(),
        data.offsets.slice(),
        sketches.slice_mut(),
    );
    let config = LaunchConfig::new(data.count as u32, SIX_PLACES);
    let kernel = &sketch_constant_tables;
    climb.kernel(
        "V11, constant",
        "V11 with tables in constant memory",
        // SAFETY: the arguments have the sizes of `Data::launch`; the tables are set.
        || Ok(unsafe { device.launch(&KERNELS, kernel, config, arguments) }?),
        |()| data.check(&sketches),
    )?;
    climb.occupancy(kernel, config)
}

/// V12.
fn few_a_launch(climb: &mut Climb, data: &Data) -> Result<()> {
    let mut sketches = data.room()?;
    let out = sketches.slice_mut();
    let launches = data.count.div_ceil(SEQUENCES);
    let streams = Streams::new(data.device, launches.min(STREAMS))?;
    climb.kernel(
        "V12",
        "V11 in launches of four sequences, on 128 streams",
        || data.launch_few(SEQUENCES, &streams, out),
        |()| data.check(&sketches),
    )
}

/// V13.
fn pointers(climb: &mut Climb, data: &Data, letters: &Letters) -> Result<()> {
    let device = data.device;
    let sequences = letters.iter().map(|sequence| device.buffer_from(sequence));
    let sequences = sequences.collect::<gridstride::Result<Vec<_>>>()?;
    let address = |sequence: &Buffer<u8>| sequence.slice().as_ptr() as u64;
    let addresses: Vec<u64> = sequences.iter().map(address).collect();
    let lengths: Vec<u64> = sequences
        .iter()
        .map(|sequence| sequence.len() as u64)
        .collect();
    let (addresses, lengths) = (
        device.buffer_from(&addresses)?,
        device.buffer_from(&lengths)?,
    );
    let mut sketches = data.room()?;
    let out = sketches.slice_mut();
    let config = LaunchConfig::new(data.count as u32, SIX_PLACES);
    climb.kernel(
        "V13",
        "V11 with an array of pointers to sequences",
        || {
            let (hashes, signs) = (data.hashes.slice(), data.signs.slice());
            let arguments = (addresses.slice(), lengths.slice(), hashes, signs, out);
            // SAFETY: the addresses are those of sequences that live through this function; the
            // rest as of `launch`.
            Ok(unsafe { device.launch(&KERNELS, &sketch_pointers, config, arguments) }?)
        },
        |()| data.check(&sketches),
    )?;
    climb.occupancy(&sketch_pointers, config)
}

/// V15.
fn run_time_sizes(climb: &mut Climb, data: &Data) -> Result<()> {
    let sizes = RunTimeSizes {
        letters: LETTERS as u32,
        tuple: TUPLE as u32,
        dim: DIM as u32,
        places: PLACES as u32,
    };
    let mut sketches = data.room()?;
    let arguments = (
        sizes,
        data.letters.slice(),
        data.offsets.slice(),
        data.hashes.slice(),
        data.signs.slice(),
        sketches.slice_mut(),
    );
    let block = (sizes.threads_along(), sizes.tuple);
    let config =
        LaunchConfig::new(data.count as u32, block).with_shared_bytes(sizes.shared_bytes());
    let device = data.device;
    climb.kernel(
        "V15",
        "V11 with A, t, D and places at run time, in dynamic shared memory",
        // SAFETY: the arguments, the block and the shared memory have the sizes of `launch`.
        || Ok(unsafe { device.launch(&KERNELS, &sketch_run_time_sizes, config, arguments) }?),
        |()| data.check(&sketches),
    )?;
    climb.occupancy(&sketch_run_time_sizes, config)
}
