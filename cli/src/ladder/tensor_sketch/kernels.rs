//! The GPU's versions.

use anyhow::Result;
use cuda_std::host::Kernel;
use cuda_std::{DeviceSlice, DeviceSliceMut};
use gridstride::Device;
use gridstride::device::{Buffer, LaunchConfig, Stream};
use gridstride::tensor_sketch::Tables;
use ladder_kernels::tensor_sketch::*;

use super::exact::Expected;
use super::letters::Letters;
use crate::ladder::KERNELS;
use crate::ladder::climb::Climb;

/// Streams, over which launches are dealt out.
const STREAMS: usize = 32;

/// Sequences of a launch of V12.
const SEQUENCES: usize = 4;

/// Blocks: rows along x, places along x, six places a thread.
const ALONG_ROWS: (u32, u32) = (TUPLE as u32, DIM as u32);
const ALONG_PLACES: (u32, u32) = (DIM as u32, TUPLE as u32);
const SIX_PLACES: (u32, u32) = ((DIM / PLACES) as u32, TUPLE as u32);

/// A kernel for all sequences at once, with numbers of 32 bits.
type Narrow = Kernel<(
    DeviceSlice<u8>,
    DeviceSlice<u64>,
    DeviceSlice<i32>,
    DeviceSlice<f32>,
    DeviceSliceMut<f32>,
)>;

/// Runs V3 to V15.
pub fn climb(
    climb: &mut Climb,
    device: &Device,
    letters: &Letters,
    tables: &Tables,
    expected: &Expected,
) -> Result<()> {
    wide(climb, device, letters, tables, expected)?;
    let data = Data {
        device,
        letters: device.buffer_from(&letters.codes)?,
        offsets: device.buffer_from(&letters.offsets)?,
        hashes: of_tables(device, tables, |letter, k| tables.hash(letter, k) as i32)?,
        signs: of_tables(device, tables, |letter, k| {
            f32::from(tables.sign(letter, k))
        })?,
        count: letters.count(),
    };
    let steps: [(&str, &Narrow, (u32, u32), &str); 6] = [
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
        ("V9", &sketch_six_places, SIX_PLACES, "six places a thread"),
        (
            "V10",
            &sketch_staged_letters,
            SIX_PLACES,
            "letters through shared memory, a block-full at a time",
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
            |()| expected.check_rounded(&sketches.to_vec()?),
        )?;
    }
    few_a_launch(climb, &data, expected)?;
    pointers(climb, &data, letters, expected)?;
    run_time_sizes(climb, &data, expected)
}

/// The tables as a kernel takes them, with the entries of a letter side by side.
fn of_tables<T: gridstride::device::Element>(
    device: &Device,
    tables: &Tables,
    entry: impl Fn(u8, usize) -> T,
) -> Result<Buffer<T>> {
    let letters = 0..tables.alphabet_size() as u8;
    let entries = letters.flat_map(|letter| (0..tables.tuple_length()).map(move |k| (letter, k)));
    let entries: Vec<T> = entries.map(|(letter, k)| entry(letter, k)).collect();
    Ok(device.buffer_from(&entries)?)
}

/// V3 to V5.
fn wide(
    climb: &mut Climb,
    device: &Device,
    letters: &Letters,
    tables: &Tables,
    expected: &Expected,
) -> Result<()> {
    let hashes = of_tables(device, tables, |letter, k| {
        i64::from(tables.hash(letter, k))
    })?;
    let signs = of_tables(device, tables, |letter, k| {
        i64::from(tables.sign(letter, k))
    })?;
    let (hashes_slice, signs_slice) = (hashes.slice(), signs.slice());
    let one_block = LaunchConfig::new(1, ALONG_ROWS);
    climb.with_copies(
        "V3",
        "a block of t·D threads; for each sequence upload, launch and download",
        || {
            let mut found = Vec::new();
            for sequence in letters.iter() {
                let sequence = device.buffer_from(sequence)?;
                let mut sketch = device.alloc::<i64>(DIM)?;
                let arguments = (
                    sequence.slice(),
                    hashes_slice,
                    signs_slice,
                    sketch.slice_mut(),
                );
                // SAFETY: letters and tables are in the ranges that the kernel has, the sketch has
                // D numbers, and all live until it has been read.
                unsafe { device.launch(&KERNELS, &sketch_sequence, one_block, arguments) }?;
                found.extend(sketch.to_vec()?);
            }
            Ok(found)
        },
        |found| expected.check_exact(&found),
    )?;

    // All memory before the streams: while there are any, allocating waits.
    let sequences = letters.iter().map(|sequence| device.buffer_from(sequence));
    let sequences = sequences.collect::<gridstride::Result<Vec<_>>>()?;
    let mut sketches = (0..sequences.len())
        .map(|_| device.alloc::<i64>(DIM))
        .collect::<gridstride::Result<Vec<_>>>()?;
    let streams = streams(device, sequences.len())?;
    climb.with_copies(
        "V4",
        "on streams; uploaded ahead, and sketches stay on the device",
        || {
            for (i, (sequence, sketch)) in sequences.iter().zip(&mut sketches).enumerate() {
                let arguments = (
                    sequence.slice(),
                    hashes_slice,
                    signs_slice,
                    sketch.slice_mut(),
                );
                let stream = &streams[i % streams.len()];
                // SAFETY: as of V3; the streams are waited for below.
                unsafe { stream.launch(&KERNELS, &sketch_sequence, one_block, arguments) }?;
            }
            wait_for(&streams)
        },
        |()| Ok(String::new()),
    )?;
    let found = sketches.iter().map(Buffer::to_vec);
    let found = found.collect::<gridstride::Result<Vec<_>>>()?.concat();
    climb.checked(expected.check_exact(&found))?;
    drop((streams, sequences, sketches));

    let codes = device.buffer_from(&letters.codes)?;
    let offsets = device.buffer_from(&letters.offsets)?;
    let mut sketches = device.alloc::<i64>(letters.count() * DIM)?;
    let (codes_slice, offsets_slice) = (codes.slice(), offsets.slice());
    let arguments = (
        codes_slice,
        offsets_slice,
        hashes_slice,
        signs_slice,
        sketches.slice_mut(),
    );
    let config = LaunchConfig::new(letters.count() as u32, ALONG_ROWS);
    climb.kernel(
        "V5",
        "one launch for all, a block for each sequence",
        // SAFETY: as of V3; a block and D numbers for each sequence.
        || Ok(unsafe { device.launch(&KERNELS, &sketch_all, config, arguments) }?),
        |()| expected.check_exact(&sketches.to_vec()?),
    )
}

/// Streams for so many launches.
fn streams(device: &Device, launches: usize) -> Result<Vec<Stream>> {
    let streams = (0..launches.min(STREAMS)).map(|_| device.stream());
    Ok(streams.collect::<gridstride::Result<_>>()?)
}

fn wait_for(streams: &[Stream]) -> Result<()> {
    for stream in streams {
        stream.synchronize()?;
    }
    Ok(())
}

/// What the kernels of 32 bits need, on the device.
struct Data<'a> {
    device: &'a Device,
    letters: Buffer<u8>,
    offsets: Buffer<u64>,
    hashes: Buffer<i32>,
    signs: Buffer<f32>,
    count: usize,
}

impl Data<'_> {
    /// Room for the sketches.
    fn room(&self) -> Result<Buffer<f32>> {
        Ok(self.device.alloc(self.count * DIM)?)
    }

    fn launch(
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
}

/// V12.
fn few_a_launch(climb: &mut Climb, data: &Data, expected: &Expected) -> Result<()> {
    let mut sketches = data.room()?;
    let out = sketches.slice_mut();
    let streams = streams(data.device, data.count.div_ceil(SEQUENCES))?;
    climb.with_copies(
        "V12",
        "launches of four sequences, on streams",
        || {
            for (i, first) in (0..data.count).step_by(SEQUENCES).enumerate() {
                let count = SEQUENCES.min(data.count - first);
                let offsets = data.offsets.slice();
                // SAFETY: parts of both slices.
                let (offsets, out) = unsafe {
                    (
                        DeviceSlice::from_raw_parts(offsets.as_ptr().add(first), count + 1),
                        DeviceSliceMut::from_raw_parts(
                            out.as_mut_ptr().add(first * DIM),
                            count * DIM,
                        ),
                    )
                };
                let (hashes, signs) = (data.hashes.slice(), data.signs.slice());
                let arguments = (data.letters.slice(), offsets, hashes, signs, out);
                let config = LaunchConfig::new(count as u32, SIX_PLACES);
                let stream = &streams[i % streams.len()];
                // SAFETY: as of `launch`; the streams are waited for below.
                unsafe { stream.launch(&KERNELS, &sketch_staged_tables, config, arguments) }?;
            }
            wait_for(&streams)
        },
        |()| expected.check_rounded(&sketches.to_vec()?),
    )
}

/// V13.
fn pointers(climb: &mut Climb, data: &Data, letters: &Letters, expected: &Expected) -> Result<()> {
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
    climb.kernel(
        "V13",
        "V11 with an array of pointers to sequences",
        || {
            let (hashes, signs) = (data.hashes.slice(), data.signs.slice());
            let arguments = (addresses.slice(), lengths.slice(), hashes, signs, out);
            let config = LaunchConfig::new(data.count as u32, SIX_PLACES);
            // SAFETY: the addresses are those of sequences that live through this function; the
            // rest as of `launch`.
            Ok(unsafe { device.launch(&KERNELS, &sketch_pointers, config, arguments) }?)
        },
        |()| expected.check_rounded(&sketches.to_vec()?),
    )
}

/// V15.
fn run_time_sizes(climb: &mut Climb, data: &Data, expected: &Expected) -> Result<()> {
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
        // SAFETY: as of `launch`; block and shared memory are those of the sizes.
        || Ok(unsafe { device.launch(&KERNELS, &sketch_run_time_sizes, config, arguments) }?),
        |()| expected.check_rounded(&sketches.to_vec()?),
    )
}
