//! The axis of times in a plot.

use std::ops::Range;
use std::time::Duration;

/// Times that differ by a larger factor have a logarithmic axis.
const LINEAR: f64 = 10.0;

/// The axis of times.
pub enum TimeAxis {
    /// From 0 to a time, with a tick for each step.
    Linear { end: f64, step: f64 },
    /// Whole decades.
    Logarithmic(Range<f64>),
}

impl TimeAxis {
    pub fn new(times: impl Iterator<Item = f64> + Clone) -> TimeAxis {
        let (least, most) = times
            .clone()
            .fold((f64::INFINITY, 0.0f64), |(least, most), time| {
                (least.min(time), most.max(time))
            });
        if most == 0.0 || most / least > LINEAR {
            return TimeAxis::Logarithmic(decades(times));
        }
        // The longest step with five ticks.
        let power = 10f64.powf((most / 5.0).log10().floor());
        let step = [5.0, 2.0, 1.0].map(|factor| factor * power);
        let step = step
            .into_iter()
            .find(|step| most / step >= 5.0)
            .unwrap_or(power);
        TimeAxis::Linear { end: most, step }
    }

    /// How far a time is along the axis.
    pub fn share(&self, time: f64) -> f64 {
        match self {
            TimeAxis::Linear { end, .. } => time / end,
            TimeAxis::Logarithmic(decades) => {
                (time / decades.start).log10() / (decades.end / decades.start).log10()
            }
        }
    }

    pub fn ticks(&self) -> Vec<f64> {
        match self {
            TimeAxis::Linear { end, step } => {
                let count = (end / step).floor() as i32;
                (0..=count).map(|i| rounded(f64::from(i) * step)).collect()
            }
            TimeAxis::Logarithmic(decades) => {
                let [first, last] =
                    [decades.start, decades.end].map(|time| time.log10().round() as i32);
                (first..=last)
                    .map(|power| rounded(10f64.powi(power)))
                    .collect()
            }
        }
    }

    pub fn title(&self) -> &'static str {
        match self {
            TimeAxis::Linear { .. } => "time (ms)",
            TimeAxis::Logarithmic(_) => "time (ms), logarithmic",
        }
    }
}

/// A number without the errors of its last digits.
pub fn rounded(number: f64) -> f64 {
    format!("{number:.6e}").parse().unwrap_or(number)
}

pub fn milliseconds(time: Duration) -> f64 {
    // A logarithm needs some time.
    time.as_secs_f64().max(1e-9) * 1e3
}

/// The powers of ten around some numbers, at least a decade.
fn decades(numbers: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = numbers.fold((f64::INFINITY, 0.0f64), |(low, high), number| {
        (low.min(number), high.max(number))
    });
    if high == 0.0 {
        return 1.0..10.0;
    }
    // Below the least, so that it has a bar too.
    let low = (low * 0.999).log10().floor();
    10f64.powf(low)..10f64.powf(high.log10().ceil().max(low + 1.0))
}
