//! The subcommand `box-overlap` as its user meets it: what it prints, writes and refuses.

mod generated;
mod join;
mod refused;

use crate::common::boxes::{flat, uniform};
use crate::common::{Random, devices, small};
use crate::program::{Folder, Program, gzip, gzip_stored, name_of, says, with_line_ends, words};
use gridstride::box_overlap::{Coordinate, Overlaps, reference};
use gridstride::device::DeviceKind;
use ndarray::{Array2, array, s};
use ndarray_npy::read_npy;
use serde_json::json;
use std::fs;
use std::path::Path;

const PROGRAM: Program = Program("box-overlap");

/// The pipes. Tests run in the package's folder, in a bundle too.
const WELDS: &str = "../examples/data/pipes/set1.csv";

const SEGMENTS: &str = "../examples/data/pipes/set2.csv";

/// Names of columns in their usual order.
const HEADER: &str = "minX,minY,minZ,maxX,maxY,maxZ";

/// Numbers of the pipes' files, in thousandths.
fn thousandths(path: &str) -> Array2<i64> {
    let text = fs::read_to_string(path).unwrap();
    let (header, lines) = text.split_once('\n').unwrap();
    assert_eq!(header, format!("id,{HEADER}"));
    let parse = |cell: &str| {
        let (whole, part) = cell.split_once('.').unwrap();
        assert_eq!(part.len(), 3);
        whole.parse::<i64>().unwrap() * 1000 + part.parse::<i64>().unwrap()
    };
    let numbers: Vec<_> = lines
        .lines()
        .flat_map(|line| line.split(',').skip(1).map(parse))
        .collect();
    Array2::from_shape_vec((numbers.len() / 6, 6), numbers).unwrap()
}

/// Returns the output of `--out`.
fn pairs(folder: &Folder, arguments: &[&str]) -> Vec<[u32; 2]> {
    let text = fs::read_to_string(PROGRAM.write(folder, "pairs.csv", arguments)).unwrap();
    let lines = text.strip_prefix("set1,set2\n").unwrap().lines();
    let pair = |line: &str| {
        let (i, j) = line.split_once(',').unwrap();
        [i, j].map(|number| number.parse().unwrap())
    };
    lines.map(pair).collect()
}

fn expected(overlaps: gridstride::Result<Overlaps>) -> Vec<[u32; 2]> {
    let pairs = overlaps.unwrap().pairs().unwrap();
    pairs.outer_iter().map(|pair| [pair[0], pair[1]]).collect()
}

/// Text that every type reads as these numbers.
fn csv<T: Coordinate>(boxes: &Array2<T>) -> String {
    let header = match boxes.ncols() {
        6 => HEADER,
        _ => "minX,minY,maxX,maxY",
    };
    let mut text = format!("{header}\n");
    for row in boxes.outer_iter() {
        let cells = row.iter().map(|number| number.to_f64().to_string());
        let cells: Vec<_> = cells.collect();
        text += &(cells.join(",") + "\n");
    }
    text
}

/// The word behind `name`.
fn value<'a>(printed: &'a str, name: &str) -> &'a str {
    let (_, behind) = printed
        .split_once(name)
        .unwrap_or_else(|| panic!("no {name} in {printed}"));
    behind.split([' ', ',', '\n']).next().unwrap()
}

#[test]
fn pipes_and_welds() {
    let folder = Folder::new();
    let sets = [WELDS, SEGMENTS].map(thousandths);
    assert_eq!(sets.each_ref().map(|set| set.dim()), [(1000, 6); 2]);
    let [welds, segments] = sets.map(|set| set.mapv(|number| number as f64 / 1000.0));
    let found = reference::overlaps(welds.view(), segments.view()).unwrap();
    // Each weld touches the segments on both its sides, but at the end of a pipe.
    assert!(found.pair_count() >= 1000 + 950);
    let (count, largest) = (
        found.pair_count(),
        found.counts().into_iter().max().unwrap(),
    );
    let found = expected(Ok(found));

    let printed = PROGRAM.succeed(&[WELDS, SEGMENTS]);
    let lines = words(&printed);
    assert_eq!(lines[0], ["set1", "set2"]);
    for (line, pair) in lines[1..11].iter().zip(&found) {
        assert_eq!(line[..], pair.map(|number| number.to_string()));
    }
    says(
        &printed,
        &[
            format!("... and {} more\n", count - 10),
            format!("boxes: 1000 in {WELDS}, 1000 in {SEGMENTS}, 3-D, f64\n"),
            format!("pairs: {count}, at most {largest} of one box of set1\n"),
        ],
    );
    for part in ["reading ", "searching ", "writing ", "opening the device "] {
        value(&printed, part).parse::<f64>().unwrap();
    }
    assert!(!printed.contains(".npy"));
    assert_eq!(pairs(&folder, &[WELDS, SEGMENTS]), found);
}

#[test]
fn devices_algorithms_and_types() {
    let folder = Folder::new();
    let sets = [uniform(60, 50, 10, 1), uniform(70, 50, 10, 2)];
    for flat_ones in [false, true] {
        let [set1, set2] = sets.each_ref().map(|set| match flat_ones {
            true => flat(set).mapv(|number| number as i32),
            false => set.mapv(|number| number as i32),
        });
        let files = [
            folder.file("a.csv", csv(&set1)),
            folder.file("b.csv", csv(&set2)),
        ];
        let (found, of_itself) = (
            expected(reference::overlaps(set1.view(), set2.view())),
            expected(reference::self_overlaps(set1.view())),
        );
        for device in devices() {
            let (device, name_of_device) = (device.kind().to_string(), name_of(device.kind()));
            let on_device = ["--device", &device, &files[0]];
            for algorithm in ["auto", "brute", "indexed"] {
                for name in ["f32", "f64", "i32"] {
                    let options = ["--algorithm", algorithm, "--type", name];
                    let one = [&options[..], &on_device].concat();
                    assert_eq!(pairs(&folder, &one), of_itself);
                    assert_eq!(pairs(&folder, &[&one[..], &[&files[1]]].concat()), found);
                }
            }
            let printed = PROGRAM.succeed(&[&["--type", "f64"][..], &on_device].concat());
            let axes = if flat_ones { "2-D" } else { "3-D" };
            let boxes = format!("boxes: 60 in {}, {axes}, f64", files[0]);
            says(&printed, &[boxes, format!("on {name_of_device}: ")]);
        }
    }
    PROGRAM.refuse_usage(&["--algorithm", "octree", WELDS], "octree");
    PROGRAM.refuse_usage(&["--type", "f16", WELDS], "f16");
    PROGRAM.refuse_usage(
        &["--device", "gpu", WELDS],
        "there is no device \"gpu\": possible are auto, cpu, cuda",
    );
    PROGRAM.refuse_usage(&[], "<SET1.csv>");
    PROGRAM.refuse_usage(&["a.csv", "b.csv", "c.csv"], "c.csv");
}

/// Unless a type is given, coordinates keep the numbers of the files: in f32 where that is exact.
#[test]
fn coordinates_are_kept_by_default() {
    let folder = Folder::new();
    // Pipes in UTM coordinates, which touch in f32 and not in the file.
    let header = "minX,minY,maxX,maxY\n";
    let first = folder.file(
        "a.csv",
        format!("{header}500000,5812345.10,500001,5812345.30\n"),
    );
    let second = folder.file(
        "b.csv",
        format!("{header}500000,5812345.45,500001,5812345.60\n"),
    );
    assert_eq!(pairs(&folder, &[&first, &second]), [[0, 0]; 0]);
    let found = PROGRAM.json(&[&first, &second]);
    assert_eq!(
        (&found["type"], &found["rounded_coordinates"]),
        (&json!("f64"), &json!(0))
    );

    let single = ["--type", "f32", &first, &second];
    assert_eq!(pairs(&folder, &single), [[0, 0]]);
    let found = PROGRAM.json(&single);
    assert_eq!(
        (&found["type"], &found["rounded_coordinates"]),
        (&json!("f32"), &json!(4))
    );
    says(
        &PROGRAM.succeed(&single),
        &["2-D, f32, which rounds 4 coordinates\n"],
    );

    let whole = folder.file("c.csv", format!("{header}0.5,1,16777216,2e9\n"));
    says(&PROGRAM.succeed(&[&whole]), &["2-D, f32\n"]);
    let decimal = folder.file("e.csv", format!("{header}0,0,1,9.007199254740993e15\n"));
    let said = PROGRAM.run(&[&decimal]);
    // f32 has the number that f64 rounds to, and f64 would be no remedy.
    let said = String::from_utf8(said.stdout).unwrap();
    says(
        &said,
        &["2-D, f32; numbers beyond 2^53 that no type here has: 1\n"],
    );
    let large = folder.file("d.csv", format!("{header}0,0,1,9007199254740993\n"));
    let output = PROGRAM.run(&[&large]);
    let errors = String::from_utf8(output.stderr).unwrap();
    let said = "d.csv: 1 coordinate is a number beyond 2^53 that f64 does not have, and is rounded";
    says(&errors, &["warning: ", said]);
}

/// Pairs have the names of the boxes, which a table in another dialect has.
#[test]
fn names_of_boxes() {
    let folder = Folder::new();
    let first = "id;left;minY;maxX;maxY\n a b ;0;0;1,5;1\n\"c;\"\"d\"\"\";5;5;6;6\n";
    let second = "maxX;left;minY;maxY;id\n2;1,25;0;1;e\n6;5;5;6;f,g\n";
    let (first, second) = (folder.file("a.csv", first), folder.file("b.csv", second));
    let options = [
        "--ids",
        "--delimiter",
        ";",
        "--decimal",
        ",",
        "--columns",
        "minX=left",
    ];
    let out = PROGRAM.write(
        &folder,
        "out.csv",
        &[&options[..], &[&first, &second]].concat(),
    );
    let expected = "set1,set2\na b,e\n\"c;\"\"d\"\"\",\"f,g\"\n";
    assert_eq!(fs::read_to_string(out).unwrap(), expected);

    let numbers = folder.file("n.csv", "x,0,0,1,1\ny,1,1,2,2\nz,9,9,9,9\n");
    let options = [
        "--no-header",
        "--columns",
        "id=1,minX=2,minY=3,maxX=4,maxY=5",
        "--ids",
    ];
    let out = PROGRAM.write(&folder, "out.csv", &[&options[..], &[&numbers]].concat());
    assert_eq!(fs::read_to_string(out).unwrap(), "set1,set2\nx,y\n");
    let flat = folder.file("f.csv", "0,0,1,1\n1,1,2,2\n");
    assert_eq!(pairs(&folder, &["--no-header", &flat]), [[0, 1]]);
    let high = folder.file("h.csv", "0,0,0,1,1,1\n1,1,1,2,2,2\n");
    assert_eq!(pairs(&folder, &["--no-header", &high]), [[0, 1]]);
    let out = folder.argument("none.csv");
    PROGRAM.refuse(
        &["--ids", "--no-header", "--out", &out, &flat],
        &["there is no column id: without a header"],
    );
    PROGRAM.refuse_usage(&["--ids", &flat], "--out");
}

/// f32 rounds these to one number, and i32 has no fractions.
#[test]
fn numbers_are_those_of_the_type() {
    let folder = Folder::new();
    let a = folder.file("a.csv", "minX,maxX,minY,maxY\n0,16777216,0,0.1\n");
    let b = folder.file("b.csv", "minX,maxX,minY,maxY\n16777217,2e9,0.100000001,1\n");
    assert_eq!(pairs(&folder, &["--type", "f32", &a, &b]), [[0, 0]]);
    for exact in [&[][..], &["--type", "f64"]] {
        assert_eq!(pairs(&folder, &[exact, &[&*a, &b]].concat()), [[0, 0]; 0]);
    }
    PROGRAM.refuse(
        &["--type", "i32", &a, &b],
        &["a.csv: line 2, column maxY: '0.1' is not written as a whole number"],
    );

    let ways = folder.file(
        "ways.csv",
        "minX,maxX,minY,maxY\n -1.5e1,+2 ,.5,1.\n-inf,Infinity,-0,0\n",
    );
    for name in ["f32", "f64"] {
        assert_eq!(pairs(&folder, &["--type", name, &ways, &b]), [[0, 0]; 0]);
        let found = pairs(&folder, &["--type", name, &ways, &ways]);
        assert_eq!(found, [[0, 0], [1, 1]]);
    }
    let ends = folder.file(
        "ends.csv",
        "minX,maxX,minY,maxY\n-2147483648,2147483647,+7,007\n",
    );
    assert_eq!(pairs(&folder, &["--type", "i32", &ends, &ends]), [[0, 0]]);
}

#[test]
fn a_matrix() {
    let folder = Folder::new();
    let sets = [uniform(80, 60, 40, 3), uniform(90, 60, 40, 4)];
    let [set1, set2] = sets.map(|set| set.mapv(|number| number as f32));
    let files = [
        folder.file("a.csv", csv(&set1)),
        folder.file("b.csv", csv(&set2)),
    ];
    let npy = &*folder.argument("matrix.npy");
    let of_two = reference::overlaps(set1.view(), set2.view()).unwrap();
    let of_one = reference::self_overlaps(set1.view()).unwrap();
    for (found, files) in [(of_two, &files[..]), (of_one, &files[..1])] {
        let files: Vec<_> = files.iter().map(String::as_str).collect();
        for limit in [0, 1, 3, 6, 1000] {
            let text = limit.to_string();
            let options = match limit {
                6 => vec!["--matrix", npy],
                _ => vec!["--limit", &text, "--matrix", npy],
            };
            let printed = PROGRAM.succeed(&[&options[..], &files].concat());
            let matrix = found.to_matrix(limit).unwrap();
            assert_eq!(read_npy::<_, Array2<i32>>(npy).unwrap(), matrix.indices);
            let is_above = |count: &&u32| **count as usize > limit;
            let above = matrix.counts.iter().filter(is_above).count();
            let with = if files.len() == 1 {
                " with later boxes"
            } else {
                ""
            };
            let said =
                format!("{npy}: {above} boxes have more pairs{with} than the limit of {limit}\n");
            says(&printed, &[said, format!(" of one box of set1{with}\n")]);
            assert!((limit == 1000) == (above == 0));
        }
        // Both files at once.
        let both = [&["--matrix", npy, "--limit", "2"], &files[..]].concat();
        assert_eq!(pairs(&folder, &both), expected(Ok(found.clone())));
        let matrix = found.to_matrix(2).unwrap();
        assert_eq!(read_npy::<_, Array2<i32>>(npy).unwrap(), matrix.indices);
    }
    PROGRAM.refuse_usage(&["--limit", "3", WELDS], "--matrix");
    PROGRAM.refuse_usage(&["--matrix", npy, "--limit", "-1", WELDS], "-1");
    let huge = ["--matrix", npy, "--limit", "1000000000000", WELDS];
    PROGRAM.refuse_usage(&huge, "0..=16777216");
}

/// More pairs than a slice has, and rows without any at the ends.
#[test]
fn more_pairs_than_are_in_memory_together() {
    let folder = Folder::new();
    let count = if small() { 300 } else { 2100 };
    let mut set = Array2::<i32>::zeros((count, 4));
    for row in [0, 1, count - 1] {
        set.row_mut(row).assign(&array![1, 1, 1, 1]);
    }
    let file = folder.file("a.csv", csv(&set));
    let zeros = folder.file("b.csv", csv(&set.slice(s![2..count - 1, ..]).to_owned()));
    let expected = (2..count as u32 - 1).flat_map(|i| (0..count as u32 - 3).map(move |j| [i, j]));
    assert!(pairs(&folder, &[&file, &zeros]).into_iter().eq(expected));
    let printed = PROGRAM.succeed(&[&file, &zeros]);
    let inner = count - 3;
    says(
        &printed,
        &[format!("pairs: {}, at most {inner} of", inner * inner)],
    );
}

#[test]
fn no_boxes_and_no_pairs() {
    let folder = Folder::new();
    let none = folder.file("none.csv", HEADER);
    let npy = folder.argument("matrix.npy");
    let options = ["--matrix", &*npy];
    for (files, rows) in [
        ([&*none, &none], 0),
        ([WELDS, &none], 1000),
        ([&none, WELDS], 0),
    ] {
        let found = pairs(&folder, &[&options[..], &files].concat());
        assert_eq!(found, [[0, 0]; 0]);
        let matrix = read_npy::<_, Array2<i32>>(&npy).unwrap();
        assert_eq!(matrix, Array2::from_elem((rows, 6), -1));
        assert!(PROGRAM.succeed(&files).contains("pairs: 0, at most 0 of"));
    }
    assert_eq!(pairs(&folder, &[&none]), [] as [[u32; 2]; 0]);
}

#[test]
fn every_way_to_write_csv() {
    let folder = Folder::new();
    let boxes = array![
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        [-1.5, 1.0, 2.0, 0.0, 4.0, 5.0]
    ];
    let plain = folder.file("plain.csv", csv(&boxes));
    // One on either side, which touches the second.
    let probe = folder.file(
        "probe.csv",
        format!("{HEADER}\n9,9,9,9,9,9\n-2,0,0,-1.5,1,2\n3,4,5,3,4,5\n"),
    );
    let found = [[0, 2], [1, 1]];
    assert_eq!(pairs(&folder, &[&plain, &probe]), found);
    let texts = [
        "MINX,miny,MinZ,maxx,MAXY,mAXz\n0,1,2,3,4,5\n-1.5,1,2,0,4,5",
        "maxZ,maxY,maxX,minZ,minY,minX\r\n5,4,3,2,1,0\r\n5,4,0,2,1,-1.5\r\n",
        "id,minX,note,minY,minZ,maxX,maxY,maxZ,id\n7,0,\"a, \"\"b\"\"\nc\",1,2,3,4,5,\n,-1.5,,1,2,0,4,5,\n",
        "\u{feff}minX,minY,minZ,maxX,maxY,maxZ\n0,1,2,3,4,5\n-1.5,1,2,0,4,5\n",
        "\n  \n\"minX\", minY ,minZ,maxX,maxY,\"maxZ\"\n\n\n\"0\",\"1\", 2 ,3,4,\"5\"\n\r\n-1.5,1,2,0,4,5\n\n \n",
    ];
    for text in texts {
        let file = folder.file("a.csv", text);
        assert_eq!(pairs(&folder, &[&file, &probe]), found, "{text:?}");
        let file = folder.file("a.csv.gz", gzip(text.as_bytes()));
        assert_eq!(pairs(&folder, &[&file, &probe]), found, "{text:?}");
    }
    let members = [
        gzip(b"minX,minY,minZ,maxX,maxY,maxZ\n0,1,2"),
        gzip(b",3,4,5\n-1.5,1,2,0,4,5\n"),
    ];
    let file = folder.file("members.csv.gz", members.concat());
    assert_eq!(pairs(&folder, &[&file, &probe]), found);

    for input in [texts[1].as_bytes(), &gzip(texts[2].as_bytes())] {
        let out = folder.argument("pairs.csv");
        let options = ["--out", &out, "-", &probe];
        PROGRAM.read(&options, input);
        assert_eq!(fs::read_to_string(out).unwrap(), "set1,set2\n0,2\n1,1\n");
    }
}

/// Records come in batches of thousands, which are parsed while more are read.
#[test]
fn many_rows() {
    let folder = Folder::new();
    let mut random = Random(5);
    let count = 40_000;
    let mut text = format!("{HEADER},\n");
    for i in 0..count {
        let blank = "\n".repeat(random.within(0, 2) as usize);
        text += &format!("{i},0,{i}.5,{i},1.25,{i}.75,x{i}\n{blank}");
    }
    let file = folder.file("many.csv", &text);
    let probes = "minX,minY,minZ,maxX,maxY,maxZ\n8191,1.25,0,8193,2,9e9\n39999,0,0,1e9,0,9e9\n7,0,7.75,7,0,7.75\n";
    let probes = folder.file("probes.csv", probes);
    let expected = [[0, 8191], [0, 8192], [0, 8193], [1, 39_999], [2, 7]];
    assert_eq!(pairs(&folder, &[&probes, &file]), expected);

    // An error says the line also behind blank ones, and the first of several is named.
    let line = |text: &str, row: &str| 1 + text[..text.find(row).unwrap()].matches('\n').count();
    for row in [0, 4096, 8192, 20_000, count - 3] {
        let bad = text
            .replace(&format!(",x{row}\n"), ",1,2\n")
            .replace(",x39998\n", "\n");
        let place = format!("line {}: it has ", line(&text, &format!("\n{row},0,")) + 1);
        PROGRAM.refuse(
            &[&folder.file("bad.csv", bad), &probes],
            &["bad.csv", &place],
        );
    }
}

/// The table of names that Python's frames go by, too.
#[test]
fn columns_by_their_usual_names() {
    let folder = Folder::new();
    let plain = folder.file(
        "plain.csv",
        "minX,minY,maxX,maxY\n0,1,2,3\n2,3,4,5\n7,1,8,3\n",
    );
    for names in include_str!("../../../../tests/data/box_columns.csv").lines() {
        let file = folder.file(
            "named.csv",
            format!("note,{names}\na,0,1,2,3\nb,2,3,4,5\nc,7,1,8,3\n"),
        );
        assert_eq!(pairs(&folder, &[&file]), [[0, 1]], "{names}");
        assert_eq!(
            pairs(&folder, &[&file, &plain]),
            pairs(&folder, &[&plain, &plain]),
            "{names}"
        );
    }
    let image = folder.file("image.csv", "left,top,right,bottom\n0,1,2,3\n2,3,4,5\n");
    PROGRAM.refuse(
        &[&image],
        &["line 2: minY 3 is above maxY 1; if y grows downwards, as in images, give --columns"],
    );
    assert_eq!(
        pairs(&folder, &["--columns", "minY=top,maxY=bottom", &image]),
        [[0, 1]]
    );
}
