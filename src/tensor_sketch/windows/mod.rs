//! Sketches of all windows of a sequence.
//!
//! # Algorithm
//! Windows of `width` letters begin every `stride` letters. With q = ⌊width / stride⌋ and
//! r = `width` mod `stride`, the text is cut into *steps* of `stride` letters, and each step after
//! its first r letters, so that a window consists of q whole steps and the head of the next one:
//!
//! ```text
//! window i = F(i) F(i+1) … F(i+q−1) A(i+q)        F(k): step k, A(k): its first r letters
//! ```
//!
//! In the Fourier form each factor is a matrix, and the window's matrix is their product (see `fourier`).
//! Matrices have inverses, but dividing the product by the factors that leave the window would add up
//! rounding errors from window to window. Instead steps are gathered into runs. Windows that begin in
//! the same run share the steps between that run and the run in which the first of them ends:
//!
//! ```text
//! window i = F(i) … F(end of the run − 1) · middle · F(…) … F(i+q−1) · A(i+q)
//! ```
//!
//! The left products are made from the end of a run backwards, the right products forwards, one step at
//! a time, and the middle once for all windows of the run. So each window takes few products of
//! matrices, whatever its width, and depends only on its own letters. With one run per window there is
//! no middle, as in the algorithm for minima of sliding windows (M. van Herk, 'A fast algorithm for local
//! minimum and maximum filters'; J. Gil and M. Werman, 'Computing 2-D min, median, and max filters').

mod calls;
pub mod cpu;
pub mod gpu;
