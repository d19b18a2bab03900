//! Files and options that are refused.

use super::*;

#[test]
fn errors_say_where() {
    let folder = Folder::new();
    let good = "0,0,0,1,1,1\n";
    let cases: &[(&str, &str)] = &[
        // Numbers.
        ("0,0,0,1,1,\n", "line 4, column maxZ: the cell is empty"),
        ("0, ,0,1,1,1\n", "line 4, column minY: the cell is empty"),
        (
            "0,0,0,1,1,one\n",
            "line 4, column maxZ: 'one' is not a number",
        ),
        (
            "NaN,0,0,1,1,1\n",
            "line 4, column minX: 'NaN' is not a number",
        ),
        (
            "0,0,-nan,1,1,1\n",
            "line 4, column minZ: '-nan' is not a number",
        ),
        (
            "0,0,0,1,1e309,1\n",
            "line 4, column maxY: '1e309' is out of the range of f64",
        ),
        (
            "0,0,0,1,1 1,1\n",
            "line 4, column maxY: '1 1' is not a number",
        ),
        (
            "0,0,0,0x1,1,1\n",
            "line 4, column maxX: '0x1' is not a number",
        ),
        // Boxes.
        (
            "0,0,1.50,1,1,1.25\n",
            "line 4: minZ 1.50 is above maxZ 1.25",
        ),
        ("2,3,0,1,1,1\n", "line 4: minX 2 is above maxX 1"),
        ("0,inf,0,1,-inf,1\n", "line 4: minY inf is above maxY -inf"),
        // Records.
        ("0,0,0,1,1\n", "line 4: it has 5 cells, the header has 6"),
        ("0,0,0,1,1,1,\n", "line 4: it has 7 cells, the header has 6"),
        ("0,0,0,1,1", "line 4: it has 5 cells, the header has 6"),
        ("0", "line 4: it has 1 cells, the header has 6"),
        (
            "0,0,0,1,1,\"1\n0,0,0,1,1,1\n",
            "line 4: the record has a quote that is not closed",
        ),
        ("0,\"0\n\n\n\",0,1,1\n", "line 4: it has 5 cells"),
        (
            "\n \n\r\n0,0,0,1,1,1\n\n0,0,0,1,1,x\n",
            "line 9, column maxZ: 'x'",
        ),
    ];
    for (text, place) in cases {
        let text = format!("{HEADER}\n{good}{good}{text}");
        for (text, place) in with_line_ends(text, place) {
            let file = folder.file("bad.csv", &text);
            PROGRAM.refuse(&[&file], &["cannot read ", &format!("bad.csv: {place}")]);
            PROGRAM.refuse(&[WELDS, &file], &[&format!("bad.csv: {place}")]);
            let file = folder.file("bad.csv.gz", gzip(text.as_bytes()));
            PROGRAM.refuse(&[&file, WELDS], &[&format!("bad.csv.gz: {place}")]);
        }
    }
    let latin = [format!("{HEADER}\n0,0,0,1,1,").as_bytes(), b"\xb2\n"].concat();
    PROGRAM.refuse(
        &[&folder.file("latin.csv", latin)],
        &["line 2, column maxZ: '\\xb2' is not a number"],
    );

    let whole_numbers = [
        ("2147483648", "'2147483648' is out of the range of i32"),
        ("-2147483649", "'-2147483649' is out of the range of i32"),
        ("1.5", "'1.5' is not written as a whole number"),
        ("1.", "'1.' is not written as a whole number"),
        ("1e3", "'1e3' is not written as a whole number"),
        ("inf", "'inf' is not written as a whole number"),
        ("2147483648.0", "'2147483648.0' is out of the range of i32"),
        ("nan", "'nan' is not a number"),
        ("--1", "'--1' is not a number"),
        ("", "the cell is empty"),
    ];
    for (cell, what) in whole_numbers {
        let file = folder.file("bad.csv", format!("{HEADER}\n{good}\n0,{cell},0,9,9,9\n"));
        let what = format!("bad.csv: line 4, column minY: {what}");
        PROGRAM.refuse(&["--type", "i32", &file], &[&what]);
    }
    let file = folder.file("bad.csv", format!("{HEADER}\n0,0,0,1,1e309,1\n"));
    let what = "'1e309' is out of the range of f64";
    PROGRAM.refuse(&["--type", "f64", &file], &[what]);

    // The first file's error comes first.
    let bad = [1, 2].map(|i| folder.file(&format!("bad{i}.csv"), format!("{HEADER}\n{i},0\n")));
    PROGRAM.refuse(&[&bad[0], &bad[1]], &["bad1.csv: line 2"]);
}

#[test]
fn headers_that_do_not_fit() {
    let folder = Folder::new();
    let cases = [
        ("", "the file is empty"),
        ("\n\n \n", "the file is empty"),
        (
            "0,0,0,1,1,1\n",
            "line 1: there is no column minX, minY, maxX, maxY: the columns are 0, 0, 0, 1, 1, 1",
        ),
        (
            "minX;minY;maxX;maxY\n",
            "line 1: there is no column minX, minY, maxX, maxY: the header is 'minX;minY;maxX;maxY', \
             with semicolons between its cells",
        ),
        ("minX,minY,maxX\n", "line 1: there is no column maxY"),
        (
            "\n\nminX,minY,minZ,maxX,maxY\n",
            "line 3: there is no column maxZ",
        ),
        (
            "minX,minY,maxZ,maxX,maxY\n",
            "line 1: there is no column minZ",
        ),
        (
            "minX,minY,minx,maxX,maxY\n",
            "line 1: there are two columns minX",
        ),
        (
            "minX,minY,minZ,maxX,maxY,maxZ, MAXZ \n",
            "line 1: there are two columns maxZ",
        ),
    ];
    for (text, what) in cases {
        let what = format!("bad.csv: {what}");
        let bad = folder.file("bad.csv", text);
        PROGRAM.refuse(&[&bad, WELDS], &["cannot read", &what]);
        PROGRAM.refuse(&[WELDS, &bad], &["cannot read", &what]);
    }
    let flat = folder.file("flat.csv", "minX,minY,maxX,maxY\n");
    PROGRAM.refuse(
        &[&flat, WELDS],
        &["set1.csv: its boxes have 3 axes, those of the first file 2"],
    );
    PROGRAM.refuse(
        &[WELDS, &flat],
        &["flat.csv: its boxes have 2 axes, those of the first file 3"],
    );
}

#[test]
fn files_that_cannot_be_read() {
    let folder = Folder::new();
    for files in [&["missing.csv"][..], &[WELDS, "missing.csv"]] {
        PROGRAM.refuse(files, &["cannot read missing.csv", "No such file"]);
    }
    PROGRAM.refuse(&[folder.0.path()], &["cannot read"]);

    let whole = gzip_stored(&fs::read(WELDS).unwrap());
    let kept = folder.file("kept.csv", "as it was");
    for length in [whole.len() - 1, whole.len() - 100, 5000, 100, 12] {
        let cut = folder.file("cut.csv.gz", &whole[..length]);
        PROGRAM.refuse(&[&cut, WELDS, "--out", &kept], &["cut.csv.gz: "]);
    }
    let last = folder.file("cut.csv.gz", &whole[..whole.len() - 1]);
    PROGRAM.refuse(&[&last], &["reading stopped in line 1002"]);
    assert_eq!(fs::read(&kept).unwrap(), b"as it was");
    assert_eq!(folder.names(), ["cut.csv.gz", "kept.csv"]);
}

#[test]
fn outputs_that_cannot_be_written() {
    PROGRAM.refuse_outputs(["--out", "--matrix"], WELDS);
    let folder = Folder::new();
    let file = folder.file("file", "");
    PROGRAM.refuse(&["--generate", "3", &file], &["cannot write", "file"]);
}
