//! The reader of `gridstride box-overlap`.
#![allow(dead_code)]

#[path = "../../cli/src/box_overlap/boxes_file.rs"]
pub mod boxes_file;
#[path = "../../cli/src/box_overlap/number.rs"]
pub mod number;
