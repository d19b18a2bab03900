//! Labels of axes.

use std::ops::Range;

/// Labels of an axis that the drawing library may choose.
const LABELS: f64 = 16.0;

/// Formats a tick of an axis of whole numbers; other ticks have no label.
pub fn whole(value: f64) -> String {
    // Ticks are multiples of a rounded step.
    match (value - value.round()).abs() < 1e-6 {
        // Without the sign of −0.
        true => format!("{:.0}", value.round() + 0.0),
        false => String::new(),
    }
}

/// Returns how many decimals tell the ticks of an axis apart.
pub fn decimals(axis: &Range<f64>) -> usize {
    let step = (axis.end - axis.start) / LABELS;
    (-step.log10().floor()).clamp(0.0, 15.0) as usize
}

#[cfg(test)]
mod tests {
    use super::{decimals, whole};

    #[test]
    fn whole_numbers_have_labels() {
        let labels = [0.0, -1e-12, 0.5, 3.0 * 0.1 / 0.1, 1e7].map(whole);
        assert_eq!(labels, ["0", "0", "", "3", "10000000"]);
    }

    #[test]
    fn ticks_have_different_labels() {
        for (end, step) in [
            (1.0, 0.1),
            (1.0, 0.0625),
            (0.05, 0.005),
            (3e-7, 2e-8),
            (40.0, 2.5),
        ] {
            let places = decimals(&(0.0..end));
            let labels = (0..16).map(|i| format!("{:.places$}", f64::from(i) * step));
            let mut labels: Vec<String> = labels.collect();
            labels.dedup();
            assert_eq!(labels.len(), 16, "{labels:?}");
        }
    }
}
