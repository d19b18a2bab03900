//! Cargo takes the features of build dependencies only if there is a build script.

fn main() {}
