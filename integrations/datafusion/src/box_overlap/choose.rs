//! The choice of a join's execution, by numbers of rows and by a sample of the boxes.

use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use datafusion::common::Result;
use datafusion::common::runtime::SpawnedTask;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, StatisticsArgs, StatisticsContext, execute_stream,
};
use futures::StreamExt;
use futures::future::{Either, select};

use super::box_type::BoxColumns;
use super::boxes::{AnyBoxes, ArrowCoordinate, Boxes, with_boxes};
use super::options::{BoxOverlapMethod, BoxOverlapOptions};
use super::parameters::{BoxJoinType, Placement};
use super::tiling::{MOST_BINS, Tiling};
use crate::planner::Planning;

/// The inputs of a choice.
pub struct Choice<'a> {
    pub options: &'a BoxOverlapOptions,
    pub join: BoxJoinType,
    pub inputs: [&'a Arc<dyn ExecutionPlan>; 2],
    pub boxes: [&'a BoxColumns; 2],
    /// The axes of the boxes.
    pub axes: usize,
    /// The most rows of a side that is replicated.
    pub tile_rows: usize,
    /// The rows of a search.
    pub batch_rows: usize,
    /// The plans of the inputs, for samples.
    pub logical: [&'a LogicalPlan; 2],
    pub planning: &'a Planning<'a>,
}

impl Choice<'_> {
    /// Chooses by the options, and otherwise by the numbers of rows, if they are known.
    pub async fn placement(&self) -> Placement {
        let rows = self.inputs.map(|input| row_count(input.as_ref()));
        match self.options.method {
            BoxOverlapMethod::ReplicateLeft => return Placement::ReplicateLeft,
            BoxOverlapMethod::ReplicateRight => return Placement::ReplicateRight,
            BoxOverlapMethod::Tiles => {
                let size = self.tile_size().await;
                return self.tiles(size.unwrap_or(vec![1.0; self.axes]), rows);
            }
            BoxOverlapMethod::Auto => {}
        }
        let replicate = match (self.join, rows) {
            (BoxJoinType::Inner, [Some(left), Some(right)]) if left < right => {
                Placement::ReplicateLeft
            }
            (BoxJoinType::Inner, [Some(left), None]) if left <= self.tile_rows => {
                Placement::ReplicateLeft
            }
            _ => Placement::ReplicateRight,
        };
        let replicated = match replicate {
            Placement::ReplicateLeft => rows[0],
            _ => rows[1],
        };
        if replicated.is_none_or(|rows| rows <= self.tile_rows) {
            return replicate;
        }
        let size = self.tile_size().await;
        size.map_or(replicate, |size| self.tiles(size, rows))
    }

    fn tiles(&self, size: Vec<f64>, rows: [Option<usize>; 2]) -> Placement {
        const BINS_PER_PARTITION: usize = 4;
        let partitions = self.planning.session.config().target_partitions();
        let rows = rows.into_iter().flatten().max().unwrap_or(0);
        let bins = (BINS_PER_PARTITION * partitions).max(rows.div_ceil(self.batch_rows.max(1)));
        let bins = bins.clamp(1, MOST_BINS as usize) as u32;
        Placement::Tiles(Tiling {
            size,
            bins: self.options.bins.unwrap_or(bins),
        })
    }

    /// Returns the size of tiles, or `None` if none is given and no input has a sample: if reading
    /// an input fails, the query will say why.
    async fn tile_size(&self) -> Option<Vec<f64>> {
        if let Some(size) = self.options.tile_of(self.axes) {
            return Some(size);
        }
        let mut sample = Sample::new(self.axes);
        let mut has_rows = false;
        for (side, boxes) in self.boxes.into_iter().enumerate() {
            let bounded = !self.inputs[side].boundedness().is_unbounded();
            let input = self.logical[side];
            has_rows |= bounded
                && first_rows(input, boxes, self.planning, &mut sample)
                    .await
                    .unwrap_or(false);
        }
        has_rows.then(|| sample.tile_size())
    }
}

/// Returns the number of rows, exact or estimated, if it is known.
fn row_count(input: &dyn ExecutionPlan) -> Option<usize> {
    let statistics = StatisticsContext::new().compute(input, &StatisticsArgs::new());
    statistics.ok()?.num_rows.get_value().copied()
}

/// Reads the first rows of an input, by a query of its own: inputs that are being planned cannot be
/// executed yet. Returns false if there are no rows without much work: if the input has to read all
/// of its own inputs for its first row, or is slow.
async fn first_rows(
    input: &LogicalPlan,
    boxes: &BoxColumns,
    planning: &Planning<'_>,
    sample: &mut Sample,
) -> Result<bool> {
    const ROWS: usize = 1 << 13;
    const TIME: Duration = Duration::from_secs(5);
    let first = LogicalPlanBuilder::from(input.clone()).limit(0, Some(ROWS))?;
    let Planning {
        planner, session, ..
    } = planning;
    let plan = planner
        .create_physical_plan(&first.build()?, *session)
        .await?;
    if plan.pipeline_behavior() == EmissionType::Final {
        return Ok(false);
    }
    let mut batches = execute_stream(plan, session.task_ctx())?;
    let read = async {
        while let Some(batch) = batches.next().await.transpose()? {
            let boxes = AnyBoxes::new(boxes, &batch, 0)?;
            with_boxes!(&boxes, boxes => sample.add(boxes));
        }
        Ok(true)
    };
    // A timer of tokio would need a runtime that has timers. This one ends with the reading.
    let (_reading, end) = channel::<()>();
    let late = SpawnedTask::spawn_blocking(move || end.recv_timeout(TIME));
    match select(pin!(read), pin!(late.join())).await {
        Either::Left((read, _)) => read,
        Either::Right(_) => Ok(false),
    }
}

/// Statistics of some boxes, by axes.
struct Sample {
    /// The extents of all boxes that are finite.
    extents: Vec<Vec<f64>>,
    /// The least and the largest finite coordinate.
    bounds: Vec<[f64; 2]>,
}

impl Sample {
    fn new(axes: usize) -> Sample {
        Sample {
            extents: vec![Vec::new(); axes],
            bounds: vec![[f64::INFINITY, f64::NEG_INFINITY]; axes],
        }
    }

    fn add<T: ArrowCoordinate>(&mut self, boxes: &Boxes<T>) {
        for index in 0..boxes.len() {
            let (minima, maxima) = boxes.get(index).split_at(self.extents.len());
            for (axis, (&min, &max)) in minima.iter().zip(maxima).enumerate() {
                let (min, max): (f64, f64) = (min.into(), max.into());
                if min.is_finite() && max.is_finite() && (max - min).is_finite() {
                    self.extents[axis].push(max - min);
                    let [least, most] = &mut self.bounds[axis];
                    *least = least.min(min);
                    *most = most.max(max);
                }
            }
        }
    }

    /// Returns eight times the extent that nine of ten boxes have at most: few boxes are then in
    /// more than one tile along an axis. If all boxes are points, returns a part of the bounds.
    fn tile_size(mut self) -> Vec<f64> {
        const EXTENTS: f64 = 8.0;
        const PARTS: f64 = 64.0;
        let size = |(extents, [least, most]): (&mut Vec<f64>, &[f64; 2])| {
            let index = extents.len() * 9 / 10;
            let usual = match extents.len() {
                0 => 0.0,
                _ => *extents.select_nth_unstable_by(index, f64::total_cmp).1,
            };
            let candidates = [usual * EXTENTS, (most - least) / PARTS, 1.0];
            let usable = |size: &f64| *size > 0.0 && size.is_finite();
            candidates.into_iter().find(usable).unwrap_or(1.0)
        };
        self.extents
            .iter_mut()
            .zip(&self.bounds)
            .map(size)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_are_as_large_as_eight_usual_boxes() {
        let mut sample = Sample::new(3);
        sample.extents = vec![vec![1.0; 19], vec![0.0; 19], Vec::new()];
        sample.extents[0][3] = 1e9;
        sample.bounds[1] = [-32.0, 32.0];
        assert_eq!(sample.tile_size(), [8.0, 1.0, 1.0]);
    }
}
