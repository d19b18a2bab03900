//! Labels of Arrow columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::Fault;
use super::group::{Groups, Order, grouped};
use super::keys::{Key, Keys, grouped_by_keys, grouped_integers};
use super::memory::{Inline, Texts, Words};
use crate::arrow::ticks;

/// Groups the labels of an Arrow column. Dictionaries with the order `Appearance` are in the order of
/// the dictionary.
pub fn groups(chunks: &[ArrayRef], order: Order) -> Result<Groups, Fault> {
    let Some(first) = chunks.first() else {
        return Ok(Groups {
            codes: Vec::new(),
            firsts: Vec::new(),
        });
    };
    let data_type = first.data_type();
    if let DataType::Dictionary(..) = data_type {
        return of_dictionary(chunks, order);
    }
    require_valid(chunks)?;
    if let Some(texts) = chunks.iter().map(Inline::of).collect::<Option<Vec<_>>>() {
        return Ok(grouped(&texts, order));
    }
    let texts = chunks.iter().map(Texts::of).collect::<Option<Vec<_>>>();
    if let Some(texts) = texts {
        return Ok(grouped(&texts, order));
    }
    let mut words = Words(Vec::new());
    macro_rules! integers {
        ($type:ty) => {{
            let parts = chunks
                .iter()
                .map(|chunk| &chunk.as_primitive::<$type>().values()[..]);
            return Ok(grouped_integers(&parts.collect::<Vec<_>>(), order));
        }};
    }
    macro_rules! floats {
        ($type:ty) => {
            for chunk in chunks {
                let numbers = chunk.as_primitive::<$type>().values();
                if let Some(index) = numbers.iter().position(|number| number.is_nan()) {
                    return Err(Fault::Missing(words.0.len() + index));
                }
                words.extend_floats(numbers.iter().map(|&number| f64::from(number)));
            }
        };
    }
    match data_type {
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt8 => integers!(UInt8Type),
        DataType::UInt16 => integers!(UInt16Type),
        DataType::UInt32 => integers!(UInt32Type),
        DataType::UInt64 => integers!(UInt64Type),
        DataType::Float16 => floats!(Float16Type),
        DataType::Float32 => floats!(Float32Type),
        DataType::Float64 => floats!(Float64Type),
        DataType::Boolean => {
            for chunk in chunks {
                words
                    .0
                    .extend(chunk.as_boolean().values().iter().map(u64::from));
            }
        }
        _ => {
            let ticks = chunks.iter().map(ticks).collect::<Option<Vec<_>>>();
            let ticks = ticks.ok_or_else(|| Fault::Type(data_type.to_string()))?;
            let parts = ticks.iter().map(|ticks| &ticks.values()[..]);
            return Ok(grouped_integers(&parts.collect::<Vec<_>>(), order));
        }
    }
    Ok(grouped(&[words], order))
}

/// Fails at the first null.
fn require_valid(chunks: &[ArrayRef]) -> Result<(), Fault> {
    let mut start = 0;
    for chunk in chunks {
        if let Some(nulls) = chunk.nulls()
            && let Some(index) = nulls.iter().position(|is_valid| !is_valid)
        {
            return Err(Fault::Missing(start + index));
        }
        start += chunk.len();
    }
    Ok(())
}

fn of_dictionary(chunks: &[ArrayRef], order: Order) -> Result<Groups, Fault> {
    require_valid(chunks)?;
    // The chunks of a column may have one dictionary, or each its own.
    let mut dictionaries: Vec<ArrayRef> = Vec::new();
    let mut starts = Vec::with_capacity(chunks.len());
    let mut end = 0;
    for chunk in chunks {
        let values = chunk.as_any_dictionary().values();
        let is_last = dictionaries
            .last()
            .is_some_and(|last| is_same(last, values));
        if !is_last {
            end += values.len();
            dictionaries.push(values.clone());
        }
        starts.push(end - values.len());
    }
    // Nulls of a dictionary are labels that are missing, if a point has them.
    let nulls = dictionaries
        .iter()
        .flat_map(|values| (0..values.len()).map(|index| values.is_null(index)));
    let valid = nulls.map(|is_null| !is_null).collect::<Vec<_>>();
    let entries = entries(&dictionaries, &valid, order)?;
    macro_rules! keys {
        ($type:ty) => {{
            let parts = chunks.iter().zip(starts).map(|(chunk, start)| Keys {
                keys: chunk
                    .as_any_dictionary()
                    .keys()
                    .as_primitive::<$type>()
                    .values(),
                first: Key::word(<$type as ArrowPrimitiveType>::Native::default())
                    .wrapping_sub(start as u64),
            });
            grouped_by_keys(&parts.collect::<Vec<_>>(), &entries)
        }};
    }
    let keys = chunks[0].as_any_dictionary().keys().data_type();
    let groups = match keys {
        DataType::Int8 => keys!(Int8Type),
        DataType::Int16 => keys!(Int16Type),
        DataType::Int32 => keys!(Int32Type),
        DataType::Int64 => keys!(Int64Type),
        DataType::UInt8 => keys!(UInt8Type),
        DataType::UInt16 => keys!(UInt16Type),
        DataType::UInt32 => keys!(UInt32Type),
        _ => keys!(UInt64Type),
    };
    groups.map_err(Fault::Missing)
}

/// Returns the number of each entry of dictionaries, equal for equal entries, `None` for nulls.
fn entries(
    dictionaries: &[ArrayRef],
    valid: &[bool],
    order: Order,
) -> Result<Vec<Option<u32>>, Fault> {
    if valid.iter().all(|&is_valid| is_valid) {
        let groups = groups(dictionaries, order)?;
        return Ok(groups.codes.into_iter().map(Some).collect());
    }
    let whole = dictionaries.iter().map(|values| {
        let valid = (0..values.len()).map(|index| values.is_valid(index));
        let places = valid
            .enumerate()
            .filter(|(_, is_valid)| *is_valid)
            .map(|(place, _)| place);
        // One slice for each valid entry: dictionaries with nulls are rare.
        places
            .map(|place| values.slice(place, 1))
            .collect::<Vec<_>>()
    });
    let whole = whole.flatten().collect::<Vec<_>>();
    let mut codes = groups(&whole, order)?.codes.into_iter();
    Ok(valid
        .iter()
        .map(|&is_valid| if is_valid { codes.next() } else { None })
        .collect())
}

fn is_same(a: &ArrayRef, b: &ArrayRef) -> bool {
    Arc::ptr_eq(a, b) || a.to_data().ptr_eq(&b.to_data())
}
