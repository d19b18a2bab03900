#!/bin/sh
# Runs the bundle's programs on a machine with a GPU.
#   run.sh [tests] [PROGRAMS…] [ARGS…]
#                                the tests, of all programs or of those that are named; ARGS go to each
#                                program: names of tests begin with their topic, as in
#                                `run.sh tests kernels box_overlap:: matmul::cast::`
#   run.sh memcheck [PROGRAMS…] [ARGS…]
#                                the tests under a sanitizer, on smaller inputs;
#                                likewise racecheck, initcheck and synccheck
#   run.sh bench [ARGS…]         the measurements; ARGS are those of `cargo xtask bench`, such as names of steps,
#                                --list and --out FILE
#   run.sh profile [ARGS…]       what Nsight Compute counts in the ladders' kernels: as `cargo xtask profile`
#   run.sh examples [PROGRAMS…] [ARGS…]
#                                the examples, likewise
#   run.sh unpack                nothing: the programs are in tests, benches, examples and bin then
# Fails if a program fails, or if there is none to run.
set -u
bundle=$(cd "$(dirname "$0")" && pwd)
from=$PWD
cd "$bundle/.." || exit 1
CARGO_MANIFEST_DIR=$PWD
export CARGO_MANIFEST_DIR
# Anew if the archive was replaced, or if unpacking it was interrupted.
if [ ! "$bundle/unpacked" -nt "$bundle/programs.tar.xz" ]; then
    rm -rf "$bundle/tests" "$bundle/examples" "$bundle/benches" "$bundle/bin"
    # Python knows the format too, where there is no xz.
    if command -v xz >/dev/null; then
        tar -xJf "$bundle/programs.tar.xz" -C "$bundle" || exit 1
    else
        python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' \
            "$bundle/programs.tar.xz" "$bundle" || exit 1
    fi
    touch "$bundle/unpacked" || exit 1
fi

mode=${1:-tests}
[ $# -gt 0 ] && shift
under=
case $mode in
    tests)
        part=tests
        ;;
    memcheck | racecheck | initcheck | synccheck)
        part=tests
        sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
        if ! command -v "$sanitizer" >/dev/null; then
            echo "error: there is no $sanitizer: install it, or set COMPUTE_SANITIZER" >&2
            exit 1
        fi
        # Child processes of tests trap on purpose.
        under="$sanitizer --tool $mode --target-processes application-only --error-exitcode 1"
        # Tests provoke errors of the driver on purpose, and check them themselves.
        [ "$mode" = memcheck ] && under="$under --report-api-errors no"
        # A sanitizer is slow, it sees the GPU alone, and tests that run at once would share that.
        GRIDSTRIDE_TEST_SMALL=1
        GRIDSTRIDE_TEST_ONLY_CUDA=1
        RUST_TEST_THREADS=1
        export GRIDSTRIDE_TEST_SMALL GRIDSTRIDE_TEST_ONLY_CUDA RUST_TEST_THREADS
        ;;
    bench)
        # Paths among the arguments are those of the caller.
        cd "$from" || exit 1
        exec "$bundle/bin/xtask" bench --bundle "$bundle" "$@"
        ;;
    profile)
        exec "$bundle/bin/xtask" profile --program "$bundle/bin/gridstride_learn" "$@"
        ;;
    examples)
        part=examples
        ;;
    unpack)
        exit 0
        ;;
    *)
        echo "error: $mode is none of tests, memcheck, racecheck, initcheck, synccheck, bench, profile, examples, unpack" >&2
        exit 1
        ;;
esac
# Without a GPU the tests fail instead of skipping.
GRIDSTRIDE_REQUIRE_CUDA=1
export GRIDSTRIDE_REQUIRE_CUDA

named=
while [ $# -gt 0 ] && [ -f "$bundle/$part/$1" ]; do
    named="$named $1 "
    shift
done
ran=0
failed=
for program in "$bundle/$part"/*; do
    [ -f "$program" ] || continue
    name=$(basename "$program")
    if [ -n "$named" ]; then
        case $named in *" $name "*) ;; *) continue ;; esac
    # A sanitizer has nothing to see in the tests that start a program.
    elif [ -n "$under" ]; then
        case $name in cli | learn) continue ;; esac
    fi
    ran=$((ran + 1))
    echo "== $mode: $name"
    # As under cargo: in the folder of the package, where test data lies, and with the path of its program.
    case $name in
        cli | cli-unit) folder=cli tested=gridstride ;;
        learn | learn-unit) folder=learn tested=gridstride_learn ;;
        *) folder=. tested=none ;;
    esac
    # $under is a command with its options: it has to be split.
    (cd "$folder" && env "CARGO_BIN_EXE_$tested=$bundle/bin/$tested" $under "$program" "$@") || failed="$failed $name"
done
if [ "$ran" -eq 0 ]; then
    echo "error: there is nothing to run in $bundle/$part" >&2
    exit 1
fi
if [ -n "$failed" ]; then
    echo "error: failed:$failed" >&2
    exit 1
fi
