//! The kernels' PTX, embedded by build.rs.

use crate::device::{Image, Module};

include!(concat!(env!("OUT_DIR"), "/modules.rs"));
