//! Several outputs of one program, as one.

/// Returns the first output, with the median, the least and the most of each number that differs in
/// other outputs, and the number of merged outputs. Outputs with other lines or numbers of words are
/// left out.
pub fn merge(outputs: &[String]) -> (String, usize) {
    let words = |text: &str| -> Vec<Vec<String>> {
        let of_line = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        text.lines().map(of_line).collect()
    };
    let [first, ..] = outputs else {
        return (String::new(), 0);
    };
    if outputs.len() == 1 {
        return (first.clone(), 1);
    }
    let shape = |text: &str| -> Vec<usize> { words(text).iter().map(Vec::len).collect() };
    let same = outputs.iter().filter(|text| shape(text) == shape(first));
    let same: Vec<_> = same.map(|text| words(text)).collect();
    let mut merged = String::new();
    for (number, line) in first.lines().enumerate() {
        // The space between words stays that of the first.
        let mut rest = line;
        for (place, word) in same[0][number].iter().enumerate() {
            let (space, after) = rest.split_once(word.as_str()).unwrap_or(("", rest));
            let words: Vec<&str> = same.iter().map(|run| run[number][place].as_str()).collect();
            merged += space;
            merged += &of_words(&words);
            rest = after;
        }
        merged += rest;
        merged.push('\n');
    }
    (merged, same.len())
}

/// A word, or the median of numbers, which may be within brackets or before a comma.
fn of_words(words: &[&str]) -> String {
    let first = words[0];
    let is_outside = |c: char| !c.is_ascii_digit();
    let mut numbers: Vec<(f64, &str)> = words
        .iter()
        .filter_map(|word| {
            let number = word.trim_matches(is_outside);
            Some((number.parse().ok()?, number))
        })
        .collect();
    if numbers.len() < words.len() || words.iter().all(|word| *word == first) {
        return first.to_owned();
    }
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (median, least, most) = (
        numbers[numbers.len() / 2].1,
        numbers[0].1,
        numbers[numbers.len() - 1].1,
    );
    first.replacen(
        first.trim_matches(is_outside),
        &format!("{median} ({least} to {most})"),
        1,
    )
}

#[cfg(test)]
mod tests {
    use super::merge;

    #[test]
    fn numbers_that_differ_get_their_spread() {
        let outputs = [
            "took   0.3 s, with 4 rows\n",
            "took 0.1 s, with 4 rows\n",
            "took 0.2 s, with 4 rows\n",
        ];
        let merged = merge(&outputs.map(str::to_owned));
        let expected = "took   0.2 (0.1 to 0.3) s, with 4 rows\n";
        assert_eq!(merged, (expected.to_owned(), 3));
    }

    #[test]
    fn words_and_other_shapes_stay() {
        let outputs = ["(1 ms) a\nb\n", "(2 ms) c\nb\n", "x\n"].map(str::to_owned);
        assert_eq!(merge(&outputs), ("(2 (1 to 2) ms) a\nb\n".to_owned(), 2));
        assert_eq!(merge(&[]), (String::new(), 0));
    }
}
