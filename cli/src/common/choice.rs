//! The library's choices as values of options.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use gridstride::Choice;

/// Returns a parser of the names of a choice. The help lists the names with their documentation.
pub fn choice<C: Choice>() -> impl TypedValueParser<Value = C> {
    let values = C::ALL.iter().map(|value| {
        let aliases = value.names()[1..].iter().copied();
        let listed = PossibleValue::new(value.name()).aliases(aliases);
        listed.help(value.summary())
    });
    PossibleValuesParser::new(values).map(|name| name.parse().expect("one of the possible values"))
}
