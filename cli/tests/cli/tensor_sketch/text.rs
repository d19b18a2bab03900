//! From the text of a file to sequences.

use super::*;

#[test]
fn every_way_to_write_fasta() {
    let folder = Folder::new();
    let of = |name: &str, content: &[u8]| sketches(&folder, &[&folder.file(name, content)]);
    let expected = dna(&["ACGTACGTAC", "", "TTTTT"]);
    for text in [
        ">a\nACGTACGTAC\n>b\n>c\nTTTTT\n",
        ">a\nACGTA\nCGTAC\n\n>b\n\n>c\nTTTTT",
        ">a x y\r\nACGTA\r\nCGTAC\r\n>b\r\n>c\r\nTTTTT\r\n",
        ">a\nacgtacgtac\n>b\nNN-\n>c\nuuUUt\n",
    ] {
        assert_eq!(of("a.fa", text.as_bytes()), expected, "{text:?}");
        let compressed = gzip(text.as_bytes());
        assert_eq!(of("a.fa.gz", &compressed), expected, "{text:?}");
    }
    for text in [">", ">\n", ">a", ">a\n", ">a\r\n", ">a\n\n"] {
        assert_eq!(of("a.fa", text.as_bytes()), dna(&[""]), "{text:?}");
    }
    let members: [&[u8]; 3] = [b">a\nACGTA", b"CGTAC\n>b\n>c\nT", b"TTTT\n"];
    let members = members.map(gzip).concat();
    assert_eq!(of("members.fa.gz", &members), expected);
}

#[test]
fn a_record_longer_than_any_buffer() {
    let folder = Folder::new();
    let text = "ACGGTTAAC".repeat(30_000);
    let lines = in_lines(&text, 61);
    let fasta = format!(">short\nACGT\n>long\n{lines}\n>last\nTTTT\n");
    let found = sketches(&folder, &[&folder.file("a.fa", fasta)]);
    assert_eq!(found, dna(&["ACGT", &text, "TTTT"]));
}

/// The text is read in chunks of 512 KiB. Wherever one ends, lines are what they are: a carriage return
/// is white space, and a `>` within a line is an error, whatever is skipped.
#[test]
fn lines_across_chunks() {
    let folder = Folder::new();
    let lines = "AC GT\r\nA\rCN\r\n\r\n>b c\r\nTTGA\r\n>d\n\nG N\r\r\nCCA";
    let expected = dna(&[&format!("{}ACGTAC", "C".repeat(1 << 10)), "TTGA", "GCCA"]);
    for before in 0..=lines.len() {
        // So many bytes of the lines are in the first chunk.
        let name = "n".repeat((1 << 19) - (1 << 10) - 3 - before);
        let fasta = format!(">{name}\n{}\n{lines}", "C".repeat(1 << 10));
        assert_eq!(fasta.len() - lines.len(), (1 << 19) - before);
        let path = folder.file("a.fa", &fasta);
        let found = sketches(&folder, &[&path]);
        assert_eq!(found, expected, "{before} bytes before");
        let printed = PROGRAM.succeed(&[&path]);
        let lines = words(&printed);
        let skipped: Vec<_> = (lines[1..4].iter())
            .map(|fields| fields[fields.len() - 6])
            .collect();
        assert_eq!(skipped, ["1", "0", "1"], "{before} bytes before");
        let said = "line 4: letter 1031 is 'N' (byte 78)";
        PROGRAM.refuse(&["--unknown", "error", &path], &[said]);
        let merged = folder.file("merged.fa", fasta.replace("N\r\r", "N\r>"));
        let said = "merged.fa: record 3 (d), line 10: there is a '>' within a line of sequence";
        PROGRAM.refuse(&[&merged], &[said]);
    }
}

/// The same reads as FASTA and FASTQ, whatever the file is called, and however it is compressed.
#[test]
fn fastq() {
    let folder = Folder::new();
    let expected = dna(&["ACGTACGTAC", "TTTTT"]);
    for text in [
        "@a x\nACGTACGTAC\n+\n@@@@@@@@@@\n@b\nTTTTT\n+b\n>>>>>\n",
        "@a x\r\nACGTA\r\nCGTAC\r\n+\r\n@@@@@\r\n+@@@@\r\n@b\r\nTTTTT\r\n+\r\n;;;;;",
    ] {
        for name in ["a.fastq", "a.fa"] {
            let found = sketches(&folder, &[&folder.file(name, text)]);
            assert_eq!(found, expected, "{text:?}");
            let compressed = folder.file(name, gzip(text.as_bytes()));
            assert_eq!(sketches(&folder, &[&compressed]), expected, "{text:?}");
        }
    }
    for (text, said) in [
        (
            "@a\nACGT\n+\nIII\n",
            "record 1 (a), line 4: there are 3 qualities for 4 letters",
        ),
        (
            "@a\nAC\n+\nII\n@b\nAC",
            "record 2 (b), line 6: the file ends before the qualities",
        ),
        (
            "@a\nACGT\n@b\nAC\n",
            "record 1 (a), line 3: the sequence is not followed by a line",
        ),
    ] {
        PROGRAM.refuse(&[&folder.file("cut.fastq", text)], &["cut.fastq: ", said]);
    }
}

/// Records that would be merged, and comments that would become letters, are refused although other
/// bytes are skipped.
#[test]
fn records_are_never_merged() {
    let folder = Folder::new();
    for (text, said) in [
        (
            ">a\nACGT>b\nGGGG\n",
            "record 1 (a), line 2: there is a '>' within a line",
        ),
        (
            ">a\nACGT\r>b\rGGGG\r",
            "record 1 (a), line 2: there is a '>' within a line",
        ),
        (
            ">a\nACGT\n >b\nGGGG\n",
            "record 1 (a), line 3: there is a '>' within a line",
        ),
        (
            ">a\n;comment\nACGT\n",
            "record 1 (a), line 2: there is a ';'",
        ),
        (";comment\n>a\nACGT\n", "line 1: there is a ';'"),
    ] {
        for unknown in ["skip", "error"] {
            let fasta = folder.file("a.fa", text);
            PROGRAM.refuse(
                &["--unknown", unknown, &fasta],
                &["cannot read ", "a.fa: ", said],
            );
        }
    }
    let utf16: Vec<u8> = ("\u{feff}>a\nACGT\n".encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let utf16 = folder.file("a.fa", utf16);
    PROGRAM.refuse(&[&utf16], &["a.fa: the text is UTF-16: convert it"]);
    let blank = folder.file("a.fa", "\u{feff}\n \n>a\nAC GT\n\n\tAC\n");
    assert_eq!(
        sketches(&folder, &["--unknown", "error", &blank]),
        dna(&["ACGTAC"])
    );
}

#[test]
fn truncated_gzip() {
    let folder = Folder::new();
    let records = format!(">a\nACGT\n>b\n{}\n>c\nACGT\n", "ACGT".repeat(9));
    let whole = gzip_stored(records.as_bytes());
    let cases = [
        (whole.len() - 1, "reading stopped in record 3 (c)"),
        (whole.len() - 30, "reading stopped in record 2 (b)"),
        (20, "reading stopped in record 1 (a)"),
        (5, "nothing before the first record"),
    ];
    let kept = folder.file("kept.npy", "as it was");
    for (length, place) in cases {
        let path = folder.file("cut.fa.gz", &whole[..length]);
        PROGRAM.refuse(&[&path, "--out", &kept], &["cut.fa.gz", place]);
    }
    assert_eq!(fs::read(&kept).unwrap(), b"as it was");
    assert_eq!(folder.names(), ["cut.fa.gz", "kept.npy"]);

    let mut damaged = whole.clone();
    damaged[whole.len() - 12] ^= 1;
    let said = ["bad.fa.gz", "record 3 (c)", "corrupt"];
    PROGRAM.refuse(&[&folder.file("bad.fa.gz", damaged)], &said);
}

#[test]
fn unknown_letters() {
    let folder = Folder::new();
    let fasta = folder.file("a.fa", ">a\nACGT\n>b note\nAC\nGRT\n");
    let place = [
        "cannot read ",
        "a.fa: record 2 (b), line 5: letter 4 is 'R' (byte 82), which is not in the alphabet",
        "--unknown skip leaves such bytes out",
    ];
    PROGRAM.refuse(&["--unknown", "error", &fasta], &place);
    PROGRAM.refuse(&["--unknown", "error", "--per-file", &fasta], &place);
    let found = sketches(&folder, &["--unknown", "skip", &fasta]);
    assert_eq!(found, dna(&["ACGT", "ACGT"]));
    // All are counted, whatever is sketched and shown.
    let many = format!(">a\nNACGT\n{}>c\nNACGTA\n", ">b\nACGT\n".repeat(29));
    let many = folder.file("many.fa", many);
    for options in [
        &[&*many, "--tuple", "1"][..],
        &[&many, "--windows", "4:1"],
        &[&many, "--per-file"],
    ] {
        let said = PROGRAM.succeed(options);
        says(&said, &["125 letters, 2 characters skipped, in "]);
        assert_eq!(PROGRAM.json(options)["skipped"], 2);
    }
    // Terminals obey control characters.
    let fasta = folder.file("a.fa", ">\u{1b}[31mred\nN\n");
    PROGRAM.refuse(
        &["--unknown", "error", &fasta],
        &["(\u{fffd}[31mred), line 2: letter 1"],
    );
}

#[test]
fn files_that_are_not_fasta() {
    let folder = Folder::new();
    for (name, content, said) in [
        ("empty.fa", &b""[..], "the file is empty"),
        ("empty.fa.gz", &gzip(b""), "the file is empty"),
        ("words.fa", b"words", "it begins with 'w', not with '>'"),
        (
            "mac.fa",
            b">a\rACGT\r>b\rGGTT\r",
            "mac.fa: line 1: the header has a carriage return in it",
        ),
        (
            "mixed.fa",
            b">a\r\nACGT\n>b\rGGTT\n",
            "record 1 (a), line 3: the header has a carriage return in it",
        ),
    ] {
        PROGRAM.refuse(&[&folder.file(name, content)], &[name, said]);
    }
    let without_line_feed = |start: &str| format!("{start}{}", "n".repeat((1 << 20) + 1));
    let too_long = "has more than 1048576 bytes: shorten it, or end it with a line feed";
    let first = folder.file("first.fa", without_line_feed(">"));
    PROGRAM.refuse(
        &[&first],
        &[&format!("first.fa: line 1: the header {too_long}")],
    );
    let second = folder.file("second.fa", without_line_feed(">a\nACGT\n>"));
    let said = format!("second.fa: record 1 (a), line 3: the header {too_long}");
    PROGRAM.refuse(&[LAMBDA, &second], &[&said]);
    let mac = folder.file("long_mac.fa", without_line_feed(">a\rACGT\r"));
    PROGRAM.refuse(&[&mac], &["line 1: the header has a carriage return in it"]);
    PROGRAM.refuse(&[LAMBDA, "missing.fa"], &["missing.fa", "No such file"]);
    PROGRAM.refuse(&[folder.0.path()], &["cannot read"]);
}
