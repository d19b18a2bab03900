//! The program as its users meet it: what they print, write and refuse.

mod box_join;
mod box_overlap;
#[path = "../../../tests/common/mod.rs"]
mod common;
mod distances;
mod edit_distance;
mod global;
mod inputs;
mod json;
mod matmul;
mod outputs;
mod paths;
mod plots;
mod program;
mod several_devices;
mod tensor_sketch;
mod tensor_sketch_trees;
mod time_series;
mod vector_add;
