//! Numbers for unit tests.

/// Returns a linear congruential generator for tests, whose upper bits are pseudo-random.
pub fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state =
            (state.wrapping_mul(6_364_136_223_846_793_005)).wrapping_add(1_442_695_040_888_963_407);
        state
    }
}
