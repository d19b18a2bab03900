//! The device as an argument.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};

/// Reads devices, and tells shells which names they can complete. There are others, such as
/// `cuda:1`, so that the help does not list these: `hide_possible_values`.
#[derive(Clone)]
pub struct DeviceParser<V> {
    parse: fn(&str) -> Result<V, String>,
    names: &'static [&'static str],
}

impl<V> DeviceParser<V> {
    /// Returns a parser by a function, with the names that shells complete.
    pub fn new(
        parse: fn(&str) -> Result<V, String>,
        names: &'static [&'static str],
    ) -> DeviceParser<V> {
        DeviceParser { parse, names }
    }
}

impl<V: Clone + Send + Sync + 'static> TypedValueParser for DeviceParser<V> {
    type Value = V;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, text: &OsStr) -> Result<V, Error> {
        let parse = self.parse;
        let parser = StringValueParser::new().try_map(move |text: String| parse(&text));
        parser.parse_ref(command, arg, text)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().map(PossibleValue::new)))
    }
}
