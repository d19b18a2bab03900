//! The pairs of tiles, joined.

use super::tile::Found;
use crate::Result;
use crate::box_overlap::output::{Overlaps, row_blocks};
use crate::device::zeroed;
use crate::parallel;

/// Joins the pairs of rows that follow each other.
pub fn in_order(mut found: Vec<Overlaps>) -> Result<Overlaps> {
    if found.len() == 1 {
        return Ok(found.swap_remove(0));
    }
    let rows = found.iter().map(Overlaps::len).sum();
    let mut next = 0;
    let of_rows = found.into_iter().map(|found| {
        let rows = next..next + found.len();
        next = rows.end;
        Found {
            rows,
            first_column: 0,
            found,
        }
    });
    side_by_side(rows, of_rows.collect())
}

/// Joins the pairs of `rows` rows from tiles that have each pair once: each row's indices are those of its tiles, ascending.
pub fn side_by_side(rows: usize, mut tiles: Vec<Found<Overlaps>>) -> Result<Overlaps> {
    tiles.sort_by_key(|tile| tile.first_column);
    let mut offsets = zeroed::<usize>(rows + 1)?;
    for tile in &tiles {
        let counts = tile.found.offsets();
        for (i, row) in tile.rows.clone().enumerate() {
            offsets[row + 1] += counts[i + 1] - counts[i];
        }
    }
    let mut end = 0;
    for offset in &mut offsets {
        end += *offset;
        *offset = end;
    }
    let mut indices = zeroed::<u32>(end)?;
    let blocks = row_blocks(&offsets, &mut indices);
    parallel::each(blocks, |(block, places)| {
        let with_rows =
            |tile: &&Found<Overlaps>| tile.rows.start < block.end && tile.rows.end > block.start;
        let tiles: Vec<_> = tiles.iter().filter(with_rows).collect();
        let mut places = places.iter_mut();
        for row in block {
            for tile in tiles.iter().filter(|tile| tile.rows.contains(&row)) {
                let indices = tile.found.row(row - tile.rows.start);
                for (&index, place) in indices.iter().zip(places.by_ref()) {
                    *place = tile.first_column as u32 + index;
                }
            }
        }
    });
    Ok(Overlaps::new(offsets, indices))
}
