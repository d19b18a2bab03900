//! The kernels' modules. In builds for GPUs they have the PTX, which build.rs embeds.

include!(concat!(env!("OUT_DIR"), "/modules.rs"));
