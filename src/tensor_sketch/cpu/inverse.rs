//! From the lanes back to the entries of a row.

use std::sync::Arc;

use fft::{Complex, ComplexToReal};

use crate::tensor_sketch::fourier::lanes;

/// The inverse transform for one dimension D.
pub(super) struct Inverse {
    transform: Arc<dyn ComplexToReal<f64>>,
}

impl Inverse {
    pub fn new(dim: usize) -> Inverse {
        Inverse {
            transform: fft::inverse(dim),
        }
    }

    /// The sums over lanes, which [`Finish`](crate::tensor_sketch::fourier::Finish) takes: D of
    /// them.
    ///
    /// `lane(j)` is the value in lane j.
    pub fn sums(&self, lane: impl Fn(usize) -> [f64; 2]) -> Vec<f64> {
        let dim = self.transform.len();
        // The transform adds each lane and its conjugate: twice the real part.
        let halved = |lane: [f64; 2]| Complex::new(0.5 * lane[0], 0.5 * lane[1]);
        let mut spectrum = self.transform.make_input_vec();
        for (value, lane) in spectrum.iter_mut().zip((0..lanes(dim)).map(&lane)) {
            *value = halved(lane);
        }
        let [a, b] = lane(0);
        spectrum[0] = halved([a + b, 0.0]);
        if dim.is_multiple_of(2) {
            spectrum[dim / 2] = halved([a - b, 0.0]);
        }
        let mut sums = self.transform.make_output_vec();
        self.transform
            .process(&mut spectrum, &mut sums)
            .expect("real values at frequencies 0 and D/2");
        sums
    }
}
