//! Checks that files of the repository agree with each other: the checked-in PTX and the guide. And
//! checks that need a compiler: what the library asks of the driver, over one that is built here.

#[cfg(all(target_os = "linux", feature = "cuda"))]
mod fake_driver;
mod guide;
mod ptx;
mod safety;

use test_support as common;
