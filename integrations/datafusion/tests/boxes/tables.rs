//! Random tables of boxes, and sessions that join them.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, ArrowPrimitiveType, FixedSizeListArray, Int64Array, PrimitiveArray, RecordBatch,
    StringArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{Field, Float32Type, Float64Type, Int32Type};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::Result;
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};

/// All joins, as the function names them.
pub const JOINS: [&str; 4] = ["inner", "left", "semi", "anti"];

/// Numbers that look random and are the same in every run: SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % bound as u64) as usize
    }

    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coordinates {
    F32,
    F64,
    I32,
}

/// The columns of a table's boxes in the order of the library: `x0,y0,z0,x1,y1,z1` or without z.
pub fn box_columns(axes: usize) -> Vec<&'static str> {
    let minima = &["x0", "y0", "z0"][..axes];
    let maxima = &["x1", "y1", "z1"][..axes];
    [minima, maxima].concat()
}

/// Returns rows of id, name, box as a list, and box as columns; one of 10 is null, some are equal.
/// Coordinates are multiples of 0.5, so that boxes touch each other and the tiles; some boxes are
/// points, some span everything.
pub fn table(
    random: &mut Random,
    rows: usize,
    axes: usize,
    coordinates: Coordinates,
) -> RecordBatch {
    let mut boxes: Vec<Option<Vec<f64>>> = Vec::new();
    for row in 0..rows {
        if row > 0 && random.below(8) == 0 {
            let earlier = random.below(row);
            boxes.push(boxes[earlier].clone());
            continue;
        }
        let scale = if coordinates == Coordinates::I32 {
            1.0
        } else {
            0.5
        };
        let reach = random.one_of(&[1, 4, 4, 4, 4, 60]);
        let infinite = coordinates != Coordinates::I32 && random.below(20) == 0;
        let (mut minima, mut maxima) = (Vec::new(), Vec::new());
        for _ in 0..axes {
            let min = scale * (random.below(40) as f64 - 20.0);
            minima.push(if infinite {
                random.one_of(&[min, f64::NEG_INFINITY])
            } else {
                min
            });
            let max = min + scale * random.below(reach) as f64;
            maxima.push(if infinite {
                random.one_of(&[max, f64::INFINITY])
            } else {
                max
            });
        }
        minima.extend(maxima);
        boxes.push((random.below(10) > 0).then_some(minima));
    }
    let ids: Int64Array = boxes
        .iter()
        .map(|_| Some(random.below(rows) as i64))
        .collect();
    let names: StringArray = boxes
        .iter()
        .map(|_| (random.below(5) > 0).then(|| "n".repeat(random.below(4))))
        .collect();
    let mut columns: Vec<(&str, ArrayRef)> = vec![("id", Arc::new(ids)), ("name", Arc::new(names))];
    columns.extend(match coordinates {
        Coordinates::F32 => arrays::<Float32Type>(&boxes, axes, |x| x as f32),
        Coordinates::F64 => arrays::<Float64Type>(&boxes, axes, |x| x),
        Coordinates::I32 => arrays::<Int32Type>(&boxes, axes, |x| x as i32),
    });
    RecordBatch::try_from_iter_with_nullable(
        columns
            .into_iter()
            .map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

fn arrays<T: ArrowPrimitiveType>(
    boxes: &[Option<Vec<f64>>],
    axes: usize,
    convert: impl Fn(f64) -> T::Native,
) -> Vec<(&'static str, ArrayRef)> {
    let width = 2 * axes;
    let number =
        |row: usize, column: usize| boxes[row].as_ref().map(|numbers| convert(numbers[column]));
    // The numbers below a null are no box, and must not be read.
    let below_null = |column: usize| convert(if column == 0 { 9.0 } else { -9.0 });
    let numbers = (0..boxes.len() * width).map(|i| {
        let (row, column) = (i / width, i % width);
        number(row, column).unwrap_or(below_null(column))
    });
    let nulls = NullBuffer::from_iter(boxes.iter().map(Option::is_some));
    let list = FixedSizeListArray::new(
        Arc::new(Field::new_list_field(T::DATA_TYPE, true)),
        width as i32,
        Arc::new(PrimitiveArray::<T>::from_iter_values(numbers)),
        Some(nulls),
    );
    let mut columns: Vec<(&str, ArrayRef)> = vec![("box", Arc::new(list))];
    for (column, name) in box_columns(axes).into_iter().enumerate() {
        let numbers: PrimitiveArray<T> = (0..boxes.len()).map(|row| number(row, column)).collect();
        columns.push((name, Arc::new(numbers)));
    }
    columns
}

/// Registers a table whose rows are split into partitions and batches at random.
pub fn register_split(ctx: &SessionContext, name: &str, rows: &RecordBatch, random: &mut Random) {
    let partitions = 1 + random.below(4);
    let mut split: Vec<Vec<RecordBatch>> = vec![Vec::new(); partitions];
    let mut start = 0;
    while start < rows.num_rows() {
        let len = (1 + random.below(40)).min(rows.num_rows() - start);
        split[random.below(partitions)].push(rows.slice(start, len));
        start += len;
    }
    let table = MemTable::try_new(rows.schema(), split).unwrap();
    ctx.deregister_table(name).unwrap();
    ctx.register_table(name, Arc::new(table)).unwrap();
}

/// Adds the tables `l` and `r`, of rows, axes and coordinates, to a session.
pub fn two_tables(
    ctx: SessionContext,
    seed: u64,
    (count, axes, coordinates): (usize, usize, Coordinates),
) -> SessionContext {
    let mut random = Random(seed);
    for name in ["l", "r"] {
        let rows = table(&mut random, count, axes, coordinates);
        register_split(&ctx, name, &rows, &mut random);
    }
    ctx
}

/// Returns a session with some partitions and a batch size.
pub fn session(partitions: usize, batch_size: usize) -> SessionContext {
    let config = SessionConfig::new()
        .with_target_partitions(partitions)
        .with_batch_size(batch_size);
    let ctx = SessionContext::new_with_config(config);
    gridstride_datafusion::register(&ctx).unwrap();
    ctx
}

pub async fn set(ctx: &SessionContext, option: &str, value: impl ToString) {
    let sql = format!("SET gridstride.{option} = '{}'", value.to_string());
    ctx.sql(&sql).await.unwrap().collect().await.unwrap();
}

/// Returns the rows of a query as text, sorted.
pub async fn rows(ctx: &SessionContext, sql: &str) -> Result<Vec<String>> {
    let batches = ctx.sql(sql).await?.collect().await?;
    Ok(lines(&batches))
}

pub fn lines(batches: &[RecordBatch]) -> Vec<String> {
    let text = pretty_format_batches(batches).unwrap().to_string();
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(1)
        .map(|line| line.split_whitespace().collect())
        .collect();
    lines.sort();
    lines
}

/// Returns the text of a plan: EXPLAIN's last row.
pub async fn physical_plan(ctx: &SessionContext, sql: &str) -> String {
    let plan = ctx
        .sql(sql)
        .await
        .unwrap()
        .create_physical_plan()
        .await
        .unwrap();
    let plan = datafusion::physical_plan::displayable(plan.as_ref());
    plan.indent(false).to_string()
}

/// Returns the plain SQL of a join of `l` and `r`.
pub fn reference(axes: usize, join: &str) -> String {
    let overlap: Vec<String> = ["x", "y", "z"][..axes]
        .iter()
        .map(|axis| format!("l.{axis}0 <= r.{axis}1 AND l.{axis}1 >= r.{axis}0"))
        .collect();
    let overlap = overlap.join(" AND ");
    match join {
        "inner" => format!("SELECT l.id, l.name, r.id, r.name FROM l JOIN r ON {overlap}"),
        "left" => format!("SELECT l.id, l.name, r.id, r.name FROM l LEFT JOIN r ON {overlap}"),
        "semi" => format!("SELECT l.id, l.name FROM l LEFT SEMI JOIN r ON {overlap}"),
        _ => format!("SELECT l.id, l.name FROM l LEFT ANTI JOIN r ON {overlap}"),
    }
}

/// Returns the SQL of the same rows by `box_overlap`.
pub fn by_boxes(boxes: &str, join: &str, options: &str) -> String {
    let columns = match join {
        "inner" | "left" => "l_id, l_name, r_id, r_name",
        _ => "id, name",
    };
    format!(
        "SELECT {columns} FROM box_overlap('l', '{boxes}', 'r', '{boxes}', '{join}', '{options}')"
    )
}
