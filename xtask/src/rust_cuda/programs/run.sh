#!/usr/bin/env bash
# Runs Rust-CUDA's examples on the first GPU of this machine.
cd "$(dirname "$0")"
failed=0
check() {
    echo "== $1"
    shift
    if "$@"; then echo "passed"; else echo "FAILED"; failed=1; fi
}
# vecadd prints one sum and checks none.
vecadd() {
    ./vecadd | tee /dev/stderr | awk '/ = / { d = $1 + $3 - $5; found = d < 1e-6 && d > -1e-6 } END { exit !found }'
}
check "every kernel is in its module" ./load_ptx ptx/*.ptx
check "vecadd" vecadd
check "gemm, without cuBLAS" ./gemm
check "sha2_crates_io" ./sha2_crates_io
exit $failed
