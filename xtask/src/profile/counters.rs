//! The counters of Nsight Compute, and its output.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Result;

/// The counters, by the headings of the file. FP64 instructions are those of threads.
pub const COUNTERS: [(&str, &[&str]); 8] = [
    ("ns", &["gpu__time_duration.sum"]),
    (
        "fp64_instructions",
        &[
            "sm__sass_thread_inst_executed_op_dadd_pred_on.sum",
            "sm__sass_thread_inst_executed_op_dmul_pred_on.sum",
            "sm__sass_thread_inst_executed_op_dfma_pred_on.sum",
        ],
    ),
    ("warp_instructions", &["smsp__inst_executed.sum"]),
    (
        "stalled_at_barriers_percent",
        &["smsp__warp_issue_stalled_barrier_per_warp_active.pct"],
    ),
    (
        "bank_conflicts",
        &["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"],
    ),
    ("registers", &["launch__registers_per_thread"]),
    (
        "sectors_a_load",
        &["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"],
    ),
    (
        "sectors_a_store",
        &["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"],
    ),
];

/// A line of ncu's CSV.
#[derive(Deserialize)]
struct Counted {
    #[serde(rename = "ID")]
    launch: u64,
    #[serde(rename = "Kernel Name")]
    kernel: String,
    #[serde(rename = "Metric Name")]
    name: String,
    #[serde(rename = "Metric Value")]
    value: String,
}

/// The counters of a launch, by their names.
pub type Launch = BTreeMap<String, f64>;

/// Reads ncu's CSV, which begins after lines of other text: the launches of a kernel, in order.
pub fn launches(text: &str, kernel: &str) -> Result<Vec<Launch>> {
    let start = text.find("\"ID\",").ok_or_else(|| {
        let said = text.lines().last().unwrap_or_default();
        format!("ncu counted nothing in {kernel}: {said}")
    })?;
    let mut launches = BTreeMap::<u64, Launch>::new();
    for line in csv::Reader::from_reader(&text.as_bytes()[start..]).into_deserialize() {
        let Counted {
            launch,
            kernel: found,
            name,
            value,
        } = line?;
        if found != kernel {
            continue;
        }
        // With commas between thousands.
        let number = value.replace(',', "").parse();
        let number = number.map_err(|_| format!("ncu says {value:?} of {name} in {kernel}"))?;
        launches.entry(launch).or_default().insert(name, number);
    }
    Ok(launches.into_values().collect())
}

#[cfg(test)]
pub mod tests {
    use super::launches;

    /// Of `ncu --csv --print-units base`, shortened: text before the header, numbers with commas,
    /// and a launch of another kernel.
    pub const SAMPLE: &str = include_str!("sample.csv");

    #[test]
    fn counters_are_read_from_the_csv_of_ncu() {
        let found = launches(SAMPLE, "sketch_all").unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0]["smsp__inst_executed.sum"], 1_234_567_890.0);
        assert_eq!(found[1]["smsp__inst_executed.sum"], 7.0);
        assert_eq!(found[0]["launch__registers_per_thread"], 32.0);
        assert!(launches(SAMPLE, "other").unwrap().len() == 1);
        let error = launches("==ERROR== ERR_NVGPUCTRPERM", "sketch_all").unwrap_err();
        assert!(error.to_string().contains("ERR_NVGPUCTRPERM"));
    }
}
