//! `--generate`.

use super::*;

/// The program generates its own data.
#[test]
fn generated_sets() {
    let folder = Folder::new();
    let generate = |name: &str, options: &[&str]| {
        let path = folder.argument(name);
        let printed = PROGRAM.succeed(&[options, &[&*path]].concat());
        says(&printed, &[format!(" segments in {path}/set2.csv")]);
        [1, 2].map(|i| format!("{path}/set{i}.csv"))
    };
    let read = |paths: &[String; 2]| paths.each_ref().map(|path| fs::read(path).unwrap());
    let data = [WELDS, SEGMENTS].map(|path| fs::read(path).unwrap());
    assert_eq!(read(&generate("a", &["--generate", "1000"])), data);
    let seeded = generate("new/folder", &["--generate", "1000", "--seed", "42"]);
    assert_eq!(read(&seeded), data);
    let other = generate("other", &["--generate", "1000", "--seed", "43"]);
    assert_ne!(read(&other), data);

    // The same numbers as whole ones.
    let whole = generate("whole", &["--generate", "1000", "--type", "i32"]);
    for (whole, data) in whole.iter().zip([WELDS, SEGMENTS]) {
        let text = fs::read_to_string(data).unwrap();
        let (header, lines) = text.split_once('\n').unwrap();
        let expected = format!("{header}\n{}", lines.replace('.', ""));
        assert_eq!(fs::read_to_string(whole).unwrap(), expected);
    }

    let [welds, segments] = [WELDS, SEGMENTS].map(thousandths);
    check_pipes(&welds, &segments, [34_200, 34_200, 8550]);
    for count in ["0", "1", "19", "20", "21"] {
        let paths = generate(count, &["--generate", count]);
        let sets = paths.each_ref().map(|path| thousandths(path));
        assert_eq!(sets[1].nrows().to_string(), count);
        check_pipes(&sets[0], &sets[1], [9284, 9284, 2321]);
    }
    let file = folder.path("one");
    assert!(!Path::new(&file).exists());
    PROGRAM.refuse_usage(&["--generate", "x", "folder"], "--generate");
    for options in [&["other"][..], &["--out", "a.csv"]] {
        let options = [&["--generate", "1", "folder"], options].concat();
        PROGRAM.refuse_usage(&options, "cannot be used with");
    }
    PROGRAM.refuse_usage(&["--seed", "1", WELDS], "--generate");
}

/// The article's boxes, which it found 396 137 pairs of, and the first of them.
#[test]
fn the_articles_boxes() {
    let folder = Folder::new();
    let boxes = folder.argument("boxes");
    PROGRAM.succeed(&["--generate", "200000", "--seed", "42", &boxes]);
    let sets = [1, 2].map(|i| format!("{boxes}/set{i}.csv"));
    for device in devices() {
        let device = device.kind();
        if device == DeviceKind::Simulator {
            // It would take minutes.
            continue;
        }
        let files = ["--device", &device.to_string(), &sets[0], &sets[1]];
        let out = PROGRAM.write(&folder, "pairs.csv", &files);
        let text = fs::read_to_string(out).unwrap();
        assert_eq!(text.lines().count(), 1 + 396_137);
        assert!(text.starts_with("set1,set2\n0,0\n0,35920\n1,0\n1,1\n2,1\n"));
    }
}

/// Checks for chains of 20 segments along the axes, 1000 to 9000 long, that start within the
/// extents, and for a weld at the start of each segment.
fn check_pipes(welds: &Array2<i64>, segments: &Array2<i64>, extents: [i64; 3]) {
    assert_eq!(welds.dim(), segments.dim());
    let mut end = [0; 3];
    for (i, (weld, segment)) in welds.outer_iter().zip(segments.outer_iter()).enumerate() {
        let start = [0, 1, 2].map(|axis| weld[axis] + 80);
        let cube = [-80, 80].map(|by| start.map(|x| x + by)).concat();
        assert_eq!(weld.to_vec(), cube);
        match i % 20 {
            0 => (0..3).for_each(|axis| {
                assert!((200_000..=200_000 + extents[axis]).contains(&start[axis]))
            }),
            _ => assert_eq!(start, end),
        }
        let is_along = |axis: &usize| segment[*axis] == start[*axis];
        let along: Vec<_> = (0..3).filter(is_along).collect();
        assert_eq!(along.len(), 1);
        for axis in 0..3 {
            let thickness = if axis == along[0] { 0 } else { 75 };
            assert_eq!(segment[axis], start[axis] - thickness);
            end[axis] = segment[axis + 3] - thickness;
            match thickness {
                0 => assert!((1000..=9000).contains(&(end[axis] - start[axis]))),
                _ => assert_eq!(end[axis], start[axis]),
            }
        }
    }
}

#[test]
fn a_folder_has_a_name() {
    let said = "--generate needs the name of a folder";
    PROGRAM.refuse_options(&["--generate", "5", "-"], &[said]);
    for option in [
        ["--device", "cpu"],
        ["--memory", "1"],
        ["--algorithm", "brute"],
    ] {
        let options = [&["--generate", "5", "."], &option[..]].concat();
        PROGRAM.refuse_usage(&options, "cannot be used with");
    }
    assert!(!fs::exists("-").unwrap());
}
