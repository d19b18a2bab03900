//! Chores of the gridstride workspace.
fn main() {}
