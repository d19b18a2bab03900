//! Which compilers are known to work, and why a compiler is rejected.

use std::fmt;

/// The oldest rustc that `cuda_std` allows. `-Cpanic=immediate-abort` exists from 1.92 on.
pub(crate) const OLDEST_RUSTC: (u32, u32) = (1, 95);

/// The newest rustc that has compiled every kernel crate of this repository.
const NEWEST_TESTED: (u32, u32) = (1, 101);

/// The day of its commit: a later nightly of the same number may differ.
const NEWEST_TESTED_DAY: &str = "2026-10-28";

/// The range from [`OLDEST_RUSTC`] to [`NEWEST_TESTED`], in words.
pub(crate) const TESTED: &str = "rustc 1.95 to rustc 1.101.0-nightly (2026-10-28)";

/// Whether a rustc, by its first line about itself, is in the tested range.
pub(crate) fn is_tested(rustc_version: &str) -> bool {
    let release = rustc_version.split_whitespace().nth(1).unwrap_or_default();
    let day = rustc_version.split([' ', ')']).find(|word| is_day(word));
    let is_later = day.is_some_and(|day| day > NEWEST_TESTED_DAY);
    numbers(release).is_some_and(|numbers| {
        let is_newest_nightly = numbers == NEWEST_TESTED && release.contains('-');
        (OLDEST_RUSTC..=NEWEST_TESTED).contains(&numbers) && !(is_newest_nightly && is_later)
    })
}

/// Whether a word is a date such as `2026-10-28`, which is ordered as texts are.
fn is_day(word: &str) -> bool {
    word.len() == 10 && word.bytes().filter(|&byte| byte == b'-').count() == 2
}

/// Major and minor number of a release such as `1.98.0-nightly`.
pub(crate) fn numbers(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(['.', '-']).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// A place where a device compiler was looked for, and why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Where, such as `rustup's nightly toolchain`.
    pub candidate: String,
    /// The missing part and the remedy, in one sentence.
    pub reason: String,
}

impl fmt::Display for Rejected {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.candidate, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tested_range_is_in_words_and_numbers() {
        let is_tested = |release: &str| super::is_tested(&format!("rustc {release} (abc)"));
        assert!(is_tested("1.95.0") && is_tested("1.101.0-nightly"));
        assert!(!is_tested("1.94.1") && !is_tested("1.102.0-nightly"));
        let of_day = |day| super::is_tested(&format!("rustc 1.101.0-nightly (abc {day})"));
        assert!(of_day("2026-10-01") && of_day(NEWEST_TESTED_DAY) && !of_day("2026-10-29"));
        assert!(TESTED.contains(NEWEST_TESTED_DAY));
        let [oldest, newest] =
            [OLDEST_RUSTC, NEWEST_TESTED].map(|(major, minor)| format!("{major}.{minor}"));
        assert!(TESTED.starts_with(&format!("rustc {oldest} to rustc {newest}.")));
    }
}
