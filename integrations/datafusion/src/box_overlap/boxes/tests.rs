//! The memory of the views, and the rows that are left out.

use std::sync::Arc;

use datafusion::arrow::array::{FixedSizeListArray, Float32Array, Int32Array};
use datafusion::arrow::datatypes::Field;
use gridstride::ndarray::array;

use super::*;

fn columns(columns: &[usize]) -> BoxColumns {
    BoxColumns {
        table: "parts".to_owned(),
        columns: columns.to_vec(),
    }
}

fn list(numbers: Float32Array, nulls: Option<Vec<bool>>) -> RecordBatch {
    let field = Arc::new(Field::new_list_field(DataType::Float32, true));
    let nulls = nulls.map(NullBuffer::from);
    let lists = FixedSizeListArray::new(field, 4, Arc::new(numbers), nulls);
    RecordBatch::try_from_iter([("box", Arc::new(lists) as ArrayRef)]).unwrap()
}

fn three() -> Float32Array {
    (0..12).map(|i| Some(i as f32)).collect()
}

#[test]
fn lists_without_nulls_are_views_of_the_same_memory() {
    let numbers = three();
    let place = numbers.values().as_ptr();
    let batch = list(numbers, None);
    let boxes = Boxes::<f32>::new(&columns(&[0]), &batch, 0).unwrap();
    assert_eq!(boxes.view().as_ptr(), place);
    assert_eq!((boxes.len(), boxes.copied_bytes()), (3, 0));
    let boxes = Boxes::<f32>::new(&columns(&[0]), &batch.slice(1, 2), 0).unwrap();
    assert_eq!(boxes.view().as_ptr(), place.wrapping_add(4));
    assert_eq!(
        boxes.view(),
        array![[4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]
    );
}

#[test]
fn null_boxes_are_left_out() {
    let batch = list(three(), Some(vec![true, false, true]));
    let boxes = Boxes::<f32>::new(&columns(&[0]), &batch, 0).unwrap();
    assert_eq!(
        boxes.view(),
        array![[0.0, 1.0, 2.0, 3.0], [8.0, 9.0, 10.0, 11.0]]
    );
    assert_eq!([boxes.row(0), boxes.row(1)], [0, 2]);
    assert_eq!(boxes.copied_bytes(), 8 * 4 + 2 * 4);
}

#[test]
fn a_box_with_a_null_number_is_null() {
    let numbers = (0..12).map(|i| (i != 5).then_some(i as f32)).collect();
    let boxes = Boxes::<f32>::new(&columns(&[0]), &list(numbers, None), 0).unwrap();
    assert_eq!([boxes.row(0), boxes.row(1)], [0, 2]);
    assert_eq!(boxes.len(), 2);
}

#[test]
fn columns_of_numbers_are_interleaved() {
    let column = |numbers: [Option<i32>; 3]| Arc::new(Int32Array::from_iter(numbers)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([
        ("x1", column([Some(3), Some(13), Some(23)])),
        ("x0", column([Some(1), Some(11), Some(21)])),
        ("y0", column([Some(2), None, Some(22)])),
        ("y1", column([Some(4), Some(14), Some(24)])),
    ]);
    let boxes = Boxes::<i32>::new(&columns(&[1, 2, 0, 3]), &batch.unwrap(), 0).unwrap();
    assert_eq!(boxes.view(), array![[1, 2, 3, 4], [21, 22, 23, 24]]);
    assert_eq!([boxes.row(0), boxes.row(1)], [0, 2]);
}

#[test]
fn rows_that_are_no_boxes_are_named() {
    let numbers: Vec<f32> = vec![0.0, 0.0, 1.0, 1.0, 0.0, 2.0, 1.0, 1.0];
    let batch = list(numbers.into(), None);
    let error = Boxes::<f32>::new(&columns(&[0]), &batch, 100)
        .unwrap_err()
        .to_string();
    let expected = "row 101 of the partition of parts[box] is no box: along y the minimum 2.0 is \
                    above the maximum 1.0";
    assert!(error.contains(expected), "{error}");
    let numbers: Vec<f32> = vec![f32::NAN, 0.0, 1.0, 1.0];
    let error = AnyBoxes::new(&columns(&[0]), &list(numbers.into(), None), 0).unwrap_err();
    assert!(
        error.to_string().contains("along x the minimum is NaN"),
        "{error}"
    );
}
