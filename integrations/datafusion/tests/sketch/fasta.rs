//! The rows of FASTA files.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use datafusion::object_store::memory::InMemory;
use datafusion::object_store::{ObjectStore, ObjectStoreExt};
use datafusion::prelude::SessionContext;
use flate2::GzBuilder;
use flate2::write::GzEncoder;
use futures::TryStreamExt;
use gridstride_datafusion::fasta::register_fasta;

use crate::support::{Random, error, rows, session, sorted, texts};

/// How a test's file is compressed.
#[derive(Clone, Copy)]
enum Compression {
    None,
    Gzip,
    Zstd,
}

/// Compresses text as one member or frame.
fn compressed(text: &str, compression: Compression) -> Vec<u8> {
    match compression {
        Compression::None => text.into(),
        Compression::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        }
        Compression::Zstd => zstd::encode_all(text.as_bytes(), 0).unwrap(),
    }
}

async fn create(context: &SessionContext, name: &str, location: impl AsRef<Path>) {
    let location = location.as_ref().display();
    let query = format!("CREATE EXTERNAL TABLE {name} STORED AS FASTA LOCATION '{location}'");
    rows(context, &query).await.unwrap();
}

/// Records cut at random into files of all endings and compressions give the same rows.
#[tokio::test]
async fn any_split_into_files() {
    let mut random = Random(1);
    let records: Vec<_> = (0..200)
        .map(|number| {
            let length = [0, 3, 60, 61, 500][random.below(5)];
            let description = ["", "some words", "x"][random.below(3)];
            (format!("r{number}"), description, random.letters(length))
        })
        .collect();
    let mut expected: Vec<_> = records
        .iter()
        .map(|(id, words, letters)| format!("{id}|{words}|{letters}"))
        .collect();
    expected.sort();
    for round in 0..12 {
        let folder = tempfile::tempdir().unwrap();
        let files = 1 + random.below(7);
        let mut texts = vec![String::new(); files];
        let line_end = ["\n", "\r\n"][round % 2];
        for (id, words, letters) in &records {
            let text = &mut texts[random.below(files)];
            *text += &format!(">{id} {words}{line_end}");
            let mut rest = letters.as_str();
            while !rest.is_empty() {
                let (line, more) = rest.split_at((1 + random.below(70)).min(rest.len()));
                *text += &format!("{line}{line_end}");
                rest = more;
            }
        }
        for (number, text) in texts.iter().enumerate() {
            let extension =
                ["fa", "fasta", "fna", "ffn", "faa", "frn", "fq", "fastq"][random.below(8)];
            let none = Compression::None;
            let (compression, ending) = [
                (none, ""),
                (Compression::Gzip, ".gz"),
                (Compression::Zstd, ".zst"),
                // The content decides, not the ending.
                (Compression::Gzip, ""),
            ][random.below(4)];
            // Files may have several members, as those of bgzip.
            let cut = random.below(text.len() + 1);
            let (a, b) = (&text[..cut], &text[cut..]);
            let mut bytes = compressed(a, compression);
            bytes.extend(compressed(b, compression));
            let name = format!("f{number}.{extension}{ending}");
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        // Indices of samtools stand beside their files.
        fs::write(folder.path().join("f0.fa.fai"), "r0\t3\t4\t3\t4\n").unwrap();
        let context = session("cpu", 1 + round % 4, 1 + 10 * round).await;
        create(&context, "reads", folder.path()).await;
        assert_eq!(sorted(&context, "SELECT * FROM reads").await, expected);
        let count = rows(&context, "SELECT count(*) FROM reads").await.unwrap();
        assert_eq!(count, ["200"]);
    }
}

/// Files may be named in place of tables.
#[tokio::test]
async fn files_in_queries() {
    let folder = tempfile::tempdir().unwrap();
    let text = ">a\nACGT\n";
    fs::write(folder.path().join("a.fna"), text).unwrap();
    let gzip = compressed(text, Compression::Gzip);
    fs::write(folder.path().join("b.fasta.gz"), gzip).unwrap();
    let context = session("cpu", 2, 8192).await.enable_url_table();
    for name in ["a.fna", "b.fasta.gz"] {
        let query = format!("SELECT sequence FROM '{}/{name}'", folder.path().display());
        assert_eq!(rows(&context, &query).await.unwrap(), ["ACGT"]);
    }
}

/// Records of many megabytes, in one line or in many, and batches that end by their size.
#[tokio::test]
async fn long_records() {
    let folder = tempfile::tempdir().unwrap();
    let letters = "GATTACAT".repeat(3 << 20);
    let lines = "GATTACAT\n".repeat(3 << 20);
    let text = format!(">one\n{letters}\n>many\n{lines}>three\n{letters}\n>last\nA\n");
    fs::write(folder.path().join("long.fa"), text).unwrap();
    let context = session("cpu", 1, 8192).await;
    create(&context, "genomes", folder.path()).await;
    let query = "SELECT id, sequence FROM genomes";
    let batches = context.sql(query).await.unwrap().collect().await.unwrap();
    let counts: Vec<_> = batches.iter().map(|batch| batch.num_rows()).collect();
    assert_eq!(counts, [3, 1]);
    let expected = ["one", "many", "three"].map(|id| format!("{id}|{letters}"));
    assert!(texts(&batches[..1]) == expected);
}

/// Stores that give streams of bytes are read on a thread that waits for them.
#[tokio::test]
async fn files_in_other_stores() {
    let store = InMemory::new();
    let text = ">a\n".to_string() + &"ACGTA\n".repeat(10_000);
    let gzip = compressed(&text, Compression::Gzip);
    store
        .put(&"reads/a.fa.gz".into(), gzip.into())
        .await
        .unwrap();
    store.put(&"reads/b.fa".into(), text.into()).await.unwrap();
    let context = session("cpu", 2, 8192).await;
    let store: Arc<dyn ObjectStore> = Arc::new(store);
    context.register_object_store(&"memory://".parse().unwrap(), store);
    register_fasta(&context, "reads", "memory:///reads/")
        .await
        .unwrap();
    let query = "SELECT id, length(sequence) FROM reads";
    assert_eq!(rows(&context, query).await.unwrap(), ["a|50000"; 2]);
}

#[tokio::test]
async fn errors_name_the_file_and_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let context = session("cpu", 2, 8192).await;
    let text = ">a\n".to_string() + &"ACGT\n".repeat(100_000);
    let gzip = compressed(&text, Compression::Gzip);
    let zstd = compressed(&text, Compression::Zstd);
    let mut flipped = zstd.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0xff;
    // A block of bgzip.
    let block = GzBuilder::new().extra(*b"BC\x02\0\0\0");
    let mut block = block.write(Vec::new(), Default::default());
    block.write_all(b">a\nACGT\n").unwrap();
    let mut block = block.finish().unwrap();
    block[16] = block.len() as u8 - 1;
    let files: [(&str, &[u8], &str); 9] = [
        (
            "h.fa.gz",
            &block[..block.len() - 1],
            "h.fa.gz, reading stopped in record 1 (a): the gzip data is cut short after ",
        ),
        (
            "a.fa",
            b"ACGT\n",
            "a.fa, line 1: it is not FASTA or FASTQ: it begins with 'A', not with '>'",
        ),
        (
            "b.fa",
            b">a\nAC\nA\xe9\n",
            "b.fa, record 1 (a), line 3: letter 4 is '\\xe9' (byte 233), which is not a letter",
        ),
        (
            "c.fa",
            b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            "c.fa, the zip archive has no file",
        ),
        (
            "i.fa",
            b"PK\x05\x06",
            "i.fa, the zip archive is cut short or damaged",
        ),
        (
            "g.fa.bz2",
            b"BZh91AY&SY",
            "g.fa.bz2, nothing before the first record: the bzip2 data is cut short after 10 bytes",
        ),
        (
            "d.fa.gz",
            &gzip[..gzip.len() / 2],
            "d.fa.gz, reading stopped in record 1 (a): the gzip ",
        ),
        ("e.fa.zst", &zstd[..zstd.len() / 2], "e.fa.zst, "),
        ("f.fa.zst", &flipped, "f.fa.zst, "),
    ];
    for (name, bytes, expected) in files {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        create(&context, "broken", &path).await;
        let message = error(&context, "SELECT sum(length(sequence)) FROM broken").await;
        assert!(message.contains("fasta: /"), "{message}");
        assert!(message.contains(expected), "{message}");
        if name.ends_with("gz") || name.ends_with("zst") {
            assert!(message.contains("copy or download"), "{message}");
        }
        rows(&context, "DROP TABLE broken").await.unwrap();
    }
}

/// The same reads as FASTA and as FASTQ, and records that would be merged.
#[tokio::test]
async fn fastq_and_joined_files() {
    let folder = tempfile::tempdir().unwrap();
    let context = session("cpu", 1, 8192).await;
    let text = "@r1 x\nACGN\n+\n@>;+\n@r2\nAC\nGT\n+r2\nII\n@I\n";
    for (name, bytes) in [
        ("a.fastq", text.into()),
        ("b.fq.gz", compressed(text, Compression::Gzip)),
        ("c.fa", text.into()),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        create(&context, "reads", &path).await;
        let found = rows(&context, "SELECT * FROM reads").await.unwrap();
        assert_eq!(found, ["r1|x|ACGN", "r2||ACGT"], "{name}");
        rows(&context, "DROP TABLE reads").await.unwrap();
    }
    for (text, expected) in [
        (
            ">a\nACGT>b\nGG\n",
            "record 1 (a), line 2: there is a '>' within a line",
        ),
        (">a\n;c\nACGT\n", "record 1 (a), line 2: there is a ';'"),
        (
            "@a\nACG\n+\nII\n",
            "record 1 (a), line 4: there are 2 qualities for 3 letters",
        ),
    ] {
        let path = folder.path().join("wrong.fa");
        fs::write(&path, text).unwrap();
        create(&context, "wrong", &path).await;
        // Whichever columns are wanted.
        for query in ["SELECT count(*) FROM wrong", "SELECT * FROM wrong"] {
            let message = error(&context, query).await;
            assert!(message.contains(expected), "{message}");
        }
        rows(&context, "DROP TABLE wrong").await.unwrap();
    }
}

/// A query that needs no more rows ends, however much of a file is left.
#[tokio::test]
async fn queries_that_stop_early() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.fa"), ">a\nACGT\n".repeat(500_000)).unwrap();
    let context = session("cpu", 1, 1000).await;
    create(&context, "reads", folder.path()).await;
    let query = "EXPLAIN ANALYZE SELECT id FROM reads LIMIT 10";
    let plan = rows(&context, query).await.unwrap().concat();
    let scanned = plan.split("bytes_scanned=").nth(1).unwrap();
    let scanned: String = scanned.chars().take_while(|c| !",]".contains(*c)).collect();
    // 4 MB in all; batches of 8 kB, of which a few are read ahead, from buffers of 256 KiB.
    assert!(
        scanned.ends_with(" K") || scanned.parse::<u64>().is_ok_and(|n| n < 1 << 20),
        "{plan}"
    );
    let mut stream = context
        .table("reads")
        .await
        .unwrap()
        .execute_stream()
        .await
        .unwrap();
    assert!(stream.try_next().await.unwrap().is_some());
    drop(stream);
}
