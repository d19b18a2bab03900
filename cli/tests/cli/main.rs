//! The program as its users meet it: what they print, write and refuse.

mod box_overlap;
mod destinations;
mod distances;
mod edit_distance;
mod global;
mod golden;
mod inputs;
mod json;
mod matmul;
mod new;
mod outputs;
mod paths;
mod plots;
mod several_devices;
mod tables;
mod tensor_sketch;
mod time_series;
mod vector_add;

use program_tests::program;
use test_support as common;
