//! The words of errors: Ballista sends an error of a task as its `Debug` text.

/// What Ballista and DataFusion wrap an error in, without saying anything about it.
const WRAPPERS: [&str; 4] = ["DataFusionError(", "Shared(", "External(", "Execution("];

/// Returns the part of a job's failure that says what happened.
pub(crate) fn readable(failure: &str) -> String {
    let failure = failure.trim_end();
    let Some((stage, error)) = failure
        .strip_prefix("Job failed due to stage ")
        .and_then(|rest| rest.split_once(" failed: Task failed due to runtime execution error: "))
    else {
        return failure.to_owned();
    };
    let mut error = error;
    while let Some(inner) = WRAPPERS
        .iter()
        .find_map(|wrapper| error.strip_prefix(wrapper)?.strip_suffix(')'))
    {
        error = inner;
    }
    let text = error
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .map_or_else(|| error.to_owned(), |text| text.replace("\\\"", "\""));
    format!("a task of stage {stage} failed: {text}")
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
}
