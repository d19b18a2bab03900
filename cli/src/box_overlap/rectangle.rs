//! Rectangles of a picture, and the part of the plane that it shows.

use std::ops::Range;

use files::boxes::Number;
use ndarray::ArrayView1;

/// Larger coordinates count as infinite: differences of these stay finite.
const FINITE: f64 = 1e300;

/// A box from above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rectangle2 {
    pub min: [f64; 2],
    pub max: [f64; 2],
}

impl Rectangle2 {
    /// The first two axes of a box: all minima, then all maxima.
    pub fn of<T: Number>(row: ArrayView1<T>) -> Rectangle2 {
        let axes = row.len() / 2;
        Rectangle2 {
            min: [row[0].to_f64(), row[1].to_f64()],
            max: [row[axes].to_f64(), row[axes + 1].to_f64()],
        }
    }

    /// Returns the intersection of two rectangles that overlap.
    pub fn and(self, other: Rectangle2) -> Rectangle2 {
        Rectangle2 {
            min: [0, 1].map(|axis| self.min[axis].max(other.min[axis])),
            max: [0, 1].map(|axis| self.max[axis].min(other.max[axis])),
        }
    }

    /// The part that a picture shows.
    pub fn within(self, view: &View) -> Rectangle2 {
        let clamped = |[x, y]: [f64; 2]| {
            [
                x.clamp(view.x.start, view.x.end),
                y.clamp(view.y.start, view.y.end),
            ]
        };
        Rectangle2 {
            min: clamped(self.min),
            max: clamped(self.max),
        }
    }
}

/// Ranges of coordinates with the same scale on both axes.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    pub x: Range<f64>,
    pub y: Range<f64>,
    /// The height of the picture in pixels.
    pub height: f64,
}

impl View {
    /// All finite coordinates, in a picture of this width and of a height between these.
    pub fn of(rectangles: impl Iterator<Item = Rectangle2>, width: f64, heights: [f64; 2]) -> View {
        let mut ends = [(f64::INFINITY, f64::NEG_INFINITY); 2];
        for rectangle in rectangles {
            for (axis, (low, high)) in ends.iter_mut().enumerate() {
                for number in [rectangle.min[axis], rectangle.max[axis]] {
                    if number.abs() <= FINITE {
                        (*low, *high) = (low.min(number), high.max(number));
                    }
                }
            }
        }
        let [(left, right), (bottom, top)] = ends.map(|(low, high)| match low <= high {
            true => (low, high),
            false => (0.0, 1.0),
        });
        // Some room, also where all boxes are one point: enough to tell numbers apart.
        let largest = [left, right, bottom, top]
            .map(f64::abs)
            .into_iter()
            .fold(0.0, f64::max);
        let least = (largest * 1e-9).max(f64::MIN_POSITIVE * 1e9);
        let least = if right - left > least || top - bottom > least {
            least
        } else {
            largest.max(1.0) * 0.01
        };
        let (across, along) = ((right - left).max(least), (top - bottom).max(least));
        let height = (width * along / across).clamp(heights[0], heights[1]);
        let scale = 1.04 * (across / width).max(along / height);
        let around = |low: f64, high: f64, pixels: f64| {
            let (middle, half) = (low / 2.0 + high / 2.0, scale * pixels / 2.0);
            middle - half..middle + half
        };
        View {
            x: around(left, right, width),
            y: around(bottom, top, height),
            height,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(min: [f64; 2], max: [f64; 2]) -> View {
        View::of(
            [Rectangle2 { min, max }].into_iter(),
            1000.0,
            [200.0, 800.0],
        )
    }

    #[test]
    fn both_axes_have_the_same_scale() {
        for (min, max) in [
            ([0.0, 0.0], [10.0, 5.0]),
            ([0.0, -7.0], [1000.0, 5.0]),
            ([3.0, 0.0], [3.5, 5000.0]),
            ([3.0, 4.0], [3.0, 4.0]),
            ([0.0, 0.0], [0.0, 0.0]),
            ([1e9, f64::NEG_INFINITY], [1e9 + 1.0, 4.0]),
            ([f64::NEG_INFINITY; 2], [f64::INFINITY; 2]),
        ] {
            let View { x, y, height } = view(min, max);
            assert!((200.0..=800.0).contains(&height), "{height}");
            let scales = ((x.end - x.start) / 1000.0, (y.end - y.start) / height);
            assert!(scales.0 > 0.0 && scales.0.is_finite());
            assert!((scales.0 / scales.1 - 1.0).abs() < 1e-6, "{scales:?}");
            for (range, axis) in [(x, 0), (y, 1)] {
                for number in [min[axis], max[axis]] {
                    assert!(range.contains(&number) || number.is_infinite());
                }
            }
        }
    }
}
