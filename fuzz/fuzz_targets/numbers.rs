//! Numbers of CSV files, against those of the standard library.

#![no_main]

use files::boxes::Number;
use files::decimal;
use files::points::value;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let std_text = str::from_utf8(text).unwrap_or_default();
    let double = std_text.parse::<f64>().ok();
    let single = std_text.parse::<f32>().ok();
    if let Some(found) = decimal::parse(text) {
        assert_eq!(double.map(f64::to_bits), Some(found.to_bits()));
    }
    if let Some(found) = decimal::parse_f32(text) {
        assert_eq!(single.map(f32::to_bits), Some(found.to_bits()));
    }
    // Only what is written as infinity is infinite.
    let has_digits = text.iter().any(u8::is_ascii_digit);
    let double_in_range = double.filter(|number| !(number.is_infinite() && has_digits));
    let single_in_range = single.filter(|number| !(number.is_infinite() && has_digits));
    let coordinate = <f64 as Number>::parse(text).ok().map(|(number, _)| number);
    let expected = double_in_range.filter(|number| !number.is_nan());
    assert_eq!(coordinate.map(f64::to_bits), expected.map(f64::to_bits));
    let coordinate = <f32 as Number>::parse(text).ok().map(|(number, _)| number);
    let expected = single_in_range.filter(|number| !number.is_nan());
    assert_eq!(coordinate.map(f32::to_bits), expected.map(f32::to_bits));
    let whole = match std_text.trim_end_matches('0').strip_suffix('.') {
        Some(whole) if !std_text.ends_with('.') => whole,
        _ => std_text,
    };
    let coordinate = <i32 as Number>::parse(text).ok();
    assert_eq!(coordinate.map(|(number, _)| number), whole.parse().ok());

    let found = value::parse(text).ok();
    let expected = match text.is_empty() {
        true => Some(value::MISSING),
        false => double_in_range,
    };
    assert_eq!(found.map(f64::to_bits), expected.map(f64::to_bits));
});
