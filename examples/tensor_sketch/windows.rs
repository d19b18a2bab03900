//! Sequences cut into windows while they come.

use crate::args;

/// Cuts one sequence after the other, and holds no more of it than a window.
pub struct Windows {
    width: usize,
    stride: usize,
    /// The letters from the beginning of the next window on, or, while that has not come, none.
    held: Vec<u8>,
    /// Letters to leave out before that.
    gap: usize,
    /// Where in the sequence the next window begins.
    start: u64,
}

impl Windows {
    pub fn new(windows: args::Windows) -> Windows {
        Windows {
            width: windows.width.get(),
            stride: windows.stride.get(),
            held: Vec::new(),
            gap: 0,
            start: 0,
        }
    }

    /// Adds letters to the sequence, and calls `visit` with each window that is whole now and the
    /// place where it begins.
    pub fn add<E>(
        &mut self,
        codes: &[u8],
        mut visit: impl FnMut(&[u8], u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let left_out = self.gap.min(codes.len());
        self.gap -= left_out;
        self.held.extend_from_slice(&codes[left_out..]);
        let mut begin = 0;
        while let Some(window) = self.held.get(begin..begin + self.width) {
            visit(window, self.start)?;
            begin += self.stride;
            self.start += self.stride as u64;
            if begin > self.held.len() {
                self.gap = begin - self.held.len();
                begin = self.held.len();
            }
        }
        self.held.drain(..begin);
        Ok(())
    }

    /// Ends the sequence: what does not fill a window is left out.
    pub fn end_sequence(&mut self) {
        self.held.clear();
        (self.gap, self.start) = (0, 0);
    }
}
