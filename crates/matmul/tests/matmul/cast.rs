//! Conversions of numbers on every device, bit for bit against the crate `half` and Rust's own.

use std::fmt::Debug;

use gridstride::matmul::{Cast, CastTo, MatMul, Scalar};
use gridstride::{Device, Error, Result};
use half::{bf16, f16};
use ndarray::{Array1, Array3, ArrayView1};

use test_support::{Random, assert_error, devices};

/// The bits of numbers.
trait Bits: Scalar {
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($type:ty)*) => {$(
        impl Bits for $type {
            fn bits(self) -> u64 {
                self.to_bits().into()
            }
        }
    )*};
}
bits! { f32 f64 f16 bf16 }

/// Checks that every device converts the numbers to `expected`.
fn check<T: CastTo<U> + Bits, U: Bits>(numbers: &[T], expected: impl Fn(T) -> U) {
    for device in devices() {
        let there = device.upload(&ArrayView1::from(numbers)).unwrap();
        let found = there.cast::<U>().unwrap().download().unwrap();
        assert_eq!(found.len(), numbers.len());
        for (&number, found) in numbers.iter().zip(found) {
            let expected = expected(number);
            assert!(
                found.bits() == expected.bits(),
                "{device}: {number:?} ({:x}) became {found:?} ({:x}) instead of {expected:?} ({:x})",
                number.bits(),
                found.bits(),
                expected.bits()
            );
        }
    }
}

/// Bits without a pattern.
fn random(count: usize) -> impl Iterator<Item = u64> {
    let mut random = Random(1);
    std::iter::repeat_with(move || random.bits()).take(count)
}

fn every_pattern() -> impl Iterator<Item = u16> {
    0..=u16::MAX
}

/// Each number with its two neighbours in `f32`.
fn around<const COUNT: usize>(narrow: [f32; COUNT]) -> impl Iterator<Item = f32> {
    narrow.into_iter().flat_map(|number| {
        let bits = number.to_bits();
        [bits.wrapping_sub(1), bits, bits.wrapping_add(1)].map(f32::from_bits)
    })
}

/// `f32` numbers of every kind: around every number of the narrower type, special ones, and random
/// ones.
fn f32_numbers(narrow: impl Fn(u16) -> f32) -> Vec<f32> {
    let middles = every_pattern().flat_map(|bits| {
        let [number, next] = [bits, bits.wrapping_add(1)].map(&narrow);
        // Beyond the largest the middle is where infinity begins.
        let next = if next.is_infinite() {
            number + (number - narrow(bits.wrapping_sub(1)))
        } else {
            next
        };
        around([number, number / 2.0 + next / 2.0])
    });
    let specials = [
        0.0,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::from_bits(0x007f_ffff),
        f32::MAX,
        f32::INFINITY,
        f32::from_bits(0x7f80_0001),
        f32::from_bits(0x7fc0_0000),
        f32::from_bits(0x7fff_ffff),
        f32::from_bits(0x7f80_2000),
        f32::from_bits(0x7fa0_1fff),
    ];
    let specials = specials.into_iter().flat_map(|number| [number, -number]);
    let any = random(50_000).map(|bits| f32::from_bits(bits as u32));
    middles.chain(specials).chain(any).collect()
}

#[test]
fn every_f16_and_bf16_becomes_the_same_f32() {
    let numbers: Vec<f16> = every_pattern().map(f16::from_bits).collect();
    check::<f16, f32>(&numbers, f16::to_f32);
    let numbers: Vec<bf16> = every_pattern().map(bf16::from_bits).collect();
    check::<bf16, f32>(&numbers, bf16::to_f32);
}

#[test]
fn f32_becomes_the_nearest_f16() {
    let numbers = f32_numbers(|bits| f16::from_bits(bits).to_f32());
    check::<f32, f16>(&numbers, f16::from_f32);
    // Independent of the reference.
    assert_eq!(f16::from_f32(65519.996), f16::MAX);
    assert_eq!(f16::from_f32(65520.0), f16::INFINITY);
}

#[test]
fn f32_becomes_the_nearest_bf16() {
    let numbers = f32_numbers(|bits| bf16::from_bits(bits).to_f32());
    check::<f32, bf16>(&numbers, bf16::from_f32);
}

/// NaN of an `f64`, as the documentation says.
fn f64_of_f32(number: f32) -> f64 {
    let bits = u64::from(number.to_bits());
    match number.is_nan() {
        true => f64::from_bits(bits >> 31 << 63 | 0xfff << 51 | (bits & 0x3f_ffff) << 29),
        false => number.into(),
    }
}

#[test]
fn f32_becomes_the_same_f64() {
    check::<f32, f64>(
        &f32_numbers(|bits| bf16::from_bits(bits).to_f32()),
        f64_of_f32,
    );
}

#[test]
fn f64_becomes_the_nearest_f32() {
    let singles = random(50_000).map(|bits| f32::from_bits(bits as u32));
    let specials = [
        0.0,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        f32::MAX,
        f32::INFINITY,
    ];
    let around = singles.chain(specials).flat_map(|number| {
        let next = f64_of_f32(f32::from_bits(number.to_bits().wrapping_add(1)));
        let number = f64_of_f32(number);
        [number, number / 2.0 + next / 2.0]
            .into_iter()
            .flat_map(|number| {
                let bits = number.to_bits();
                [bits.wrapping_sub(1), bits, bits.wrapping_add(1)].map(f64::from_bits)
            })
    });
    // From here on numbers become infinite.
    let end = 2f64.powi(128) - 2f64.powi(103);
    let ends = [end, -end, end.next_down(), f64::MAX, f64::MIN_POSITIVE];
    let any = random(50_000).map(f64::from_bits);
    let numbers: Vec<f64> = around.chain(ends).chain(any).collect();
    check::<f64, f32>(&numbers, |number| {
        let bits = number.to_bits();
        match number.is_nan() {
            true => f32::from_bits(
                (bits >> 63 << 31) as u32 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x3f_ffff,
            ),
            false => number as f32,
        }
    });
}

#[test]
fn arrays_of_any_length_and_shape() -> Result<()> {
    fn of_types<T: CastTo<U> + Debug, U: CastTo<T> + Scalar>(device: &Device) -> Result<()> {
        // Around 16-byte vectors, and the elements of a block and of the whole grid in one step.
        let lengths = [
            0, 1, 2, 3, 4, 5, 7, 1023, 1024, 1027, 2049, 4096, 4101, 300_001,
        ];
        for length in lengths {
            let numbers = Array1::from_shape_fn(length, |i| T::from_f64((i % 100) as f64 - 50.0));
            let there = device.upload(&numbers)?.cast::<U>()?;
            assert_eq!(there.download()?, numbers.mapv(|x| U::from_f64(x.to_f64())));
            assert_eq!(
                there.cast::<T>()?.download()?,
                numbers,
                "{device}, {length}"
            );
        }
        let numbers = Array3::from_shape_fn((3, 5, 7), |(i, j, k)| T::from_f64((i + j * k) as f64));
        let there = device.upload(&numbers)?.cast::<U>()?;
        assert_eq!(there.shape(), [3, 5, 7]);
        assert_eq!(there.cast::<T>()?.download()?, numbers, "{device}");
        Ok(())
    }
    for device in devices() {
        of_types::<f32, f16>(&device)?;
        of_types::<f32, bf16>(&device)?;
        of_types::<f32, f64>(&device)?;
    }
    Ok(())
}

#[test]
fn products_chain_on_the_device() -> Result<()> {
    fn of_type<T: CastTo<f32> + Scalar<Sum = f32>>(
        device: &Device,
        nearest: fn(f32) -> T,
    ) -> Result<()>
    where
        f32: CastTo<T>,
    {
        let a = super::random::<T>((70, 40), 1);
        let b = super::random::<T>((40, 50), 2);
        let c = super::random::<T>((50, 30), 3);
        let by = MatMul::new();
        let [a, b, c] = [&a, &b, &c].map(|matrix| device.upload(matrix).unwrap());
        let first = by.matmul_device(&a, &b)?;
        let chained = by.matmul_device(&first.cast::<T>()?, &c)?.download()?;
        // By way of the host.
        let rounded = first.download()?.mapv(nearest);
        let expected = by
            .matmul_device(&device.upload(&rounded)?, &c)?
            .download()?;
        assert_eq!(chained, expected, "{device}");
        Ok(())
    }
    for device in devices() {
        of_type::<f16>(&device, f16::from_f32)?;
        of_type::<bf16>(&device, bf16::from_f32)?;
    }
    Ok(())
}

#[test]
fn little_memory_is_an_error() {
    for device in devices() {
        let device = device.with_memory_limit(5000);
        let there = device.upload(&Array1::<f32>::zeros(1000)).unwrap();
        assert_error!(there.cast::<f64>(), Error::Allocation { .. });
    }
}
