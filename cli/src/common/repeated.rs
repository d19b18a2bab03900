//! Lists of a command line that have a value twice.

use std::fmt::Display;

use anyhow::{Result, bail};
use program::report::UsageError;

/// Refuses the list of an option that has a value twice: the results of equal values could not be told
/// apart.
pub fn refuse_repeated<V: PartialEq + Display>(option: &str, values: &[V]) -> Result<()> {
    for (place, value) in values.iter().enumerate() {
        if values[..place].contains(value) {
            bail!(UsageError(format!(
                "{option} has {value} twice: name each value once"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::refuse_repeated;

    #[test]
    fn the_first_value_that_was_there_before_is_named() {
        let error = refuse_repeated("--dim", &[3, 1, 2, 1, 3]).unwrap_err();
        assert_eq!(error.to_string(), "--dim has 1 twice: name each value once");
        refuse_repeated("--dim", &[3, 1, 2]).unwrap();
        refuse_repeated::<u8>("--dim", &[]).unwrap();
    }
}
