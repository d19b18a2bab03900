//! Pairs and groups that `--generate` makes, and the pairs within the groups of a file.

use std::fs;

use gridstride::edit_distance::reference::edit_distance;

use super::{PROGRAM, cells, generate, records};
use crate::program::{Folder, says};

#[test]
fn generated_pairs() {
    let folder = Folder::new();
    let read = |paths: &[String; 2]| paths.each_ref().map(|path| fs::read(path).unwrap());
    let options = ["--generate", "5", "--length", "300"];
    let pairs = generate(&folder, "first", &options);
    let same = generate(&folder, "same", &[&options[..], &["--seed", "0"]].concat());
    assert_eq!(read(&pairs), read(&same));
    let other = generate(&folder, "other", &[&options[..], &["--seed", "1"]].concat());
    assert_ne!(read(&pairs), read(&other));
    let (names, sequences) = records(&pairs[0]);
    assert_eq!(names, ["0.0", "1.0", "2.0", "3.0", "4.0"]);
    assert!((0..5).all(|i| sequences.get(i).unwrap().len() == 300));

    // Without edits, pairs are equal; at a rate, distances are near it and not above.
    let equal = generate(
        &folder,
        "equal",
        &[&options[..], &["--rates", "0:0"]].concat(),
    );
    assert_eq!(records(&equal[0]).1, records(&equal[1]).1);
    let few = generate(
        &folder,
        "few",
        &[&options[..], &["--rates", "0.1:0.1"]].concat(),
    );
    let (a, b) = (records(&few[0]).1, records(&few[1]).1);
    for i in 0..5 {
        let distance = edit_distance(a.get(i).unwrap(), b.get(i).unwrap());
        assert!((10..60).contains(&distance), "{distance}");
    }

    // All pairs of groups of three, each sequence edited from the one before.
    let groups = generate(
        &folder,
        "groups",
        &["--generate", "2", "--group", "3", "--length", "200"],
    );
    let ((a, first), (b, second)) = (records(&groups[0]), records(&groups[1]));
    assert_eq!(a, ["0.0", "0.0", "0.1", "1.0", "1.0", "1.1"]);
    assert_eq!(b, ["0.1", "0.2", "0.2", "1.1", "1.2", "1.2"]);
    assert_eq!(first.get(0), first.get(1));
    assert_eq!(second.get(0), first.get(2));
    assert_eq!(second.get(1), second.get(2));
}

/// The pairs within groups of one file are those that `--generate` writes to two.
#[test]
fn pairs_within_groups() {
    let folder = Folder::new();
    for shape in ["path", "star", "tree"] {
        let options = [
            "--generate",
            "2",
            "--group",
            "5",
            "--length",
            "60",
            "--shape",
            shape,
        ];
        let [a, b] = generate(&folder, shape, &options);
        let groups = folder.argument(&format!("{shape}.fa"));
        let printed = PROGRAM.succeed(&[&options[..], &[&groups]].concat());
        says(&printed, &["10 sequences of about 60 letters in "]);
        let (names, sequences) = records(&groups);
        assert_eq!((&*names[0], &*names[9]), ("0.0", "1.4"));

        let sketches = "--tuple 2 --dim 8 --windows 20:8 --device cpu";
        let sketches: Vec<&str> = sketches.split(' ').collect();
        let write = |files: &[&str]| {
            let out = PROGRAM.write(&folder, "out.tsv", &[&sketches, files].concat());
            cells(out)
        };
        let within = write(&["--group", "5", &groups]);
        assert_eq!(within, write(&[&a, &b]));
        assert_eq!(within.1.len(), 20);
        let all = write(&[&groups]).1;
        assert_eq!(all.len(), 45);
        for (line, (i, j)) in all.iter().zip(pairs_of(10)) {
            assert_eq!(line[..2], [names[i].clone(), names[j].clone()]);
            let [x, y] = [i, j].map(|i| sequences.get(i).unwrap());
            assert_eq!(line[4], edit_distance(x, y).to_string());
        }
    }
    let groups = folder.argument("path.fa");
    let said = ["10 records, which are no whole groups of 4", "--group"];
    PROGRAM.refuse(&["--group", "4", &groups], &said);
    let one = folder.file("one.fa", ">x\nACGT\n");
    PROGRAM.refuse(
        &[&one],
        &["one.fa has 1 records, and no pairs", "two files"],
    );
    let said = ["--group compares the records of one file", "leave out B.fa"];
    PROGRAM.refuse_options(&["--group", "2", &one, &groups], &said);
}

/// Returns all pairs of numbers below `count`, the smaller one first.
fn pairs_of(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |i| (i + 1..count).map(move |j| (i, j)))
}
