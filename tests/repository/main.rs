//! Checks that files of the repository agree with each other: the checked-in PTX, the guide, the
//! skeleton of kernels, and imports. And checks that need other programs and crates: what the library asks of the driver, over one that is
//! built here, and options and results as JSON, since serde_json makes types ambiguous elsewhere.

mod circles;
#[cfg(all(target_os = "linux", feature = "cuda"))]
mod fake_driver;
mod guide;
mod imports;
mod ptx;
mod safety;
mod serialized;
mod skeleton;

#[cfg(all(target_os = "linux", feature = "cuda"))]
use test_support as common;
