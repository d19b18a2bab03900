//! `box-overlap --join` as its user meets it.

use std::fs;
use std::io::Write;

use gridstride::box_overlap::reference;

use crate::common::boxes::uniform;
use crate::common::devices;
use crate::program::{Folder, Program, gzip, says};

const PROGRAM: Program = Program("box-overlap");

/// Boxes in a row, with cells that need quotes or look like numbers.
const SET1: &str = "minX,minY,maxX,maxY,Name,weight\n\
    0,0,2,1,\"a, \"\"first\"\"\",007\n\
    1,0,3,1,b,1.50\n\
    9,0,9,1, spaced ,\n";
const SET2: &str = "id,minX,minY,maxX,maxY,note,weight\n\
    p, 2.0 ,0,2,1,\"two\nlines\",1e3\n\
    q,5,0,6,1,,x\n\
    r,8,0,10,1,\"\",y\n";

/// Runs a join on each device, and expects this output.
#[track_caller]
fn check(options: &[&str], set1: &[u8], set2: &[u8], expected: &str) {
    let folder = Folder::new();
    let files = [folder.file("set1.csv", set1), folder.file("set2.csv", set2)];
    for device in devices() {
        let kind = device.kind().to_string();
        let options = [options, &["--device", &kind, &files[0], &files[1]]].concat();
        let joined = fs::read_to_string(PROGRAM.write(&folder, "joined.csv", &options)).unwrap();
        assert_eq!(joined, expected);
    }
}

const HEADER: &str = "id,minX,minY,maxX,maxY,note,weight";

#[test]
fn kinds_of_rows() {
    let (set1, set2) = (SET1.as_bytes(), SET2.as_bytes());
    let left = "p, 2.0 ,0,2,1,\"two\nlines\",1e3,\"a, \"\"first\"\"\",007\n\
                p, 2.0 ,0,2,1,\"two\nlines\",1e3,b,1.50\n\
                q,5,0,6,1,,x,,\n\
                r,8,0,10,1,,y, spaced ,\n";
    let left = format!("{HEADER},Name,weight_set1\n{left}");
    check(&["--join", "name,weight"], set1, set2, &left);
    let kind = ["--join", "name,weight", "--join-kind", "left"];
    check(&kind, set1, set2, &left);

    let inner = left.replace("q,5,0,6,1,,x,,\n", "");
    let kind = ["--join", " NAME ,Weight", "--join-kind", "inner"];
    check(&kind, set1, set2, &inner);

    let pairs = "0,0,p, 2.0 ,0,2,1,\"two\nlines\",1e3,\"a, \"\"first\"\"\"\n\
                 1,0,p, 2.0 ,0,2,1,\"two\nlines\",1e3,b\n\
                 2,2,r,8,0,10,1,,y, spaced \n";
    let pairs = format!("set1,set2,{HEADER},Name\n{pairs}");
    let kind = ["--join", "Name", "--join-kind", "pairs"];
    check(&kind, set1, set2, &pairs);
}

/// No two columns have the same name, in any case.
#[test]
fn names_of_columns_are_distinct() {
    let set1 = b"minX,minY,maxX,maxY,NAME,set1\n0,0,1,1,a,x\n";
    let set2 = b"minX,minY,maxX,maxY,name,Set1\n0,0,1,1,b,y\n";
    let join = ["--join", "NAME,set1", "--join-kind", "pairs"];
    let expected =
        "set1_row,set2,minX,minY,maxX,maxY,name,Set1,NAME_set1,set1_set1\n0,0,0,0,1,1,b,y,a,x\n";
    check(&join, set1, set2, expected);
}

#[test]
fn line_ends_gzip_and_columns_again() {
    let windows = |text: &str| text.replace('\n', "\r\n");
    let set1 = windows("name,minX,minY,maxX,maxY,last\n\na,0,0,1,1,z\n");
    let set2 = windows("minX,minY,maxX,maxY,name\n0,0,1,1,b\n\n5,5,6,6,c\n");
    let expected = "minX,minY,maxX,maxY,name,last,name_set1,name_set1_set1,minX_set1\n\
                    0,0,1,1,b,z,a,a,0\n5,5,6,6,c,,,,\n";
    let join = ["--join", "last,name,name,minx"];
    check(&join, set1.as_bytes(), set2.as_bytes(), expected);
    check(
        &join,
        &gzip(set1.as_bytes()),
        &gzip(set2.as_bytes()),
        expected,
    );
}

#[test]
fn no_boxes() {
    let (set1, set2) = ("minX,minY,maxX,maxY,name\n", "id,minX,minY,maxX,maxY\n");
    let header = "id,minX,minY,maxX,maxY,name\n";
    let join = ["--join", "name"];
    check(&join, set1.as_bytes(), set2.as_bytes(), header);
    let one = format!("{set1}0,0,1,1,a\n");
    check(&join, one.as_bytes(), set2.as_bytes(), header);
    let one = format!("{set2}p,0,0,1,1\n");
    let expected = format!("{header}p,0,0,1,1,\n");
    check(&join, set1.as_bytes(), one.as_bytes(), &expected);
}

#[test]
fn random_boxes_have_the_pairs_of_the_reference() {
    let folder = Folder::new();
    let sets = [uniform(200, 60, 12, 1), uniform(300, 60, 12, 2)];
    let files = [0, 1].map(|i| {
        let mut text = String::from("id,minX,minY,minZ,maxX,maxY,maxZ\n");
        for (row, numbers) in sets[i].outer_iter().enumerate() {
            let cells: Vec<_> = numbers.iter().map(i64::to_string).collect();
            text += &format!("{}{row},{}\n", ["a", "b"][i], cells.join(","));
        }
        folder.file(["set1.csv", "set2.csv"][i], text)
    });
    let [set1, set2] = sets.each_ref().map(|set| set.mapv(|number| number as f32));
    let found = reference::overlaps(set2.view(), set1.view()).unwrap();
    let pairs = found.pairs().unwrap();
    let pairs: Vec<_> = pairs.outer_iter().map(|pair| [pair[0], pair[1]]).collect();
    assert!(pairs.len() > 300);
    for device in devices() {
        let kind = device.kind().to_string();
        let options = [
            "--join",
            "id",
            "--join-kind",
            "pairs",
            "--device",
            &kind,
            &files[0],
            &files[1],
        ];
        let out = folder.argument("joined.csv");
        let said = PROGRAM.succeed(&[&options[..], &["--out", &out]].concat());
        let joined = fs::read_to_string(out).unwrap();
        let lines: Vec<_> = joined
            .lines()
            .skip(1)
            .map(|line| line.split(',').collect::<Vec<_>>())
            .collect();
        assert_eq!(lines.len(), pairs.len());
        for (line, [j, i]) in lines.iter().zip(&pairs) {
            assert_eq!(line[..3], [i.to_string(), j.to_string(), format!("b{j}")]);
            assert_eq!(line[9], format!("a{i}"));
        }
        let most = found.counts().into_iter().max().unwrap();
        says(
            &said,
            &[
                format!(
                    "pairs: {}, at most {most} of one box of set2\n",
                    pairs.len()
                ),
                format!("joined.csv: {} rows, with id of set1\n", pairs.len()),
            ],
        );
        let [[j, i], ..] = pairs[..] else {
            panic!("there are pairs");
        };
        let first = said.lines().nth(1).unwrap();
        assert_eq!(
            first.split_whitespace().collect::<Vec<_>>(),
            [i.to_string(), j.to_string()]
        );
    }
}

#[test]
fn the_summary_as_json() {
    let folder = Folder::new();
    let (set1, set2) = (folder.file("set1.csv", SET1), folder.file("set2.csv", SET2));
    let (out, plot) = (folder.argument("joined.csv"), folder.argument("plot.svg"));
    let join = ["--join", "name,weight", "--out", &out, "--plot", &plot];
    let said = PROGRAM.succeed(&[&join[..], &["--json", &set1, &set2]].concat());
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(
        said["join"]["columns"],
        serde_json::json!(["name", "weight"])
    );
    assert_eq!(said["join"]["rows"], 4);
    assert_eq!(said["pairs"], 3);
    assert_eq!(said["most_pairs_of_a_box"], 2);
    assert_eq!(said["set_of_that_box"], "set2");
    assert_eq!(
        said["first_pairs"][1],
        serde_json::json!({"set1": 1, "set2": 0})
    );
    assert_eq!(said["out"], *out);
    assert_eq!(said["plot"], *plot);
}

#[test]
fn mistakes() {
    let folder = Folder::new();
    let (set1, set2) = (folder.file("set1.csv", SET1), folder.file("set2.csv", SET2));
    let kept = folder.file("kept.csv", "as it was");
    let refuse = |options: &[&str], parts: &[&str]| {
        PROGRAM.refuse(&[options, &["--out", &kept]].concat(), parts);
        assert_eq!(fs::read(&kept).unwrap(), b"as it was");
    };
    let said = [
        "cannot read ",
        "set1.csv: line 1: there is no column id: the columns are minX, minY, maxX, maxY, Name, weight",
    ];
    refuse(&["--join", "weight,id", &set1, &set2], &said);
    let twice = folder.file("twice.csv", "minX,minY,maxX,maxY,a,A\n");
    refuse(
        &["--join", "a", &twice, &set2],
        &["line 1: there are two columns a"],
    );
    let empty = folder.file("empty.csv", "\n");
    refuse(
        &["--join", "a", &empty, &set2],
        &["empty.csv: the file is empty"],
    );
    refuse(
        &["--join", "name", &set1, &empty],
        &["empty.csv: the file is empty"],
    );
    let missing = ["cannot read missing.csv", "No such file"];
    refuse(&["--join", "name", "missing.csv", &set2], &missing);
    refuse(&["--join", "name", &set1, "missing.csv"], &missing);
    let bad = folder.file("bad.csv", format!("{SET1}x,0,1,1,a,b\n"));
    refuse(
        &["--join", "name", &bad, &set2],
        &["bad.csv: line 5, column minX: 'x' is not a number"],
    );

    let join = ["--join", "name", &set1, &set2];
    PROGRAM.refuse_usage(&join, "--out");
    PROGRAM.refuse_usage(&["--join", "name", "--out", "o.csv", &set1], "SET2");
    let matrix = [&join[..], &["--out", "o.csv", "--matrix", "m.npy"]].concat();
    PROGRAM.refuse_usage(&matrix, "cannot be used with");
    PROGRAM.refuse_usage(&["--join-kind", "inner", &set1, &set2], "--join");
    PROGRAM.refuse_usage(
        &[&join[..], &["--out", "o.csv", "--join-kind", "right"]].concat(),
        "right",
    );
    let nowhere = folder.argument("nowhere/o.csv");
    PROGRAM.refuse(
        &[&join[..], &["--out", &nowhere]].concat(),
        &["cannot write", "o.csv"],
    );
    assert_eq!(
        folder.names(),
        [
            "bad.csv",
            "empty.csv",
            "kept.csv",
            "set1.csv",
            "set2.csv",
            "twice.csv"
        ]
    );
}

/// A join reads its files twice, and standard input too.
#[test]
fn files_on_standard_input() {
    let folder = Folder::new();
    let [set1, set2] = [SET1, SET2].map(|text| text.as_bytes().to_vec());
    let files = [
        folder.file("set1.csv", &set1),
        folder.file("set2.csv", &set2),
    ];
    let [first, second] = &files;
    let out = folder.argument("out.csv");
    let join = ["--join", "name", "--out", &out];
    PROGRAM.succeed(&[&join[..], &[first, second]].concat());
    let expected = fs::read_to_string(&out).unwrap();
    for (input, files) in [(&set1, ["-", &**second]), (&gzip(&set2), [&**first, "-"])] {
        let said = PROGRAM.read(&[&join[..], &files].concat(), input);
        says(&said, &[" in -"]);
        assert_eq!(fs::read_to_string(&out).unwrap(), expected);
    }
    let arguments = [&join[..], &["-", &**second]].concat();
    let output = PROGRAM.run_with_stdin(&arguments, |mut stdin| {
        stdin
            .write_all(format!("{SET1}x,0,1,1,a,b\n").as_bytes())
            .unwrap();
    });
    let errors = String::from_utf8(output.stderr).unwrap();
    says(
        &errors,
        &["cannot read -: line 5, column minX: 'x' is not a number"],
    );
    assert_eq!(folder.names(), ["out.csv", "set1.csv", "set2.csv"]);
}

/// A join has the delimiter of the second file, and finds columns by what --columns reads them as.
#[test]
fn delimiters_and_columns_of_both_files() {
    let folder = Folder::new();
    let set1 = folder.file(
        "set1.csv",
        "minX;minY;maxX;maxY;Name\n0,5;0;1;1;a;b\n".replace("a;b", "\"a;b\""),
    );
    let set2 = folder.file(
        "set2.csv",
        "left\tbottom\tright\ttop\tlabel\n1\t1\t2\t2\tc;d\n",
    );
    let both = [
        "--delimiter",
        ";",
        "--decimal",
        ",",
        "--other-delimiter",
        "tab",
    ];
    let columns = ["--columns", "id=name", "--other-columns", "id=label"];
    let written = |options: &[&str], files: &[&str]| {
        let out = PROGRAM.write(&folder, "out.csv", &[options, files].concat());
        fs::read_to_string(out).unwrap()
    };
    let join = [&both[..], &columns, &["--join", "id"]].concat();
    assert_eq!(
        written(&join, &[&set1, &set2]),
        "left\tbottom\tright\ttop\tlabel\tName\n1\t1\t2\t2\tc;d\ta;b\n"
    );
    let semicolons = ["--delimiter", ";", "--decimal", ",", "--join", "Name"];
    let expected = "minX;minY;maxX;maxY;Name;Name_set1\n0,5;0;1;1;\"a;b\";\"a;b\"\n";
    assert_eq!(written(&semicolons, &[&set1, &set1]), expected);
    let ids = [&both[..], &columns, &["--ids"]].concat();
    assert_eq!(written(&ids, &[&set1, &set2]), "set1,set2\na;b,c;d\n");
    let lacking = [
        &both[..],
        &["--columns", "id=name", "--ids", "--out", "-", &set1, &set2],
    ]
    .concat();
    // Nothing is written before the error, which `refuse` checks.
    PROGRAM.refuse(
        &lacking,
        &["set2.csv: line 1: there is no column 'name': the columns are left, "],
    );
    PROGRAM.refuse_usage(&["--other-delimiter", "tab", &set1], "SET2");
}

/// Blank space in quotes belongs to a name, other blank space does not, and joins keep both.
#[test]
fn blanks_in_quotes_stay_in_quotes() {
    let set1 = "id,minX,minY,maxX,maxY\r\n\" a\",0,0,1,1\r\n\r\n a ,0,0,1,1\n";
    let set2 = "minX,minY,maxX,maxY,id\r\n0,0,1,1,\" a\"\r\n\n0 ,0,1,1,\"b \" \n0,0,1,1, c \n";
    let expected = "minX,minY,maxX,maxY,id,id_set1\n\
                    0,0,1,1,\" a\",\" a\"\n0,0,1,1,\" a\", a \n\
                    0 ,0,1,1,\"b \",\" a\"\n0 ,0,1,1,\"b \", a \n\
                    0,0,1,1, c ,\" a\"\n0,0,1,1, c , a \n";
    check(
        &["--join", "id"],
        set1.as_bytes(),
        set2.as_bytes(),
        expected,
    );
    let ids = |name: &str, text: &str, columns: &[&str]| {
        let folder = Folder::new();
        let file = folder.file(name, text);
        let out = PROGRAM.write(&folder, "ids.csv", &[&["--ids", &file], columns].concat());
        fs::read_to_string(out).unwrap()
    };
    assert_eq!(ids("set1.csv", set1, &[]), "set1,set2\n\" a\",a\n");
    // The output has the same names as the input.
    let joined = ids("joined.csv", expected, &["--columns", "id=id_set1"]);
    let first: Vec<_> = joined.lines().take(4).collect();
    assert_eq!(
        first,
        ["set1,set2", "\" a\",a", "\" a\",\" a\"", "\" a\",a"]
    );
}
