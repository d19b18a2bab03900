//! Labels in the memory of numpy and Arrow.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray, LargeStringArray, StringArray,
    StringViewArray,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;
use gridstride::ndarray::Ix1;

use super::group::Labels;
use crate::array::Input;

/// Texts or bytes, in the order of their bytes, which for UTF-8 is that of the characters.
pub enum Texts {
    Utf8(StringArray),
    LargeUtf8(LargeStringArray),
    Utf8View(StringViewArray),
    Binary(BinaryArray),
    LargeBinary(LargeBinaryArray),
    BinaryView(BinaryViewArray),
    /// numpy's bytes, each of as many.
    Fixed(Input<u8, Ix1>, usize),
}

impl Texts {
    /// Takes an Arrow array, if it has texts or bytes.
    pub fn of(chunk: &ArrayRef) -> Option<Texts> {
        Some(match chunk.data_type() {
            DataType::Utf8 => Texts::Utf8(chunk.as_string().clone()),
            DataType::LargeUtf8 => Texts::LargeUtf8(chunk.as_string().clone()),
            DataType::Utf8View => Texts::Utf8View(chunk.as_string_view().clone()),
            DataType::Binary => Texts::Binary(chunk.as_binary().clone()),
            DataType::LargeBinary => Texts::LargeBinary(chunk.as_binary().clone()),
            DataType::BinaryView => Texts::BinaryView(chunk.as_binary_view().clone()),
            _ => return None,
        })
    }

    /// Whether the bytes are UTF-8.
    pub fn is_text(&self) -> bool {
        matches!(
            self,
            Texts::Utf8(_) | Texts::LargeUtf8(_) | Texts::Utf8View(_)
        )
    }

    /// Returns the bytes of a text.
    pub fn bytes(&self, index: usize) -> &[u8] {
        self.get(index).0
    }

    pub fn is_null(&self, index: usize) -> bool {
        match self {
            Texts::Utf8(texts) => texts.is_null(index),
            Texts::LargeUtf8(texts) => texts.is_null(index),
            Texts::Utf8View(texts) => texts.is_null(index),
            Texts::Binary(texts) => texts.is_null(index),
            Texts::LargeBinary(texts) => texts.is_null(index),
            Texts::BinaryView(texts) => texts.is_null(index),
            Texts::Fixed(..) => false,
        }
    }
}

/// Bytes that are compared and hashed in place if there are few, without a call.
#[derive(Clone, Copy)]
pub struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    /// Returns all bytes in two words, which may overlap, if there are 4 to 16.
    #[inline]
    fn words(self) -> Option<[u64; 2]> {
        let bytes = self.0;
        Some(match bytes.len() {
            8..=16 => [
                u64::from_le_bytes(*bytes.first_chunk()?),
                u64::from_le_bytes(*bytes.last_chunk()?),
            ],
            4..8 => [
                u32::from_le_bytes(*bytes.first_chunk()?).into(),
                u32::from_le_bytes(*bytes.last_chunk()?).into(),
            ],
            _ => return None,
        })
    }
}

impl PartialEq for Bytes<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && match (self.words(), other.words()) {
                (Some(words), Some(others)) => words == others,
                _ => self.0 == other.0,
            }
    }
}

impl Eq for Bytes<'_> {}

impl Hash for Bytes<'_> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.words() {
            // Texts of other lengths may have the same words, and are compared.
            Some([first, last]) => state.write_u128(u128::from(first) << 64 | u128::from(last)),
            None => state.write(self.0),
        }
    }
}

impl Labels for Texts {
    type Label<'a> = Bytes<'a>;

    fn len(&self) -> usize {
        match self {
            Texts::Utf8(texts) => texts.len(),
            Texts::LargeUtf8(texts) => texts.len(),
            Texts::Utf8View(texts) => texts.len(),
            Texts::Binary(texts) => texts.len(),
            Texts::LargeBinary(texts) => texts.len(),
            Texts::BinaryView(texts) => texts.len(),
            Texts::Fixed(bytes, width) => bytes.view().len() / width,
        }
    }

    #[inline]
    fn get(&self, index: usize) -> Bytes<'_> {
        Bytes(match self {
            Texts::Utf8(texts) => texts.value(index).as_bytes(),
            Texts::LargeUtf8(texts) => texts.value(index).as_bytes(),
            Texts::Utf8View(texts) => texts.value(index).as_bytes(),
            Texts::Binary(texts) => texts.value(index),
            Texts::LargeBinary(texts) => texts.value(index),
            Texts::BinaryView(texts) => texts.value(index),
            Texts::Fixed(bytes, width) => element(bytes, *width, index),
        })
    }

    fn order(a: Bytes<'_>, b: Bytes<'_>) -> Ordering {
        a.0.cmp(b.0)
    }
}

fn element(bytes: &Input<u8, Ix1>, width: usize, index: usize) -> &[u8] {
    let bytes = bytes.slice().expect("contiguous");
    &bytes[index * width..(index + 1) * width]
}

/// Texts or bytes of at most 12 bytes, as Arrow's views have them: the length in the lowest four bytes,
/// then the bytes, then zeros.
pub struct Inline(ScalarBuffer<u128>);

impl Inline {
    /// Takes an Arrow array, if it has views of nothing but short texts or bytes.
    pub fn of(chunk: &ArrayRef) -> Option<Inline> {
        let views = match chunk.data_type() {
            DataType::Utf8View => chunk.as_string_view().views(),
            DataType::BinaryView => chunk.as_binary_view().views(),
            _ => return None,
        };
        let is_short = |view: &u128| *view as u32 <= 12;
        views.iter().all(is_short).then(|| Inline(views.clone()))
    }
}

impl Labels for Inline {
    type Label<'a> = u128;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, index: usize) -> u128 {
        self.0[index]
    }

    fn order(a: u128, b: u128) -> Ordering {
        // With the first byte in front; the length decides between a text and the same with zeros.
        let key = |view: u128| ((view >> 32).swap_bytes(), view as u32);
        key(a).cmp(&key(b))
    }
}

/// numpy's texts, whose characters have four bytes each.
pub struct Characters {
    pub bytes: Input<u8, Ix1>,
    /// The bytes of an element.
    pub width: usize,
}

impl Labels for Characters {
    type Label<'a> = &'a [u8];

    fn len(&self) -> usize {
        self.bytes.view().len() / self.width
    }

    fn get(&self, index: usize) -> &[u8] {
        element(&self.bytes, self.width, index)
    }

    fn order(a: &[u8], b: &[u8]) -> Ordering {
        let characters = |bytes: &'_ [u8]| {
            let (characters, _) = bytes.as_chunks();
            characters
                .iter()
                .map(|&bytes| u32::from_ne_bytes(bytes))
                .collect::<Vec<_>>()
        };
        characters(a).cmp(&characters(b))
    }
}

/// Numbers as integers with the same order.
pub struct Words(pub Vec<u64>);

impl Words {
    /// Appends floats. Both zeros are one number.
    pub fn extend_floats(&mut self, numbers: impl Iterator<Item = f64>) {
        self.0.extend(numbers.map(|number| {
            let bits = (number + 0.0).to_bits();
            match bits >> 63 {
                0 => bits | 1 << 63,
                _ => !bits,
            }
        }));
    }
}

impl Labels for Words {
    type Label<'a> = u64;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, index: usize) -> u64 {
        self.0[index]
    }

    fn order(a: u64, b: u64) -> Ordering {
        a.cmp(&b)
    }
}
