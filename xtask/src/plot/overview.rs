//! What is looked at first: a bar for each kernel, beside its fastest peer, and beside what the machine can do.

use std::path::Path;

use figures::Clock;

use super::bars::{self, Bar, Scale};
use super::short;
use crate::Result;
use crate::bench::results::{Results, Row};

/// The rows that are looked at first, by step and case.
pub const HEADLINES: [(&str, &str); 25] = [
    ("matmul", "1024³, f32"),
    ("matmul", "8192³, f32"),
    ("matmul", "8192³, f64"),
    ("matmul", "8192³, tf32"),
    ("matmul", "8192³, bf16"),
    ("matmul", "8192³, f16"),
    ("matmul", "50 000 × 784 × 10, f32"),
    ("matmul", "16 384 × 16 384 × 1, bf16"),
    ("matmul", "1000 of 64³, bf16"),
    ("tensor_sketch", "equal lengths"),
    ("tensor_sketch", "log-normal lengths"),
    ("distances", "10 000 × 10 000 rows, f32"),
    ("distances", "10 000 × 10 000 rows, f64"),
    ("nearest", "10 000 queries in 10⁶ rows, k = 10, f32"),
    ("edit_distance", "10⁶ reads of 150, 10% edited"),
    ("edit_distance", "10⁵ genes of 1000, random"),
    ("box_overlap", "pipes, 200 000 × 200 000"),
    ("time_series", "mean, buckets of 7"),
    ("time_series", "eight methods, buckets of 7"),
    ("time_series", "median, buckets of 7"),
    ("time_series", "mean, buckets of 1000"),
    ("time_series", "rounded timestamps"),
    ("primitives", "10⁸ keys by 64 bits"),
    ("primitives", "10⁸ pairs by 32 bits"),
    ("primitives", "10⁶ keys by 64 bits"),
];

/// Draws `overview.svg` and `ceilings.svg`, of the headlines that have rows.
pub fn draw(results: &Results, folder: &Path) -> Result<()> {
    let rows = HEADLINES.iter().filter_map(|(step, case)| {
        let mut rows = results.of_step(step);
        rows.find(|row| {
            let measured = &row.measured;
            measured.case == *case
                && measured.program == "gridstride"
                && measured.clock == Clock::Device
        })
    });
    let rows: Vec<&Row> = rows.collect();
    let Some(first) = rows.first() else {
        return Ok(());
    };
    let device = short(&first.device);
    let beside = rows.iter().filter_map(|row| beside_a_peer(results, row));
    bars::draw(
        &folder.join("overview.svg"),
        &format!("How many times as fast as the fastest peer, {device}"),
        "In brackets our time and the peer's, by the same clock; the scale is logarithmic",
        Scale::Ratios,
        &beside.collect::<Vec<_>>(),
    )?;
    let shares = rows.iter().filter_map(|row| {
        let share = results.share_of_ceiling(row)?;
        let label = format!(
            "{} ({})",
            figures::percent(share),
            figures::median(&row.measured)
        );
        Some(Bar {
            name: name(row),
            value: share,
            label,
        })
    });
    bars::draw(
        &folder.join("ceilings.svg"),
        &format!("How near to what the machine can do, {device}"),
        "The least time for the bytes and operations, at the rates that other programs reached in the same run, divided by ours",
        Scale::Shares,
        &shares.collect::<Vec<_>>(),
    )
}

/// The kernel and the case.
fn name(row: &Row) -> String {
    let kernel = row
        .step
        .split("_cpu")
        .next()
        .unwrap_or_default()
        .replace('_', " ")
        .replace("primitives", "radix sort");
    format!("{kernel}: {}", row.measured.case)
}

/// The bar beside the fastest peer by the same clock.
fn beside_a_peer(results: &Results, row: &Row) -> Option<Bar> {
    let peers = results.of_step(&row.step).filter(|peer| {
        !peer.is_ours()
            && peer.measured.case == row.measured.case
            && peer.measured.clock == row.measured.clock
    });
    let peer = peers.min_by(|a, b| a.measured.median_ms.total_cmp(&b.measured.median_ms))?;
    let ratio = peer.measured.median_ms / row.measured.median_ms;
    let label = format!(
        "{}× ({}; {} {})",
        figures::ratio(ratio),
        figures::median(&row.measured),
        peer.measured.program,
        figures::median(&peer.measured)
    );
    Some(Bar {
        name: name(row),
        value: ratio,
        label,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::RESULTS;
    use crate::bench::results::tests::{results, row};
    use crate::workspace;

    #[test]
    fn bars_stand_beside_the_fastest_peer() {
        let ours = row("time_series", "mean", "gridstride", vec![0.5]);
        let all = [
            ours.clone(),
            row("time_series", "mean", "PyTorch", vec![19.0]),
            row("time_series", "mean", "CUB", vec![0.75]),
        ];
        let bar = beside_a_peer(&results(&all), &ours).unwrap();
        assert_eq!(bar.label, "1.50× (0.500 ms; CUB 0.750 ms)");
        assert_eq!(bar.name, "time series: mean");
        assert!(beside_a_peer(&results(&all[..1]), &ours).is_none());
    }

    #[test]
    fn headlines_have_rows() {
        let results = Results::read(&workspace().join(RESULTS)).unwrap();
        for (step, case) in HEADLINES {
            let mut rows = results.of_step(step);
            assert!(rows.any(|row| row.measured.case == case), "{step}: {case}");
        }
    }
}
