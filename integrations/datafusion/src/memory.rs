//! The memory that batches take from the engine's pool, and the share of a partition.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::utils::memory::RecordBatchMemoryCounter;
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};

/// Counts the bytes of batches that are kept together.
#[derive(Debug, Default)]
pub(crate) struct Kept(RecordBatchMemoryCounter);

impl Kept {
    /// Returns the bytes that a batch adds. Columns of numbers and plain text count with their rows
    /// alone, so that the slices of one large batch count as much as all of it. Of other columns,
    /// such as views and dictionaries, everything counts that the batch keeps alive, but what
    /// several batches share counts once.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<usize> {
        let (mut bytes, mut shared) = (0, Vec::new());
        for (index, column) in batch.columns().iter().enumerate() {
            let counted = match is_plain(column.data_type()) {
                true => column.to_data().get_slice_memory_size().ok(),
                false => None,
            };
            match counted {
                Some(counted) => bytes += counted,
                None => shared.push(index),
            }
        }
        Ok(bytes + self.0.count_batch(&batch.project(&shared)?))
    }
}

/// Whether a slice of such an array has no other array or buffer whole.
fn is_plain(data_type: &DataType) -> bool {
    match data_type {
        DataType::FixedSizeList(item, _) => is_plain(item.data_type()),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => true,
        DataType::FixedSizeBinary(_) | DataType::Boolean | DataType::Null => true,
        other => other.is_primitive(),
    }
}

/// Returns the bytes of a batch by itself.
pub(crate) fn size(batch: &RecordBatch) -> Result<usize> {
    Kept::default().add(batch)
}

/// Returns the array with no more text than its rows have: views share the text of the array that
/// they were taken from, and would keep all of it in memory.
pub(crate) fn compact(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => std::sync::Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => std::sync::Arc::new(array.as_binary_view().gc()),
        _ => array,
    }
}

/// Bytes that a reservation behind a sort may have although the pool has none left.
const OVERDRAFT: usize = 64 << 10;

/// Reserves memory as [`MemoryReservation::try_grow`] does. Consumers that can spill are those behind
/// sorts here. They get a little from a pool that has nothing left: sorts that merge their files may
/// hold all of it, and give nothing back before somebody reads their rows.
pub(crate) fn grow(reservation: &MemoryReservation, bytes: usize) -> Result<()> {
    let granted = reservation.try_grow(bytes);
    let is_little = reservation.size().saturating_add(bytes) <= OVERDRAFT;
    if granted.is_err() && is_little && reservation.consumer().can_spill() {
        reservation.grow(bytes);
        return Ok(());
    }
    granted
}

/// Returns the bytes that a partition may take for something of which each of `partitions`
/// partitions takes as much: together a third of what the pool has left. A pool without a limit has
/// no shares.
pub(crate) fn share(pool: &dyn MemoryPool, partitions: usize) -> usize {
    const PARTS: usize = 3;
    match pool.memory_limit() {
        MemoryLimit::Finite(limit) => {
            limit.saturating_sub(pool.reserved()) / (PARTS * partitions.max(1))
        }
        MemoryLimit::Infinite | MemoryLimit::Unknown => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{
        DictionaryArray, Int32Array, Int64Array, StringArray, StringViewArray,
    };
    use datafusion::arrow::datatypes::Int32Type;
    use datafusion::execution::memory_pool::{FairSpillPool, MemoryConsumer};

    use super::*;

    fn batch(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([("a", column)]).unwrap()
    }

    #[test]
    fn text_of_views_counts_once() {
        let text = StringViewArray::from_iter_values((0..100).map(|i| format!("{i:0>1000}")));
        let rows = batch(Arc::new(text));
        let mut kept = Kept::default();
        assert!(kept.add(&rows.slice(0, 50)).unwrap() > 100_000);
        assert_eq!(kept.add(&rows.slice(50, 50)).unwrap(), 0);
        let few = compact(rows.slice(0, 2).column(0).clone());
        assert!((2000..10_000).contains(&size(&batch(few)).unwrap()));
    }

    #[test]
    fn a_dictionary_counts_once_and_slices_count_with_their_rows() {
        let values = Arc::new(StringArray::from(vec!["x".repeat(100_000)]));
        let keys = |rows| Int32Array::from(vec![0; rows]);
        let dictionary = |rows| {
            let array = DictionaryArray::<Int32Type>::new(keys(rows), values.clone());
            batch(Arc::new(array))
        };
        let mut kept = Kept::default();
        assert!(kept.add(&dictionary(10)).unwrap() >= 100_000);
        assert!(kept.add(&dictionary(10)).unwrap() < 1000);
        let numbers = batch(Arc::new(Int64Array::from(vec![7; 1000])));
        assert_eq!(size(&numbers.slice(10, 30)).unwrap(), 240);
    }

    #[test]
    fn consumers_behind_sorts_get_a_little_from_an_empty_pool() {
        let pool: Arc<dyn MemoryPool> = Arc::new(FairSpillPool::new(1 << 20));
        let merge = MemoryConsumer::new("merge").register(&pool);
        merge.try_grow(1 << 20).unwrap();
        let behind = MemoryConsumer::new("behind").with_can_spill(true);
        let behind = behind.register(&pool);
        grow(&behind, OVERDRAFT).unwrap();
        assert_eq!(pool.reserved(), (1 << 20) + OVERDRAFT);
        assert!(grow(&behind, 1).is_err());
        let other = MemoryConsumer::new("other").register(&pool);
        assert!(grow(&other, 1).is_err());
    }
}
