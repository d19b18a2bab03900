//! What the examples share. Each uses a part of it.
#![allow(dead_code)]

pub mod device_name;
pub mod device_names;
pub mod input;
pub mod output;
pub mod random;
pub mod records;
pub mod report;
