//! Keys of `--json`, which a page lists.

use std::collections::BTreeSet;

use serde_json::Value;

/// Returns the keys in a section of a page: they begin its bullets.
fn listed(page: &str, section: &str) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let mut text = page.split(&format!("# {section}\n")).nth(1).expect(section);
    text = text.split("\n#").next().unwrap_or_default();
    for bullet in text.split("\n- ").skip(1) {
        let (names, _) = bullet.split_once(':').expect(bullet);
        let names = names.split('`').skip(1).step_by(2);
        keys.extend(names.map(str::to_owned));
    }
    assert!(!keys.is_empty(), "{section}");
    keys
}

/// Returns the keys of all values that are not objects, as the page writes them.
fn keys(value: &Value, path: &str) -> BTreeSet<String> {
    match value {
        Value::Object(entries) => {
            let dot = if path.is_empty() { "" } else { "." };
            let entries = entries.iter();
            entries
                .flat_map(|(key, value)| keys(value, &format!("{path}{dot}{key}")))
                .collect()
        }
        Value::Array(items) if items.iter().any(Value::is_object) => items
            .iter()
            .flat_map(|item| keys(item, &format!("{path}[]")))
            .collect(),
        _ => [path.to_owned()].into(),
    }
}

/// Expects exactly the keys that the first of the sections has, in runs that together have them all.
/// The runs may have keys of the other sections too.
#[track_caller]
pub fn check(page: &str, sections: &[&str], runs: &[&Value]) {
    let found: BTreeSet<_> = runs.iter().flat_map(|run| keys(run, "")).collect();
    let listed: Vec<_> = sections
        .iter()
        .map(|section| listed(page, section))
        .collect();
    let is_listed = |key: &String| listed.iter().any(|keys| keys.contains(key));
    let unlisted: Vec<_> = found
        .iter()
        .filter(|key| !is_listed(key) && !is_null(runs, key))
        .collect();
    let missing: Vec<_> = listed[0].difference(&found).collect();
    assert!(
        unlisted.is_empty() && missing.is_empty(),
        "not in the page: {unlisted:?}, only there: {missing:?}"
    );
}

/// Whether a key is null in a run: its object is in another.
fn is_null(runs: &[&Value], key: &str) -> bool {
    runs.iter()
        .any(|run| run.get(key).is_some_and(Value::is_null))
}
