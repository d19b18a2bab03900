//! The types of array elements.

use dlpark::DlpackElement;
use gridstride::half::{bf16, f16};
use numpy::{Element, PyArrayDescr, PyArrayDescrMethods};
use pyo3::intern;
use pyo3::prelude::*;

/// A type of elements.
pub trait Number: Element + DlpackElement + Copy + Sync {
    /// numpy's name of the type.
    const NAME: &'static str;

    /// Whether this is the type of a dtype, with the byte order of the machine.
    fn is(dtype: &Bound<'_, PyArrayDescr>) -> bool {
        dtype.is_equiv_to(&Self::get_dtype(dtype.py()))
    }
}

macro_rules! numbers {
    ($($type:ty = $name:literal;)*) => {$(
        impl Number for $type {
            const NAME: &'static str = $name;
        }
    )*};
}
numbers! {
    f16 = "float16";
    f32 = "float32";
    f64 = "float64";
    i8 = "int8";
    i16 = "int16";
    i32 = "int32";
    i64 = "int64";
    u8 = "uint8";
    u16 = "uint16";
    u32 = "uint32";
    u64 = "uint64";
}

impl Number for bf16 {
    const NAME: &'static str = "bfloat16";

    /// numpy knows the type only if another package, such as ml_dtypes, has registered it.
    fn is(dtype: &Bound<'_, PyArrayDescr>) -> bool {
        let name = dtype.getattr(intern!(dtype.py(), "name"));
        name.is_ok_and(|name| name.eq(Self::NAME).unwrap_or(false))
            && dtype.is_native_byteorder() != Some(false)
    }
}

/// Calls a function with the first of the types that an argument has, or fails with the names of
/// all of them.
macro_rules! by_dtype {
    ($argument:expr, [$($type:ty),+], $function:ident $arguments:tt) => {{
        use $crate::number::Number;

        $(if $argument.has::<$type>() {
            return $function::<$type> $arguments;
        })+
        Err($argument.wrong_dtype(&[$(<$type>::NAME),+]))
    }};
}
pub(crate) use by_dtype;
