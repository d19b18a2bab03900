//! One naive matrix product in blocks of four shapes: threads without work, scattered writes, reuse
//! by caches.

use anyhow::Result;
use gridstride::device::LaunchConfig;
use ladder_kernels::matmul::{Sizes, block_shape};
use ndarray::{Array2, ArrayView2};

use super::KERNELS;
use super::climb::{Climb, Defaults, Ladder, Setup};
use super::products::{Expected, check_sizes, library, random_matrix};

/// The sizes.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Rows of A and C; 50000 on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub rows: Option<u32>,
    /// Columns of A and rows of B; 784 on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub inner: Option<u32>,
    /// Columns of B and C; 10 by default.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub columns: Option<u32>,
}

/// A block: rows along x, columns along y.
type Block = (u32, u32);

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
    let a = random_matrix(setup.seed, 0, (m, k), |number| number);
    let b = random_matrix(setup.seed, 1, (k, n), |number| number);
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
    let shapes = SHAPES.map(|(block, changed)| (&a, &b, &expected, block, changed));
    let transposed = (
        &b_t,
        &a_t,
        &expected_t,
        (1, 256),
        "all transposed: warps read and write 32 neighbours, and every thread has work",
    );
    for (a, b, expected, block, changed) in shapes.into_iter().chain([transposed]) {
        let name = match std::ptr::eq(a, &b_t) {
            true => format!("{}×{} transposed", block.0, block.1),
            false => format!("{}×{}", block.0, block.1),
        };
        run(&mut climb, setup, (a, b, expected), block, &name, changed)?;
    }
    let changed = "the library's: A is read once";
    library(&mut climb, setup, (a.view(), b.view()), &expected, changed)?;
    Ok(climb.finish(None))
}

/// The product in blocks of a shape.
fn run(
    climb: &mut Climb,
    setup: &Setup,
    (a, b, expected): (&Array2<f64>, &Array2<f64>, &Expected),
    block: Block,
    name: &str,
    changed: &str,
) -> Result<()> {
    let device = &setup.device;
    if !setup.has_kernels() {
        return Ok(());
    }
    let (m, k, n) = (a.nrows(), a.ncols(), b.ncols());
    let sizes = Sizes {
        m: m as u32,
        k: k as u32,
        n: n as u32,
    };
    let on_device = (device.upload(&a.view())?, device.upload(&b.view())?);
    let mut c = device.alloc::<f64>(m * n)?;
    let arguments = (
        sizes,
        on_device.0.buffer().slice(),
        on_device.1.buffer().slice(),
        c.slice_mut(),
    );
    let grid = (sizes.m.div_ceil(block.0), sizes.n.div_ceil(block.1));
    let config = LaunchConfig::new(grid, block);
    climb.kernel(
        name,
        changed,
        // SAFETY: the matrices have the sizes and live until the result has been read, and the grid
        // has a thread for each element of C, rows along x.
        || Ok(unsafe { device.launch(&KERNELS, &block_shape, config, arguments) }?),
        |()| expected.check(&c.to_vec()?),
    )
}

fn plain(a: ArrayView2<f64>, b_transposed: ArrayView2<f64>) -> Array2<f64> {
    Array2::from_shape_fn((a.nrows(), b_transposed.nrows()), |(row, column)| {
        let (row, column) = (a.row(row), b_transposed.row(column));
        row.iter().zip(column).map(|(a, b)| a * b).sum()
    })
}
