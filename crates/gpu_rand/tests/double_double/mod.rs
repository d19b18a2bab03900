//! Sums of two `f64`, for references. The error of each operation is below 2⁻¹⁰⁰ of its larger
//! operand or of its result.

use std::ops::{Add, Div, Mul, Sub};

/// The sum of a number and of what its rounding has lost.
#[derive(Clone, Copy)]
pub struct Double(f64, f64);

impl From<f64> for Double {
    fn from(value: f64) -> Self {
        Self(value, 0.0)
    }
}

impl Add for Double {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let sum = self.0 + other.0;
        let part = sum - self.0;
        let lost = (self.0 - (sum - part)) + (other.0 - part);
        Self::normal(sum, lost + self.1 + other.1)
    }
}

impl Sub for Double {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + Self(-other.0, -other.1)
    }
}

impl Mul for Double {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = self.0 * other.0;
        let lost = self.0.mul_add(other.0, -product);
        Self::normal(product, lost + (self.0 * other.1 + self.1 * other.0))
    }
}

impl Div for Double {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let first = self.0 / other.0;
        let rest = self - other * first.into();
        let second = rest.0 / other.0;
        let rest = rest - other * second.into();
        Self::normal(first, second) + (rest.0 / other.0).into()
    }
}

impl Double {
    const TAU: Self = Self(std::f64::consts::TAU, 2.449_293_598_294_706_4e-16);
    const LN_2: Self = Self(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);

    /// The sum of a large and a small number.
    fn normal(large: f64, small: f64) -> Self {
        let sum = large + small;
        Self(sum, small - (sum - large))
    }

    pub fn to_f64(self) -> f64 {
        self.0 + self.1
    }

    pub fn sqrt(self) -> Self {
        let root = self.0.sqrt();
        if root == 0.0 {
            return 0.0.into();
        }
        let rest = self - Self::from(root) * root.into();
        Self::normal(root, rest.0 / (2.0 * root))
    }

    /// The logarithm of a positive normal number: 2 artanh ((m − 1) / (m + 1)) of its mantissa m
    /// in [2^−½, 2^½), and that of its power of two.
    pub fn ln(value: f64) -> Self {
        let mut exponent = 0;
        let mut mantissa = value;
        while mantissa < std::f64::consts::FRAC_1_SQRT_2 {
            mantissa *= 2.0;
            exponent -= 1;
        }
        let mantissa = Self::from(mantissa);
        let quotient = (mantissa - 1.0.into()) / (mantissa + 1.0.into());
        let square = quotient * quotient;
        // The quotient is at most 0.172, and its 45th power below 10⁻³⁴ of the quotient.
        let terms = (0..=22).rev().map(|n| f64::from(2 * n + 1));
        let sum = terms.fold(Self::from(0.0), |sum, n| {
            sum * square + Self::from(1.0) / n.into()
        });
        let two = Self::from(2.0);
        two * quotient * sum + Self::LN_2 * f64::from(exponent).into()
    }

    /// The cosine and the sine of `turns` of [0, 1), by the Taylor series in [−π/4, π/4].
    pub fn cosine_and_sine(turns: f64) -> [Self; 2] {
        let quadrant = (4.0 * turns).round();
        let angle = Self::TAU * (turns - quadrant / 4.0).into();
        let (mut sums, mut term) = ([Self::from(0.0); 2], Self::from(1.0));
        // (π/4)³⁰ / 30! is below 10⁻³⁵.
        for n in 0..30 {
            let sum = &mut sums[n % 2];
            *sum = match n / 2 % 2 {
                0 => *sum + term,
                _ => *sum - term,
            };
            term = term * angle / f64::from(n as u32 + 1).into();
        }
        let [cosine, sine] = sums;
        let zero = Self::from(0.0);
        match quadrant as u32 % 4 {
            0 => [cosine, sine],
            1 => [zero - sine, cosine],
            2 => [zero - cosine, zero - sine],
            _ => [sine, zero - cosine],
        }
    }
}

/// Against identities and values of 30 digits.
#[test]
fn references_are_exact() {
    let is_near = |found: Double, high: f64, low: f64| {
        let error = found - Double(high, low);
        assert!(error.to_f64().abs() < 1e-29, "{:e}", error.to_f64());
    };
    // Of 32 digits.
    is_near(
        Double::ln(0.75),
        -0.2876820724517809,
        -2.607160616442564e-17,
    );
    is_near(Double::ln(0.5) + Double::LN_2, 0.0, 0.0);
    let difference = Double::ln(0.5625) - Double::ln(0.75) - Double::ln(0.75);
    is_near(difference, 0.0, 0.0);
    let root = Double::from(2.0).sqrt();
    is_near(root * root, 2.0, 0.0);
    for turns in [0.0, 0.1, 0.125, 0.3, 0.5, 0.7, 0.99] {
        let [cosine, sine] = Double::cosine_and_sine(turns);
        is_near(cosine * cosine + sine * sine, 1.0, 0.0);
        assert!((cosine.to_f64() - (std::f64::consts::TAU * turns).cos()).abs() < 1e-15);
        assert!((sine.to_f64() - (std::f64::consts::TAU * turns).sin()).abs() < 1e-15);
    }
    // cos π/4 = √½.
    let [cosine, _] = Double::cosine_and_sine(0.125);
    is_near(cosine * root, 1.0, 0.0);
}
