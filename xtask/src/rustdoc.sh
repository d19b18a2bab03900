#!/bin/sh
# rustdoc of the pinned toolchain with its unstable options. With the variable in cargo's environment, dependencies
# whose build scripts look for a nightly compiler would be compiled again.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
