//! The function `sketch_distance`.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, FixedSizeListArray, Float32Array, RecordBatch};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Field};

use crate::support::{Random, register, rows, session, sorted};

/// Returns lists of 3 small whole numbers, some null, and some with a null in them.
fn lists(random: &mut Random, rows: usize) -> ArrayRef {
    let number = |i| (i % 31 != 7).then(|| random.below(9) as f32 - 4.0);
    let numbers: Float32Array = (0..3 * rows).map(number).collect();
    let item = Arc::new(Field::new_list_field(DataType::Float32, true));
    let nulls = NullBuffer::from_iter((0..rows).map(|row| row % 7 != 2));
    Arc::new(FixedSizeListArray::new(
        item,
        3,
        Arc::new(numbers),
        Some(nulls),
    ))
}

/// DataFusion's own distance of lists agrees, except where there are nulls in lists.
#[tokio::test]
async fn distances_agree_with_those_of_the_engine() {
    let mut random = Random(4);
    let columns = [
        ("a", lists(&mut random, 100)),
        ("b", lists(&mut random, 100)),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let context = session("cpu", 3, 16).await;
    register(&context, "pairs", &batch, 3, &mut random);
    let double = |column| format!("arrow_cast({column}, 'FixedSizeList(3, Float64)')");
    let one = "arrow_cast([1, 2, 3], 'FixedSizeList(3, Float32)')";
    let array = |column| format!("arrow_cast({column}, 'List(Float64)')");
    for (a, b, data_type) in [
        ("a", "b", "Float32"),
        (&double("a"), "b", "Float64"),
        ("a", &double("b"), "Float64"),
        ("a", one, "Float32"),
        (one, "b", "Float32"),
    ] {
        let ours = format!("sketch_distance({a}, {b})");
        let expected = format!("array_distance({}, {})", array(a), array(b));
        let query =
            format!("SELECT arrow_typeof({ours}), {ours}, CAST({expected} AS FLOAT) FROM pairs");
        let mut some = 0;
        for row in sorted(&context, &query).await {
            let cells: Vec<_> = row.split('|').collect();
            assert_eq!(cells[0], data_type);
            if !cells[1].is_empty() {
                let [ours, expected]: [f64; 2] = [1, 2].map(|cell| cells[cell].parse().unwrap());
                assert!((ours - expected).abs() < 1e-6, "{ours} {expected}");
                some += 1;
            }
        }
        assert!(some > 40, "{some}");
    }
    let nulls = "SELECT count(*) FROM pairs WHERE (sketch_distance(a, b) IS NULL) != \
                 (a IS NULL OR b IS NULL OR array_has_any(CAST(a AS FLOAT[]), [NULL]) \
                 OR array_has_any(CAST(b AS FLOAT[]), [NULL]))";
    assert_eq!(rows(&context, nulls).await.unwrap(), ["0"]);
    let query = "SELECT sketch_distance(NULL, a) IS NULL, count(*) FROM pairs GROUP BY 1";
    assert_eq!(rows(&context, query).await.unwrap(), ["true|100"]);
    let query = "SELECT sketch_distance(NULL, NULL) IS NULL, count(*) FROM pairs GROUP BY 1";
    assert_eq!(rows(&context, query).await.unwrap(), ["true|100"]);
}
