//! Columns of names.

/// Characters that names may have before the columns beside them give way.
pub const NAME_WIDTH: usize = 64;

/// Returns the width of a column of names, at least `least` and at most [`NAME_WIDTH`]: the width of a
/// format has 16 bits.
pub fn name_width<'a>(names: impl IntoIterator<Item = &'a String>, least: usize) -> usize {
    let widths = names.into_iter().map(|name| name.chars().count());
    widths.fold(least, usize::max).min(NAME_WIDTH)
}
