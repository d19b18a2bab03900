//! The subcommand `vector-add` as its user meets it.

use crate::program::Program;

const PROGRAM: Program = Program("vector-add");

#[test]
fn every_number_of_streams_has_a_row() {
    for device in ["cpu", "simulator"] {
        let options = ["--elements", "10000", "--streams", "1,2,5", "--repeat", "1"];
        let said = PROGRAM.succeed(&[&options[..], &["--device", device]].concat());
        let lines: Vec<_> = said.lines().collect();
        let first = format!("10000 sums of i32 as f64, on {device}");
        assert!(lines[0].starts_with(&first), "{said}");
        for (line, streams) in lines[2..5].iter().zip(["1", "2", "5"]) {
            assert_eq!(line.split_whitespace().next(), Some(streams));
            assert_eq!(line.matches(" ms, ").count(), 2, "{said}");
        }
        assert_eq!(lines[5..], ["every sum is right"]);
    }
}

/// The option's first name.
#[test]
fn n_is_the_number_of_elements() {
    let found = PROGRAM.json(&["--n", "7", "--repeat", "1", "--device", "cpu"]);
    assert_eq!(found["elements"], 7);
    assert!(!PROGRAM.succeed(&["--help"]).contains("--n "));
}

#[test]
fn no_elements_are_fine() {
    let said = PROGRAM.succeed(&["--elements", "0", "--device", "simulator"]);
    assert!(said.ends_with("every sum is right\n"), "{said}");
}

#[test]
fn mistakes_are_refused() {
    PROGRAM.refuse_usage(&["--repeat", "0"], "0 is not in 1..");
    PROGRAM.refuse_usage(&["--repeat", "18446744073709551615"], "--repeat");
    PROGRAM.refuse_usage(&["--memory", "0"], "0 is not in 1..");
    PROGRAM.refuse_usage(&["--seed", "-1"], "invalid value '-1' for '--seed");
    PROGRAM.refuse(&["--device", "cuda:1000"], &["cuda:1000"]);
    for count in ["1000000000000000", "18446744073709551615"] {
        PROGRAM.refuse(
            &["--elements", count, "--device", "cpu"],
            &["there is no memory for vectors of", "lower --elements"],
        );
    }
    PROGRAM.refuse_usage(&["--memory", "4294967296"], "--memory");
    PROGRAM.refuse_usage(&["--streams", "0"], "--streams");
    PROGRAM.refuse_usage(&["--streams", "1,many"], "many");
    PROGRAM.refuse_usage(&["--device", "gpu"], "gpu");
}
