//! Blocks of a page that stand between two comments.

use crate::Result;

const BEGIN: &str = "<!-- ";
const CLOSE: &str = "-->";
const END: &str = "<!-- end -->";

/// Returns a page with other texts between each comment and the next `<!-- end -->`: those that `text` has for the comment.
/// Comments for which it has nothing stay as they are.
///
/// # Errors
/// If a block does not end, and those of `text`.
pub fn replace(page: &str, text: impl Fn(&str) -> Result<Option<String>>) -> Result<String> {
    let mut new = String::new();
    let mut rest = page;
    while let Some(begin) = rest.find(BEGIN) {
        let inside = &rest[begin + BEGIN.len()..];
        let close = inside.find(CLOSE).ok_or("a comment does not close")?;
        let comment = inside[..close].trim();
        let behind = begin + BEGIN.len() + close + CLOSE.len();
        new += &rest[..behind];
        rest = &rest[behind..];
        if let Some(text) = text(comment)? {
            let end = rest
                .find(END)
                .ok_or_else(|| format!("`{comment}` has no `{END}`"))?;
            new += &text;
            new += END;
            rest = &rest[end + END.len()..];
        }
    }
    Ok(new + rest)
}

/// The parts of a page that are outside of all blocks.
#[cfg(test)]
pub fn outside(page: &str) -> String {
    let emptied = replace(page, |comment| {
        let kind = comment.split([' ', '\n']).next().unwrap_or_default();
        Ok(super::KINDS.contains(&kind).then(String::new))
    });
    emptied.unwrap_or_else(|error| panic!("{error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_between_comments_are_replaced() {
        let page = "A <!-- time a -->old<!-- end --> and <!-- other --> B\n<!-- rows\nb\n-->\nold\n<!-- end -->\n";
        let text = |comment: &str| {
            Ok(match comment {
                "time a" => Some("1 ms".to_owned()),
                "rows\nb" => Some("\n| 2 |\n".to_owned()),
                _ => None,
            })
        };
        let expected = "A <!-- time a -->1 ms<!-- end --> and <!-- other --> B\n<!-- rows\nb\n-->\n| 2 |\n<!-- end -->\n";
        let new = replace(page, text).unwrap();
        assert_eq!(new, expected);
        assert_eq!(replace(&new, text).unwrap(), expected);
        let error = replace("<!-- time a -->x", text).unwrap_err().to_string();
        assert_eq!(error, "`time a` has no `<!-- end -->`");
    }
}
