//! Matrix products: naive, and with tiles in shared memory.

use anyhow::Result;
use gridstride::device::LaunchConfig;
use ladder_kernels::matmul::{Sizes, TILE, matmul_naive, matmul_tiled};
use ndarray::{Array2, ArrayView2, s};

use super::KERNELS;
use super::climb::Climb;
use super::products::{Expected, check_sizes, library, random_matrix};
use super::rows::Ladder;
use super::setup::{Defaults, Setup};

/// Products that a core adds up in a second or so.
const PRODUCTS_OF_A_CORE: usize = 4_000_000_000;

/// The sizes.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Rows of A and C; 6000 on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub m: Option<u32>,
    /// Columns of A and rows of B; 4800 on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub k: Option<u32>,
    /// Columns of B and C; 4000 on a GPU.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub n: Option<u32>,
}

/// Runs all versions.
///
/// # Errors
/// If a version fails or is wrong.
pub fn climb(options: &Options, setup: &Setup) -> Result<Ladder> {
    let m = setup.size(options.m, Defaults::new(6000, 900, 70));
    let k = setup.size(options.k, Defaults::new(4800, 720, 50));
    let n = setup.size(options.n, Defaults::new(4000, 600, 40));
    check_sizes(m, k, n)?;
    let mut climb = Climb::new(setup, format!("Matrix product {m}×{k} · {k}×{n} in f32"));
    climb.say("the matrices and the reference");
    let a = random_matrix(setup.seed, 0, (m, k), |number| number as f32)?;
    let b = random_matrix(setup.seed, 1, (k, n), |number| number as f32)?;
    let expected = Expected::new(a.view(), b.view());

    let rows = setup.part(m, PRODUCTS_OF_A_CORE / (k * n));
    climb.cpu_part(
        rows as f64 / m as f64,
        "plain",
        "one core, row by row",
        || Ok(plain(a.slice(s![..rows, ..]), b.view())),
        |c| expected.check_rows(rows, c.as_slice().expect("a new array")),
    )?;
    let device = &setup.device;
    let (on_device_a, on_device_b) = (device.upload(&a.view())?, device.upload(&b.view())?);
    let sizes = Sizes {
        m: m as u32,
        k: k as u32,
        n: n as u32,
    };
    let factors = (on_device_a.buffer().slice(), on_device_b.buffer().slice());
    let config = LaunchConfig::new(
        (sizes.m.div_ceil(TILE), sizes.n.div_ceil(TILE)),
        (TILE, TILE),
    );
    for (kernel, version, changed) in [
        (
            &matmul_naive,
            "naive",
            "a thread per element of C, all reads from global memory",
        ),
        (
            &matmul_tiled,
            "tiled",
            "16×16 tiles of A and B in shared memory",
        ),
    ] {
        let mut c = device.alloc::<f32>(m * n)?;
        let out = c.slice_mut();
        climb.kernel(
            version,
            changed,
            || {
                let arguments = (sizes, factors.0, factors.1, out);
                // SAFETY: the matrices have the sizes, C lives until the result has been read, and
                // the grid has a block for each 16×16 elements of C, rows along x.
                Ok(unsafe { device.launch(&KERNELS, kernel, config, arguments) }?)
            },
            |()| expected.check(&c.to_vec()?),
        )?;
        climb.occupancy(kernel, config)?;
    }
    let changed = "the library's: tiles in registers too";
    library(&mut climb, setup, (a.view(), b.view()), &expected, changed)?;
    Ok(climb.finish())
}

fn plain(a: ArrayView2<f32>, b: ArrayView2<f32>) -> Array2<f32> {
    let mut c = Array2::zeros((a.nrows(), b.ncols()));
    for (a_row, mut c_row) in a.rows().into_iter().zip(c.rows_mut()) {
        for (&factor, b_row) in a_row.iter().zip(b.rows()) {
            c_row.scaled_add(factor, &b_row);
        }
    }
    c
}
