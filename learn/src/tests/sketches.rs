//! Sequences of all lengths, random and from files.

use gridstride::Device;

use super::{on, setups, versions};
use crate::setup::Setup;
use crate::tensor_sketch;

#[test]
fn sequences_of_all_lengths() {
    // Shorter than tuples, around the 64 letters that a block brings at a time, and more sequences
    // than streams.
    for (sequences, letters) in [(1, 0), (3, 9), (6, 6 * 64), (1, 129), (35, 70)] {
        let options = tensor_sketch::Options {
            sequences: Some(sequences),
            letters: Some(letters),
            equal: sequences == 1,
            ..Default::default()
        };
        let of_cpu = ["V0", "V1", "V2", "V3", "V4"];
        let at_once = [
            "V5, copies",
            "V5",
            "V6",
            "V7",
            "V8",
            "V9",
            "V9, strided",
            "V10",
            "V11",
            "V11, constant",
            "V12",
            "V13",
            "V15",
            "gridstride, direct",
            "gridstride",
            "gridstride, copies",
        ];
        for setup in setups() {
            let ladders = tensor_sketch::climb(&options, &setup).unwrap();
            assert_eq!(versions(&ladders[0]), [&of_cpu[..], &at_once].concat());
            assert_eq!(ladders.len(), if options.equal { 1 } else { 2 });
            if let Some(of_equal) = ladders.get(1) {
                assert_eq!(versions(of_equal), at_once);
                assert!(of_equal.title.starts_with("V14"), "{}", of_equal.title);
            }
        }
    }
}

/// The sketch of 121 978 letters A is the first that need not be within 64 bits.
#[test]
fn sequences_of_any_length_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.fa");
    let long = "A".repeat(130_000);
    std::fs::write(&path, format!(">a\n{long}\n>b\nacgtNu\nACG\n>c\n>d\nT")).unwrap();
    let options = tensor_sketch::Options {
        fasta: Some(path),
        ..Default::default()
    };
    let ladders = tensor_sketch::climb(&options, &on(Device::cpu())).unwrap();
    let (title, rows) = (&ladders[0].title, &ladders[0].rows);
    let said = "4 sequences, 130009 letters, the longest 130000";
    assert!(title.contains(said), "{title}");
    let wrapped = "1 sequences are right modulo 2⁶⁴: i64 wraps around";
    assert_eq!(rows[0].remark, wrapped);
    assert_eq!(rows[2].remark, wrapped);
    let nothing = folder.path().join("nothing.fa");
    for (text, said) in [(">a\nNNN\n", "has no letters"), ("ACGT", "not FASTA")] {
        std::fs::write(&nothing, text).unwrap();
        let options = tensor_sketch::Options {
            fasta: Some(nothing.clone()),
            ..Default::default()
        };
        let error = tensor_sketch::climb(&options, &on(Device::cpu())).unwrap_err();
        assert!(format!("{error:#}").contains(said), "{error:#}");
    }
}

#[test]
fn parts_of_the_work_are_extrapolated_and_marked() {
    let options = tensor_sketch::Options {
        sequences: Some(3),
        letters: Some(1600),
        letters_of_a_core: Some(1000),
        equal: true,
        ..Default::default()
    };
    let mut setup = on(Device::cpu());
    let shares = |setup: &Setup| {
        let ladders = tensor_sketch::climb(&options, setup).unwrap();
        let rows = &ladders[0].rows;
        (rows[0].share, rows[1].share, rows[3].share)
    };
    let letters = 3.0 * (1600f64 / 3.0).round();
    let part = 1000.0 / letters;
    assert_eq!(shares(&setup), (part, part, 1.0));
    setup.is_whole = true;
    assert_eq!(shares(&setup), (1.0, 1.0, 1.0));
}
