//! Options with a fixed set of named values, each declared in one place.

use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::str::FromStr;

use crate::Error;

/// An option with a fixed set of named values, such as `box_overlap::Algorithm`.
///
/// The macro [`choice!`](crate::choice) declares an enum that is a choice: its values, their names
/// and their documentation. Parsing, formatting and lists for help texts come from that declaration.
///
/// ```
/// use gridstride::Choice;
/// use gridstride::time_series::Duplicates;
///
/// assert_eq!("first".parse::<Duplicates>()?, Duplicates::First);
/// assert_eq!(format!("{:>6}", Duplicates::Keep), "  keep");
/// let names: Vec<_> = Duplicates::ALL.iter().map(|choice| choice.name()).collect();
/// assert_eq!(names, ["keep", "first", "last"]);
/// assert_eq!(
///     "mean".parse::<Duplicates>().unwrap_err().to_string(),
///     "Duplicates::from_str: duplicates is \"mean\", but possible are keep, first and last"
/// );
/// # Ok::<(), gridstride::Error>(())
/// ```
pub trait Choice:
    Copy + Debug + Display + Eq + FromStr<Err = Error> + Hash + Send + Sync + 'static
{
    /// The name of the option, for messages.
    const OPTION: &'static str;

    /// All values, in the order of their declaration.
    const ALL: &'static [Self];

    /// Returns the name of the value, and behind the name the aliases that are parsed too.
    fn names(self) -> &'static [&'static str];

    /// Returns the documentation of the value, in Markdown.
    fn doc(self) -> &'static str;

    /// Returns the name of the value.
    fn name(self) -> &'static str {
        self.names()[0]
    }

    /// Returns the first sentence of the documentation as plain text, without its full stop.
    fn summary(self) -> String {
        let words: Vec<_> = self.doc().split_whitespace().collect();
        let text = words.join(" ").replace('`', "");
        let end = text.find(". ").unwrap_or(text.len());
        text[..end].trim_end_matches('.').to_owned()
    }

    /// Returns the value with this name or alias.
    fn of_name(text: &str) -> Option<Self> {
        let is_named = |value: &&Self| value.names().contains(&text);
        Self::ALL.iter().find(is_named).copied()
    }

    /// Returns the sentence of an error about a text that names no value. The sentence lists the
    /// names.
    fn refusal(text: &str) -> String {
        let names: Vec<_> = Self::ALL.iter().map(|value| value.name()).collect();
        let (last, others) = names.split_last().expect("a choice has values");
        let others = others.join(", ");
        let option = Self::OPTION;
        match others.is_empty() {
            true => format!("{option} is {text:?}, but possible is {last}"),
            false => format!("{option} is {text:?}, but possible are {others} and {last}"),
        }
    }
}

/// Declares an enum that is a [`Choice`](crate::Choice): the name of the option, the default if
/// there is one, and each value with its documentation, its name and any aliases.
///
/// ```
/// gridstride::choice! {
///     /// How to round.
///     pub enum Rounding("rounding"), default Nearest {
///         /// To the nearest number.
///         Nearest("nearest"),
///         /// Down.
///         Down("down" | "floor"),
///     }
/// }
///
/// use gridstride::Choice;
///
/// assert_eq!(Rounding::default().to_string(), "nearest");
/// assert_eq!("floor".parse::<Rounding>()?, Rounding::Down);
/// assert_eq!(Rounding::Nearest.summary(), "To the nearest number");
/// # Ok::<(), gridstride::Error>(())
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $choice:ident($option:literal) $(, default $default:ident)? {
            $($(#[doc = $doc:literal])* $value:ident($($name:literal)|+),)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $visibility enum $choice {
            $($(#[doc = $doc])* $value,)+
        }

        impl $crate::Choice for $choice {
            const OPTION: &'static str = $option;
            const ALL: &'static [$choice] = &[$($choice::$value),+];

            fn names(self) -> &'static [&'static str] {
                match self {
                    $($choice::$value => &[$($name),+],)+
                }
            }

            fn doc(self) -> &'static str {
                match self {
                    $($choice::$value => concat!($($doc, "\n"),*),)+
                }
            }
        }

        $(impl ::std::default::Default for $choice {
            fn default() -> $choice {
                $choice::$default
            }
        })?

        /// Formats the name.
        impl ::std::fmt::Display for $choice {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad($crate::Choice::name(*self))
            }
        }

        $crate::serialize_by_name!($choice);

        /// Parses a name or an alias.
        impl ::std::str::FromStr for $choice {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<$choice> {
                <$choice as $crate::Choice>::of_name(text).ok_or_else(|| {
                    $crate::Error::InvalidInput {
                        operation: concat!(stringify!($choice), "::from_str"),
                        index: None,
                        of: "",
                        message: <$choice as $crate::Choice>::refusal(text),
                    }
                })
            }
        }
    };
}
