//! Exact arithmetic for references: numbers m·2ᵉ with a whole m of any size. Each finite `f64` is
//! such a number, and sums and products of such numbers are.

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, Mul, Neg, Sub};

use num_bigint::{BigInt, Sign};

use super::gamma;

/// The unit roundoff of `f64`.
pub const U: f64 = f64::EPSILON / 2.0;

/// The number `mantissa`·2^`exponent`.
#[derive(Clone, Debug)]
pub struct Exact {
    mantissa: BigInt,
    exponent: i32,
}

impl Exact {
    /// Returns a whole number.
    pub fn whole(number: impl Into<BigInt>) -> Exact {
        Exact {
            mantissa: number.into(),
            exponent: 0,
        }
    }

    /// Returns 2 to the power of `exponent`.
    pub fn power(exponent: i32) -> Exact {
        Exact {
            mantissa: 1.into(),
            exponent,
        }
    }

    /// Returns γ_n for `roundings` n and the unit roundoff `u`, or up to 2⁻⁵¹ of it more: `gamma`
    /// rounds twice.
    pub fn gamma(roundings: usize, u: f64) -> Exact {
        Exact::from(gamma(roundings, u).next_up().next_up())
    }

    pub fn abs(&self) -> Exact {
        Exact {
            mantissa: self.mantissa.magnitude().clone().into(),
            exponent: self.exponent,
        }
    }

    pub fn squared(&self) -> Exact {
        self * self
    }

    /// Returns the mantissas of two numbers with the same exponent, and the exponent.
    fn aligned(&self, other: &Exact) -> (BigInt, BigInt, i32) {
        let exponent = self.exponent.min(other.exponent);
        let at = |number: &Exact| &number.mantissa << (number.exponent - exponent) as usize;
        (at(self), at(other), exponent)
    }
}

impl From<f64> for Exact {
    fn from(number: f64) -> Exact {
        assert!(number.is_finite(), "{number} is no exact number");
        let bits = number.to_bits();
        let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7ff) as i32);
        let magnitude = match exponent {
            0 => fraction,
            _ => fraction | 1 << 52,
        };
        let sign = if number.is_sign_negative() { -1 } else { 1 };
        Exact {
            mantissa: BigInt::from(magnitude) * sign,
            exponent: exponent.max(1) - 1075,
        }
    }
}

impl Add for &Exact {
    type Output = Exact;

    fn add(self, other: &Exact) -> Exact {
        let (a, b, exponent) = self.aligned(other);
        Exact {
            mantissa: a + b,
            exponent,
        }
    }
}

impl Mul for &Exact {
    type Output = Exact;

    fn mul(self, other: &Exact) -> Exact {
        Exact {
            mantissa: &self.mantissa * &other.mantissa,
            exponent: self.exponent + other.exponent,
        }
    }
}

impl Neg for &Exact {
    type Output = Exact;

    fn neg(self) -> Exact {
        Exact {
            mantissa: -&self.mantissa,
            exponent: self.exponent,
        }
    }
}

impl Sub for &Exact {
    type Output = Exact;

    fn sub(self, other: &Exact) -> Exact {
        self + &-other
    }
}

macro_rules! by_value {
    ($($operation:ident $name:ident),*) => {$(
        impl $operation for Exact {
            type Output = Exact;

            fn $name(self, other: Exact) -> Exact {
                (&self).$name(&other)
            }
        }
    )*};
}
by_value! { Add add, Mul mul, Sub sub }

impl Sum for Exact {
    fn sum<I: Iterator<Item = Exact>>(numbers: I) -> Exact {
        numbers.fold(Exact::whole(0), |sum, number| sum + number)
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Exact) -> Option<Ordering> {
        let (a, b, _) = self.aligned(other);
        Some(a.cmp(&b))
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Exact) -> bool {
        (self - other).mantissa.sign() == Sign::NoSign
    }
}

/// Whether `found` is `expected` or at most `bound` away.
pub fn is_within(found: f64, expected: &Exact, bound: &Exact) -> bool {
    found.is_finite() && (&Exact::from(found) - expected).abs() <= *bound
}

/// Whether `found` is at most `relative`·r + `absolute` away from the root r of `square`. All
/// sides are squared, so that no root is rounded.
pub fn is_root_within(found: &Exact, square: &Exact, relative: &Exact, absolute: &Exact) -> bool {
    let (zero, one) = (Exact::whole(0), Exact::whole(1));
    let low = found - absolute;
    let is_low_enough = low <= zero || low.squared() <= &(&one + relative).squared() * square;
    let high = found + absolute;
    let factor = &one - relative;
    let is_high_enough = factor <= zero || high.squared() >= &factor.squared() * square;
    *found >= zero && is_low_enough && is_high_enough
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_products_are_exact() {
        let of = |number: f64| Exact::from(number);
        for number in [0.0, -0.0, 1.0, -0.1, f64::MAX, f64::MIN_POSITIVE, 5e-324] {
            assert!(is_within(number, &of(number), &Exact::whole(0)));
        }
        assert_eq!(of(0.5) + of(0.25), of(0.75));
        assert_eq!(of(3.0) * of(-0.5), of(-1.5));
        assert_eq!(of(f64::MIN_POSITIVE), Exact::power(-1022));
        let terms = [1e300, 1.0, -1e300, 5e-324].map(Exact::from);
        let sum: Exact = terms.into_iter().sum();
        assert_eq!(sum, of(1.0) + Exact::power(-1074));
        assert!(sum > of(1.0) && sum < of(1.0f64.next_up()));
        // 0.1 is not a tenth.
        assert_ne!(of(0.1) * Exact::whole(10), Exact::whole(1));
    }

    #[test]
    fn bounds_hold_up_to_their_ends() {
        let two = Exact::whole(2);
        let (root, u, zero) = (2f64.sqrt(), Exact::from(U), Exact::whole(0));
        // The root is half a unit of its last place away at most.
        let is_root = |root: f64| is_root_within(&root.into(), &two, &zero, &u);
        assert!(is_root(root) && !is_root(root.next_up()) && !is_root(root.next_down()));
        let (half, one) = (Exact::power(-1), Exact::whole(1));
        assert!(is_within(1.5, &one, &half) && !is_within(1.5f64.next_up(), &one, &half));
        assert!(is_within(0.5, &one, &half) && !is_within(0.5f64.next_down(), &one, &half));
    }
}
