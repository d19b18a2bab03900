//! Files of the repository that have to agree with each other: the checked-in PTX and the guide.

mod guide;
mod ptx;
