//! Unusual inputs, and inputs and options that are refused.

use std::fs;

use super::{PROGRAM, cells};
use crate::program::{Folder, gzip, says};

#[test]
fn empty_sequences() {
    let folder = Folder::new();
    let empty = folder.file("empty.fa", ">x\n>y\n>z\n");
    let said = "6 of 6 sequences are shorter than a tuple of 3 letters, and their sketches are zero: x, y, z, 3 more";
    let printed = PROGRAM.warn(&["--device", "cpu", &empty, &empty], &[said]);
    says(
        &printed,
        &[
            "pairs: 3, 0 letters",
            "rank correlation with the edit distance: sketches undefined",
        ],
    );
}

#[test]
fn empty_and_short_records() {
    let folder = Folder::new();
    let a = folder.file("a.fa", ">x\n>y\nACGTACGTAC\n>z\nAC\nGT\n>w\nACGTACGTACGT\n");
    let b = folder.file(
        "b.fa.gz",
        gzip(b">x'\nACG\n>y'\nACGTACGTACG\n>z'\n>w'\nTTTTTTTTTT\n"),
    );
    let options = [
        "--tuple",
        "2",
        "--windows",
        "8:2",
        "--device",
        "cpu",
        &a,
        &b,
    ];
    let out = folder.argument("out.tsv");
    let output = PROGRAM.run(&[&options[..], &["--out", &out]].concat());
    assert!(output.status.success());
    let warning = String::from_utf8(output.stderr).unwrap();
    says(
        &warning,
        &[
            "2 of 8 sequences are shorter than a tuple of 2 letters, and their sketches are zero: x, z'",
            "2 of 4 pairs have a sequence of less than 8 letters",
        ],
    );
    assert_eq!(warning.lines().count(), 2);
    let lines = cells(&out).1;
    let distances: Vec<_> = lines.iter().map(|line| &*line[4]).collect();
    assert_eq!(distances, ["3", "1", "4", "9"]);
    let has_windows: Vec<_> = lines.iter().map(|line| !line[6].is_empty()).collect();
    assert_eq!(has_windows, [false, true, false, true]);
    assert_eq!(lines[0][1], "x'");
    let long = ["--tuple", "2", "--windows", "12:2", &a, &b];
    let said = [
        "no pair has two sequences of 12 letters; the longest has two of 10",
        "smaller WIDTH",
    ];
    PROGRAM.refuse(&long, &said);
}

#[test]
fn letters_outside_of_the_alphabet() {
    let folder = Folder::new();
    let a = folder.file("a.fa", ">x\nACGT\n>y\nACNGT\n");
    let b = folder.file("b.fa", ">x\nACGT\n>y\nACGT\n");
    let said = [
        "cannot read",
        "a.fa",
        "record 2 (y)",
        "letter 3 is 'N' (byte 78)",
        "--unknown skip",
    ];
    PROGRAM.refuse(&[&a, &b], &said);
    PROGRAM.refuse(&[&b, &a], &said);
    let out = folder.argument("out.tsv");
    let output = PROGRAM.run(&[
        "--unknown",
        "skip",
        "--device",
        "cpu",
        "--out",
        &out,
        &a,
        &b,
    ]);
    says(
        &String::from_utf8(output.stderr).unwrap(),
        &["1 characters are not in the alphabet and were skipped"],
    );
    assert_eq!(cells(&out).1[1][4], "0");
    let proteins = folder.file("p.fa", ">p\nMKVLAW\n");
    let printed = PROGRAM.succeed(&["--alphabet", "protein", &proteins, &proteins]);
    says(&printed, &["pairs: 1, 12 letters, edit distances 0 to 0"]);
}

#[test]
fn files_that_do_not_fit() {
    let folder = Folder::new();
    let one = folder.file("one.fa", ">x\nACGT\n");
    let two = folder.file("two.fa", ">x\nACGT\n>y\nACGT\n");
    let kept = folder.file("kept.tsv", "as it was");
    let options = ["--out", &kept, &one, &two];
    PROGRAM.refuse(
        &options,
        &["one.fa has 1 records and", "two.fa has 2", "equally many"],
    );
    let text = folder.file("text.fa", "ACGT\n");
    PROGRAM.refuse(
        &["--out", &kept, &one, &text],
        &["cannot read", "text.fa", "not FASTA"],
    );
    let empty = folder.file("empty.fa", "");
    PROGRAM.refuse(
        &["--out", &kept, &empty, &one],
        &["cannot read", "empty.fa", "the file is empty"],
    );
    let missing = folder.argument("missing.fa");
    PROGRAM.refuse(&[&one, &missing], &["cannot read", "missing.fa"]);
    let whole = gzip(b">x\nACGT\n");
    let cut = folder.file("cut.fa.gz", &whole[..whole.len() - 1]);
    PROGRAM.refuse(&["--out", &kept, &one, &cut], &["cannot read", "cut.fa.gz"]);
    assert_eq!(fs::read(&kept).unwrap(), b"as it was");
    assert_eq!(folder.names().len(), 6);
    let through = PROGRAM.read(&["--device", "cpu", "-", &one], b">x\nTCGA\n");
    says(&through, &["edit distances 2 to 2"]);
}

#[test]
fn options_that_do_not_fit() {
    let folder = Folder::new();
    let file = folder.file("a.fa", ">x\nACGT\n");
    let other = folder.file("b.fa", ">x\nACGT\n");
    let refuse = |options: &[&str], said: &str| {
        PROGRAM.refuse_options(&[options, &[&file, &other]].concat(), &[said]);
    };
    for list in [
        ["--tuple", "2,3"],
        ["--dim", "8,16"],
        ["--windows", "4:2,4:1"],
    ] {
        refuse(&list, "take lists only with --grid");
    }
    for (option, list, value) in [
        ("--tuple", "2,3,2", "2"),
        ("--dim", "8,8", "8"),
        ("--windows", "4:1,4:2,4:2", "4:2"),
    ] {
        let said = format!("{option} has {value} twice: name each value once");
        refuse(&["--grid", option, list], &said);
    }
    refuse(
        &["--windows", "2:1"],
        "--windows of 2 letters have no tuples of 3 letters",
    );
    refuse(
        &["--grid", "--tuple", "2,5", "--windows", "4:1"],
        "no tuples of 5 letters",
    );
    refuse(&["--out", &file], "would overwrite the input");
    refuse(&["--plot", &other], "would overwrite the input");
    refuse(
        &["--out", "same", "--plot", "same"],
        "--out and --plot name the same file",
    );
    PROGRAM.refuse_options(&["-", "-"], &["stdin can be read only once"]);
    PROGRAM.refuse_options(
        &["--generate", "1", &file, &file],
        &["A.fa and B.fa name the same file"],
    );
    PROGRAM.refuse_options(
        &["--generate", "1", "-", "-"],
        &["A.fa and B.fa both write to standard output"],
    );
    PROGRAM.refuse_options(
        &[
            "--generate",
            "18446744073709551615",
            "--group",
            "3",
            "c",
            "d",
        ],
        &[
            "groups of 3 pairs are more than can be counted",
            "smaller --generate or --group",
        ],
    );
    let nowhere = folder.argument("nowhere/file");
    for option in ["--out", "--plot"] {
        let options = [option, &nowhere, &file, &other];
        PROGRAM.refuse(&options, &["cannot write", "nowhere/file"]);
    }
    for (options, said) in [
        (&["--seeds", "2"][..], "--grid"),
        (&["--length", "2"], "--generate"),
        (&["--generate", "1", "--tuple", "2"], "cannot be used with"),
        (&["--generate", "1", "--rates", "0.5:0.1"], "not LEAST:MOST"),
        (&["--generate", "1", "--rates", "0:1.5"], "not LEAST:MOST"),
        (&["--generate", "1", "--group", "1"], "--group"),
        (&["--generate", "0"], "0 is not in 1.."),
        (&["--generate", "1", "--length", "0"], "0 is not in 1.."),
        (&["--generate", "1", "--length", "4294967297"], "--length"),
        (&["--tuple", "9"], "--tuple"),
        (&["--windows", "4"], "not WIDTH:STRIDE"),
    ] {
        PROGRAM.refuse_usage(&[options, &[&file, &other]].concat(), said);
    }
    assert_eq!(folder.names(), ["a.fa", "b.fa"]);
}
