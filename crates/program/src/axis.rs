//! Axes of plots: where their ticks are, and what stands beside them.

use std::ops::Range;

/// Numbers that differ by a larger factor have a logarithmic axis.
const LINEAR: f64 = 10.0;

/// The least number of ticks of a linear axis, without the one at 0.
const TICKS: f64 = 5.0;

/// Labels of an axis that the drawing library may choose.
const LABELS: f64 = 16.0;

/// An axis of positive numbers.
pub enum Scale {
    /// From 0 to a number, with a tick for each step.
    Linear {
        /// The greatest number.
        end: f64,
        /// The distance of two ticks.
        step: f64,
    },
    /// Whole decades.
    Logarithmic(Range<f64>),
}

impl Scale {
    /// Returns an axis that contains all positive numbers. Other numbers, such as a time of 0, do
    /// not count: a logarithmic axis has no place for them.
    pub fn new(numbers: impl Iterator<Item = f64>) -> Scale {
        let positive = numbers.filter(|number| *number > 0.0 && number.is_finite());
        let (least, most) = positive.fold((f64::INFINITY, 0.0f64), |(least, most), number| {
            (least.min(number), most.max(number))
        });
        if most == 0.0 || most / least > LINEAR {
            return Scale::Logarithmic(decades(least, most));
        }
        Scale::Linear {
            end: most,
            step: rounded_down(most / TICKS),
        }
    }

    /// Returns the position of a number on the axis as a share; 0 for numbers that are not positive.
    pub fn share(&self, number: f64) -> f64 {
        match self {
            Scale::Linear { end, .. } => number / end,
            Scale::Logarithmic(decades) => {
                let number = number.max(decades.start);
                (number / decades.start).log10() / (decades.end / decades.start).log10()
            }
        }
    }

    /// Returns where the ticks are.
    pub fn ticks(&self) -> Vec<f64> {
        match self {
            Scale::Linear { end, step } => {
                let count = (end / step).floor() as i32;
                (0..=count).map(|i| precise(f64::from(i) * step)).collect()
            }
            Scale::Logarithmic(decades) => {
                let [first, last] =
                    [decades.start, decades.end].map(|number| number.log10().round() as i32);
                (first..=last)
                    .map(|power| precise(10f64.powi(power)))
                    .collect()
            }
        }
    }
}

/// Returns the greatest number of the form 1, 2 or 5 times a power of ten that is at most `number`,
/// which is positive.
pub fn rounded_down(number: f64) -> f64 {
    let power = 10f64.powf(number.log10().floor());
    let multiples = [5.0, 2.0].map(|factor| factor * power);
    let multiple = multiples.into_iter().find(|multiple| *multiple <= number);
    multiple.unwrap_or(power)
}

/// The powers of ten around some numbers, at least a decade.
fn decades(least: f64, most: f64) -> Range<f64> {
    if most == 0.0 {
        return 1.0..10.0;
    }
    // Below the least, so that it has a bar too.
    let low = (least * 0.999).log10().floor();
    10f64.powf(low)..10f64.powf(most.log10().ceil().max(low + 1.0))
}

/// Returns a tick without the errors of its last digits.
fn precise(number: f64) -> f64 {
    format!("{number:.6e}").parse().unwrap_or(number)
}

/// Formats a tick.
pub fn label(tick: f64) -> String {
    precise(tick).to_string()
}

/// Formats a tick in few characters: one below 0.001 as a power of ten.
pub fn short_label(tick: f64) -> String {
    match tick {
        _ if tick == 0.0 || tick >= 1e-3 => label(tick),
        _ => format!("{tick:.1e}"),
    }
}

/// Formats a tick of an axis of whole numbers; other ticks have no label.
pub fn whole_label(tick: f64) -> String {
    // Ticks are multiples of a rounded step.
    match (tick - tick.round()).abs() < 1e-6 {
        // Without the sign of −0.
        true => format!("{:.0}", tick.round() + 0.0),
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
    use super::*;

    #[test]
    fn scales_have_all_numbers() {
        let of = |numbers: &[f64]| Scale::new(numbers.iter().copied());
        let linear = of(&[3.0, 7.0]);
        assert_eq!(linear.ticks(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
        assert_eq!(of(&[0.03, 0.1]).ticks().len(), 6);
        let logarithmic = of(&[0.02, 3.0]);
        assert_eq!(logarithmic.ticks(), [0.01, 0.1, 1.0, 10.0]);
        assert_eq!(of(&[1.0, 100.0]).ticks(), [0.1, 1.0, 10.0, 100.0]);
        assert_eq!(of(&[]).ticks(), [1.0, 10.0]);
        for (scale, number, share) in [
            (&linear, 3.5, 0.5),
            (&logarithmic, 0.1, 1.0 / 3.0),
            (&logarithmic, 0.01, 0.0),
        ] {
            assert!((scale.share(number) - share).abs() < 1e-12);
        }
    }

    #[test]
    fn zeros_do_not_count() {
        let of = |numbers: &[f64]| Scale::new(numbers.iter().copied());
        let logarithmic = of(&[0.0, 0.02, 3.0]);
        assert_eq!(logarithmic.ticks(), [0.01, 0.1, 1.0, 10.0]);
        assert_eq!(logarithmic.share(0.0), 0.0);
        let linear = of(&[5.0, 0.0, 3.0]);
        assert_eq!(linear.ticks(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(linear.share(0.0), 0.0);
        assert_eq!(of(&[0.0]).ticks(), [1.0, 10.0]);
        assert_eq!(
            of(&[2.0, f64::NAN, f64::INFINITY, -1.0]).ticks().last(),
            Some(&2.0)
        );
    }

    #[test]
    fn round_numbers_are_1_2_and_5_times_powers_of_ten() {
        for (number, expected) in [
            (1.0, 1.0),
            (1.99, 1.0),
            (4.9, 2.0),
            (73.0, 50.0),
            (0.0011, 0.001),
        ] {
            assert!(
                (rounded_down(number) / expected - 1.0).abs() < 1e-12,
                "{number}"
            );
        }
    }

    #[test]
    fn labels_are_short() {
        let ticks = [0.0, 0.1 + 0.2, 0.00025, 1.0];
        assert_eq!(ticks.map(label), ["0", "0.3", "0.00025", "1"]);
        assert_eq!(ticks.map(short_label), ["0", "0.3", "2.5e-4", "1"]);
    }

    #[test]
    fn whole_numbers_have_labels() {
        let labels = [0.0, -1e-12, 0.5, 3.0 * 0.1 / 0.1, 1e7].map(whole_label);
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
