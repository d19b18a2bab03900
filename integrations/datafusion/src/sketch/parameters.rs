//! The literal arguments of `tensor_sketch`.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, plan_err};
use gridstride::Choice;
use gridstride::tensor_sketch::{
    Alphabet, MAX_DIM, MAX_TUPLE, NamedAlphabet, Tables, TensorSketch, Unknown,
};

use crate::error::{choice, external};

/// The name of the function.
pub const NAME: &str = "tensor_sketch";

/// The names of the arguments after the sequence.
const NAMES: [&str; 5] = ["dim", "tuple", "seed", "alphabet", "options"];

/// The parameters of sketches.
pub struct Parameters {
    pub dim: usize,
    pub tuple: usize,
    pub seed: u64,
    pub alphabet: Alphabet,
    pub normalize: bool,
    pub unknown: Unknown,
}

impl Parameters {
    /// Reads the arguments after the sequence, `None` for those that are not literals.
    ///
    /// # Errors
    /// A plan error that names the argument.
    pub fn parse(arguments: &[Option<&ScalarValue>]) -> Result<Parameters> {
        let literal = |index: usize| match arguments.get(index) {
            Some(Some(value)) => Ok(Some(*value)),
            Some(None) => plan_err!(
                "{NAME}: argument {}, {}, is not a literal, such as 96 or 'dna'",
                index + 2,
                NAMES[index]
            ),
            None => Ok(None),
        };
        let mut parameters = Parameters {
            dim: integer(0, literal(0)?, 1, MAX_DIM as u64)? as usize,
            tuple: integer(1, literal(1)?, 1, MAX_TUPLE as u64)? as usize,
            seed: integer(2, literal(2)?, 0, u64::MAX)?,
            alphabet: alphabet(text(3, literal(3)?)?.unwrap_or("dna"))?,
            normalize: false,
            unknown: Unknown::Error,
        };
        let words = text(4, literal(4)?)?.unwrap_or("").split(',');
        for word in words.map(str::trim).filter(|word| !word.is_empty()) {
            match word.split_once('=') {
                Some(("unknown", name)) => parameters.unknown = choice(NAME, name)?,
                _ if word == "skip" => parameters.unknown = Unknown::Skip,
                _ if word == "normalize" => parameters.normalize = true,
                _ => {
                    return plan_err!(
                        "{NAME}: there is no option '{word}': possible are normalize and \
                         unknown=skip, which is also written as skip, with a comma between them"
                    );
                }
            }
        }
        Ok(parameters)
    }

    /// Makes the tables.
    pub fn sketcher(&self) -> Result<TensorSketch> {
        let tables = Tables::from_seed(self.alphabet.size(), self.tuple, self.dim, self.seed);
        Ok(TensorSketch::new(tables.map_err(external(NAME))?).normalize(self.normalize))
    }
}

fn integer(index: usize, value: Option<&ScalarValue>, least: u64, most: u64) -> Result<u64> {
    let name = NAMES[index];
    let Some(value) = value else {
        return plan_err!("{NAME}: argument {}, {name}, is missing", index + 2);
    };
    let number = match value.data_type().is_integer() {
        true => value.cast_to(&DataType::UInt64).ok(),
        false => None,
    };
    match number {
        Some(ScalarValue::UInt64(Some(number))) if (least..=most).contains(&number) => Ok(number),
        _ => {
            let of_type = match value.data_type().is_integer() {
                true => String::new(),
                false => format!(" of type {}", value.data_type()),
            };
            plan_err!(
                "{NAME}: argument {}, {name}, is {value}{of_type}, not a whole number from {least} to \
                 {most}",
                index + 2
            )
        }
    }
}

fn text(index: usize, value: Option<&ScalarValue>) -> Result<Option<&str>> {
    match value {
        None | Some(ScalarValue::Null) => Ok(None),
        Some(value) => match value.try_as_str() {
            Some(text) => Ok(text),
            None => plan_err!(
                "{NAME}: argument {}, {}, is {value}, not a text in quotes",
                index + 2,
                NAMES[index]
            ),
        },
    }
}

fn alphabet(name: &str) -> Result<Alphabet> {
    if let Some(named) = NamedAlphabet::of_name(&name.to_ascii_lowercase()) {
        return Ok(named.into());
    }
    match name.is_ascii() {
        false => plan_err!(
            "{NAME}: argument 5, alphabet, is '{name}', and has letters beyond ASCII: a letter is one \
             byte of the sequence"
        ),
        true => match Alphabet::new(name.as_bytes()) {
            Ok(alphabet) => Ok(alphabet),
            Err(error) => plan_err!(
                "{NAME}: argument 5, alphabet, is '{name}', neither 'dna' nor 'protein' nor \
                 different letters: {error}"
            ),
        },
    }
}
