//! The function `tensor_sketch`.

use std::sync::{Arc, Mutex};

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, RecordBatch, StringArray,
};
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::{DataType, Field, Float32Type};
use datafusion::common::ScalarValue;
use datafusion::prelude::lit;
use gridstride::Device;
use gridstride::ndarray::Array2;
use gridstride::tensor_sketch::{Alphabet, Sequences, Tables, TensorSketch, Unknown};
use gridstride_datafusion::sketch::tensor_sketch;
use log::{LevelFilter, Log, Metadata, Record};

use crate::support::{Random, error, register, rows, session, sorted, texts};

/// Returns a table of an id and a sequence, every fifth null, and some of no letters.
fn table(random: &mut Random, rows: usize) -> RecordBatch {
    let sequence = |row| (row % 5 != 3).then(|| random.letters([0, 1, 7, 40][row % 4]));
    let sequences: StringArray = (0..rows).map(sequence).collect();
    let ids: Vec<_> = (0..rows as i64).collect();
    RecordBatch::try_from_iter_with_nullable([
        (
            "id",
            Arc::new(datafusion::arrow::array::Int64Array::from(ids)) as ArrayRef,
            false,
        ),
        ("sequence", Arc::new(sequences), true),
    ])
    .unwrap()
}

/// Returns the sketches that the library computes of the sequences that are not null.
fn expected(batch: &RecordBatch, normalize: bool) -> Array2<f32> {
    let mut sequences = Sequences::new();
    for text in batch.column(1).as_string::<i32>().iter().flatten() {
        let codes = Alphabet::dna()
            .encode(text.as_bytes(), Unknown::Error)
            .unwrap()
            .codes;
        sequences.push(codes).unwrap();
    }
    let tables = Tables::from_seed(4, 3, 16, 7).unwrap();
    let sketcher = TensorSketch::new(tables).normalize(normalize);
    sketcher.sketch(&Device::cpu(), &sequences).unwrap()
}

fn sketches(batch: &RecordBatch) -> &FixedSizeListArray {
    batch.column(1).as_fixed_size_list()
}

/// Literals may have any type of integers, and sequences any type of bytes.
#[tokio::test]
async fn literals_of_other_types() {
    let context = session("cpu", 1, 8192).await;
    let bytes = |text: &str| ScalarValue::FixedSizeBinary(4, Some(text.as_bytes().to_vec()));
    let one = tensor_sketch().call(vec![lit(bytes("ACGT")), lit(8u8), lit(2i16), lit(u64::MAX)]);
    let other = tensor_sketch().call(vec![lit("ACGT"), lit(8), lit(2), lit(u64::MAX)]);
    let frame = context
        .read_empty()
        .unwrap()
        .select(vec![one.eq(other)])
        .unwrap();
    assert_eq!(texts(&frame.collect().await.unwrap()), ["true"]);
}

/// All types, splits into partitions and batches, and devices give the library's sketches.
#[tokio::test]
async fn sketches_are_those_of_the_library() {
    let mut random = Random(1);
    let batch = table(&mut random, 60);
    let types = [
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Utf8View,
        DataType::Binary,
        DataType::LargeBinary,
        DataType::BinaryView,
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
    ];
    for (number, data_type) in types.into_iter().enumerate() {
        let normalize = number % 2 == 1;
        let device = if number == 2 { "simulator" } else { "cpu" };
        let context = session(device, 1 + number % 3, 1 + 16 * number).await;
        let sequence = cast(batch.column(1), &data_type).unwrap();
        let columns = [
            ("id", batch.column(0).clone(), false),
            ("sequence", sequence, true),
        ];
        let typed = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        register(&context, "reads", &typed, 1 + number % 3, &mut random);
        let options = if normalize { ", NULL, 'normalize'" } else { "" };
        let query = format!("SELECT id, tensor_sketch(sequence, 16, 3, 7{options}) FROM reads");
        let found = context
            .sql(&query)
            .await
            .unwrap()
            .sort_by(vec![datafusion::prelude::col("id")]);
        let found = found.unwrap().collect().await.unwrap();
        let found = concat_batches(&found[0].schema(), &found).unwrap();

        let item = Arc::new(Field::new_list_field(DataType::Float32, true));
        assert_eq!(
            found.column(1).data_type(),
            &DataType::FixedSizeList(item, 16)
        );
        assert_eq!(
            found.column(1).logical_nulls(),
            batch.column(1).logical_nulls()
        );
        let valid: Vec<_> = (0..60)
            .filter(|&row| found.column(1).is_valid(row))
            .collect();
        for (row, sketch) in valid.into_iter().zip(expected(&batch, normalize).rows()) {
            let values = sketches(&found).value(row);
            let values = values.as_primitive::<Float32Type>();
            for (value, expected) in values.values().iter().zip(sketch) {
                assert!(
                    (value - expected).abs() <= 1e-3 * expected.abs().max(1.0),
                    "row {row}"
                );
            }
        }
    }
}

#[tokio::test]
async fn literals_of_sequences_and_alphabets() {
    let context = session("cpu", 1, 8192).await;
    let cell = async |expression: &str| rows(&context, &format!("SELECT {expression}")).await;
    // Pairs of equal letters fall on one place: C(4, 2) of them.
    let sketch = cell("tensor_sketch('0000', 1, 2, 0, '0')").await.unwrap();
    assert!(["[6.0]", "[-6.0]"].contains(&&*sketch[0]), "{sketch:?}");
    let normalized = cell("tensor_sketch('0000', 1, 2, 0, '0', ' normalize,')")
        .await
        .unwrap();
    assert!(
        ["[1.0]", "[-1.0]"].contains(&&*normalized[0]),
        "{normalized:?}"
    );
    for same in [
        "tensor_sketch('ACGU', 8, 2, 3) = tensor_sketch('acgt', 8, 2, 3, 'DNA')",
        "tensor_sketch('NACxGT', 8, 2, 3, 'dna', 'skip') = tensor_sketch('ACGT', 8, 2, 3)",
        "tensor_sketch('ACGT', 8, 2, 3, 'ACGT') = tensor_sketch('ACGT', 8, 2, 3)",
        "tensor_sketch('MKV', 64, 2, 3, 'protein') != tensor_sketch('MKW', 64, 2, 3, 'protein')",
        "tensor_sketch(NULL, 8, 2, 3) IS NULL",
        "tensor_sketch('', 8, 2, 3) IS NOT NULL",
    ] {
        assert_eq!(cell(same).await.unwrap(), ["true"], "{same}");
    }
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let context = session("cpu", 1, 8192).await;
    let batch = table(&mut Random(2), 8);
    register(&context, "reads", &batch, 1, &mut Random(3));
    for (call, expected) in [
        (
            "tensor_sketch('ACNT', 8, 2, 0)",
            "tensor_sketch: in row 0 of a batch, letter 3 is 'N' (byte 78), after 'AC': it is not in \
             the alphabet. The option 'skip' leaves such bytes out",
        ),
        (
            "tensor_sketch('ACGTACGTACGTACGTACGTAC-', 8, 2, 0)",
            "after '…GTACGTACGTACGTACGTAC'",
        ),
        (
            "tensor_sketch('A', 0, 2, 0)",
            "argument 2, dim, is 0, not a whole number from 1 to 4096",
        ),
        (
            "tensor_sketch('A', 8, 9, 0)",
            "argument 3, tuple, is 9, not a whole number from 1 to 8",
        ),
        (
            "tensor_sketch('A', 8.5, 2, 0)",
            "argument 2, dim, is 8.5 of type Float64, not a whole number",
        ),
        (
            "tensor_sketch('A', 4.0, 2, 0)",
            "argument 2, dim, is 4 of type Float64, not a whole number",
        ),
        (
            "tensor_sketch('ä', 8, 2, 0, 'äö')",
            "argument 5, alphabet, is 'äö', and has letters beyond ASCII",
        ),
        (
            "tensor_sketch('A', 8, 2, -1)",
            "argument 4, seed, is -1, not a whole",
        ),
        (
            "tensor_sketch(sequence, id, 2, 0)",
            "argument 2, dim, is not a literal, such as 96",
        ),
        (
            "tensor_sketch('A', 8, 2, 0, 'AA')",
            "argument 5, alphabet, is 'AA', neither 'dna' nor",
        ),
        (
            "tensor_sketch('A', 8, 2, 0, 5)",
            "argument 5, alphabet, is 5, not a text in quotes",
        ),
        (
            "tensor_sketch('A', 8, 2, 0, 'dna', 'x')",
            "there is no option 'x': possible are normalize",
        ),
        (
            "tensor_sketch('A', 8, 2)",
            "takes 4 to 6 arguments, and there are 3",
        ),
        (
            "tensor_sketch(id, 8, 2, 0)",
            "argument 1, sequence, has the type Int64, and not text",
        ),
        (
            "sketch_distance([1.0], [2.0])",
            "and not FixedSizeList of Float32 or Float64: arrow_cast",
        ),
        (
            "sketch_distance(tensor_sketch('A', 8, 2, 0), tensor_sketch('A', 9, 2, 0))",
            "one argument has 8 numbers, the other 9: both need the same dimension",
        ),
        (
            "sketch_distance(tensor_sketch('A', 8, 2, 0))",
            "takes 2 arguments, and there are 1",
        ),
    ] {
        let message = error(&context, &format!("SELECT {call} FROM reads")).await;
        assert!(message.contains(expected), "{call}: {message}");
    }
}

/// Sketches keep their type in Parquet files.
#[tokio::test]
async fn sketches_in_parquet_files() {
    let folder = tempfile::tempdir().unwrap();
    let context = session("cpu", 2, 8192).await;
    register(
        &context,
        "reads",
        &table(&mut Random(5), 40),
        2,
        &mut Random(6),
    );
    let sketch = "SELECT id, tensor_sketch(sequence, 16, 3, 7) AS sketch FROM reads";
    let path = format!("{}/sketches/", folder.path().display());
    rows(
        &context,
        &format!("COPY ({sketch}) TO '{path}' STORED AS PARQUET"),
    )
    .await
    .unwrap();
    let create = format!("CREATE EXTERNAL TABLE sketches STORED AS PARQUET LOCATION '{path}'");
    rows(&context, &create).await.unwrap();
    let query = "SELECT id, sketch_distance(a.sketch, b.sketch) FROM sketches a JOIN \
                 (SELECT id AS b_id, tensor_sketch(sequence, 16, 3, 7) AS sketch FROM reads) b \
                 ON a.id = b.b_id";
    let distances = sorted(&context, query).await;
    assert_eq!(distances.len(), 40);
    assert!(
        distances
            .iter()
            .all(|row| row.ends_with("|0.0") || row.ends_with('|'))
    );
    assert_eq!(distances.iter().filter(|row| row.ends_with('|')).count(), 8);
}

/// The messages of this program's log.
static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Logged;

impl Log for Logged {
    fn enabled(&self, _: &Metadata) -> bool {
        true
    }

    fn log(&self, record: &Record) {
        LOGGED.lock().unwrap().push(record.args().to_string());
    }

    fn flush(&self) {}
}

/// Sequences without a tuple have sketches of zeros, which the log says.
#[tokio::test]
async fn short_sequences_are_logged() {
    log::set_logger(&Logged).unwrap();
    log::set_max_level(LevelFilter::Warn);
    let context = session("cpu", 1, 8192).await;
    let texts: StringArray = [Some("ACGT"), None, Some("AC"), Some(""), Some("ACG")]
        .into_iter()
        .collect();
    let batch = RecordBatch::try_from_iter([("sequence", Arc::new(texts) as ArrayRef)]).unwrap();
    context.register_batch("short", batch).unwrap();
    rows(
        &context,
        "SELECT tensor_sketch(sequence, 8, 3, 5) FROM short",
    )
    .await
    .unwrap();
    let said = "tensor_sketch: 2 of 4 sequences are shorter than a tuple of 3 letters, and their sketches \
                are zero: row 2 of a batch, row 3 of a batch";
    let logged = LOGGED.lock().unwrap();
    assert!(logged.iter().any(|message| message == said), "{logged:?}");
}
