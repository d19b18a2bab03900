//! Tables that are written in other ways.

use super::*;

/// The buckets of a table, by the options that read it.
fn buckets(text: &str, options: &[&str]) -> String {
    let folder = Folder::new();
    let file = folder.file("table.csv", text);
    let sums = ["--every", "1h", "--methods", "sum"];
    let all = [&sums[..], options, &["--time-format", "iso", &file]].concat();
    written(&folder, &all)
}

#[test]
fn every_dialect() {
    let expected =
        "series,timestamp,sum\nkitchen,2026-01-31T12:00:00Z,2\nhall,2026-01-31T12:00:00Z,4\n";
    for (text, options) in [
        (
            "t;temp;room\n2026-01-31T12:00:00Z;0,5;kitchen\n2026-01-31T12:00:01Z;1,5;kitchen\n\
             2026-01-31T12:00:00Z;4;hall\n",
            &[
                "--columns",
                "timestamp=t,value=temp,series=room",
                "--delimiter",
                ";",
                "--decimal",
                ",",
            ][..],
        ),
        (
            "2026-01-31T12:00:00Z\t0.5\tkitchen\n2026-01-31T12:00:01Z\t1.5\tkitchen\n\
             2026-01-31T12:00:00Z\t4\thall\n",
            &[
                "--no-header",
                "--delimiter",
                "tab",
                "--columns",
                "timestamp=1,value=2,series=3",
            ],
        ),
        (
            "kitchen|x|2026-01-31T12:00:00Z|\"0.5\"\nkitchen|x|2026-01-31T12:00:01Z|1.5\n\
             hall|\"a|b\"|2026-01-31T12:00:00Z|4\n",
            &[
                "--no-header",
                "--delimiter",
                "|",
                "--columns",
                "timestamp=3,value=4,series=1",
            ],
        ),
        (
            "timestamp,value,series\n2026-01-31T12:00:00Z,0.5,kitchen\n2026-01-31T12:00:01Z,1.5,kitchen\n\
             2026-01-31T12:00:00Z,4,hall\n2026-01-31T12:00:02Z,NA,hall\n2026-01-31T12:00:03Z,-,hall\n",
            &["--null", "NA,null,-"],
        ),
        // Times without an offset.
        (
            "timestamp,value,series\n2026-01-31 13:00:00,0.5,kitchen\n2026-01-31T13:00:01,1.5,kitchen\n\
             2026-01-31T12:00Z,4,hall\n",
            &["--zone", "Europe/Berlin"],
        ),
        (
            "timestamp,value,series\n2026-01-31 12:00:00.5,0.5,kitchen\n2026-01-31T12:00:01,1.5,kitchen\n\
             2026-01-31T12:00,4,hall\n",
            &["--zone", "UTC"],
        ),
        // Several values of a row.
        (
            "timestamp,kitchen,hall\n2026-01-31T12:00:00Z,0.5,4\n2026-01-31T12:00:01Z,1.5,\n",
            &["--columns", "value=kitchen,value=hall"],
        ),
    ] {
        assert_eq!(buckets(text, options), expected, "{options:?}");
    }
    let text = "timestamp,room,t,h\n2026-01-31T12:00:00Z,a,1,2\n2026-01-31T12:00:00Z,b,3,4\n";
    assert_eq!(
        buckets(text, &["--columns", "value=t,value=h,series=room"]),
        "series,column,timestamp,sum\na,t,2026-01-31T12:00:00Z,1\na,h,2026-01-31T12:00:00Z,2\n\
         b,t,2026-01-31T12:00:00Z,3\nb,h,2026-01-31T12:00:00Z,4\n"
    );
}

/// Columns of values and series are told apart, whatever is in their names.
#[test]
fn columns_of_values_have_a_column() {
    let folder = Folder::new();
    let text = "timestamp,room,c,b:c\n2026-01-31T12:00:00Z,a:b,1,2\n2026-01-31T12:00:00Z,a,3,4\n";
    let file = folder.file("table.csv", text);
    let plot = folder.argument("plot.svg");
    let columns = "value=c,value=b:c,series=room";
    let options = [
        "--every",
        "1h",
        "--methods",
        "sum",
        "--columns",
        columns,
        &file,
    ];
    let found = PROGRAM.json(&[&options[..], &["--plot", &plot]].concat());
    let buckets = found["first_buckets"].as_array().unwrap();
    let of_bucket = |bucket: &Value| {
        let text = |key: &str| bucket[key].as_str().unwrap().to_owned();
        (
            text("series"),
            text("column"),
            bucket["values"][0].as_f64().unwrap(),
        )
    };
    let expected = [
        ("a:b", "c", 1.0),
        ("a:b", "b:c", 2.0),
        ("a", "c", 3.0),
        ("a", "b:c", 4.0),
    ];
    let expected = expected.map(|(series, column, sum)| (series.into(), column.into(), sum));
    assert_eq!(buckets.iter().map(of_bucket).collect::<Vec<_>>(), expected);
    let svg = fs::read_to_string(plot).unwrap();
    says(&svg, &["a:b, c", "a:b, b:c", "a, c", "a, b:c"]);
    let printed = PROGRAM.succeed(&options);
    let words = words(&printed);
    assert_eq!(words[0], ["series", "column", "timestamp", "sum"]);
    assert_eq!(words[1], ["a:b", "c", "2026-01-31T12:00:00Z", "1"]);
}

/// Blank space in quotes belongs to the names of series, also of those that are written.
#[test]
fn names_with_blanks_are_read_again() {
    let text = "series,timestamp,value\n\" a\",2026-01-31T12:00:00Z,1\na,2026-01-31T12:00:00Z,2\n";
    let first = buckets(text, &[]);
    assert_eq!(first, text.replace("value", "sum"));
    assert_eq!(buckets(&first, &["--columns", "value=sum"]), first);
}

/// What the program writes, it reads without options.
#[test]
fn outputs_are_read_again() {
    let folder = Folder::new();
    for format in ["ns", "iso"] {
        let options = [
            "--every",
            "6h",
            "--methods",
            "mean",
            "--time-format",
            format,
            ROOMS,
        ];
        let first = written(&folder, &options);
        let file = folder.file("again.csv", first.replacen("mean", "value", 1));
        let options = [
            "--every",
            "6h",
            "--methods",
            "mean",
            "--time-format",
            format,
            &file,
        ];
        assert_eq!(written(&folder, &options), first, "{format}");
    }
}

/// In outputs of several columns of values, a series is named by the series and the column.
#[test]
fn series_of_several_columns_are_read_again() {
    let text = "timestamp,room,t,\"h,\"\"x\"\"\"\n2026-01-31T12:00:00Z,a,1,2\n\
                2026-01-31T12:00:00Z,\" b,\",3,4\n2026-01-31T12:00:00Z,c,5,6\n";
    let first = buckets(text, &["--columns", "value=t,value=4,series=room"]);
    let expected = "series,column,timestamp,sum\na,t,2026-01-31T12:00:00Z,1\n\
                    a,\"h,\"\"x\"\"\",2026-01-31T12:00:00Z,2\n\" b,\",t,2026-01-31T12:00:00Z,3\n\
                    \" b,\",\"h,\"\"x\"\"\",2026-01-31T12:00:00Z,4\nc,t,2026-01-31T12:00:00Z,5\n\
                    c,\"h,\"\"x\"\"\",2026-01-31T12:00:00Z,6\n";
    assert_eq!(first, expected);
    assert_eq!(buckets(&first.replacen("sum", "value", 1), &[]), first);
    assert_eq!(buckets(&first, &["--columns", "value=sum"]), first);
    // Names in any order of the rows, and one of the two columns alone.
    let mut lines: Vec<_> = first.lines().collect();
    lines[1..].reverse();
    let reversed = buckets(&(lines.join("\n") + "\n"), &["--columns", "value=sum"]);
    assert_eq!(reversed, lines.join("\n") + "\n");
    assert_eq!(
        buckets(&first, &["--columns", "value=sum,series=column"]),
        "series,timestamp,sum\nt,2026-01-31T12:00:00Z,9\n\"h,\"\"x\"\"\",2026-01-31T12:00:00Z,12\n"
    );
    let folder = Folder::new();
    let file = folder.file("two.csv", "series,column,timestamp,mean,sum\na,t,0,1,2\n");
    let options = ["--every", "1h", "--columns", "value=mean,value=sum", &file];
    let said = "line 1: the columns 'series' and 'column' name series of a single column of values: --columns \
                series=series reads the names in 'series' alone";
    PROGRAM.refuse(&options, &[said]);
}

#[test]
fn dialects_that_are_refused() {
    let folder = Folder::new();
    let file = folder.file("a.csv", "timestamp,value,other\n2026-03-29 02:30:00,1,2\n");
    for (options, said) in [
        (
            &["--decimal", ","][..],
            "--decimal ',' needs another --delimiter",
        ),
        (&["--decimal", ";"], "the decimal character is . or ,"),
        (
            &["--delimiter", "0"],
            "a delimiter is tab, or one of the characters",
        ),
        (
            &["--columns", "value"],
            "it is not written as value=temperature",
        ),
        (
            &["--zone", "Mars"],
            "there is no zone \"Mars\": give UTC, or a name such as Europe/Berlin",
        ),
    ] {
        PROGRAM.refuse_usage(&[&["--every", "1h"], options, &[&file]].concat(), said);
    }
    for (options, said) in [
        (
            &["--columns", "time=value"][..],
            "line 1: a column is read as 'time', but possible are timestamp, value, series",
        ),
        (
            &["--columns", "value=temp"],
            "line 1: there is no column 'temp': the columns are timestamp, value, other",
        ),
        (
            &["--columns", "value=other,value=OTHER"],
            "line 1: the column 'OTHER' is read as value twice",
        ),
        (
            &[],
            "'2026-03-29 02:30:00' has no offset from UTC, as the Z in 2026-01-31T12:00:00Z; --zone reads",
        ),
        (
            &["--zone", "Europe/Berlin"],
            "'2026-03-29 02:30:00' does not exist in the zone, whose clocks are set forward then",
        ),
        (
            &["--no-header", "--columns", "timestamp=9,value=2"],
            "there is no column '9': without a header, the columns are named by their positions, 1 to 3",
        ),
        (
            &["--no-header"],
            "there are 3 columns without a header: say which is read as what",
        ),
        (
            &["--delimiter", ";"],
            "the header is 'timestamp,value,other', with commas between its cells: give --delimiter ','",
        ),
    ] {
        PROGRAM.refuse(&[&["--every", "1h"], options, &[&file]].concat(), &[said]);
    }
    let file = folder.file("empty.csv", ",,\n1,2,3\n");
    PROGRAM.refuse(
        &["--every", "1h", &file],
        &["the 3 cells of the header are empty"],
    );
}
