//! The sweeps: places of a thread, streams, and sequences of a launch.

use anyhow::Result;
use ladder_kernels::tensor_sketch::*;

use super::kernels::{Data, Narrow};
use crate::climb::{Climb, Plan};
use crate::rows::{Axis, Clock};
use crate::streams::Streams;

/// A kernel of V9 for each number of places: consecutive ones, and strided ones.
type Places = (u32, [&'static Narrow; 2]);

static PLACES_OF_A_THREAD: [Places; 11] = [
    (1, [&sketch_consecutive_1, &sketch_strided_1]),
    (2, [&sketch_consecutive_2, &sketch_strided_2]),
    (3, [&sketch_consecutive_3, &sketch_strided_3]),
    (4, [&sketch_consecutive_4, &sketch_strided_4]),
    (6, [&sketch_consecutive_6, &sketch_strided_6]),
    (8, [&sketch_consecutive_8, &sketch_strided_8]),
    (12, [&sketch_consecutive_12, &sketch_strided_12]),
    (16, [&sketch_consecutive_16, &sketch_strided_16]),
    (24, [&sketch_consecutive_24, &sketch_strided_24]),
    (32, [&sketch_consecutive_32, &sketch_strided_32]),
    (48, [&sketch_consecutive_48, &sketch_strided_48]),
];

/// Numbers of streams, and of sequences of a launch, each also as the lines of the other sweep.
const STREAMS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
const LINES_OF_STREAMS: [u32; 4] = [1, 16, 128, 256];
const SEQUENCES: [u32; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const LINES_OF_SEQUENCES: [u32; 5] = [1, 4, 16, 64, 256];

/// Runs all.
pub fn climb(climb: &mut Climb, data: &Data) -> Result<()> {
    places(climb, data)?;
    let by_sequences = Plan {
        title: "V12: sequences of a launch",
        clock: Clock::Kernel,
        parameter: "sequences of a launch",
        axis: Axis::Doubling,
        values: &SEQUENCES,
        lines: &LINES_OF_STREAMS.map(|streams| (named(streams, "stream"), streams)),
    };
    climb.sweep(by_sequences, |climb, &streams, sequences| {
        few_a_launch(climb, data, sequences, streams)
    })?;
    let by_streams = Plan {
        title: "V12: streams",
        clock: Clock::Kernel,
        parameter: "streams",
        axis: Axis::Doubling,
        values: &STREAMS,
        lines: &LINES_OF_SEQUENCES.map(|sequences| (named(sequences, "sequence"), sequences)),
    };
    climb.sweep(by_streams, |climb, &sequences, streams| {
        few_a_launch(climb, data, sequences, streams)
    })
}

fn named(count: u32, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// V9 with all numbers of places.
fn places(climb: &mut Climb, data: &Data) -> Result<()> {
    let plan = Plan {
        title: "V9: places of a thread",
        clock: Clock::Kernel,
        parameter: "places of a thread",
        axis: Axis::Doubling,
        values: &PLACES_OF_A_THREAD.map(|(places, _)| places),
        lines: &[("consecutive".to_owned(), 0), ("strided".to_owned(), 1)],
    };
    climb.sweep(plan, |climb, &order, places| {
        let found = PLACES_OF_A_THREAD.iter().find(|(of, _)| *of == places);
        let Some((_, kernels)) = found else {
            return Ok(None);
        };
        let block = (DIM as u32 / places, TUPLE as u32);
        let mut sketches = data.room()?;
        let out = sketches.slice_mut();
        let time = climb.time(Clock::Kernel, || data.launch(kernels[order], block, out))?;
        data.check(&sketches)?;
        Ok(Some(time))
    })
}

/// V12 with a number of sequences and of streams; nothing if they are more than there are.
fn few_a_launch(
    climb: &Climb,
    data: &Data,
    sequences: u32,
    streams: u32,
) -> Result<Option<std::time::Duration>> {
    let (sequences, streams) = (sequences as usize, streams as usize);
    if sequences > 1 && sequences > data.count {
        return Ok(None);
    }
    let mut sketches = data.room()?;
    let out = sketches.slice_mut();
    let streams = Streams::new(data.device, streams)?;
    let time = climb.time(Clock::Kernel, || data.launch_few(sequences, &streams, out))?;
    data.check(&sketches)?;
    Ok(Some(time))
}

#[cfg(test)]
mod tests {
    use super::super::exact::{Entries, Expected};
    use super::super::letters::Letters;
    use super::*;
    use crate::tests::setups;
    use gridstride::tensor_sketch::Tables;

    /// Also under memcheck, in which the sweep over 256 streams takes too long.
    #[test]
    fn any_number_of_places_is_right() {
        let seed = article_data::sketch::SEED;
        let [hashes, signs] = article_data::sketch::tables(LETTERS, TUPLE, DIM, seed);
        let tables = Tables::new(hashes.view(), signs.view(), DIM).unwrap();
        let letters = Letters::random(3, 200, false, 1).unwrap();
        let expected = Expected::new(&letters, &Entries::new(&tables)).unwrap();
        for setup in setups() {
            let mut climb = Climb::new(&setup, String::new());
            let data = Data::new(&setup.device, &letters, &tables, &expected).unwrap();
            places(&mut climb, &data).unwrap();
            let sweep = climb.finish().sweeps.remove(0);
            let times = sweep.lines.iter().flat_map(|line| &line.times);
            assert_eq!(times.flatten().count(), 2 * PLACES_OF_A_THREAD.len());
        }
    }
}
