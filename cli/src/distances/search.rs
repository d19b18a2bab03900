//! The nearest rows of each row.

use anyhow::{Result, bail, ensure};
use gridstride::Device;
use gridstride::device::DeviceKind;
use gridstride::distances::{Component, Distances, Nearest};
use ndarray::s;

use super::args::Args;
use super::rows::Rows;

/// Rows that kernels find for each row, of those of a single file with the row itself.
const MOST: usize = 1024;

/// Refuses a `k` of more rows than there are or than the devices find.
pub fn check<T: Component>(
    args: &Args,
    rows: &Rows<T>,
    devices: &[Device],
    k: usize,
) -> Result<()> {
    if let (Some(path), Some(other)) = (&args.other, &rows.other) {
        let (count, things) = (other.len(), other.things());
        ensure!(
            k <= count,
            "--nearest {k} asks for more {things} than the {count} of {}: choose a smaller K",
            path.display()
        );
        // The library says which limit of the devices is exceeded.
        return Ok(());
    }
    let (path, count) = (args.rows.display(), rows.first.len());
    let things = rows.first.things();
    let thing = &things[..things.len() - 1];
    if k >= count {
        bail!(
            "--nearest {k} of {path} needs {k} {things} beside each {thing}, but the file has {count} \
             {things}: choose a smaller K"
        );
    }
    let is_cpu = |device: &Device| device.kind() == DeviceKind::Cpu;
    ensure!(
        k < MOST || devices.iter().all(is_cpu),
        "--nearest {k} of a single file is more than the {} {things} that kernels find beside each \
         {thing}: choose a smaller K, or --device cpu",
        MOST - 1
    );
    Ok(())
}

/// Returns the `k` nearest rows of each row, or sequences of each sequence. Those of a single file
/// do not find themselves.
pub fn nearest<T: Component>(
    args: &Args,
    rows: &Rows<T>,
    devices: &[Device],
    k: usize,
) -> Result<Nearest> {
    let with = Distances::new().metric(args.metric);
    let (first, second) = (&rows.first, rows.second());
    let finds_own = rows.other.is_none();
    let k = k + usize::from(finds_own);
    let sequences = first.sequences(0..first.len());
    let mut neighbours = match (sequences, second.sequences(0..second.len())) {
        (Some(queries), Some(database)) => {
            with.slide_nearest(devices, queries.windows()?, database.windows()?, k)?
        }
        _ => with.nearest(devices, first.view(), second.view(), k)?,
    };
    if finds_own {
        remove_own(&mut neighbours);
    }
    Ok(neighbours)
}

/// Leaves the nearest other rows of each row, one fewer than before.
fn remove_own(neighbours: &mut Nearest) {
    let pairs = neighbours.indices.outer_iter_mut();
    for (row, (mut indices, mut distances)) in
        pairs.zip(neighbours.distances.outer_iter_mut()).enumerate()
    {
        // Behind as many equal rows as were asked for, a row does not find itself. Then the last one
        // is too many.
        let last = indices.len() - 1;
        let own = indices.iter().position(|&index| index == row as u64);
        for column in own.unwrap_or(last)..last {
            indices[column] = indices[column + 1];
            distances[column] = distances[column + 1];
        }
    }
    let k = neighbours.indices.ncols() - 1;
    neighbours.indices.slice_collapse(s![.., ..k]);
    neighbours.distances.slice_collapse(s![.., ..k]);
}

#[cfg(test)]
mod tests {
    use gridstride::Device;
    use gridstride::distances::nearest;
    use ndarray::array;

    use super::remove_own;

    /// Four equal rows, of which k = 2 finds the first three for each, and another row.
    #[test]
    fn equal_rows_find_each_other() {
        let rows = array![[1.0], [1.0], [4.0], [1.0], [1.0]];
        let mut neighbours = nearest(&Device::cpu(), rows.view(), rows.view(), 3).unwrap();
        remove_own(&mut neighbours);
        let expected = array![[1, 3], [0, 3], [0, 1], [0, 1], [0, 1]];
        assert_eq!(neighbours.indices, expected);
        let expected = array![[0.0, 0.0], [0.0, 0.0], [3.0, 3.0], [0.0, 0.0], [0.0, 0.0]];
        assert_eq!(neighbours.distances, expected);
    }
}
