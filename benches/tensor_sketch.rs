//! Times the tensor sketch on random letters: by events from sequences in the device's memory to sketches there (by the clock
//! on the CPU), and whole calls from and to the host's memory.
//!
//!     cargo bench -p gridstride_benches --features cuda --bench tensor_sketch -- --device cuda
//!
//! Sketches are compared with exact ones, those of the direct form on the CPU in `f64`. The error is the largest
//! ‖sketch − exact‖ / ‖exact‖ of any sequence.
//!
//! `--sizes` goes from 10⁵ letters upwards, `--sweep` gives one sequence a growing share of all letters, in both forms, and
//! `--windows W:S` sketches the windows of one sequence.

mod common;

use clap::{Parser, ValueEnum};
use common::{
    Clock, DeviceName, Measured, Random, check_sketches, grouped, largest, show, time, time_whole,
    unit,
};
use gridstride::Device;
use gridstride::tensor_sketch::{Entry, Form, Sequences, Tables, TensorSketch};
use ndarray::{Array2, Axis};

/// Letters in all, by default.
const LETTERS: usize = 100_000_000;

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

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    match args.f64 {
        false => run(&args, |sketcher| sketcher),
        true => run(&args, TensorSketch::double),
    }
}

fn run<T: Entry>(
    args: &Args,
    precision: impl Fn(TensorSketch) -> TensorSketch<T>,
) -> anyhow::Result<()> {
    let device = args.device.open()?;
    let tables = Tables::from_seed(args.alphabet, args.tuple, args.dim, 1)?;
    let sketcher = precision(TensorSketch::new(tables).normalize(true)).form(args.form.into());
    println!("{}", device.info());
    if let Some((width, stride)) = args.windows {
        let letters = args.letters.unwrap_or(10_000_000);
        return time_windows(&device, &sketcher, letters, width, stride, args.runs);
    }
    let letters = args.letters.unwrap_or(match (args.device, args.sweep) {
        (DeviceName::Simulator, _) => 100_000,
        (_, false) => LETTERS,
        (_, true) => 20_000_000,
    });
    if args.sweep {
        return sweep(args, &device, &sketcher, letters);
    }
    if args.sizes {
        for letters in (5..=8).map(|power| 10usize.pow(power)) {
            let case = format!("equal lengths, {} letters", grouped(letters));
            measure(args, &device, &sketcher, &case, Lengths::Equal, letters)?;
        }
        return Ok(());
    }
    let cases = match args.sequences {
        1 => &[("one sequence", Lengths::Equal)][..],
        _ => &[
            ("equal lengths", Lengths::Equal),
            ("log-normal lengths", Lengths::LogNormal),
        ],
    };
    for &(name, lengths) in cases {
        let case = format!("{name}{}", differences::<T>(args, letters));
        measure(args, &device, &sketcher, &case, lengths, letters)?;
    }
    Ok(())
}

/// What is not as by default.
fn differences<T: Entry>(args: &Args, letters: usize) -> String {
    let all = [
        (args.f64, T::NAME.to_owned()),
        (args.form == FormArg::Direct, "direct form".to_owned()),
        (args.tuple != 4, format!("t = {}", args.tuple)),
        (args.dim != 96, format!("D = {}", args.dim)),
        (
            args.alphabet != 4,
            format!("an alphabet of {}", args.alphabet),
        ),
        (
            ![1, 1410].contains(&args.sequences),
            format!("{} sequences", grouped(args.sequences)),
        ),
        (letters != LETTERS, format!("{} letters", grouped(letters))),
    ];
    let all = all.into_iter().filter(|(is_other, _)| *is_other);
    all.map(|(_, what)| format!(", {what}")).collect()
}

fn measure<T: Entry>(
    args: &Args,
    device: &Device,
    sketcher: &TensorSketch<T>,
    case: &str,
    lengths: Lengths,
    letters: usize,
) -> anyhow::Result<()> {
    let sequences = random_sequences(lengths, args.sequences, letters, args.alphabet);
    let (tables, longest) = (sketcher.tables(), sequences.longest());
    let exact = reference_sketches(tables, &sequences)?;
    let there = sequences.upload(device)?;
    let (on_device, sketches) = time(device, args.runs, &|| sketcher.sketch_device(&there))?;
    let sketches = sketches.download()?;
    let (calls, called) = time_whole(args.runs, || sketcher.sketch(device, &sequences))?;
    let bytes = sequences.total_length() + sketches.len() * size_of::<T>();
    for (clock, times, sketches) in [
        (Clock::Device, on_device, sketches),
        (Clock::Call, calls, called),
    ] {
        check_sketches(args.form.into(), tables, longest, &sketches, &exact);
        let row = Measured::new(case, clock, times).bytes(bytes).operations(
            operations(tables, args.form, sequences.total_length()),
            unit(T::NAME),
        );
        show(&row.error(largest_error(&sketches, &exact)))?;
    }
    Ok(())
}

/// Multiply-adds of all letters, each two operations: t·D of a letter in the direct form. In the Fourier form words of four
/// letters are added to a state of t complex numbers for each frequency: t(t − 1)/2 complex multiply-adds, which are four real
/// ones, and t complex additions of the words' own numbers, which are two.
fn operations(tables: &Tables, form: FormArg, letters: usize) -> u64 {
    let (t, dim) = (tables.tuple_length(), tables.dim());
    let of_a_letter = match form {
        FormArg::Direct => 2 * t * dim,
        FormArg::Fourier => t * t * (dim / 2 + 1),
    };
    (of_a_letter * letters) as u64
}

/// By the length of the longest sequence.
fn sweep<T: Entry>(
    args: &Args,
    device: &Device,
    sketcher: &TensorSketch<T>,
    letters: usize,
) -> anyhow::Result<()> {
    let smallest = 1.0 / args.sequences as f64;
    for share in [smallest, 0.01, 0.03, 0.1, 0.3, 1.0] {
        let lengths = Lengths::Longest(share);
        let sequences = random_sequences(lengths, args.sequences, letters, args.alphabet);
        let (tables, longest) = (sketcher.tables(), sequences.longest());
        let exact = reference_sketches(tables, &sequences)?;
        let there = sequences.upload(device)?;
        for (line, form) in [
            ("direct form", Form::Direct),
            ("Fourier form", Form::Fourier),
        ] {
            let sketcher = sketcher.clone().form(form);
            let (times, sketches) = time(device, args.runs, &|| sketcher.sketch_device(&there))?;
            let sketches = sketches.download()?;
            check_sketches(form, tables, longest, &sketches, &exact);
            let row = Measured::at(line, longest as u64, Clock::Device, times);
            show(&row.error(largest_error(&sketches, &exact)))?;
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
) -> anyhow::Result<()> {
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
    let case = format!(
        "windows of {}, stride {stride}, {} letters",
        grouped(width),
        grouped(letters)
    );
    let row = Measured::new(case, Clock::Call, times);
    let bytes = letters + sketches.len() * size_of::<T>();
    show(&row.bytes(bytes).error(largest_error(&sample, &exact)))?;
    Ok(())
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
