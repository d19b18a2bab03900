//! The kernels that are profiled, and the rows whose launches are theirs.

/// A ladder: its name and options, its unit of work and how many there are, and its kernels, each
/// with the rows of its launches in order.
pub struct Profiled {
    pub ladder: &'static str,
    pub options: &'static [&'static str],
    pub unit: &'static str,
    pub units: f64,
    pub kernels: &'static [(&'static str, &'static [&'static str])],
}

/// Smaller than the ladders' own sizes, as each launch runs several times; all kernels still fill
/// the GPU.
pub const PROFILED: [Profiled; 6] = [
    Profiled {
        ladder: "tensor-sketch",
        options: &["--equal", "--sequences", "1410", "--letters", "14100000"],
        unit: "letter",
        units: 14.1e6,
        kernels: &[
            // With copies first.
            ("sketch_all", &["V5, copies", "V5"]),
            ("sketch_32_bits", &["V6"]),
            ("sketch_one_barrier", &["V7"]),
            ("sketch_along_places", &["V8"]),
            ("sketch_consecutive_6", &["V9"]),
            ("sketch_strided_6", &["V9, strided"]),
            ("sketch_staged_letters", &["V10"]),
            ("sketch_staged_tables", &["V11"]),
            ("sketch_constant_tables", &["V11, constant"]),
            ("sketch_pointers", &["V13"]),
            ("sketch_run_time_sizes", &["V15"]),
        ],
    },
    Profiled {
        ladder: "box-overlap",
        options: &["--boxes", "50000"],
        unit: "test",
        units: 25e8,
        kernels: &[
            ("overlaps_plain", &["kernel"]),
            ("overlaps_shared", &["v1", "v1, occupancy"]),
            ("overlaps_shared_items", &["v2"]),
            ("overlaps_half", &["v3"]),
        ],
    },
    Profiled {
        ladder: "matmul",
        options: &["--m", "3000", "--k", "2400", "--n", "2000"],
        unit: "multiply-add",
        units: 144e8,
        kernels: &[("matmul_naive", &["naive"]), ("matmul_tiled", &["tiled"])],
    },
    Profiled {
        ladder: "block-shape",
        options: &[],
        unit: "multiply-add",
        units: 392e6,
        kernels: &[(
            "block_shape",
            &["16×16", "1×256", "256×1", "1×256 transposed"],
        )],
    },
    Profiled {
        ladder: "vector-add",
        options: &["--elements", "1000000"],
        unit: "element",
        units: 1e6,
        kernels: &[
            ("vector_add", &["one thread", "kernel"]),
            ("vector_add_3d", &["index_3d"]),
        ],
    },
    Profiled {
        ladder: "timestamps",
        options: &[],
        unit: "point",
        units: 6_291_456.0,
        kernels: &[
            ("sum_neighbours", &["v1"]),
            ("sum_staged_neighbours", &["v3"]),
            ("round_timestamps", &["round_timestamps"]),
            ("count_runs", &["count_uniqs"]),
            // The walk; rounding has a row of its own.
            ("sum_runs", &["sum_uniqs"]),
        ],
    },
];
