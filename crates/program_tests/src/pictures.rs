//! Pictures as XML.

/// The number in an attribute.
fn number(tag: &str, name: &str) -> f64 {
    let (_, behind) = tag.split_once(&format!(" {name}=\"")).unwrap();
    behind.split('"').next().unwrap().parse().unwrap()
}

/// Expects all rectangles and texts to begin inside of the picture, and all tags to be closed.
#[track_caller]
pub fn check_inside(svg: &str) {
    let tags: Vec<_> = svg.split('<').filter(|tag| !tag.is_empty()).collect();
    let (width, height) = (number(tags[0], "width"), number(tags[0], "height"));
    assert!(svg.trim_end().ends_with("</svg>"));
    let mut count = 0;
    for tag in tags {
        if tag.starts_with("rect ") {
            let size = [number(tag, "width"), number(tag, "height")];
            let end = [number(tag, "x") + size[0], number(tag, "y") + size[1]];
            assert!(size.iter().all(|&size| size >= 0.0), "{tag}");
            assert!(end[0] <= width + 1.0 && end[1] <= height + 1.0, "{tag}");
        }
        if tag.starts_with("rect ") || tag.starts_with("text ") {
            let place = (number(tag, "x"), number(tag, "y"));
            assert!((-2.0..=width).contains(&place.0), "{tag}");
            assert!((-2.0..=height).contains(&place.1), "{tag}");
            count += 1;
        }
    }
    assert!(count > 1);
}
