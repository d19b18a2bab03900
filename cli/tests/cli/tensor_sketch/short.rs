//! Sequences that are too short for a sketch.

use super::*;

/// What is said depends on the sequences, not on the outputs.
#[test]
fn sequences_without_tuples() {
    let folder = Folder::new();
    let fasta = folder.file(
        "a.fa",
        ">a\nACGTAC\n>b\nACG\n>c\nNNNN\n>d\n>e\nA\n>f\nACGTTA\n",
    );
    let [out, distances, tree] = ["o.npy", "d.tsv", "t.nwk"].map(|name| folder.argument(name));
    let said = "4 of 6 sequences are shorter than a tuple of 4 letters, and their sketches are zero: b, \
                c, d, 1 more";
    for options in [
        &[][..],
        &["--out", &out],
        &["--distances", &distances],
        &["--tree", &tree],
        &["--json"],
    ] {
        let printed = PROGRAM.warn(&[options, &[&fasta]].concat(), &[said]);
        if let ["--json"] = options {
            let found: serde_json::Value = serde_json::from_str(&printed).unwrap();
            assert_eq!(found["short_sequences"], 4);
            assert_eq!(
                found["first_short_sequences"],
                serde_json::json!(["b", "c", "d", "e"])
            );
        }
    }
    // Each sequence has its row.
    assert_eq!(read_npy::<_, Array2<f32>>(out).unwrap().nrows(), 6);
    let long = folder.file("long.fa", format!(">{}\nA\n", "n".repeat(1000)));
    let short_name = format!("{}…{}", "n".repeat(30), "n".repeat(29));
    PROGRAM.warn(&[&long], &[&format!("zero: {short_name}\n")]);
}

/// The lists beside the rows tell which sequence each belongs to, and `distances` takes them.
#[test]
fn rows_of_windows_have_names() {
    let folder = Folder::new();
    let text = ">a\nACGTTGCAAC\n>short\nACG\n>b\nTTGACCAGTACC\n>\nACGTA\n>end\nACGT\n";
    let fasta = folder.file("a.fa", text);
    let out = folder.argument("w.npy");
    let said =
        "2 of 5 sequences are shorter than a window of 5 letters and have no sketch: short, end";
    let options = ["--windows", "5:2", "--out", &out, &fasta];
    PROGRAM.warn(&options, &[said]);
    let read = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    assert_eq!(read("w.names.txt"), "a\nb\nrecord 4\n");
    assert_eq!(read("w.windows.txt"), "3\n4\n1\n");
    assert_eq!(read_npy::<_, Array2<f32>>(&out).unwrap().nrows(), 3 + 4 + 1);
    let [names, windows] = ["w.names.txt", "w.windows.txt"].map(|name| folder.argument(name));
    let compared = folder.argument("d.tsv");
    let options = [
        "--names",
        &names,
        "--windows",
        &windows,
        "--out",
        &compared,
        &out,
    ];
    Program("distances").succeed(&options);
    assert!(read("d.tsv").starts_with("\ta\tb\trecord 4\n"));

    // Means are a row for each sequence.
    let means = folder.argument("m.npy");
    let options = ["--windows", "5:2", "--mean", "--out", &means, &fasta];
    PROGRAM.warn(&options, &[said]);
    assert_eq!(read("m.names.txt"), read("w.names.txt"));
    assert!(!folder.path("m.windows.txt").exists());
    let found = PROGRAM.warn(&[&options[..], &["--json"]].concat(), &[said]);
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!(found["out_names"], folder.argument("m.names.txt"));
    assert_eq!(found["short_sequences"], 2);

    // The lists would replace an input.
    let input = folder.file("x.names.txt", text);
    let out = folder.argument("x.npy");
    let said = ["--out (the names) would overwrite the input"];
    PROGRAM.refuse_options(&["--windows", "5:2", "--out", &out, &input], &said);
}
