//! The programs' options and outputs.

use std::fs;
use std::process::{Command, Output, Stdio};

use crate::harness::{Processes, SQL, eventually, free_ports};

fn sql(arguments: &[&str]) -> Output {
    Command::new(SQL).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn the_client_runs_queries_with_and_without_a_cluster() {
    let cluster = Processes::start(1);
    let folder = cluster.folder.path();
    let points = folder.join("points");
    let points = points.to_str().unwrap();
    let output = sql(&["--demo-data", points]);
    assert!(output.status.success());
    let table = format!("points={points}");
    let query = "SELECT series, count(value) AS n FROM points GROUP BY 1 ORDER BY 1 LIMIT 2";

    let here = sql(&["--parquet", &table, query]);
    let there = sql(&["--parquet", &table, "--cluster", &cluster.address(), query]);
    assert!(there.status.success(), "{}", text(&there.stderr));
    assert_eq!(
        text(&here.stdout),
        "+-----------+-------+\n\
         | series    | n     |\n\
         +-----------+-------+\n\
         | machine-0 | 49484 |\n\
         | machine-1 | 49484 |\n\
         +-----------+-------+\n"
    );
    assert_eq!(text(&here.stdout), text(&there.stdout));
    assert!(
        text(&there.stderr).starts_with("2 rows in "),
        "{}",
        text(&there.stderr)
    );

    let csv = folder.join("out.csv");
    let output = sql(&[
        "--parquet",
        &table,
        "--cluster",
        &cluster.address(),
        "--out",
        csv.to_str().unwrap(),
        query,
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let written = fs::read_to_string(&csv).unwrap();
    assert_eq!(written, "series,n\nmachine-0,49484\nmachine-1,49484\n");

    let parquet = folder.join("out.parquet");
    let parquet = parquet.to_str().unwrap();
    let output = sql(&["--parquet", &table, "--out", parquet, query]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let back = sql(&["--parquet", &format!("t={parquet}"), "SELECT sum(n) FROM t"]);
    assert!(
        text(&back.stdout).contains("98968"),
        "{}",
        text(&back.stdout)
    );

    let genome = folder.join("genome.fa");
    fs::write(&genome, ">one\nACGT\n").unwrap();
    let fasta = format!("genome={}", genome.display());
    let file = folder.join("query.sql");
    fs::write(&file, "SELECT id, sequence FROM genome").unwrap();
    let read = sql(&["--fasta", &fasta, "--file", file.to_str().unwrap()]);
    assert!(
        text(&read.stdout).contains("| one | ACGT     |"),
        "{}",
        text(&read.stdout)
    );

    let plan = sql(&[
        "--parquet",
        &table,
        "--cluster",
        &cluster.address(),
        "--explain",
        query,
    ]);
    assert!(
        text(&plan.stdout).contains("AggregateExec"),
        "{}",
        text(&plan.stdout)
    );
}

#[test]
fn errors_are_one_sentence_and_code_1() {
    let nobody = format!("127.0.0.1:{}", free_ports(1));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.csv");
    let out = out.to_str().unwrap();
    for (arguments, expected) in [
        (
            vec!["SELECT * FROM nothing"],
            "table 'datafusion.public.nothing' not found",
        ),
        (
            vec!["--parquet", "t=/no/such/file", "SELECT 1"],
            "there is no file or folder",
        ),
        (vec!["--parquet", "t", "SELECT 1"], "\"t\" is not NAME=PATH"),
        (
            vec!["--cluster", nobody.as_str(), "SELECT 1"],
            "cannot be reached",
        ),
        (
            vec!["--cluster", nobody.as_str(), "SHOW ALL"],
            "this query cannot be sent to a cluster",
        ),
        (
            vec!["--out", "out.txt", "SELECT 1"],
            "only .csv and .parquet",
        ),
        (
            vec!["--out", out, "SELECT CAST(arrow_cast('x', 'Utf8') AS INT)"],
            "Cast error",
        ),
        (
            vec!["--file", "/no/such/query.sql"],
            "/no/such/query.sql: No such file",
        ),
    ] {
        let output = sql(&arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let error = text(&output.stderr);
        assert!(
            error.starts_with("gridstride-sql: ") && error.contains(expected),
            "{error}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(!error.contains("bug in DataFusion"), "{error}");
    }
    // No part of a file is left by a query that failed.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// As `| head -1` does.
#[test]
fn a_reader_may_close_the_output() {
    let mut child = Command::new(SQL)
        .arg("SELECT value FROM generate_series(1, 1000)")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let error = text(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert!(error.starts_with("1000 rows in "), "{error}");
}

#[test]
fn nothing_listens_beyond_loopback() {
    let cluster = Processes::start(1);
    let listening = |table: &str| {
        let table = fs::read_to_string(table).unwrap_or_default();
        let sockets = table.lines().skip(1).filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (address, port) = words.next()?.split_once(':')?;
            let state = words.nth(1)?;
            let inode = words.nth(5)?;
            let port = u16::from_str_radix(port, 16).ok()?;
            (state == "0A").then(|| (address.to_owned(), port, inode.to_owned()))
        });
        sockets.collect::<Vec<_>>()
    };
    let inodes = |id: u32| {
        let links = fs::read_dir(format!("/proc/{id}/fd")).unwrap();
        let targets = links.filter_map(|link| fs::read_link(link.ok()?.path()).ok());
        let names = targets.map(|target| target.to_string_lossy().into_owned());
        names.collect::<Vec<_>>()
    };
    let sockets = || {
        let mut ours = inodes(cluster.scheduler.child.id());
        ours.extend(inodes(cluster.executors[0].child.id()));
        let mut sockets = [listening("/proc/net/tcp"), listening("/proc/net/tcp6")].concat();
        sockets.retain(|(_, _, inode)| ours.contains(&format!("socket:[{inode}]")));
        sockets
    };
    eventually("the scheduler's port and two of the executor", || {
        sockets().len() >= 3
    });
    for (address, port, _) in sockets() {
        // 127.0.0.1, as a little-endian number.
        assert_eq!(address, "0100007F", "port {port}");
    }
}
