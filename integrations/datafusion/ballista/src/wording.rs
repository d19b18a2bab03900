//! The words of errors: Ballista sends an error of a task as its `Debug` text.

/// Texts that Ballista and DataFusion put around an error, without information.
const WRAPPERS: [&str; 5] = [
    "DataFusionError(",
    "Shared(",
    "External(",
    "Execution(",
    "ResourcesExhausted(",
];

/// DataFusion's advice for a lack of memory, which names options that executors do not have, and the
/// advice in its place.
const ADVICE: [&str; 2] = [
    "Consider increasing the memory limit config: 'datafusion.runtime.memory_limit', or decreasing \
     the config: 'datafusion.execution.sort_spill_reservation_bytes'.",
    "Start the executors with more --host-memory or fewer --vcores",
];

/// Returns the part of a job's failure that says what happened.
pub(crate) fn readable(failure: &str) -> String {
    let failure = failure.trim_end();
    let Some((stage, error)) = failure
        .strip_prefix("Job failed due to stage ")
        .and_then(|rest| rest.split_once(" failed: Task failed due to runtime execution error: "))
    else {
        return failure.to_owned();
    };
    let mut text = format!("a task of stage {stage} failed");
    let mut error = error;
    loop {
        if let Some(inner) = WRAPPERS.iter().find_map(|wrapper| within(error, wrapper)) {
            error = inner;
        } else if let Some((context, cause)) = within(error, "Context(").and_then(first_text) {
            text += &format!(": {context}");
            error = cause;
        } else {
            break;
        }
    }
    let cause = match first_text(error) {
        Some((cause, "")) => cause,
        _ => error.to_owned(),
    };
    text += &format!(": {cause}");
    text.replace(ADVICE[0], ADVICE[1])
}

fn within<'a>(text: &'a str, wrapper: &str) -> Option<&'a str> {
    text.strip_prefix(wrapper)?.strip_suffix(')')
}

/// Returns the text in quotes at the beginning, and what follows it behind a comma.
fn first_text(error: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let quoted = error.strip_prefix('"')?;
    let mut characters = quoted.char_indices();
    while let Some((place, character)) = characters.next() {
        match character {
            '"' => {
                let rest = &quoted[place + 1..];
                return Some((text, rest.strip_prefix(", ").unwrap_or(rest)));
            }
            '\\' => match characters.next()?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                shown @ ('"' | '\'' | '\\') => text.push(shown),
                // Control characters stay escaped, so that an error cannot change the terminal.
                other => text.extend(['\\', other]),
            },
            other => text.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn wrappers_are_taken_off() {
        let failure = "Job failed due to stage 2 failed: Task failed due to runtime execution error: \
             DataFusionError(Shared(External(OperatorError { operator: \"TimeBucketExec\", error: 32 \
             of 1000 bytes (all) are free })))\n";
        assert_eq!(
            readable(failure),
            "a task of stage 2 failed: OperatorError { operator: \"TimeBucketExec\", error: 32 of \
             1000 bytes (all) are free }"
        );
        let failure = "Job failed due to stage 1 failed: Task failed due to runtime execution error: \
             DataFusionError(Execution(\"partition 0 of \\\"points\\\" has 3 rows\"))";
        assert_eq!(
            readable(failure),
            "a task of stage 1 failed: partition 0 of \"points\" has 3 rows"
        );
        assert_eq!(readable("Cancelled"), "Cancelled");
    }

    #[test]
    fn escapes_of_what_shows_are_decoded() {
        let failure = |message: &str| {
            format!(
                "Job failed due to stage 1 failed: Task failed due to runtime execution error: \
                 DataFusionError(Execution({message:?}))"
            )
        };
        for (message, said) in [
            ("'a\tb\n' \\ \"ä\"", "'a\tb\n' \\ \"ä\""),
            ("a\r\0\u{1b}[1m", "a\\r\\0\\u{1b}[1m"),
        ] {
            let said = format!("a task of stage 1 failed: {said}");
            assert_eq!(readable(&failure(message)), said);
        }
    }

    #[test]
    fn contexts_and_causes_are_sentences() {
        let failure = "Job failed due to stage 3 failed: Task failed due to runtime execution error: \
             DataFusionError(Context(\"Not enough memory to continue external sort. Consider increasing \
             the memory limit config: 'datafusion.runtime.memory_limit', or decreasing the config: \
             'datafusion.execution.sort_spill_reservation_bytes'.\", ResourcesExhausted(\"Failed to \
             allocate \\\"10\\\" bytes:\\n  none\")))";
        assert_eq!(
            readable(failure),
            "a task of stage 3 failed: Not enough memory to continue external sort. Start the \
             executors with more --host-memory or fewer --vcores: Failed to allocate \"10\" bytes:\n  \
             none"
        );
    }
}
