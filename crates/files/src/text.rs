//! Texts from files, made fit for messages, terminals and pictures.

/// The byte order mark, which may stand before a text in UTF-8.
pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The error of a text in UTF-16.
pub(crate) const UTF16: &str =
    "the text is UTF-16: convert it to UTF-8, as by `iconv -f UTF-16 -t UTF-8`";

/// The error of a header, of a record or of a table, that has a carriage return in it.
pub(crate) const RETURN_IN_HEADER: &str = "the header has a carriage return in it: lines have to end with a line feed, \
                                           as of `tr '\\r' '\\n'`";

/// Whether a text begins with either byte order mark of UTF-16, or with a sign of 16 bits in either
/// order.
pub(crate) fn is_utf16(text: &[u8]) -> bool {
    matches!(
        text,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [_, 0, ..] | [0, ..]
    )
}

/// Returns the text with control characters, which terminals obey and XML does not have, replaced.
pub fn visible(text: &str) -> String {
    let is_hidden = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.replace(is_hidden, "\u{fffd}")
}

/// Returns the visible text, without its middle if it has more than `most` characters.
pub fn shortened(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return visible(text);
    }
    let start: String = text.chars().take(most / 2).collect();
    let end = text.chars().skip(length - (most - most / 2 - 1));
    visible(&format!("{start}…{}", end.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_middle() {
        let name = format!("{}{}", "a".repeat(30), "b".repeat(30));
        let expected = format!("{}…{}", "a".repeat(20), "b".repeat(19));
        assert_eq!(shortened(&name, 40), expected);
        assert_eq!(shortened("ä b", 40), "ä b");
        assert_eq!(shortened("abc", 3), "abc");
    }

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(
            visible("a\u{1b}[31m\0b\u{7}\u{ffff}ö"),
            "a\u{fffd}[31m\u{fffd}b\u{fffd}\u{fffd}ö"
        );
        assert_eq!(shortened("\u{1}bcdef", 4), "\u{fffd}b…f");
    }
}
