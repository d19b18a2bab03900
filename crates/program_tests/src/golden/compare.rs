//! Files whose numbers may differ within a bound.

use std::io::Cursor;

use ndarray::Array2;
use ndarray_npy::ReadNpyExt;

/// Compares a file with the golden one: numbers that are not whole may differ by `bound`, all else
/// not at all. Returns what differs first.
pub fn compare(found: &[u8], expected: &[u8], bound: f64) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    if expected.starts_with(b"\x93NUMPY") {
        return compare_matrices(found, expected, bound);
    }
    match (str::from_utf8(found), str::from_utf8(expected)) {
        (Ok(found), Ok(expected)) => compare_texts(found, expected, bound),
        _ => Err("other bytes".into()),
    }
}

fn compare_matrices(found: &[u8], expected: &[u8], bound: f64) -> Result<(), String> {
    let (found, expected) = match (numbers(found), numbers(expected)) {
        (Some(found), Some(expected)) => (found, expected),
        _ => return Err("other bytes of whole numbers, or no matrix of the same type".into()),
    };
    if found.0 != expected.0 || found.1.dim() != expected.1.dim() {
        return Err("another type or shape".into());
    }
    for (place, expected) in expected.1.indexed_iter() {
        let found = found.1[place];
        // False of NaN.
        let is_close = (found - expected).abs() <= bound;
        if !is_close {
            return Err(format!(
                "{found} instead of {expected} at {place:?}, bound {bound}"
            ));
        }
    }
    Ok(())
}

/// The type of a file's floating-point numbers, and these as `f64`.
fn numbers(file: &[u8]) -> Option<(&'static str, Array2<f64>)> {
    let single = Array2::<f32>::read_npy(Cursor::new(file)).ok();
    let single = single.map(|numbers| ("f32", numbers.mapv(f64::from)));
    let double = || Some(("f64", Array2::<f64>::read_npy(Cursor::new(file)).ok()?));
    single.or_else(double)
}

fn compare_texts(found: &str, expected: &str, bound: f64) -> Result<(), String> {
    let (found_lines, expected_lines) = (found.lines(), expected.lines());
    for (i, (found, expected)) in found_lines.zip(expected_lines).enumerate() {
        if !are_close(found, expected, bound) {
            let line = i + 1;
            return Err(format!(
                "line {line} is\n{found}\ninstead of\n{expected}\nbound {bound}"
            ));
        }
    }
    let ends = [found, expected].map(|text| text.ends_with('\n'));
    match found.lines().count() == expected.lines().count() && ends[0] == ends[1] {
        true => Ok(()),
        false => Err("another number of lines, or another end".into()),
    }
}

/// Whether two lines are the same but for numbers within the bound.
fn are_close(found: &str, expected: &str, bound: f64) -> bool {
    let (mut found, mut expected) = (words(found), words(expected));
    loop {
        match (found.next(), expected.next()) {
            (None, None) => return true,
            (Some(found), Some(expected)) if is_close(found, expected, bound) => {}
            _ => return false,
        }
    }
}

/// The words and numbers of a line, and each character between them.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '+' | '_');
    line.split_inclusive(move |c| !is_inside(c))
        .flat_map(move |word| {
            let end = word.trim_end_matches(|c| !is_inside(c)).len();
            let (word, separator) = word.split_at(end);
            [word, separator]
        })
}

fn is_close(found: &str, expected: &str, bound: f64) -> bool {
    if found == expected {
        return true;
    }
    let is_whole = |text: &str| !text.contains(['.', 'e']);
    // In a column of others a number may be whole on one device.
    if bound == 0.0 || is_whole(found) && is_whole(expected) {
        return false;
    }
    match (found.parse::<f64>(), expected.parse::<f64>()) {
        (Ok(found), Ok(expected)) => (found - expected).abs() <= bound,
        _ => false,
    }
}

#[test]
fn what_a_bound_allows() {
    let is_close =
        |found: &str, expected: &str| compare(found.as_bytes(), expected.as_bytes(), 0.01);
    for (found, expected) in [
        ("a\t1.5\n", "a\t1.505\n"),
        ("a,1,2.0\n", "a,1,2.0001\n"),
        ("(a:1e-3,b:2.5);\n", "(a:0.0012,b:2.5);\n"),
        ("2\n", "1.999\n"),
    ] {
        assert_eq!(is_close(found, expected), Ok(()), "{found} {expected}");
    }
    for (found, expected) in [
        ("a\t1.5\n", "a\t1.52\n"),
        ("a,1\n", "a,2\n"),
        ("a,1.5\n", "b,1.5\n"),
        ("a,1.5\n", "a\t1.5\n"),
        ("a,NaN\n", "a,1.5\n"),
        ("a,1.5", "a,1.5\n"),
        ("a\n", "a\nb\n"),
        ("a,1.5,\n", "a,1.5\n"),
    ] {
        assert!(is_close(found, expected).is_err(), "{found} {expected}");
    }
}

#[test]
fn matrices_are_compared_by_type_and_number() {
    use ndarray::array;
    use ndarray_npy::WriteNpyExt;

    let npy = |numbers: Array2<f32>| {
        let mut file = Vec::new();
        numbers.write_npy(&mut file).unwrap();
        file
    };
    let expected = npy(array![[1.0, 2.0]]);
    assert_eq!(compare(&npy(array![[1.0, 2.005]]), &expected, 0.01), Ok(()));
    for other in [
        array![[1.0, 2.5]],
        array![[1.0], [2.0]],
        array![[1.0, f32::NAN]],
    ] {
        assert!(compare(&npy(other), &expected, 0.01).is_err());
    }
    let mut double = Vec::new();
    array![[1.0f64, 2.0]].write_npy(&mut double).unwrap();
    assert!(compare(&double, &expected, 0.01).is_err());
}
