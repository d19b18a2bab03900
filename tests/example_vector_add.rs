//! The example `vector_add` as its user meets it.

mod common;

use common::example::Example;

const EXAMPLE: Example = Example("vector_add");

#[test]
fn every_number_of_streams_has_a_row() {
    for device in ["cpu", "simulator"] {
        let said = EXAMPLE.succeed(&[
            "--n",
            "10000",
            "--streams",
            "1,2,5",
            "--repeat",
            "1",
            "--device",
            device,
        ]);
        let lines: Vec<_> = said.lines().collect();
        assert!(
            lines[0].starts_with(&format!("10000 sums of i32 as f64, on {device}")),
            "{said}"
        );
        let streams: Vec<_> = lines[2..5]
            .iter()
            .map(|line| line.split_whitespace().next().unwrap())
            .collect();
        assert_eq!(streams, ["1", "2", "5"]);
        assert!(
            lines[2..5]
                .iter()
                .all(|line| line.matches(" ms, ").count() == 2),
            "{said}"
        );
        assert_eq!(lines[5..], ["every sum is right"]);
    }
}

#[test]
fn no_elements_are_fine() {
    let said = EXAMPLE.succeed(&["--n", "0", "--device", "simulator"]);
    assert!(said.ends_with("every sum is right\n"), "{said}");
}

#[test]
fn mistakes_are_refused() {
    EXAMPLE.refuse(&["--repeat", "0"], &["--repeat"]);
    EXAMPLE.refuse(
        &["--memory", "0", "--device", "simulator"],
        &["stream", "0 bytes of memory"],
    );
    EXAMPLE.refuse(&["--device", "cuda:1000"], &["cuda:1000"]);
    EXAMPLE.refuse_usage(&["--streams", "0"], "--streams");
    EXAMPLE.refuse_usage(&["--streams", "1,many"], "many");
    EXAMPLE.refuse_usage(&["--device", "gpu"], "gpu");
}
