//! Host arrays that a pipeline reads and writes.

use std::ops::Range;

use cuda_std::{DeviceSlice, DeviceSliceMut};
use gridstride_runtime::device::{Element, PinnedBuffer, assign, copy_bytes};
use ndarray::{ArrayBase, ArrayView1, ArrayViewMut1, Data, DataMut, Ix1};

/// A host array that a [pipeline](super::Pipeline) reads: a slice, an array, a vector, a
/// one-dimensional array or view of `ndarray`, or page-locked memory.
///
/// Views may have any strides; elements with gaps are packed chunk by chunk. Page-locked memory is
/// copied to the device directly.
pub trait Input<'a> {
    /// The type of the elements.
    type Element: Element;

    #[doc(hidden)]
    fn source(self) -> Source<'a, Self::Element>;
}

/// A host array that a [pipeline](super::Pipeline) writes: see [`Input`].
pub trait Output<'a> {
    /// The type of the elements.
    type Element: Element;

    #[doc(hidden)]
    fn target(self) -> Target<'a, Self::Element>;
}

/// A view of a host array.
#[doc(hidden)]
pub struct Column<V> {
    pub(super) view: V,
    /// Whether the array is page-locked.
    is_pinned: bool,
}

type Source<'a, T> = Column<ArrayView1<'a, T>>;
type Target<'a, T> = Column<ArrayViewMut1<'a, T>>;

macro_rules! arrays {
    ($(
        $lifetime:lifetime [$($generics:tt)*] $type:ty, [$($generics_mut:tt)*] $mutable:ty,
        |$array:ident| $view:expr, $view_mut:expr, $is_pinned:literal;
    )*) => {$(
        impl<$lifetime, T: Element, $($generics)*> Input<$lifetime> for $type {
            type Element = T;

            fn source(self) -> Source<$lifetime, T> {
                let $array = self;
                Column { view: $view, is_pinned: $is_pinned }
            }
        }

        impl<$lifetime, T: Element, $($generics_mut)*> Output<$lifetime> for $mutable {
            type Element = T;

            fn target(self) -> Target<$lifetime, T> {
                let $array = self;
                Column { view: $view_mut, is_pinned: $is_pinned }
            }
        }
    )*};
}

arrays! {
    'a [] ArrayView1<'a, T>, [] ArrayViewMut1<'a, T>, |array| array, array, false;
    'a [S: Data<Elem = T>] &'a ArrayBase<S, Ix1>, [S: DataMut<Elem = T>] &'a mut ArrayBase<S, Ix1>,
        |array| array.view(), array.view_mut(), false;
    'a [] &'a [T], [] &'a mut [T], |array| ArrayView1::from(array), ArrayViewMut1::from(array), false;
    'a [const N: usize] &'a [T; N], [const N: usize] &'a mut [T; N],
        |array| ArrayView1::from(&array[..]), ArrayViewMut1::from(&mut array[..]), false;
    'a [] &'a Vec<T>, [] &'a mut Vec<T>, |array| ArrayView1::from(array), ArrayViewMut1::from(array), false;
    'a [] &'a PinnedBuffer<T>, [] &'a mut PinnedBuffer<T>,
        |array| ArrayView1::from(&array[..]), ArrayViewMut1::from(&mut array[..]), true;
}

/// An input with elements of any type.
#[doc(hidden)]
pub trait ReadColumn {
    /// Returns the number of elements, and the bytes of an element.
    fn size(&self) -> (usize, usize);
    /// Returns a chunk if the device can copy from it directly.
    fn locked(&self, chunk: Range<usize>) -> Option<&[u8]>;
    /// Copies a chunk to aligned bytes of the same size.
    fn pack(&self, chunk: Range<usize>, to: &mut [u8]);
}

/// An output with elements of any type.
#[doc(hidden)]
pub trait WriteColumn {
    /// Returns the number of elements, and the bytes of an element.
    fn size(&self) -> (usize, usize);
    /// Returns a chunk if the device can copy to it directly.
    fn locked(&mut self, chunk: Range<usize>) -> Option<&mut [u8]>;
    /// Copies a chunk from aligned bytes of the same size.
    fn unpack(&mut self, chunk: Range<usize>, from: &[u8]);
}

impl<T: Element> ReadColumn for Source<'_, T> {
    fn size(&self) -> (usize, usize) {
        (self.view.len(), size_of::<T>())
    }

    fn locked(&self, chunk: Range<usize>) -> Option<&[u8]> {
        let elements = self.view.to_slice().filter(|_| self.is_pinned)?;
        Some(bytemuck::cast_slice(&elements[chunk]))
    }

    fn pack(&self, chunk: Range<usize>, to: &mut [u8]) {
        match self.view.to_slice() {
            Some(elements) => copy_bytes(bytemuck::cast_slice(&elements[chunk]), to),
            None => {
                let to = ArrayViewMut1::from(bytemuck::cast_slice_mut::<u8, T>(to));
                assign(to, &self.view.slice(ndarray::s![chunk]));
            }
        }
    }
}

impl<T: Element> WriteColumn for Target<'_, T> {
    fn size(&self) -> (usize, usize) {
        (self.view.len(), size_of::<T>())
    }

    fn locked(&mut self, chunk: Range<usize>) -> Option<&mut [u8]> {
        let elements = self.view.as_slice_mut().filter(|_| self.is_pinned)?;
        Some(bytemuck::cast_slice_mut(&mut elements[chunk]))
    }

    fn unpack(&mut self, chunk: Range<usize>, from: &[u8]) {
        match self.view.as_slice_mut() {
            Some(elements) => copy_bytes(from, bytemuck::cast_slice_mut(&mut elements[chunk])),
            None => {
                let from = ArrayView1::from(bytemuck::cast_slice::<u8, T>(from));
                assign(self.view.slice_mut(ndarray::s![chunk]), &from);
            }
        }
    }
}

/// The [`Input`]s of a kernel: a tuple of one to four.
pub trait Inputs<'a> {
    /// The slices of a chunk that the kernel gets.
    type Slices;

    #[doc(hidden)]
    fn columns(self) -> Vec<Box<dyn ReadColumn + 'a>>;

    /// # Safety
    /// There must be `len` elements of the column's type at each address while the slices are used.
    #[doc(hidden)]
    unsafe fn slices(addresses: &[*mut u8], len: usize) -> Self::Slices;
}

/// The [`Output`]s of a kernel: a tuple of one to four.
pub trait Outputs<'a> {
    /// The slices of a chunk that the kernel gets.
    type Slices;

    #[doc(hidden)]
    fn columns(self) -> Vec<Box<dyn WriteColumn + 'a>>;

    /// # Safety
    /// There must be room for `len` elements of the column's type at each address while the slices
    /// are used.
    #[doc(hidden)]
    unsafe fn slices(addresses: &[*mut u8], len: usize) -> Self::Slices;
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),*))*) => {$(
        impl<'a, $($name: Input<'a>),*> Inputs<'a> for ($($name,)*) {
            type Slices = ($(DeviceSlice<$name::Element>,)*);

            fn columns(self) -> Vec<Box<dyn ReadColumn + 'a>> {
                vec![$(Box::new(self.$index.source())),*]
            }

            unsafe fn slices(addresses: &[*mut u8], len: usize) -> Self::Slices {
                // SAFETY: by the contract of this function, each address has `len` elements of its
                // column while the slices are used.
                unsafe { ($(DeviceSlice::from_raw_parts(addresses[$index].cast_const().cast(), len),)*) }
            }
        }

        impl<'a, $($name: Output<'a>),*> Outputs<'a> for ($($name,)*) {
            type Slices = ($(DeviceSliceMut<$name::Element>,)*);

            fn columns(self) -> Vec<Box<dyn WriteColumn + 'a>> {
                vec![$(Box::new(self.$index.target())),*]
            }

            unsafe fn slices(addresses: &[*mut u8], len: usize) -> Self::Slices {
                // SAFETY: by the contract of this function, each address has room for `len`
                // elements of its column while the slices are used.
                unsafe { ($(DeviceSliceMut::from_raw_parts(addresses[$index].cast(), len),)*) }
            }
        }
    )*};
}
tuples! { (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) }
