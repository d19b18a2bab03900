//! Values that stand twice in a list of a command line.

/// Returns the first value that equals one before it.
pub fn repeated<V: PartialEq>(values: &[V]) -> Option<&V> {
    let is_repeated = |place: &usize| values[..*place].contains(&values[*place]);
    (0..values.len())
        .find(is_repeated)
        .map(|place| &values[place])
}

#[cfg(test)]
mod tests {
    use super::repeated;

    #[test]
    fn the_first_value_that_was_there_before_is_found() {
        assert_eq!(repeated(&[3, 1, 2, 1, 3]), Some(&1));
        assert_eq!(repeated(&[3, 1, 2]), None);
        assert_eq!(repeated::<u8>(&[]), None);
    }
}
