//! Trees as text, in the Newick format.

use std::fmt::Write as _;

use super::{Kind, Tree};

/// Characters that have a meaning in the format, or that programs do not expect in a bare name.
/// Underscores stay bare: the standard reads them as spaces, but programs keep them.
const SPECIAL: &[char] = &[
    '(', ')', '[', ']', '{', '}', '\'', '"', ':', ';', ',', '=', '/', '\\',
];

/// Returns the tree in the Newick format, with a semicolon at the end and no line break.
pub fn newick(tree: &Tree, names: &[String]) -> String {
    let mut text = String::new();
    // Not recursive: a tree may be as deep as it has leaves.
    let mut path = vec![(tree.root(), 0)];
    while let Some((node, visited)) = path.pop() {
        let children = tree.children(node);
        if let Some(&child) = children.get(visited) {
            text.push(if visited == 0 { '(' } else { ',' });
            path.push((node, visited + 1));
            path.push((child, 0));
            continue;
        }
        match tree.nodes[node].kind {
            Kind::Leaf(row) => text.push_str(&quoted(&names[row])),
            Kind::Inner(_) => text.push(')'),
        }
        if node != tree.root() {
            // Writing to a string does not fail.
            let _ = write!(text, ":{}", tree.nodes[node].length);
        }
    }
    text + ";"
}

/// A name as a label: in single quotes if it has other characters than bare labels may have, with
/// single quotes doubled.
fn quoted(name: &str) -> String {
    let is_special = |c: char| SPECIAL.contains(&c) || c.is_whitespace() || c.is_control();
    match name.is_empty() || name.contains(is_special) {
        true => format!("'{}'", name.replace('\'', "''")),
        false => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_needed() {
        for (name, expected) in [
            ("Homo_sapiens_NC_012920.1", "Homo_sapiens_NC_012920.1"),
            ("Homo sapiens", "'Homo sapiens'"),
            ("O'Brien's", "'O''Brien''s'"),
            ("chr1:1000", "'chr1:1000'"),
            ("a,b", "'a,b'"),
            ("(x)", "'(x)'"),
            ("[comment]", "'[comment]'"),
            ("a;b", "'a;b'"),
            ("a\tb", "'a\tb'"),
            ("", "''"),
            ("ö|x+y-z*", "ö|x+y-z*"),
        ] {
            assert_eq!(quoted(name), expected);
        }
    }
}
