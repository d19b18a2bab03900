//! The types of elements, as DLPack, the CUDA array interface and numpy name them.

use dlpark::ffi::{DLDataType, DLDataTypeCode};

/// The letter of each kind of number in the CUDA array interface.
const KINDS: [(char, DLDataTypeCode); 5] = [
    ('f', DLDataTypeCode::FLOAT),
    ('i', DLDataTypeCode::INT),
    ('u', DLDataTypeCode::UINT),
    ('b', DLDataTypeCode::BOOL),
    ('c', DLDataTypeCode::COMPLEX),
];

/// Returns numpy's name of a type.
pub fn name_of(dtype: DLDataType) -> String {
    let kind = match dtype.code {
        DLDataTypeCode::FLOAT => "float",
        DLDataTypeCode::BFLOAT => "bfloat",
        DLDataTypeCode::INT => "int",
        DLDataTypeCode::UINT => "uint",
        DLDataTypeCode::COMPLEX => "complex",
        DLDataTypeCode::BOOL => return "bool".into(),
        _ => return format!("type {} of DLPack with {} bits", dtype.code.0, dtype.bits),
    };
    format!("{kind}{}", dtype.bits)
}

/// Returns the type with a name such as `<f4`, in the byte order of the machine.
pub fn from_typestr(typestr: &str) -> Option<DLDataType> {
    let mut letters = typestr.chars();
    let order = letters.next()?;
    let kind = letters.next()?;
    let bytes: u8 = letters.as_str().parse().ok().filter(|&bytes| bytes > 0)?;
    let native = if cfg!(target_endian = "little") {
        '<'
    } else {
        '>'
    };
    if order != native && (order != '|' || bytes > 1) {
        return None;
    }
    let (_, code) = KINDS.into_iter().find(|(letter, _)| *letter == kind)?;
    Some(DLDataType::scalar(code, bytes.checked_mul(8)?))
}

/// Returns the name of a type in the CUDA array interface, which has none for bfloat16.
pub fn typestr_of(dtype: DLDataType) -> Option<String> {
    let (letter, _) = KINDS.into_iter().find(|(_, code)| *code == dtype.code)?;
    let order = match dtype.bits {
        8 => '|',
        _ if cfg!(target_endian = "little") => '<',
        _ => '>',
    };
    Some(format!("{order}{letter}{}", dtype.bits / 8))
}
