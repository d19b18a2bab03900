//! Code of the tests of the programs `gridstride` and `gridstride_learn`: [`program`] runs the
//! program of the package that is tested, [`golden`] compares its outputs with files, [`keys`] its
//! JSON with the guide, [`command_lines`] its options with the documentation.

pub mod command_lines;
pub mod golden;
pub mod keys;
pub mod pictures;
pub mod program;
