//! The examples as their users meet them: what they print, write and refuse.

mod box_overlap;
#[path = "../common/mod.rs"]
mod common;
mod example;
mod matmul;
mod tensor_sketch;
mod time_series;
mod vector_add;
