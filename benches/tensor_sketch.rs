//! Times the tensor sketch on random letters and checks every result.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench tensor_sketch -- --device cuda
//!
//! `device ms` is from sequences in the device's memory to sketches there, by the device's events;
//! `call ms` is the whole call, from and to the host's memory, by the clock. Both are medians, with
//! the range of all runs behind them. `error` is the largest ‖sketch − exact‖ / ‖exact‖ of any
//! sequence, where the exact sketch is that of the direct form on the CPU, in `f64`.
//!
//! `--sizes` goes from 10⁵ letters upwards, `--sweep` gives one sequence a growing share of all
//! letters, in both forms, and `--windows W:S` sketches the windows of one sequence. `--csv` writes
//! the medians to a file.

mod common;

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use common::{DeviceName, Random, Times, check_sketches, largest, time, time_whole};
use gridstride::Device;
use gridstride::tensor_sketch::{Entry, Form, Sequences, Tables, TensorSketch};
use ndarray::{Array2, Axis};

#[derive(Parser)]
struct Args {
    /// Where to sketch.
    #[arg(long, default_value = "cpu")]
    device: DeviceName,
    /// Number of sequences.
    #[arg(long, default_value_t = 1410)]
    sequences: usize,
    /// Letters in all; by default 100 million, and 20 million for the sweep.
    #[arg(long)]
    letters: Option<usize>,
    /// Letters of the alphabet.
    #[arg(long, default_value_t = 4)]
    alphabet: usize,
    /// Dimension D.
    #[arg(long, default_value_t = 96)]
    dim: usize,
    /// Tuple length t.
    #[arg(long, default_value_t = 4)]
    tuple: usize,
    /// How to compute.
    #[arg(long, value_enum, default_value = "fourier")]
    form: FormArg,
    /// Compute in f64.
    #[arg(long)]
    f64: bool,
    /// Several numbers of letters.
    #[arg(long)]
    sizes: bool,
    /// Several shares of the longest sequence.
    #[arg(long)]
    sweep: bool,
    /// Width and stride of sliding windows.
    #[arg(long, value_parser = width_and_stride)]
    windows: Option<(usize, usize)>,
    /// Timed runs, after a first one that is not.
    #[arg(long, default_value_t = 7, value_parser = common::at_least_one)]
    runs: usize,
    /// Where to write the medians.
    #[arg(long)]
    csv: Option<PathBuf>,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum FormArg {
    Direct,
    Fourier,
}

impl From<FormArg> for Form {
    fn from(form: FormArg) -> Form {
        match form {
            FormArg::Direct => Form::Direct,
            FormArg::Fourier => Form::Fourier,
        }
    }
}

fn width_and_stride(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once(':');
    let parsed =
        numbers.and_then(|(width, stride)| Some((width.parse().ok()?, stride.parse().ok()?)));
    parsed.ok_or_else(|| "it takes two numbers, WIDTH:STRIDE".into())
}

/// How the letters are spread over the sequences.
#[derive(Clone, Copy, Debug)]
enum Lengths {
    Equal,
    /// With the spread of the contigs of a genome assembly.
    LogNormal,
    /// One sequence has this share of all letters, the others have equal ones of the rest.
    Longest(f64),
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    match args.f64 {
        false => run(&args, |sketcher| sketcher),
        true => run(&args, TensorSketch::double),
    }
}

fn run<T: Entry>(
    args: &Args,
    precision: impl Fn(TensorSketch) -> TensorSketch<T>,
) -> Result<(), Box<dyn std::error::Error>> {
    let device = args.device.open()?;
    let tables = Tables::from_seed(args.alphabet, args.tuple, args.dim, 1)?;
    let sketcher = precision(TensorSketch::new(tables.clone()).normalize(true));
    println!("{}", device.info());
    if let Some((width, stride)) = args.windows {
        let letters = args.letters.unwrap_or(10_000_000);
        return time_windows(&device, &sketcher, letters, width, stride, args.runs);
    }
    let letters = args.letters.unwrap_or(match (args.device, args.sweep) {
        (DeviceName::Simulator, _) => 100_000,
        (_, false) => 100_000_000,
        (_, true) => 20_000_000,
    });
    let forms = match args.sweep {
        true => vec![FormArg::Direct, FormArg::Fourier],
        false => vec![args.form],
    };
    for form in &forms {
        println!("{}", sketcher.clone().form((*form).into()).plan(&device)?);
    }
    let smallest = 1.0 / args.sequences as f64;
    let cases: Vec<(Lengths, usize)> = match (args.sweep, args.sizes) {
        (true, _) => [smallest, 0.01, 0.03, 0.1, 0.3, 1.0]
            .map(|share| (Lengths::Longest(share), letters))
            .to_vec(),
        (false, true) => (5..=8)
            .map(|power| (Lengths::Equal, 10usize.pow(power)))
            .collect(),
        (false, false) => vec![(Lengths::Equal, letters), (Lengths::LogNormal, letters)],
    };
    let mut csv = args.csv.as_ref().map(File::create).transpose()?;
    if let Some(csv) = &mut csv {
        writeln!(
            csv,
            "form,sequences,letters,longest,device_ms,device_least,device_most,call_ms"
        )?;
    }
    println!(
        "{:<8} {:>9} {:>10} {:>9} {:>2} {:>4} {:>24} {:>24} {:>8}",
        "form", "sequences", "letters", "longest", "t", "D", "device ms", "call ms", "error"
    );
    for (lengths, letters) in cases {
        let sequences = random_sequences(lengths, args.sequences, letters, args.alphabet);
        let exact = reference_sketches(&tables, &sequences)?;
        for form in &forms {
            let sketcher = sketcher.clone().form((*form).into());
            let (on_device, sketches) = time_on_device(&device, &sketcher, &sequences, args.runs)?;
            let (calls, called) = time_whole(args.runs, || sketcher.sketch(&device, &sequences))?;
            for sketches in [&sketches, &called] {
                let form = (*form).into();
                check_sketches(form, &tables, sequences.longest(), sketches, &exact);
            }
            let name = form.to_possible_value().expect("not skipped");
            println!(
                "{:<8} {:>9} {:>10} {:>9} {:>2} {:>4} {:>24} {:>24} {:>8.1e}",
                name.get_name(),
                sequences.len(),
                sequences.total_length(),
                sequences.longest(),
                args.tuple,
                args.dim,
                on_device.to_string(),
                calls.to_string(),
                largest_error(&sketches, &exact),
            );
            if let Some(csv) = &mut csv {
                writeln!(
                    csv,
                    "{},{},{},{},{:.4},{:.4},{:.4},{:.4}",
                    name.get_name(),
                    sequences.len(),
                    sequences.total_length(),
                    sequences.longest(),
                    on_device.median,
                    on_device.least,
                    on_device.most,
                    calls.median
                )?;
            }
        }
    }
    Ok(())
}

/// In `f64`, letter by letter.
fn reference_sketches(tables: &Tables, sequences: &Sequences) -> gridstride::Result<Array2<f64>> {
    let reference = TensorSketch::new(tables.clone()).normalize(true).double();
    reference
        .form(Form::Direct)
        .sketch(&Device::cpu(), sequences)
}

fn time_windows<T: Entry>(
    device: &Device,
    sketcher: &TensorSketch<T>,
    letters: usize,
    width: usize,
    stride: usize,
    runs: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let alphabet = sketcher.tables().alphabet_size();
    let sequence = random_sequences(Lengths::Equal, 1, letters, alphabet);
    let codes = sequence.get(0).expect("one sequence");
    let (times, sketches) = time_whole(runs, || sketcher.windows(device, codes, width, stride))?;
    // A few windows by themselves: drift would show in the last ones.
    let count = sketches.nrows();
    let checked: Vec<usize> = (0..8).map(|i| (count - 1) * i / 7).collect();
    let alone: Sequences = checked
        .iter()
        .map(|i| &sequence.codes()[i * stride..i * stride + width])
        .collect();
    let exact = reference_sketches(sketcher.tables(), &alone)?;
    let sample = sketches.select(Axis(0), &checked);
    check_sketches(Form::Fourier, sketcher.tables(), width, &sample, &exact);
    println!(
        "{count} windows of {width} letters at every {stride}-th of {letters}: {times} ms for the call, error {:.1e}",
        largest_error(&sample, &exact)
    );
    Ok(())
}

/// From sequences on the device to sketches there, and the sketches.
fn time_on_device<T: Entry>(
    device: &Device,
    sketcher: &TensorSketch<T>,
    sequences: &Sequences,
    runs: usize,
) -> gridstride::Result<(Times, Array2<T>)> {
    let uploaded = sequences.upload(device)?;
    let (times, sketches) = time(device, runs, &|| sketcher.sketch_device(&uploaded))?;
    Ok((times, sketches.download()?))
}

fn largest_error<T: Entry>(sketches: &Array2<T>, exact: &Array2<f64>) -> f64 {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let rows = sketches.axis_iter(Axis(0)).zip(exact.axis_iter(Axis(0)));
    largest(rows.map(|(sketch, exact)| {
        let pairs = sketch.iter().zip(&exact);
        let error = norm(&mut pairs.map(|(&a, &b)| a.to_f64() - b));
        error / norm(&mut exact.iter().copied()).max(f64::MIN_POSITIVE)
    }))
}

/// Random letters: `count` sequences that have about `letters` together.
fn random_sequences(lengths: Lengths, count: usize, letters: usize, alphabet: usize) -> Sequences {
    let mut random = Random(1);
    let rest = (count - 1).max(1) as f64;
    let weights: Vec<f64> = (0..count)
        .map(|i| match lengths {
            Lengths::Equal => 1.0,
            Lengths::LogNormal => (1.2 * random.normal()).exp(),
            Lengths::Longest(share) if i == 0 => share,
            Lengths::Longest(share) => (1.0 - share) / rest,
        })
        .collect();
    let sum: f64 = weights.iter().sum();
    let mut sequences = Sequences::new();
    for weight in weights {
        let length = (weight / sum * letters as f64) as usize;
        let codes: Vec<u8> = (0..length).map(|_| random.below(alphabet) as u8).collect();
        sequences.push(&codes).expect("memory for the sequences");
    }
    sequences
}
