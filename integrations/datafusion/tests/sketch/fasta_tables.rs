//! Tables and plans of FASTA files.

use std::fs;
use std::sync::Arc;

use datafusion::common::TableReference;
use datafusion::physical_plan::{ExecutionPlan, collect};
use gridstride_datafusion::fasta::{FastaScan, register_fasta};

use crate::support::{error, rows, session, sorted, texts};

/// Only the columns of a query are built, and files are divided among partitions.
#[tokio::test]
async fn plans_have_what_a_query_needs() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..5 {
        fs::write(
            folder.path().join(format!("{number}.fa")),
            ">a b\nAC\n>c\nGTA\n",
        )
        .unwrap();
    }
    let context = session("cpu", 3, 8192).await;
    register_fasta(&context, "reads", folder.path().to_str().unwrap())
        .await
        .unwrap();
    let query = "SELECT id FROM reads WHERE length(sequence) > 2";
    let plan = rows(&context, &format!("EXPLAIN {query}"))
        .await
        .unwrap()
        .concat();
    assert!(plan.contains("file_groups={3 groups"), "{plan}");
    assert!(
        plan.contains("projection=[id, sequence], file_type=fasta"),
        "{plan}"
    );
    assert_eq!(rows(&context, query).await.unwrap(), ["c"; 5]);
    let query = "SELECT upper(description) || '!' AS shout FROM reads WHERE id = 'a' LIMIT 2";
    assert_eq!(rows(&context, query).await.unwrap(), ["B!"; 2]);
    let types = "SELECT arrow_typeof(id), arrow_typeof(description), arrow_typeof(sequence) \
                 FROM reads LIMIT 1";
    assert_eq!(
        rows(&context, types).await.unwrap(),
        ["Utf8|Utf8|LargeUtf8"]
    );
    let query = "SELECT count(*) FROM reads WHERE description IS NULL";
    assert_eq!(rows(&context, query).await.unwrap(), ["5"]);
    let plan = rows(&context, "EXPLAIN ANALYZE SELECT id FROM reads")
        .await
        .unwrap()
        .concat();
    assert!(plan.contains("bytes_scanned=75"), "{plan}");
}

#[tokio::test]
async fn columns_of_folders() {
    let folder = tempfile::tempdir().unwrap();
    for species in ["human", "mouse"] {
        let path = folder.path().join(format!("species={species}"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join("a.fa"), format!(">{species}1\nACGT\n")).unwrap();
    }
    let context = session("cpu", 2, 8192).await;
    let location = folder.path().display();
    let create = format!(
        "CREATE EXTERNAL TABLE genomes STORED AS FASTA PARTITIONED BY (species) LOCATION '{location}'"
    );
    rows(&context, &create).await.unwrap();
    let query = "SELECT species, id FROM genomes";
    assert_eq!(
        sorted(&context, query).await,
        ["human|human1", "mouse|mouse1"]
    );
    let query = "SELECT sequence, id FROM genomes WHERE species = 'mouse'";
    assert_eq!(sorted(&context, query).await, ["ACGT|mouse1"]);
    let plan = rows(&context, &format!("EXPLAIN {query}"))
        .await
        .unwrap()
        .concat();
    assert!(!plan.contains("species=human"), "{plan}");
}

#[tokio::test]
async fn errors_of_tables() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), ">a\nA\n").unwrap();
    let context = session("cpu", 2, 8192).await;
    let location = folder.path().display();
    let create = |columns: &str, more: &str, location: &str| {
        format!("CREATE EXTERNAL TABLE t {columns} STORED AS FASTA {more} LOCATION '{location}'")
    };
    let text = format!("{location}/a.txt");
    let missing = format!("{location}/b.fa");
    let options = create("", "", &text) + " OPTIONS ('format.header' 'true')";
    let empty = tempfile::tempdir().unwrap();
    fs::write(empty.path().join("a.fa"), ">a\nA\n").unwrap();
    fs::write(empty.path().join("b.fa.gz"), "").unwrap();
    let empty = empty.path().display();
    let no_bytes = "b.fa.gz, the file is empty: copy or download it again, or remove it";
    for (query, expected) in [
        (
            create("", "", &location.to_string()),
            "of a folder, files are read that end in .fa, .fasta",
        ),
        (
            create("", "", &format!("{location}/*.fna")),
            "fasta: there is no file at",
        ),
        (create("", "", &missing), "b.fa"),
        (create("", "", &format!("{empty}/b.fa.gz")), no_bytes),
        (create("", "", &empty.to_string()), no_bytes),
        (create("(id INT)", "", &text), "leave out the column list"),
        (create("", "WITH ORDER (id)", &text), "leave this out"),
        (options, "fasta: there is no option 'format.header'"),
    ] {
        let message = error(&context, &query).await;
        assert!(message.contains(expected), "{query}: {message}");
    }
    let files = context.clone().enable_url_table();
    let message = error(&files, &format!("SELECT * FROM '{empty}/b.fa.gz'")).await;
    assert!(message.contains("the file is empty"), "{message}");
    // A file is taken whatever its name is.
    rows(&context, &create("", "", &text)).await.unwrap();
    assert_eq!(rows(&context, "SELECT id FROM t").await.unwrap(), ["a"]);
}

/// Files that DataFusion's patterns take wrongly are refused by name.
#[tokio::test]
async fn names_that_patterns_take_wrongly() {
    let context = session("cpu", 2, 8192).await;
    for (folders, file, expected) in [
        ("", "k=21.fa", "would be left out"),
        ("species=human", "k=21.fa.gz", "would be left out"),
        ("old.fa", "a.txt", "is in a sub-folder"),
        ("old", "k=21.fa", ""),
        ("", "k=21.txt", ""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.fa"), ">a\nA\n").unwrap();
        fs::create_dir_all(folder.path().join(folders)).unwrap();
        let path = folder.path().join(folders).join(file);
        fs::write(&path, ">b\nA\n").unwrap();
        let name = format!("t{}", folder.path().display());
        let location = folder.path().to_str().unwrap();
        let found = register_fasta(&context, TableReference::bare(name), location).await;
        match found {
            Ok(()) => assert_eq!(expected, "", "{}", path.display()),
            Err(error) => {
                let error = error.to_string();
                assert!(error.contains(file) && error.contains(expected), "{error}");
                assert_ne!(expected, "", "{error}");
            }
        }
    }
}

/// Finds the scan in a plan.
fn scan(plan: &Arc<dyn ExecutionPlan>) -> Option<FastaScan> {
    let own = FastaScan::of(plan.as_ref()).unwrap();
    own.or_else(|| plan.children().into_iter().find_map(scan))
}

/// Returns the node of the scan in a plan.
fn original(plan: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    match FastaScan::of(plan.as_ref()).unwrap() {
        Some(_) => Arc::clone(plan),
        None => original(plan.children()[0]),
    }
}

/// A scan that was sent as text has the same rows.
#[tokio::test]
async fn scans_travel() {
    let folder = tempfile::tempdir().unwrap();
    for species in ["human", "mouse"] {
        let path = folder.path().join(format!("species={species}"));
        fs::create_dir(&path).unwrap();
        for number in 0..3 {
            let text = format!(">{species}{number} x\nACGT\n>second\nTT\n");
            // Escaping such a path twice would give another one.
            fs::write(path.join(format!("{number} é 1% ~#[x].fa")), text).unwrap();
        }
    }
    let context = session("cpu", 4, 8192).await.enable_url_table();
    let location = folder.path().display();
    let create = format!(
        "CREATE EXTERNAL TABLE genomes STORED AS FASTA PARTITIONED BY (species) LOCATION '{location}'"
    );
    rows(&context, &create).await.unwrap();
    // Where a query names the folder in place of a table, DataFusion makes columns of another type.
    let typed = |table: &str| format!("SELECT DISTINCT arrow_typeof(species) FROM {table}");
    let url = format!("'{location}/'");
    for (table, expected) in [("genomes", "Utf8"), (&url[..], "Dictionary(UInt16, Utf8)")] {
        let found = rows(&context, &typed(table)).await.unwrap();
        assert_eq!(found, [expected]);
    }
    let of_url = format!("SELECT species, id FROM {url}");
    for (query, count) in [
        (&of_url[..], 12),
        ("SELECT species, sequence, id AS name FROM genomes", 12),
        ("SELECT * FROM genomes", 12),
        ("SELECT description FROM genomes LIMIT 3", 3),
        ("SELECT 1 FROM genomes", 12),
    ] {
        let plan = context
            .sql(query)
            .await
            .unwrap()
            .create_physical_plan()
            .await
            .unwrap();
        let sent = scan(&plan).unwrap();
        let text = serde_json::to_string(&sent).unwrap();
        let received: FastaScan = serde_json::from_str(&text).unwrap();
        assert_eq!(received, sent);
        let copy = received.into_plan().unwrap();
        assert_eq!(FastaScan::of(copy.as_ref()).unwrap().unwrap(), sent);
        let mut found = texts(
            &collect(Arc::clone(&copy), context.task_ctx())
                .await
                .unwrap(),
        );
        let batches = collect(original(&plan), context.task_ctx()).await.unwrap();
        let mut expected = texts(&batches);
        if sent.limit.is_none() {
            assert_eq!(found.len(), count);
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{query}");
        } else {
            assert!(found.len() >= count);
        }
        assert_eq!(copy.schema(), batches[0].schema());
    }
    let other = context
        .sql("SELECT 1")
        .await
        .unwrap()
        .create_physical_plan()
        .await
        .unwrap();
    assert!(scan(&other).is_none());
}
