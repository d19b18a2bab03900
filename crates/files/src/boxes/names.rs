//! The names of columns that have the coordinates of boxes.

use crate::records::shown;

/// The coordinates of a box with three axes, in the order in which boxes have them.
pub const COORDINATES: [&str; 6] = ["minX", "minY", "minZ", "maxX", "maxY", "maxZ"];

/// The roles that columns can have: coordinates, and names of boxes.
pub const ROLES: [&str; 7] = ["minX", "minY", "minZ", "maxX", "maxY", "maxZ", "id"];

/// The axes, as names of corners have them.
const AXES: [&str; 3] = ["x", "y", "z"];

/// Other usual names of each, as [`plain`] returns them.
const OTHERS: [&[&str]; 6] = [
    &["xmin", "left", "west"],
    &["ymin", "bottom", "south"],
    &["zmin"],
    &["xmax", "right", "east"],
    &["ymax", "top", "north"],
    &["zmax"],
];

/// A coordinate without a column, or with two.
#[derive(Debug)]
pub struct Mismatch {
    /// A coordinate that has no column, or two.
    pub coordinate: &'static str,
    /// The fault, as a sentence.
    pub what: String,
}

/// Returns the coordinates that boxes have, four or six, each with the place of its column among
/// columns of these names. `given` are the places that are known already.
///
/// Case, blanks, `_` and `-` in names do not matter. A column that is called as the coordinate, such as
/// `minX`, comes before columns of other usual names: `xmin`, `left` and `west`. Without any of these,
/// corners are looked for: `x0` and `x1`, or else `x1` and `x2`. They are not mixed with other names.
///
/// # Errors
/// If a coordinate has no column, or two with other usual names or corners, and if there are corners of
/// both kinds: `x0`, `x1` and `x2`.
///
/// # Examples
/// ```
/// let names = ["Left", "y_min", "right", "y_max", "note"].map(String::from);
/// let found = files::boxes::find(&names, [None; 6])?;
/// assert_eq!(found, [("minX", 0), ("minY", 1), ("maxX", 2), ("maxY", 3)]);
/// let error = files::boxes::find(&names[..3], [None; 6]).unwrap_err();
/// assert_eq!(error.what, "there is no column maxY");
/// # Ok::<(), files::boxes::Mismatch>(())
/// ```
pub fn find(
    names: &[String],
    given: [Option<usize>; 6],
) -> Result<Vec<(&'static str, usize)>, Mismatch> {
    let plain_names: Vec<_> = names.iter().map(|name| plain(name)).collect();
    let called = |coordinate: usize, wanted: &[&str]| {
        // A column that is read as one coordinate is no other one.
        let is_wanted = |place: &usize| {
            wanted.contains(&&*plain_names[*place]) && !given.contains(&Some(*place))
        };
        let mut places = (0..names.len()).filter(is_wanted);
        let (first, second) = (places.next(), places.next());
        let Some(both) = first.zip(second) else {
            return Ok(first);
        };
        let coordinate = COORDINATES[coordinate];
        let [one, other] = [both.0, both.1].map(|place| shown(names[place].as_bytes()));
        let what = format!("there are two columns {coordinate}, '{one}' and '{other}'");
        Err(Mismatch { coordinate, what })
    };
    let has = |name: String| plain_names.contains(&name);
    // The names of both corners on an axis, if it has both.
    let corners = |axis: &str| {
        let first = usize::from(!has(format!("{axis}0")));
        let corners = [first, first + 1].map(|corner| format!("{axis}{corner}"));
        corners.iter().cloned().all(has).then_some(corners)
    };
    let mut places = given;
    for (i, place) in places.iter_mut().enumerate() {
        if place.is_none() {
            *place = called(i, &[&*plain(COORDINATES[i])])?;
        }
        if place.is_none() {
            *place = called(i, OTHERS[i])?;
            if let (Some(_), Some(corners)) = (&place, corners(AXES[i % 3])) {
                called(i, &[OTHERS[i], &[&*corners[i / 3]]].concat())?;
            }
        }
    }
    let mut hint = String::new();
    if places.iter().any(Option::is_some) {
        hint = hint_at_corners(names);
    } else {
        let first = usize::from(!AXES.iter().any(|axis| has(format!("{axis}0"))));
        for (i, place) in places.iter_mut().enumerate() {
            let axis = AXES[i % 3];
            if first == 0 && has(format!("{axis}2")) {
                return Err(Mismatch {
                    coordinate: COORDINATES[i],
                    what: format!("corners are either {axis}0 and {axis}1 or {axis}1 and {axis}2"),
                });
            }
            *place = called(i, &[&format!("{axis}{}", first + i / 3)])?;
        }
    }
    let is_flat = places[2].is_none() && places[5].is_none();
    let wanted = COORDINATES.iter().zip(places);
    let wanted = wanted.filter(|(coordinate, _)| !(is_flat && coordinate.ends_with('Z')));
    let (known, missing): (Vec<_>, Vec<_>) = wanted.partition(|(_, place)| place.is_some());
    let missing: Vec<_> = missing.iter().map(|(coordinate, _)| **coordinate).collect();
    match missing.first() {
        None => Ok(known
            .into_iter()
            .filter_map(|(name, place)| Some((*name, place?)))
            .collect()),
        Some(coordinate) => Err(Mismatch {
            coordinate,
            what: format!("there is no column {}{hint}", missing.join(", ")),
        }),
    }
}

/// Says that corners are not mixed with other names, if there are any.
fn hint_at_corners(names: &[String]) -> String {
    let corners = AXES
        .iter()
        .flat_map(|axis| [0, 1, 2].map(|corner| format!("{axis}{corner}")));
    let corners: Vec<_> = corners.collect();
    let corner = names.iter().find(|name| corners.contains(&plain(name)));
    corner.map_or(String::new(), |name| {
        let name = shown(name.as_bytes());
        format!(", and corners such as {name} count only if all coordinates are corners: name them all in one way")
    })
}

/// Returns whether columns of these names have the limits of y as images have them: y grows downwards,
/// so that the top has the least y.
pub fn are_of_image(min: &str, max: &str) -> bool {
    (&*plain(min), &*plain(max)) == ("bottom", "top")
}

/// Returns a name without what does not matter.
fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace(['_', '-', ' '], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(names: &str) -> Result<Vec<usize>, String> {
        let names: Vec<_> = names.split(',').map(String::from).collect();
        let found = find(&names, [None; 6]).map_err(|mismatch| mismatch.what)?;
        Ok(found.into_iter().map(|(_, place)| place).collect())
    }

    #[test]
    fn a_column_is_one_coordinate() {
        let names = ["left", "top", "right", "bottom"].map(String::from);
        let mut given = [None; 6];
        given[1] = Some(1);
        let error = find(&names, given).unwrap_err();
        assert_eq!(error.what, "there is no column maxY");
    }

    #[test]
    fn usual_names_of_coordinates() {
        for names in [
            "minX,minY,maxX,maxY",
            "min_x,MIN-Y,max x,maxy",
            "xmin,y_min,xMax,YMAX",
            "left,bottom,right,top",
            "West,South,East,North",
            "x0,y0,x1,y1",
            "x1,y1,x2,y2",
            "X_0,y-0,x 1,Y1",
        ] {
            assert_eq!(places(names), Ok(vec![0, 1, 2, 3]), "{names}");
        }
        assert_eq!(
            places("zmax,xmin,x,ymax,ymin,z_min,xmax"),
            Ok(vec![1, 4, 5, 6, 3, 0])
        );
        // A coordinate's own name comes first, and corners come last.
        assert_eq!(
            places("left,minX,minY,maxX,maxY,x1,x2,z1"),
            Ok(vec![1, 2, 3, 4])
        );
        let given = find(
            &[String::new()],
            [Some(7), Some(6), None, Some(5), Some(4), None],
        );
        assert_eq!(given.unwrap()[0], ("minX", 7));
    }

    #[test]
    fn columns_that_are_missing_or_doubled() {
        for (names, what) in [
            (
                "xmin,left,minY,maxX,maxY",
                "there are two columns minX, 'xmin' and 'left'",
            ),
            (
                "minX,minY,min_x,maxX,maxY",
                "there are two columns minX, 'minX' and 'min_x'",
            ),
            ("minX,minY", "there is no column maxX, maxY"),
            ("minX,minY,maxX,maxY,zmax", "there is no column minZ"),
            ("x0,y0,x2,y2", "corners are either x0 and x1 or x1 and x2"),
            (
                "x0,y0,x1,y1,x2,y2",
                "corners are either x0 and x1 or x1 and x2",
            ),
            (
                "xmin,xmax,ymin,ymax,x0,x1,y0,y1",
                "there are two columns minX, 'xmin' and 'x0'",
            ),
            (
                "left,bottom,right,top,y2,y1",
                "there are two columns minY, 'bottom' and 'y1'",
            ),
            (
                "minX,maxX,y0,y1",
                "there is no column minY, maxY, and corners such as y0 count only if all coordinates are \
                 corners: name them all in one way",
            ),
            ("x0,y0,x1", "there is no column maxY"),
            (
                "x0,y0,x1,y1,Y_2",
                "corners are either y0 and y1 or y1 and y2",
            ),
            ("a,b", "there is no column minX, minY, maxX, maxY"),
        ] {
            assert_eq!(places(names), Err(what.into()), "{names}");
        }
    }
}
