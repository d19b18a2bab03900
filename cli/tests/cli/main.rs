//! The program as its users meet it: what they print, write and refuse.

mod box_overlap;
#[path = "../../../tests/common/mod.rs"]
mod common;
mod global;
mod json;
mod matmul;
mod program;
mod tensor_sketch;
mod time_series;
mod vector_add;
