//! Sketches of windows.

use super::*;

#[test]
fn windows_of_each_record() {
    let folder = Folder::new();
    // Windows begin on both sides of the ends of blocks of 1 MiB.
    let long = "ACGTTGCAACCATG".repeat(100_000);
    let lines = in_lines(&long, 70);
    let fasta = format!(">a\nACGTACGTN\nTT\n>short\nACG\n>b\n{lines}\n>c\nACGT\n");
    let fasta = folder.file("a.fa", fasta);
    let texts = ["ACGTACGTTT", "ACG", &long, "ACGT"];
    let strides = [3, 4, 1_000_000, 200_000, 350_000];
    for (width, stride) in [4, 4, 3, 5, 700_000].into_iter().zip(strides) {
        let mut windows = Vec::new();
        let mut names = Vec::new();
        for (text, name) in texts.iter().zip(["a", "short", "b", "c"]) {
            let starts = (0..text.len()).step_by(stride);
            for start in starts.filter(|start| start + width <= text.len()) {
                windows.push(&text[start..start + width]);
                names.push(format!("{name}:{start}"));
            }
        }
        let option = format!("{width}:{stride}");
        let tables = Tables::from_seed(4, 3, 4, 0).unwrap();
        let options = ["--windows", &option, "--tuple", "3", "--dim", "4", &fasta];
        let sketches = sketches(&folder, &options);
        assert_eq!(sketches.nrows(), windows.len(), "{option}");
        for (sketch, window) in sketches.outer_iter().zip(windows) {
            let codes = Alphabet::dna().encode(window.as_bytes(), Unknown::Error);
            // Products on the way to both ends, at most, and a few more.
            Reference::new(&tables, ArrayView1::from(&codes.unwrap().codes))
                .after_products(2 * width + 64)
                .check_last_row(sketch, false, Form::Fourier);
        }
        let short = texts.iter().filter(|text| text.len() < width).count();
        let printed = match short {
            0 => PROGRAM.succeed(&options),
            _ => PROGRAM.warn(
                &options,
                &[&format!("{short} of 4 sequences are shorter than a win")],
            ),
        };
        for (line, name) in words(&printed)[1..].iter().zip(names.iter().take(20)) {
            assert_eq!(line[..3], [name, &width.to_string(), "-"]);
        }
        says(&printed, &["1400017 letters, 1 characters skipped, in "]);
    }
    for bad in ["5", "5:", "0:1", "1:0", "-1:1", "a:b", "1:1:1"] {
        let options = [&format!("--windows={bad}"), LAMBDA];
        PROGRAM.refuse_usage(&options, "not WIDTH:STRIDE, two positive numbers");
    }
}

#[test]
fn strides_of_any_size() {
    let folder = Folder::new();
    let fasta = folder.file("a.fa", ">a\nACGTACGT\n>b\nTTTTACGT\n");
    let windows = format!("4:{}", u64::MAX);
    let options = ["--windows", &windows, "--tuple", "3", &fasta];
    assert_eq!(sketches(&folder, &options).nrows(), 2);
}

#[test]
fn windows_that_no_sequence_has() {
    let folder = Folder::new();
    let fasta = folder.file("a.fa", ">a\nACGTNACG\n>b\nACGTACGTAC\n>c\nACG\n");
    let out = folder.argument("out.npy");
    let said = ["no sequence has 11 letters; the longest has 10: --windows needs"];
    PROGRAM.refuse(&["--windows", "11:1", "--out", &out, &fasta], &said);
    PROGRAM.refuse(&["--windows", "11:1", "--mean", &fasta], &said);
    assert_eq!(folder.names(), ["a.fa"]);
    let narrow = ["--windows", "5:1", "--tuple", "6", &fasta];
    PROGRAM.refuse_options(
        &narrow,
        &["--windows of 5 letters have no tuples of 6 letters"],
    );
}

/// More windows than are sketched at a time.
#[test]
fn many_windows() {
    let folder = Folder::new();
    let codes = codes(20_000, 4, 1);
    let fasta = folder.file("a.fa", format!(">a\n{}\n", dna_text(&codes)));
    let tables = Tables::from_seed(4, 1, 1024, 0).unwrap();
    let windows = ["--windows", "10:3", &fasta];
    let shape = ["--tuple", "1", "--dim", "1024"];
    let sketches = sketches(&folder, &[&shape[..], &windows].concat());
    let windows = codes.windows(10).step_by(3);
    assert_eq!(sketches.nrows(), windows.len());
    for (sketch, window) in sketches.outer_iter().zip(windows) {
        Reference::new(&tables, window.into()).check_last_row(sketch, false, Form::Fourier);
    }
    let options = ["--windows", "10:3", "--form", "direct", &fasta];
    PROGRAM.refuse_options(&options, &["not with --form direct"]);
}

/// Records keep their order, whether their windows share few letters or many. Errors name the
/// window.
#[test]
fn windows_of_short_and_long_records() {
    let folder = Folder::new();
    let texts = [(300, 1), (30_000, 2), (299, 3), (300, 4)];
    let texts = texts.map(|(length, seed)| codes(length, 4, seed));
    let records: String = (0..)
        .zip(&texts)
        .map(|(i, codes)| format!(">{i}\n{}\n", dna_text(codes)))
        .collect();
    let fasta = folder.file("a.fa", records);
    let tables = Tables::from_seed(4, 2, 6, 0).unwrap();
    let options = ["--windows", "200:1", "--tuple", "2", "--dim", "6", &fasta];
    let sketches = sketches(&folder, &options);
    let windows: Vec<_> = texts.iter().flat_map(|codes| codes.windows(200)).collect();
    assert_eq!(sketches.nrows(), windows.len());
    for (sketch, window) in sketches.outer_iter().zip(windows) {
        Reference::new(&tables, window.into())
            .after_products(464)
            .check_last_row(sketch, false, Form::Fourier);
    }

    // C(300 000, 8) is 1.6e39: equal letters leave f32's range, in any form.
    let table = |value| vec![vec![value; 8]; 4];
    let json = serde_json::json!({ "hashes": table(0), "signs": table(1) });
    let zeros = folder.file("zeros.json", json.to_string());
    let records = format!(">short\nACGT\n>long\n{}\n", "A".repeat(300_100));
    let fasta = folder.file("long.fa", records);
    let options = ["--tables", &zeros, "--dim", "1", &fasta, "--windows"];
    for windows in ["300000:90", "300000:300000"] {
        let options = [&options[..], &[windows]].concat();
        PROGRAM.refuse(&options, &["cannot sketch long:0"]);
    }
}
