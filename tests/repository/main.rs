//! Checks that files of the repository agree with each other: the checked-in PTX, the guide, and the
//! skeleton of kernels. And
//! checks that need other programs and crates: what the library asks of the driver, over one that is
//! built here, and options and results as JSON, since serde_json makes types ambiguous elsewhere.

#[cfg(all(target_os = "linux", feature = "cuda"))]
mod fake_driver;
mod guide;
mod ptx;
mod safety;
mod serialized;
mod skeleton;

#[cfg(all(target_os = "linux", feature = "cuda"))]
use test_support as common;
