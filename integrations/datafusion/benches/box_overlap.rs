//! Times a join of two tables in Parquet files on overlapping boxes.
//!
//!     cargo bench --bench box_overlap -- --device cuda --boxes 100000000 --folder target/boxes
//!
//! Writes two tables to the folder unless they are there: boxes at random places of the unit cube, so large that each
//! overlaps one of the other table on average, in 16 files each. `read` reads and decodes both tables and drops them.
//! All times are medians by the clock from the plan to the last row, with the least and the most. All devices have to
//! find the same number of pairs, and the same sum of their numbers.

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use common::{Checksum, FILES, Measured, measure, run, uniform};
use datafusion::arrow::array::{
    AsArray, FixedSizeListArray, Float32Array, Int64Array, RecordBatch,
};
use datafusion::arrow::compute::sum;
use datafusion::arrow::datatypes::{DataType, Field, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::prelude::{SessionConfig, SessionContext};

#[derive(Parser)]
struct Args {
    /// Where gridstride computes: auto, cpu, cuda, cuda:N or simulator; several with commas.
    #[arg(long, value_delimiter = ',', default_value = "cpu")]
    device: Vec<String>,
    /// Boxes in each of the two tables.
    #[arg(long, default_value_t = 1_000_000)]
    boxes: usize,
    /// Where the files are, or will be.
    #[arg(long)]
    folder: PathBuf,
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Rows of a batch of the engine.
    #[arg(long, default_value_t = 65_536)]
    batch: usize,
    /// Options of the join, such as `bins=256`.
    #[arg(long, default_value = "")]
    options: String,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Returns rows of one of the tables.
fn batch(table: usize, boxes: usize, rows: std::ops::Range<usize>) -> Result<RecordBatch> {
    // The chance that two such boxes overlap is the cube of the sum of their edges.
    let edge = 0.5 / (boxes as f64).cbrt();
    let limits = rows.clone().flat_map(|row| {
        let axis = |axis| uniform(((table * boxes + row) * 3 + axis) as u64);
        let min = [axis(0), axis(1), axis(2)];
        let max = min.map(|min| min + edge);
        [min, max].concat().into_iter().map(|limit| limit as f32)
    });
    let limits = Float32Array::from_iter_values(limits);
    let item = Arc::new(Field::new("item", DataType::Float32, false));
    let list = FixedSizeListArray::try_new(item, 6, Arc::new(limits), None)?;
    let ids = Int64Array::from_iter_values(rows.map(|row| row as i64));
    Ok(RecordBatch::try_from_iter([
        ("id", Arc::new(ids) as _),
        ("box", Arc::new(list) as _),
    ])?)
}

/// The pairs, and the sums of the two columns of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pairs {
    pairs: usize,
    sums: [i64; 2],
}

impl Checksum for Pairs {
    fn add_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        self.pairs += batch.num_rows();
        for (total, name) in self.sums.iter_mut().zip(["a_id", "b_id"]) {
            if let Some(ids) = batch.column_by_name(name) {
                *total += sum(ids.as_primitive::<Int64Type>()).unwrap_or(0);
            }
        }
        Ok(())
    }

    fn add(&mut self, other: &Pairs) {
        self.pairs += other.pairs;
        self.sums = [0, 1].map(|side| self.sums[side] + other.sums[side]);
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let args = Args::parse();
    let ctx = SessionContext::new_with_config(SessionConfig::new().with_batch_size(args.batch));
    gridstride_datafusion::register(&ctx)?;
    for (number, name) in ["a", "b"].into_iter().enumerate() {
        let folder = (args.folder).join(format!("{}_{name}", args.boxes));
        let share = args.boxes.div_ceil(FILES);
        common::write_files(&folder, args.boxes, share, &|rows| {
            batch(number, args.boxes, rows)
        })?;
        let folder = folder.display();
        run(
            &ctx,
            &format!("CREATE EXTERNAL TABLE {name} STORED AS PARQUET LOCATION '{folder}/'"),
        )
        .await?;
    }
    let shown = ["searches", "search_time", "take_time"];
    let timed = async |name: &str, sql: &str| -> Result<Measured<Pairs>> {
        let measured = measure(&ctx, sql, args.runs).await?;
        measured.print(name, args.boxes, "boxes", "BoxOverlapExec", &shown);
        Ok(measured)
    };
    timed("read", "SELECT * FROM a UNION ALL SELECT * FROM b").await?;
    let mut first = None;
    for device in &args.device {
        run(&ctx, &format!("SET gridstride.device = '{device}'")).await?;
        let options = match &args.options[..] {
            "" => String::new(),
            options => format!(", 'inner', '{options}'"),
        };
        let sql = format!("SELECT a_id, b_id FROM box_overlap('a', 'box', 'b', 'box'{options})");
        let found = timed(&format!("box_overlap, {device}"), &sql)
            .await?
            .checksum;
        if *first.get_or_insert(found) != found {
            return exec_err!("{device}: {found:?} instead of {first:?}");
        }
    }
    println!("{} pairs", first.unwrap_or_default().pairs);
    Ok(())
}
