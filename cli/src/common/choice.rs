//! The library's options as values of the command line's.

use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use gridstride::{Choice, Error};

/// Returns a parser of the names of a choice. The help lists the names with their documentation.
pub fn choice<C: Choice>() -> impl TypedValueParser<Value = C> {
    choice_of(C::ALL)
}

/// Like [`choice`], with only some of the values.
pub fn choice_of<C: Choice>(values: &[C]) -> impl TypedValueParser<Value = C> + use<C> {
    let values = values.iter().map(|value| {
        let aliases = value.names()[1..].iter().copied();
        let listed = PossibleValue::new(value.name()).aliases(aliases);
        listed.help(value.summary())
    });
    PossibleValuesParser::new(values).map(|name| name.parse().expect("one of the possible values"))
}

/// Parses an option of the library. The message of an error is without the name of the library's
/// function.
pub fn parsed<T: FromStr<Err = Error>>(text: &str) -> Result<T, String> {
    text.parse().map_err(message)
}

/// Returns what an error of the library says, without the name of the library's function.
pub fn message(error: Error) -> String {
    match error {
        Error::InvalidInput { message, .. } => message,
        other => other.to_string(),
    }
}
