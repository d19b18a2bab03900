//! Nothing but dependencies: the builds of all tests ask for these, with the same features.
//!
//! Cargo compiles a package once for each set of its features. `cargo test`, the tests of the engines and the
//! Python package that is tested choose different packages, which ask for different features of what they share,
//! so that without this crate each of them would compile the library again. A test of the repository compares the
//! builds. Programs that are installed do not depend on this crate.
