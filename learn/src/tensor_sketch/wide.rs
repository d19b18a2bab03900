//! V3 to V5: sums in `f64`, and from a launch for each sequence to one for all.

use anyhow::Result;
use gridstride::Device;
use gridstride::device::{Buffer, LaunchConfig};
use gridstride::tensor_sketch::Tables;
use ladder_kernels::tensor_sketch::*;

use super::exact::Expected;
use super::kernels::{ALONG_ROWS, STREAMS, of_tables};
use super::letters::Letters;
use crate::KERNELS;
use crate::climb::Climb;
use crate::streams::Streams;

/// The tables in integers of 64 bits, on the device.
struct WideTables {
    hashes: Buffer<i64>,
    signs: Buffer<i64>,
}

impl WideTables {
    fn new(device: &Device, tables: &Tables) -> Result<WideTables> {
        let hash = |letter, k| i64::from(tables.hash(letter, k));
        let sign = |letter, k| i64::from(tables.sign(letter, k));
        Ok(WideTables {
            hashes: of_tables(device, tables, hash)?,
            signs: of_tables(device, tables, sign)?,
        })
    }
}

/// Runs V3 and V4, which launch a block for each sequence, with the copies.
pub fn one_by_one(
    climb: &mut Climb,
    device: &Device,
    letters: &Letters,
    tables: &Tables,
    expected: &Expected,
) -> Result<()> {
    let tables = WideTables::new(device, tables)?;
    let (hashes, signs) = (tables.hashes.slice(), tables.signs.slice());
    let config = LaunchConfig::new(1, ALONG_ROWS);
    climb.with_copies(
        "V3",
        "a block of t·D threads, f32 rows times i64 tables: sums in f64; for each sequence upload, launch and download",
        || {
            let mut found = Vec::new();
            for sequence in letters.iter() {
                let sequence = device.buffer_from(sequence)?;
                let mut sketch = device.alloc::<f32>(DIM)?;
                let arguments = (sequence.slice(), hashes, signs, sketch.slice_mut());
                // SAFETY: letters and tables are in the ranges that the kernel has, the sketch has
                // D numbers, and all live until it has been read.
                unsafe { device.launch(&KERNELS, &sketch_sequence, config, arguments) }?;
                found.extend(sketch.to_vec()?);
            }
            Ok(found)
        },
        |found| expected.check_rounded(&found),
    )?;
    climb.occupancy(&sketch_sequence, config)?;

    // All memory before the streams: while there are any, allocating waits.
    let room = |sequence: &[u8]| Ok((device.alloc(sequence.len())?, device.alloc::<f32>(DIM)?));
    let buffers = letters.iter().map(room);
    let mut buffers = buffers.collect::<Result<Vec<(Buffer<u8>, Buffer<f32>)>>>()?;
    let streams = Streams::new(device, STREAMS.min(buffers.len()))?;
    climb.with_copies(
        "V4",
        "sequences on 128 streams, uploaded ahead; sketches stay on the device until the end",
        || {
            for (sequence, (on_device, _)) in letters.iter().zip(&mut buffers) {
                on_device.copy_from(sequence)?;
            }
            streams.launch_in_turn(buffers.len(), |i, stream| {
                let (sequence, sketch) = &mut buffers[i];
                let arguments = (sequence.slice(), hashes, signs, sketch.slice_mut());
                // SAFETY: the buffers have the sizes that V3 takes; the main stream waits for the others.
                Ok(unsafe { stream.launch(&KERNELS, &sketch_sequence, config, arguments) }?)
            })?;
            let found = buffers.iter().map(|(_, sketch)| sketch.to_vec());
            Ok(found.collect::<gridstride::Result<Vec<_>>>()?.concat())
        },
        |found| expected.check_rounded(&found),
    )?;
    climb.occupancy(&sketch_sequence, config)
}

/// Runs V5, which launches once for all, with and without the copies.
pub fn at_once(
    climb: &mut Climb,
    device: &Device,
    letters: &Letters,
    tables: &Tables,
    expected: &Expected,
) -> Result<()> {
    let tables = WideTables::new(device, tables)?;
    let mut codes = device.alloc(letters.codes.len())?;
    let mut offsets = device.alloc(letters.offsets.len())?;
    let mut sketches = device.alloc::<f32>(letters.count() * DIM)?;
    let arguments = (
        codes.slice(),
        offsets.slice(),
        tables.hashes.slice(),
        tables.signs.slice(),
        sketches.slice_mut(),
    );
    let config = LaunchConfig::new(letters.count() as u32, ALONG_ROWS);
    // SAFETY: as of V3; a block and D numbers for each sequence, and the letters are there by the
    // first launch. All buffers live through this function, at the end of which the results of all
    // launches have been read.
    let launch = || unsafe { device.launch(&KERNELS, &sketch_all, config, arguments) };
    climb.with_copies(
        "V5, copies",
        "one launch for all, a block for each sequence, with the copies",
        || {
            codes.copy_from(&letters.codes)?;
            offsets.copy_from(&letters.offsets)?;
            launch()?;
            Ok(sketches.to_vec()?)
        },
        |found| expected.check_rounded(&found),
    )?;
    climb.kernel(
        "V5",
        "the same launch, without the copies",
        || Ok(launch()?),
        |()| expected.check_rounded(&sketches.to_vec()?),
    )?;
    climb.occupancy(&sketch_all, config)
}
