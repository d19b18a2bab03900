//! Checks all options with named values.

use std::collections::HashSet;

use crate::Choice;

fn check<C: Choice>() {
    let mut seen = HashSet::new();
    for &value in C::ALL {
        for &name in value.names() {
            assert_eq!(name.parse::<C>().unwrap(), value);
            assert!(seen.insert(name), "{} has {name} twice", C::OPTION);
        }
        assert_eq!(value.to_string(), value.name());
        assert_eq!(format!("{value:<20}|"), format!("{:<20}|", value.name()));
        let summary = value.summary();
        // Help texts show the sentence as it is.
        let is_plain = !summary.is_empty() && !summary.contains(['[', ']', '`', '\n']);
        assert!(is_plain, "{} {value}: {summary:?}", C::OPTION);
    }
    for text in ["", "none of them", &C::ALL[0].name().to_uppercase()] {
        let message = text.parse::<C>().unwrap_err().to_string();
        assert!(message.contains(&format!("{} is {text:?}", C::OPTION)));
        for value in C::ALL {
            assert!(message.contains(value.name()), "{message}");
        }
    }
}

#[test]
fn all_choices_are_parsed_as_they_are_formatted() {
    #[cfg(feature = "box-overlap")]
    check::<crate::box_overlap::Algorithm>();
    #[cfg(feature = "distances")]
    check::<crate::distances::Metric>();
    #[cfg(feature = "matmul")]
    {
        check::<crate::matmul::Instructions>();
        check::<crate::matmul::Precision>();
    }
    #[cfg(any(feature = "edit-distance", feature = "tensor-sketch"))]
    {
        check::<crate::sequences::NamedAlphabet>();
        check::<crate::sequences::Unknown>();
    }
    #[cfg(feature = "tensor-sketch")]
    check::<crate::tensor_sketch::Form>();
    #[cfg(feature = "time-series")]
    {
        check::<crate::time_series::Duplicates>();
        check::<crate::time_series::Nan>();
        check::<crate::time_series::Order>();
        check::<crate::time_series::Singletons>();
    }
}
