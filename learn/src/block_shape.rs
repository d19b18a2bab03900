//! One naive matrix product in blocks of all shapes: threads without work, scattered writes, reuse
//! by caches.

use anyhow::Result;
use cuda_std::DeviceSliceMut;
use gridstride::Device;
use gridstride::device::{Buffer, DeviceArray, LaunchConfig};
use ladder_kernels::matmul::{Sizes, block_shape};
use ndarray::{Array2, ArrayView2, Ix2};

use super::KERNELS;
use super::climb::{Climb, Plan};
use super::products::{Expected, check_sizes, library, random_matrix};
use super::rows::{Axis, Clock, Ladder};
use super::setup::{Defaults, Setup};

/// The sizes.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Rows of A and C; 50000 on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub rows: Option<u32>,
    /// Columns of A and rows of B; 784 on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub inner: Option<u32>,
    /// Columns of B and C, up to 65535; 10 by default.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_GRID_Y)))]
    pub columns: Option<u32>,

    /// Sweep the shapes of blocks: all rows × columns that are powers of two, from a warp to 1024
    /// threads, for the product and for the transposed one.
    #[arg(long)]
    pub sweep: bool,
}

/// A block: rows along x, columns along y.
type Block = (u32, u32);

/// Rows of swept blocks, and threads of these blocks.
const SWEPT_ROWS: [u32; 11] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const SWEPT_THREADS: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// The most blocks of a grid along y.
const MAX_GRID_Y: u32 = 65_535;

const SHAPES: [(Block, &str); 3] = [
    (
        (16, 16),
        "16 rows × 16 columns: few threads have no column of C",
    ),
    (
        (1, 256),
        "1 row × 256 columns: most threads have no column of C",
    ),
    (
        (256, 1),
        "256 rows × 1 column: a warp reads A and writes C in 32 rows",
    ),
];

/// Runs all shapes.
///
/// # Errors
/// If one fails or is wrong.
pub fn climb(options: &Options, setup: &Setup) -> Result<Ladder> {
    let m = setup.size(options.rows, Defaults::new(50_000, 50_000, 300));
    let k = setup.size(options.inner, Defaults::new(784, 784, 20));
    let n = setup.size(options.columns, Defaults::new(10, 10, 10));
    check_sizes(m, k, n)?;
    let title = format!("Blocks of a naive matrix product {m}×{k} · {k}×{n} in f64");
    let mut climb = Climb::new(setup, title);
    climb.say("the matrices and the reference");
    let a = random_matrix(setup.seed, 0, (m, k), |number| number)?;
    let b = random_matrix(setup.seed, 1, (k, n), |number| number)?;
    let expected = Expected::new(a.view(), b.view());
    // The transposed product, bᵀ·aᵀ = (a·b)ᵀ, of matrices that are stored transposed.
    let (a_t, b_t) = (
        a.t().as_standard_layout().into_owned(),
        b.t().as_standard_layout().into_owned(),
    );
    let expected_t = Expected::new(b_t.view(), a_t.view());

    climb.cpu(
        "plain",
        "one core, element by element",
        || Ok(plain(a.view(), b_t.view())),
        |c| expected.check(c.as_slice().expect("a new array")),
    )?;
    if setup.has_kernels() {
        let device = &setup.device;
        let product = DeviceProduct::new(device, &a, &b, &expected)?;
        for (block, changed) in SHAPES {
            let name = format!("{}×{}", block.0, block.1);
            product.climb(&mut climb, &name, block, changed)?;
        }
        let transposed = DeviceProduct::new(device, &b_t, &a_t, &expected_t)?;
        transposed.climb(
            &mut climb,
            "1×256 transposed",
            (1, 256),
            "all transposed: warps read and write 32 neighbours, and every thread has work",
        )?;
        if options.sweep {
            product.sweep(
                &mut climb,
                "Blocks of the product, with threads / rows columns",
            )?;
            transposed.sweep(
                &mut climb,
                "Blocks of the transposed product, with threads / rows columns",
            )?;
        }
    }
    let changed = "the library's: A is read once";
    library(&mut climb, setup, (a.view(), b.view()), &expected, changed)?;
    Ok(climb.finish())
}

/// A product of matrices in the device's memory.
struct DeviceProduct<'a> {
    device: &'a Device,
    a: DeviceArray<f64, Ix2>,
    b: DeviceArray<f64, Ix2>,
    sizes: Sizes,
    expected: &'a Expected,
}

impl<'a> DeviceProduct<'a> {
    fn new(
        device: &'a Device,
        a: &Array2<f64>,
        b: &Array2<f64>,
        expected: &'a Expected,
    ) -> Result<DeviceProduct<'a>> {
        Ok(DeviceProduct {
            device,
            sizes: Sizes {
                m: a.nrows() as u32,
                k: a.ncols() as u32,
                n: b.ncols() as u32,
            },
            a: device.upload(&a.view())?,
            b: device.upload(&b.view())?,
            expected,
        })
    }

    /// A grid with a thread for each element of C.
    fn config(&self, block: Block) -> LaunchConfig {
        let Sizes { m, n, .. } = self.sizes;
        LaunchConfig::new((m.div_ceil(block.0), n.div_ceil(block.1)), block)
    }

    fn launch(&self, block: Block, c: DeviceSliceMut<f64>) -> Result<()> {
        let arguments = (
            self.sizes,
            self.a.buffer().slice(),
            self.b.buffer().slice(),
            c,
        );
        let (device, config) = (self.device, self.config(block));
        // SAFETY: the matrices have the sizes and live until the result has been read, and the grid
        // has a thread for each element of C, rows along x.
        Ok(unsafe { device.launch(&KERNELS, &block_shape, config, arguments) }?)
    }

    fn room(&self) -> Result<Buffer<f64>> {
        Ok(self
            .device
            .alloc(self.sizes.m as usize * self.sizes.n as usize)?)
    }

    /// Runs the product in blocks of a shape.
    fn climb(&self, climb: &mut Climb, name: &str, block: Block, changed: &str) -> Result<()> {
        let mut c = self.room()?;
        let out = c.slice_mut();
        climb.kernel(
            name,
            changed,
            || self.launch(block, out),
            |()| self.expected.check(&c.to_vec()?),
        )?;
        climb.occupancy(&block_shape, self.config(block))
    }

    /// Runs the product in blocks of all shapes.
    fn sweep(&self, climb: &mut Climb, title: &str) -> Result<()> {
        let plan = Plan {
            title,
            clock: Clock::Kernel,
            parameter: "rows of a block",
            axis: Axis::Doubling,
            values: &SWEPT_ROWS,
            lines: &SWEPT_THREADS.map(|threads| (format!("{threads} threads"), threads)),
        };
        climb.sweep(plan, |climb, &threads, rows| {
            let block = (rows, threads / rows);
            if rows > threads || self.config(block).grid.y > MAX_GRID_Y {
                return Ok(None);
            }
            let mut c = self.room()?;
            let out = c.slice_mut();
            let time = climb.time(Clock::Kernel, || self.launch(block, out))?;
            self.expected.check(&c.to_vec()?)?;
            Ok(Some(time))
        })
    }
}

fn plain(a: ArrayView2<f64>, b_transposed: ArrayView2<f64>) -> Array2<f64> {
    Array2::from_shape_fn((a.nrows(), b_transposed.nrows()), |(row, column)| {
        let (row, column) = (a.row(row), b_transposed.row(column));
        row.iter().zip(column).map(|(a, b)| a * b).sum()
    })
}
