//! Files that are written and drawn.

use super::*;

#[test]
fn no_points() {
    let folder = Folder::new();
    let plot = folder.argument("plot.svg");
    for (header, columns) in [
        ("timestamp,value", "timestamp,mean,min,max\n"),
        ("timestamp,value,series", "series,timestamp,mean,min,max\n"),
    ] {
        let file = folder.file("none.csv", header);
        let arguments = ["--every", "1s", "--plot", &plot, &file];
        assert_eq!(written(&folder, &arguments), columns);
        assert!(fs::read_to_string(&plot).unwrap().contains("no points"));
        let shown = PROGRAM.succeed(&arguments);
        says(&shown, &["points: 0 in ", "buckets: 0 of 1s"]);
    }
}

#[test]
fn files_and_outputs() {
    let folder = Folder::new();
    let missing = ["cannot read missing.csv", "No such file"];
    PROGRAM.refuse(&["--every", "1s", "missing.csv"], &missing);
    let itself = folder.0.path().to_str().unwrap();
    PROGRAM.refuse(&["--every", "1s", itself], &["cannot read "]);
    let whole = gzip(fs::read_to_string(ROOMS).unwrap().as_bytes());
    let kept = folder.file("kept.csv", "as it was");
    let plot = &*folder.argument("plot.svg");
    for length in [whole.len() - 1, whole.len() / 2, 12] {
        let cut = folder.file("cut.csv.gz", &whole[..length]);
        let arguments = ["--every", "1s", &cut, "--out", &kept, "--plot", plot];
        PROGRAM.refuse(&arguments, &["cut.csv.gz: "]);
    }
    let cut = folder.file("cut.csv.gz", &whole[..whole.len() - 1]);
    let said = "reading stopped in line 3002";
    PROGRAM.refuse(&["--every", "1s", &cut], &[said]);
    assert_eq!(fs::read(&kept).unwrap(), b"as it was");
    assert_eq!(folder.names(), ["cut.csv.gz", "kept.csv"]);

    let nowhere = &*folder.argument("nowhere/out");
    for option in ["--out", "--plot"] {
        let options = ["--every", "1s", ROOMS, option, nowhere];
        PROGRAM.refuse(&options, &["cannot write ", "nowhere/out"]);
    }
    let options = ["--every", "1s", ROOMS, "--out", &kept, "--plot", &kept];
    PROGRAM.refuse_usage(&options, "--out and --plot name the same file");
    written(&folder, &[&DOCUMENTED[..], &["--plot", plot]].concat());
    let shown = PROGRAM.succeed(&[&DOCUMENTED[..], &["--plot", plot, "--out", &kept]].concat());
    says(
        &shown,
        &[format!("buckets in {kept}\n"), format!("plot in {plot}\n")],
    );
    says(&shown, &[", writing ", ", plotting "]);
    assert!(!shown.contains("rate:max\nkitchen"), "{shown}");
}

/// The texts of an SVG, in order.
fn texts(svg: &str) -> Vec<&str> {
    let parts = svg.split("<text ").skip(1);
    parts
        .map(|part| part.split(['>', '<']).nth(1).unwrap().trim())
        .collect()
}

#[test]
fn plots() {
    let folder = Folder::new();
    let plot = folder.path("plot.svg");
    let path = plot.to_str().unwrap();
    let draw = |arguments: &[&str]| {
        PROGRAM.succeed(&[arguments, &["--plot", path]].concat());
        fs::read_to_string(&plot).unwrap()
    };
    let svg = draw(&DOCUMENTED);
    let found = texts(&svg);
    assert_eq!(found[0], format!("{ROOMS}, every 6h"));
    for (text, count) in [
        ("kitchen", 1),
        ("cellar", 1),
        ("attic", 1),
        ("points", 3),
        ("mean", 3),
        ("std", 3),
        ("p95", 3),
        ("rate:max", 3),
        ("Mar 2", 3),
        ("Mar 8", 3),
    ] {
        let found_count = found.iter().filter(|found| **found == text).count();
        assert_eq!(found_count, count, "{text}: {found:?}");
    }

    // Many series, and many points with a peak: few of them are drawn, but the peak is.
    let mut text = "timestamp,value,series\n".to_owned();
    for i in 0..60_000 {
        let value = if i == 30_000 { 77 } else { i % 11 };
        text += &format!("{},{value},s{}\n", i * SECOND, i % 6);
    }
    let file = folder.file("many.csv", text);
    for every in ["1s", "1h"] {
        let svg = draw(&[
            "--unit",
            "ns",
            "--every",
            every,
            "--aggregate",
            "max,count,rate:max",
            &file,
        ]);
        let found = texts(&svg);
        assert!(found[1].ends_with(", the first 4 of 6 series"), "{found:?}");
        assert!(found.contains(&"s3") && !found.contains(&"s4"), "{found:?}");
        assert!(
            found.contains(&"60") && found.contains(&"06:00"),
            "{found:?}"
        );
        assert!(svg.len() < 2_000_000, "{}", svg.len());
    }

    // Any name is drawn as text.
    let long = "é".repeat(101);
    let text = format!("timestamp,value,series\n0,1,\"<a&b>\nc\"\n0,1,\u{1}\n0,1,{long}\n");
    let file = folder.file("names.csv", text);
    let shown = PROGRAM.succeed(&["--unit", "ns", "--every", "1s", "--plot", path, &file]);
    let svg = fs::read_to_string(&plot).unwrap();
    let cut = format!("{}…{}", "é".repeat(50), "é".repeat(49));
    for name in ["&lt;a&amp;b&gt;\u{fffd}c", "\u{fffd}", &cut] {
        assert!(texts(&svg).contains(&name), "{:?}", texts(&svg));
    }
    assert!(
        shown.contains("\n<a&b>\u{fffd}c  ") && shown.contains(&cut),
        "{shown}"
    );

    // Extreme values are drawn, too.
    for text in [
        "timestamp,value\n0,1\n",
        "timestamp,value\n0,nan\n5,inf\n",
        "timestamp,value\n0,1e308\n5,-1e308\n",
        "timestamp,value\n-9223372036854775800,1\n9223372036854775807,1\n",
    ] {
        let file = folder.file("odd.csv", text);
        let methods = "mean,sum,var,count,rate:std,p5";
        let svg = draw(&[
            "--unit",
            "ns",
            "--every",
            "10ns",
            "--aggregate",
            methods,
            &file,
        ]);
        assert!(
            svg.trim_end().ends_with("</svg>") && !svg.contains("NaN"),
            "{svg}"
        );
    }
}

#[test]
fn generated_data() {
    let folder = Folder::new();
    let generate = |name: &str, count: &str, seed: &[&str]| {
        let path = folder.argument(name);
        let options = ["--generate", count, "--out", &path];
        let said = PROGRAM.succeed(&[&options[..], seed].concat());
        let end = format!(" temperatures in {path}\n");
        assert!(said.ends_with(&end), "{said}");
        (fs::read_to_string(&path).unwrap(), path)
    };
    let data = fs::read_to_string(ROOMS).unwrap();
    assert_eq!(generate("a.csv", "3000", &[]).0, data);
    assert_eq!(generate("b.csv", "3000", &["--seed", "42"]).0, data);
    assert_ne!(generate("c.csv", "3000", &["--seed", "43"]).0, data);
    let none = generate("d.csv", "0", &[]).0;
    assert_eq!(none, "timestamp,series,value\n");

    // Many blocks; in order, so that they are accepted, and each counted.
    let count = if small() { 20_000 } else { 1_200_000 };
    let (text, path) = generate("e.csv", &count.to_string(), &[]);
    assert_eq!(text.lines().count(), count + 1);
    let methods = format!("count,{METHODS}");
    let csv = written(&folder, &["--every", "1d", "--aggregate", &methods, &path]);
    let found = lines(&csv, true);
    let rooms = rooms(&text);
    let points = rooms.iter().flat_map(|(_, series)| series);
    let present = points.filter(|(_, value)| !value.is_nan()).count();
    assert!(present < count && present > count - count / 200);
    let counted: f64 = found.iter().map(|line| line.2[0]).sum();
    assert_eq!(counted, present as f64);
    let others = |(series, start, numbers): &Line| (series.clone(), *start, numbers[1..].to_vec());
    let others: Vec<_> = found.iter().map(others).collect();
    assert_close(&others, &expected(&rooms, DAY));
    assert_eq!(found.len(), 3 * 7);

    PROGRAM.refuse_usage(&["--generate", "10"], "--out");
    PROGRAM.refuse_usage(&["--generate", "x", "--out", "a"], "--generate");
    for options in [&[ROOMS][..], &["--every", "1s"]] {
        let options = [&["--generate", "10", "--out", "a"], options].concat();
        PROGRAM.refuse_usage(&options, "cannot be used with");
    }
    PROGRAM.refuse_usage(&["--seed", "1", "--every", "1s", ROOMS], "--generate");
}
