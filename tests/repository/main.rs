//! Checks that files of the repository agree with each other: the checked-in PTX and the guide.

mod guide;
mod ptx;
