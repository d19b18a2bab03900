//! Arrow arrays as ndarray views and back, without copies.
//!
//! | from | to | copied |
//! |---|---|---|
//! | `PrimitiveArray` without nulls | [`ArrayView1`], by [`view`] | no, also of slices |
//! | `FixedSizeList` of N numbers, without nulls | [`ArrayView2`], n×N, by [`rows`] | no, also of slices |
//! | [`Array1`] | `ScalarBuffer`, by [`into_buffer`] | only elements with gaps |
//! | [`Array2`], n×N | `FixedSizeListArray`, by [`into_list`] | only elements out of order |
//!
//! The number below a null is undefined. The views of arrays with nulls are therefore errors:
//! filter the nulls out first.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrowPrimitiveType, AsArray, FixedSizeListArray, PrimitiveArray,
};
use datafusion::arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::{ArrowNativeType, Field};
use datafusion::common::{Result, exec_err};
use gridstride::ndarray::{Array1, Array2, ArrayView1, ArrayView2};

/// Returns the numbers of an array.
///
/// ```
/// use datafusion::arrow::array::Float64Array;
/// use gridstride::ndarray::array;
///
/// let numbers = Float64Array::from(vec![1.0, 2.0]);
/// let view = gridstride_datafusion::arrow::view(&numbers)?;
/// assert_eq!(view, array![1.0, 2.0]);
/// assert_eq!(view.as_ptr(), numbers.values().as_ptr());
/// # Ok::<(), datafusion::common::DataFusionError>(())
/// ```
///
/// # Errors
/// If there are nulls.
pub fn view<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> Result<ArrayView1<'_, T::Native>> {
    require_valid(array)?;
    Ok(ArrayView1::from(&array.values()[..]))
}

/// Returns the rows of a list array, n lists of N numbers each: n×N.
///
/// ```
/// use datafusion::arrow::array::FixedSizeListArray;
/// use datafusion::arrow::datatypes::Float32Type;
/// use gridstride::ndarray::array;
///
/// let boxes = gridstride_datafusion::arrow::into_list::<Float32Type>(
///     array![[0.0, 1.0], [2.0, 3.0]],
///     None,
/// );
/// let view = gridstride_datafusion::arrow::rows::<Float32Type>(&boxes)?;
/// assert_eq!(view, array![[0.0, 1.0], [2.0, 3.0]]);
/// # Ok::<(), datafusion::common::DataFusionError>(())
/// ```
///
/// # Errors
/// If there are nulls, among the lists or in a list, and if the numbers have another type.
pub fn rows<T: ArrowPrimitiveType>(
    array: &FixedSizeListArray,
) -> Result<ArrayView2<'_, T::Native>> {
    require_valid(array)?;
    let Some(numbers) = array.values().as_primitive_opt::<T>() else {
        return exec_err!(
            "the lists have elements of {}, and not of {}",
            array.value_type(),
            T::DATA_TYPE
        );
    };
    require_valid(numbers)?;
    let shape = (array.len(), array.value_length() as usize);
    match ArrayView2::from_shape(shape, &numbers.values()[..]) {
        Ok(view) => Ok(view),
        Err(error) => exec_err!("{} numbers as {shape:?}: {error}", numbers.len()),
    }
}

fn require_valid(array: &dyn Array) -> Result<()> {
    match array.null_count() {
        0 => Ok(()),
        nulls => exec_err!("{nulls} of {} elements are null", array.len()),
    }
}

/// Converts an array to a buffer.
///
/// ```
/// use gridstride::ndarray::array;
///
/// let numbers = array![1.0, 2.0];
/// let place = numbers.as_ptr();
/// let buffer = gridstride_datafusion::arrow::into_buffer(numbers);
/// assert_eq!((&buffer[..], buffer.as_ptr()), (&[1.0, 2.0][..], place));
/// ```
pub fn into_buffer<T: ArrowNativeType>(array: Array1<T>) -> ScalarBuffer<T> {
    let len = array.len();
    if !array.is_standard_layout() {
        return array.to_vec().into();
    }
    let (elements, offset) = array.into_raw_vec_and_offset();
    ScalarBuffer::new(Buffer::from_vec(elements), offset.unwrap_or(0), len)
}

/// Converts the rows of an array to lists, null where `nulls` says so.
///
/// # Panics
/// If there are more or fewer `nulls` than rows, or more columns than Arrow's lists have elements.
pub fn into_list<T: ArrowPrimitiveType>(
    array: Array2<T::Native>,
    nulls: Option<NullBuffer>,
) -> FixedSizeListArray {
    let (rows, columns) = array.dim();
    let array = match array.is_standard_layout() {
        true => array,
        false => array.as_standard_layout().into_owned(),
    };
    let flat = array.into_shape_with_order(rows * columns);
    let flat = flat.expect("an array in standard layout has any shape of its size");
    let numbers = PrimitiveArray::<T>::new(into_buffer(flat), None);
    let field = Arc::new(Field::new_list_field(T::DATA_TYPE, true));
    let size = i32::try_from(columns).expect("the number of columns fits into Arrow's type");
    let lists =
        FixedSizeListArray::try_new_with_length(field, size, Arc::new(numbers), nulls, rows);
    lists.expect("there are as many numbers and nulls as the rows need")
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{Float32Array, Float64Array};
    use datafusion::arrow::datatypes::{Float32Type, Float64Type};
    use gridstride::ndarray::{Axis, array, s};

    use super::*;

    #[test]
    fn slices_are_views_of_the_same_memory() {
        let numbers = Float64Array::from(vec![1.0, 2.0, 3.0]);
        let slice = numbers.slice(1, 2);
        let found = view(&slice).unwrap();
        assert_eq!(found, array![2.0, 3.0]);
        assert_eq!(found.as_ptr(), numbers.values()[1..].as_ptr());
        assert_eq!(view(&numbers.slice(3, 0)).unwrap().len(), 0);
    }

    #[test]
    fn nulls_are_errors() {
        let numbers = Float64Array::from(vec![Some(1.0), None]);
        let error = view(&numbers).unwrap_err().to_string();
        assert!(error.contains("1 of 2 elements are null"), "{error}");
        assert!(view(&numbers.slice(0, 1)).is_ok());
        let nulls = Some(NullBuffer::from(vec![true, false]));
        let lists = into_list::<Float32Type>(array![[1.0], [2.0]], nulls);
        assert!(rows::<Float32Type>(&lists).is_err());
        assert!(rows::<Float32Type>(&lists.slice(0, 1)).is_ok());
        let field = Arc::new(Field::new_list_field(Float32Type::DATA_TYPE, true));
        let inner = Arc::new(Float32Array::from(vec![Some(1.0), None]));
        assert!(rows::<Float32Type>(&FixedSizeListArray::new(field, 2, inner, None)).is_err());
    }

    #[test]
    fn lists_are_rows_of_the_same_memory() {
        let numbers = array![[0.0f32, 1.0], [2.0, 3.0], [4.0, 5.0]];
        let place = numbers.as_ptr();
        let lists = into_list::<Float32Type>(numbers, None);
        let found = rows::<Float32Type>(&lists).unwrap();
        assert_eq!(found.as_ptr(), place);
        let slice = lists.slice(1, 2);
        let found = rows::<Float32Type>(&slice).unwrap();
        assert_eq!(found, array![[2.0, 3.0], [4.0, 5.0]]);
        assert_eq!(found.as_ptr(), place.wrapping_add(2));
        let error = rows::<Float64Type>(&lists).unwrap_err().to_string();
        assert!(error.contains("Float32, and not of Float64"), "{error}");
    }

    #[test]
    fn arrays_become_buffers_of_the_same_memory() {
        let numbers = array![1i64, 2, 3, 4];
        let place = numbers.as_ptr();
        let slice = numbers.slice_move(s![1..3]);
        let buffer = into_buffer(slice);
        assert_eq!(&buffer[..], [2, 3]);
        assert_eq!(buffer.as_ptr(), place.wrapping_add(1));
    }

    #[test]
    fn rows_without_columns_stay_rows() {
        let lists = into_list::<Float32Type>(Array2::zeros((3, 0)), None);
        assert_eq!(lists.len(), 3);
        assert_eq!(rows::<Float32Type>(&lists).unwrap().dim(), (3, 0));
    }

    #[test]
    fn elements_with_gaps_are_copied_in_order() {
        let buffer = into_buffer(array![1i64, 2, 3, 4].slice_move(s![..;2]));
        assert_eq!(&buffer[..], [1, 3]);
        let mut turned = array![[1.0f32, 2.0], [3.0, 4.0]].reversed_axes();
        turned.invert_axis(Axis(0));
        let lists = into_list::<Float32Type>(turned.clone(), None);
        assert_eq!(rows::<Float32Type>(&lists).unwrap(), turned);
    }
}
