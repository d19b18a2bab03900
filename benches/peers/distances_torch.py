"""PyTorch's distances of all pairs, on the workload of benches/distances.rs.

Run with PyTorch on a machine with a GPU:  python3 distances_torch.py [ROWS [DIM]]
By CUDA events, rows and distances on the device. The distances have the type of the rows; the error is the largest relative
error of sampled ones against float64. Rows that differ by a millionth are not timed; their error is printed.

differences: cdist(…, compute_mode='donot_use_mm_for_euclid_dist'), sums of squared differences
mm:          cdist(…, compute_mode='use_mm_for_euclid_dist'), ‖a‖² + ‖b‖² − 2ab by matrix multiplication
"""

import sys

import torch

from timing import grouped, row, times_ms

RUNS = 15
MODES = {
    "differences": "donot_use_mm_for_euclid_dist",
    "mm": "use_mm_for_euclid_dist",
}


def largest_error(a, b, mode):
    """On the pairs of a thousand rows."""
    a, b = a[:1000], b[:1000]
    exact = torch.cdist(a.double(), b.double(), compute_mode=MODES["differences"])
    error = (torch.cdist(a, b, compute_mode=mode).double() - exact).abs() / exact
    return error.max().item()


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    dim = int(sys.argv[2]) if len(sys.argv) > 2 else 96
    generator = torch.Generator("cuda").manual_seed(1)
    print(torch.cuda.get_device_name(0), "torch", torch.__version__)
    for kind, dtype in (("f64", torch.float64), ("f32", torch.float32)):
        a, b = (
            torch.rand(rows, dim, dtype=dtype, device="cuda", generator=generator) - 0.5
            for _ in range(2)
        )
        close = a * (1 + 1e-6)
        for name, mode in MODES.items():
            of = grouped(rows)
            row(
                f"{of} × {of} rows, {kind}",
                times_ms(lambda: torch.cdist(a, b, compute_mode=mode), runs=RUNS),
                program=f"PyTorch ({name})",
                version=torch.__version__,
                bytes=a.nbytes + b.nbytes + rows * rows * a.element_size(),
                error=largest_error(a, b, mode),
            )
            print(f"error of close rows: {largest_error(a, close, mode):.1e}", flush=True)


if __name__ == "__main__":
    main()
