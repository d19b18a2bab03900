//! The readers of `gridstride tensor-sketch`.
#![allow(dead_code)]

#[path = "../../cli/src/tensor_sketch/fasta.rs"]
pub mod fasta;
