//! Times the Fourier form on the CPU, whole calls on random sequences, and checks a sample.
//!
//!     cargo bench -p gridstride_benches --bench tensor_sketch_cpu
//!
//! The error is ‖sketches − exact‖ / ‖exact‖ of a sample: the first sequences, or the first windows, of together at most a
//! million letters, whose exact sketches are computed in the direct form in `f64`. `RAYON_NUM_THREADS` limits the number of
//! cores.

mod common;

use clap::Parser;
use common::{Clock, Measured, Random, check_sketches, grouped, show, time_whole};
use gridstride::Device;
use gridstride::tensor_sketch::{Entry, Form, Sequences, Tables, TensorSketch};
use ndarray::{Array2, ArrayView1, s};

#[derive(Parser)]
struct Args {
    /// Letters in all of the largest cases.
    #[arg(long, default_value_t = 100_000_000)]
    letters: usize,
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 5, value_parser = common::at_least_one)]
    runs: usize,
    /// Only cases whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// What is sketched.
struct Case {
    name: &'static str,
    sequences: usize,
    letters: usize,
    alphabet_size: usize,
    tuple: usize,
    dim: usize,
    /// Width and stride of windows, in place of whole sequences.
    windows: Option<[usize; 2]>,
}

/// DNA with t = 4 and D = 96.
const DNA: Case = Case {
    name: "equal lengths",
    sequences: 1410,
    letters: 0,
    alphabet_size: 4,
    tuple: 4,
    dim: 96,
    windows: None,
};

fn cases(letters: usize) -> Vec<Case> {
    let mut cases = Vec::new();
    for letters in [letters / 1000, letters / 100, letters / 10, letters] {
        cases.push(Case { letters, ..DNA });
        let (name, sequences) = ("one sequence", 1);
        cases.push(Case {
            name,
            sequences,
            letters,
            ..DNA
        });
    }
    let reads = Case {
        name: "reads of 150",
        sequences: letters / 1500,
        letters: letters / 10,
        ..DNA
    };
    let protein = Case {
        name: "protein",
        alphabet_size: 20,
        letters: letters / 10,
        ..DNA
    };
    cases.extend([reads, protein]);
    for (name, tuple, dim) in [
        ("t = 8", 8, 96),
        ("D = 1000", 4, 1000),
        ("D = 4096", 4, 4096),
        ("t = 8, D = 4096", 8, 4096),
    ] {
        let share = 10 * (dim / 96) * (tuple / 4);
        cases.push(Case {
            name,
            tuple,
            dim,
            letters: letters / share,
            ..DNA
        });
    }
    for (width, stride) in [
        (1000, 1),
        (1000, 100),
        (10_000, 100),
        (10_000, 1000),
        (100_000, 1000),
    ] {
        let letters = if stride == 1 {
            letters / 100
        } else {
            letters / 10
        };
        let (name, sequences) = ("windows", 1);
        let windows = Some([width, stride]);
        cases.push(Case {
            name,
            sequences,
            letters,
            windows,
            ..DNA
        });
    }
    cases
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    println!("{}", Device::cpu().info());
    for case in cases(args.letters) {
        if !case.name.contains(&args.only) {
            continue;
        }
        let sequences = random_sequences(&case);
        let tables = Tables::from_seed(case.alphabet_size, case.tuple, case.dim, 1)?;
        let sketcher = TensorSketch::new(tables).normalize(true);
        time(&case, &sketcher, &sequences, args.runs)?;
        time(&case, &sketcher.double(), &sequences, args.runs)?;
    }
    Ok(())
}

fn time<T: Entry>(
    case: &Case,
    sketcher: &TensorSketch<T>,
    sequences: &Sequences,
    runs: usize,
) -> anyhow::Result<()> {
    let device = Device::cpu();
    let call = || match case.windows {
        None => sketcher.sketch(&device, sequences),
        Some([width, stride]) => sketcher.windows(&device, sequences.codes().into(), width, stride),
    };
    let (times, sketches) = time_whole(runs, call)?;
    let windows = match case.windows {
        None => String::new(),
        Some([width, stride]) => format!(" of {}, stride {stride}", grouped(width)),
    };
    let name = format!(
        "{}{windows}, {}, {} letters",
        case.name,
        T::NAME,
        grouped(case.letters)
    );
    let error = error(case, sketcher, sequences, &sketches)?;
    show(&Measured::new(name, Clock::Call, times).error(error))?;
    Ok(())
}

/// The error of the first sketches, of a million letters in all.
fn error<T: Entry>(
    case: &Case,
    sketcher: &TensorSketch<T>,
    sequences: &Sequences,
    sketches: &Array2<T>,
) -> gridstride::Result<f64> {
    const SAMPLE: usize = 1_000_000;
    let mut sample = Sequences::new();
    let texts = (0..sketches.nrows()).map(|i| match case.windows {
        None => sequences.get(i).expect("as many sequences as sketches"),
        Some([width, stride]) => ArrayView1::from(&sequences.codes()[i * stride..][..width]),
    });
    for text in texts {
        sample.push(text)?;
        if sample.total_length() + text.len() > SAMPLE {
            break;
        }
    }
    let exact = TensorSketch::new(sketcher.tables().clone());
    let exact = exact.normalize(true).form(Form::Direct).double();
    let exact = exact.sketch(&Device::cpu(), &sample)?;
    let made = sketches.slice(s![..sample.len(), ..]).to_owned();
    check_sketches(
        Form::Fourier,
        sketcher.tables(),
        sample.longest(),
        &made,
        &exact,
    );
    let made = made.mapv(T::to_f64);
    let norm = |values: Array2<f64>| values.iter().map(|x| x * x).sum::<f64>().sqrt();
    let error = norm(made - &exact);
    Ok(error / norm(exact).max(f64::MIN_POSITIVE))
}

fn random_sequences(case: &Case) -> Sequences {
    let mut random = Random(1);
    let mut sequences = Sequences::new();
    let mut codes = Vec::new();
    for _ in 0..case.sequences {
        let length = case.letters / case.sequences;
        codes.clear();
        codes.extend((0..length).map(|_| random.below(case.alphabet_size) as u8));
        sequences.push(&codes).expect("memory for the sequences");
    }
    sequences
}
