//! Arithmetic in `f32` and in `f64` from one source.

use cuda_std::float;

/// A number of a lane, x + y·z.
#[derive(Clone, Copy)]
pub struct Complex<N> {
    /// The part without z.
    pub x: N,
    /// The part with z.
    pub y: N,
}

/// `f32` or `f64`, with the form in which numbers of a lane lie in memory.
pub trait Number: Copy + 'static {
    /// A number of a lane in global memory, aligned to its size so that it is one access.
    type Pair: Copy;
    /// 16 bytes of shared memory, the widest access.
    type Quad: Copy;
    /// How many numbers of a lane a quad holds.
    const PER_QUAD: usize;
    /// Zero.
    const ZERO: Self;

    /// a·b + c with one rounding.
    fn fma(a: Self, b: Self, c: Self) -> Self;
    /// a + b.
    fn add(a: Self, b: Self) -> Self;
    /// a·b.
    fn mul(a: Self, b: Self) -> Self;
    /// The nearest number.
    fn from_f64(value: f64) -> Self;
    /// The same number.
    fn to_f64(self) -> f64;
    /// For memory.
    fn pair(value: Complex<Self>) -> Self::Pair;
    /// From memory.
    fn unpair(pair: Self::Pair) -> Complex<Self>;
    /// Number `index` of a quad.
    fn of_quad(quad: Self::Quad, index: usize) -> Complex<Self>;
}

/// Two numbers, 8 bytes.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(target_arch = "nvptx64"),
    derive(bytemuck::Pod, bytemuck::Zeroable)
)]
pub struct Pair32(f32, f32);

impl Pair32 {
    /// Zero.
    pub const ZERO: Pair32 = Pair32(0.0, 0.0);
}

/// Two numbers, 16 bytes.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(target_arch = "nvptx64"),
    derive(bytemuck::Pod, bytemuck::Zeroable)
)]
pub struct Pair64(f64, f64);

/// Four numbers, 16 bytes.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Quad32(f32, f32, f32, f32);

impl Number for f32 {
    type Pair = Pair32;
    type Quad = Quad32;
    const PER_QUAD: usize = 2;
    const ZERO: f32 = 0.0;

    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> f32 {
        float::fma_f32(a, b, c)
    }
    #[inline(always)]
    fn add(a: f32, b: f32) -> f32 {
        a + b
    }
    #[inline(always)]
    fn mul(a: f32, b: f32) -> f32 {
        a * b
    }
    #[inline(always)]
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self as f64
    }
    #[inline(always)]
    fn pair(value: Complex<f32>) -> Pair32 {
        Pair32(value.x, value.y)
    }
    #[inline(always)]
    fn unpair(pair: Pair32) -> Complex<f32> {
        Complex {
            x: pair.0,
            y: pair.1,
        }
    }
    #[inline(always)]
    fn of_quad(quad: Quad32, index: usize) -> Complex<f32> {
        match index {
            0 => Complex {
                x: quad.0,
                y: quad.1,
            },
            _ => Complex {
                x: quad.2,
                y: quad.3,
            },
        }
    }
}

impl Number for f64 {
    type Pair = Pair64;
    type Quad = Pair64;
    const PER_QUAD: usize = 1;
    const ZERO: f64 = 0.0;

    #[inline(always)]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        float::fma_f64(a, b, c)
    }
    #[inline(always)]
    fn add(a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline(always)]
    fn mul(a: f64, b: f64) -> f64 {
        a * b
    }
    #[inline(always)]
    fn from_f64(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }
    #[inline(always)]
    fn pair(value: Complex<f64>) -> Pair64 {
        Pair64(value.x, value.y)
    }
    #[inline(always)]
    fn unpair(pair: Pair64) -> Complex<f64> {
        Complex {
            x: pair.0,
            y: pair.1,
        }
    }
    #[inline(always)]
    fn of_quad(quad: Pair64, _index: usize) -> Complex<f64> {
        Self::unpair(quad)
    }
}

impl<N: Number> Complex<N> {
    /// Zero.
    pub const ZERO: Complex<N> = Complex {
        x: N::ZERO,
        y: N::ZERO,
    };

    /// `self + other`.
    #[inline(always)]
    pub fn plus(self, other: Complex<N>) -> Complex<N> {
        Complex {
            x: N::add(self.x, other.x),
            y: N::add(self.y, other.y),
        }
    }

    /// `self + u·v`, where `vy_z2` is v's y times z².
    #[inline(always)]
    pub fn plus_product(self, u: Complex<N>, v: Complex<N>, vy_z2: N) -> Complex<N> {
        Complex {
            x: N::fma(u.y, vy_z2, N::fma(u.x, v.x, self.x)),
            y: N::fma(u.y, v.x, N::fma(u.x, v.y, self.y)),
        }
    }
}
