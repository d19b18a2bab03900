"""PyTorch's products of matrices, by cuBLAS, on the cases of benches/matmul.rs.

Run with PyTorch on a machine with a GPU:
    python3 matmul_torch.py [--sizes 128,tall] [--types f32,bf16] [--runs 15]
The times, by CUDA events, are those of torch.matmul(…, out=…) between matrices in the device's memory; a run makes as many
calls one after the other as take about a millisecond, after 0.2 s of calls that are not timed, as in benches/matmul.rs. f32
is multiplied as f32, tf32 is f32 with torch.backends.cuda.matmul.allow_tf32. bf16 and f16 are summed up in f32, without
reductions in the type itself; the product has the type of the matrices. The error is the largest of the checked rows against
float64, of factors in [-1, 1); each has to be within its bound.
"""

import argparse

import numpy as np
import torch

from timing import grouped, row, times_ms

ALL = ("f32", "f64", "tf32", "bf16", "f16")
DTYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "tf32": torch.float32,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
}

UNITS = {"f32": "f32", "f64": "tensor_f64", "tf32": "tensor_tf32", "bf16": "tensor_half", "f16": "tensor_half"}

# Milliseconds of calls before those that are timed.
WARM_UP = 200

# Batch, m, k, n, and the types that are taken.
CASES = {str(size): (1, size, size, size, ALL) for size in (128, 256, 512, 1024, 2048, 4096, 8192, 16384)}
CASES["rectangle"] = (1, 6000, 4800, 4000, ALL)
CASES["tall"] = (1, 50000, 784, 10, ("f32", "f64"))
CASES["wide"] = (1, 10, 784, 50000, ("f32", "f64"))
CASES["vector"] = (1, 16384, 16384, 1, ("f32", "f64", "bf16", "f16"))
CASES["row"] = (1, 1, 16384, 16384, ("f32", "f64", "bf16", "f16"))
CASES["short"] = (1, 1, 8, 1 << 22, ("f32", "f64"))
CASES |= {name: (1000, size, size, size, ALL) for name, size in (("batch32", 32), ("batch", 64), ("batch128", 128))}


def random_matrices(case, dtype):
    """A and B, uniform in [-1, 1), and the memory for C."""
    batch, m, k, n, _ = case
    generator = torch.Generator("cuda").manual_seed(1)
    drawn = torch.float64 if dtype == torch.float64 else torch.float32
    shapes = ((m, k), (k, n), (m, n)) if batch == 1 else ((batch, m, k), (batch, k, n), (batch, m, n))
    a, b = (
        (2 * torch.rand(shape, dtype=drawn, device="cuda", generator=generator) - 1).to(dtype)
        for shape in shapes[:2]
    )
    return a, b, torch.empty(shapes[2], dtype=dtype, device="cuda")


def error_factor(name, k):
    """That of gridstride's MatMul::error_factor, which says where it comes from."""
    roundoff = {"f64": 2.0**-53, "f32": 2.0**-24}.get(name, 2.0**-23)
    sums = (k + 2) * roundoff / (1 - (k + 2) * roundoff)
    cut = 2.0**-10 if name == "tf32" else 0.0
    return (1 + cut) ** 2 * (1 + sums) - 1


def largest_error(name, a, b, c):
    """Of at most 16 rows; of a batch, those of the matrix in the middle. Fails if one is beyond its bound."""
    if a.dim() == 3:
        a, b, c = (matrices[len(matrices) // 2] for matrices in (a, b, c))
    rows = torch.from_numpy(np.unique(np.linspace(0, len(a) - 1, 16).astype(int))).cuda()
    a, b, c = (matrix.cpu().double() for matrix in (a[rows], b, c[rows]))
    own = error_factor("f64", a.shape[1])
    bounds = (error_factor(name, a.shape[1]) + own) / (1 - own) * (a.abs() @ b.abs())
    exact = a @ b
    if name in ("bf16", "f16"):
        # What is rounded once more is at most so far from 0, and may be subnormal.
        limits = torch.finfo(DTYPES[name])
        bounds += limits.eps / 2 * (exact.abs() + bounds) + limits.tiny * limits.eps / 2
    errors = (c - exact).abs()
    # So written, NaN fails too.
    assert (errors <= bounds).all(), "the product is wrong"
    return errors.max().item()


def case_name(case, name):
    """That of benches/matmul.rs."""
    batch, m, k, n, _ = case
    shape = f"{m}³" if m == k == n else " × ".join(map(grouped, (m, k, n)))
    return f"{shape}, {name}" if batch == 1 else f"{batch} of {shape}, {name}"


def arguments():
    parser = argparse.ArgumentParser(description="PyTorch's products of matrices")
    parser.add_argument("--sizes", default=",".join(CASES), help="cases to take, by name")
    parser.add_argument("--types", default=",".join(ALL), help="types to take")
    parser.add_argument("--runs", type=int, default=15, help="timed runs, at most 7 where one takes over 20 ms")
    return parser.parse_args()


def main():
    args = arguments()
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    print(torch.cuda.get_device_name(0), "torch", torch.__version__, "CUDA", torch.version.cuda)
    for name in args.types.split(","):
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        for size in args.sizes.split(","):
            batch, m, k, n, types = CASES[size]
            if name not in types:
                continue
            a, b, c = random_matrices(CASES[size], DTYPES[name])
            call = lambda: torch.matmul(a, b, out=c)
            once = times_ms(call, 1)[0]
            calls = int(min(max(1 / once, 1), 100))
            busy = 0
            while busy < WARM_UP:
                busy += calls * times_ms(call, 1, calls)[0]
            row(
                case_name(CASES[size], name),
                times_ms(call, min(args.runs, 7) if once > 20 else args.runs, calls),
                program="PyTorch",
                version=torch.__version__,
                bytes=sum(matrix.nbytes for matrix in (a, b, c)),
                operations=2 * batch * m * k * n,
                unit=UNITS[name],
                error=largest_error(name, a, b, c),
            )
            del a, b, c


if __name__ == "__main__":
    main()
