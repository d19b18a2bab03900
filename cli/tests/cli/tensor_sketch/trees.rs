//! Trees and heat maps of `tensor-sketch`, and means of windows.

use std::collections::BTreeSet;
use std::fs;

use ndarray::{Array2, Axis};
use ndarray_npy::read_npy;

use crate::program::{Folder, Program, says};

/// Mitochondrial genomes of sea turtles and snapping turtles.
const TURTLES: &str = "../examples/data/turtles.fa";

const PROGRAM: Program = Program("tensor-sketch");

/// The genera and species on one side of each inner branch, without that of the common snapping turtle.
fn splits(newick: &str) -> BTreeSet<BTreeSet<String>> {
    let mut open = vec![];
    let mut clades = vec![];
    for word in newick.split_inclusive(['(', ')', ',']) {
        let (label, sign) = word.split_at(word.len() - 1);
        let name: Vec<&str> = label.split(['_', ':']).take(2).collect();
        if let (Some(clade), [genus, species]) = (open.last_mut(), &*name) {
            let clade: &mut BTreeSet<String> = clade;
            if !genus.is_empty() {
                clade.insert(format!("{genus} {species}"));
            }
        }
        match sign {
            "(" => open.push(BTreeSet::new()),
            ")" => {
                let clade = open.pop().unwrap();
                if let Some(parent) = open.last_mut() {
                    parent.extend(clade.iter().cloned());
                }
                clades.push(clade);
            }
            _ => {}
        }
    }
    let all = clades.last().unwrap().clone();
    let without = |clade: BTreeSet<String>| match clade.contains("Chelydra serpentina") {
        true => &all - &clade,
        false => clade,
    };
    let is_inner = |clade: &BTreeSet<String>| (2..=all.len() - 2).contains(&clade.len());
    clades.into_iter().map(without).filter(is_inner).collect()
}

#[test]
fn the_tree_of_turtles() {
    let folder = Folder::new();
    let (tree, plot) = (folder.argument("tree.nwk"), folder.argument("plot.svg"));
    let options = "--windows 6:1 --mean --tuple 6 --dim 256";
    let mut arguments: Vec<&str> = options.split(' ').collect();
    arguments.extend(["--tree", &tree, "--plot", &plot, TURTLES]);
    let printed = PROGRAM.succeed(&arguments);

    let newick = fs::read_to_string(folder.path("tree.nwk")).unwrap();
    assert!(newick.ends_with(";\n"), "{newick}");
    // The tree of molecular studies.
    let ridleys = ["Lepidochelys olivacea", "Lepidochelys kempii"];
    let with_loggerhead = [&ridleys[..], &["Caretta caretta"]].concat();
    let with_hawksbill = [&with_loggerhead[..], &["Eretmochelys imbricata"]].concat();
    let green_and_flatback = ["Chelonia mydas", "Natator depressus"];
    let hard_shelled = [&with_hawksbill[..], &green_and_flatback].concat();
    let sea_turtles = [&hard_shelled[..], &["Dermochelys coriacea"]].concat();
    let expected = [
        &ridleys[..],
        &with_loggerhead,
        &with_hawksbill,
        &green_and_flatback,
        &hard_shelled,
        &sea_turtles,
    ];
    let expected = expected.map(|names| names.iter().copied().map(String::from).collect());
    assert_eq!(splits(&newick), BTreeSet::from(expected), "{newick}");
    says(
        &printed,
        &[
            "L2 distances / 1e-",
            "tree by neighbour joining, rooted at its midpoint",
        ],
    );
    says(&printed, &["─ Dermochelys_coriacea_JX454969.1\n"]);
    let picture = fs::read_to_string(folder.path("plot.svg")).unwrap();
    says(
        &picture,
        &[
            "<svg",
            "Natator_depressus_JX454975.1",
            "in the order of the tree",
            "</svg>",
        ],
    );
}

#[test]
fn a_mean_is_that_of_the_windows() {
    let folder = Folder::new();
    let text = ">same\nACGTTGCAAC\n>same\nTTGACCAGTACC\n>short\nAC\n>last\nACGTA\n";
    let input = folder.file("input.fa", text);
    let options = ["--windows", "5:2", "--dim", "8", "--f64", "--quiet", &input];
    let read = |name: &str, more: &[&str]| -> Array2<f64> {
        read_npy(PROGRAM.write(&folder, name, &[&options, more].concat())).unwrap()
    };
    let (windows, means) = (read("windows.npy", &[]), read("means.npy", &["--mean"]));
    assert_eq!((windows.nrows(), means.nrows()), (3 + 4 + 1, 3));
    let mut first = 0;
    for (mean, count) in means.outer_iter().zip([3, 4, 1]) {
        let rows = windows.slice(ndarray::s![first..first + count, ..]);
        let expected = rows.mean_axis(Axis(0)).unwrap();
        let largest = (&mean - &expected).fold(0.0, |most: f64, error| most.max(error.abs()));
        assert!(largest <= 1e-12 * expected.fold(1.0, |most: f64, value| most.max(value.abs())));
        first += count;
    }
    PROGRAM.refuse_usage(&["--mean", &input], "--windows");
}

#[test]
fn a_mean_has_the_length_of_its_sequence() {
    let folder = Folder::new();
    let text = ">a\nNACGTTGCAACNN\n>b\nACGTTGCAACC\n";
    let input = folder.file("input.fa", text);
    let found = PROGRAM.json(&["--windows", "5:3", "--mean", &input]);
    let sketches = found["first_sketches"].as_array().unwrap();
    let facts: Vec<_> = sketches
        .iter()
        .map(|sketch| [&sketch["length"], &sketch["skipped"]].map(|fact| fact.as_u64().unwrap()))
        .collect();
    assert_eq!(facts, [[10, 3], [11, 0]]);
}

#[test]
fn more_sketches_than_a_tree_takes() {
    let folder = Folder::new();
    let records = (0..10_001).map(|i| format!(">{i}\nACGT\n"));
    let input = folder.file("input.fa", records.collect::<String>());
    let outputs = ["out", "distances", "tree"].map(|name| folder.argument(name));
    let [out, distances, tree] = &outputs;
    for option in ["--tree", "--plot", "--plot-tree"] {
        let mut options = vec!["--dim", "1", "--tuple", "1", "--out", out];
        options.extend(["--distances", distances, option, tree, &input]);
        let said = [
            "more than 10000 sketches",
            "leave out --tree, --plot-tree and --plot",
        ];
        PROGRAM.refuse(&options, &said);
    }
    assert_eq!(folder.names(), ["input.fa"]);
}

#[test]
fn sequences_that_a_tree_does_not_tell_apart() {
    let folder = Folder::new();
    let tree = folder.argument("tree.nwk");
    let errors = |text: &str, options: &[&str]| {
        let input = folder.file("input.fa", text);
        let output = PROGRAM.run(&[options, &[&input]].concat());
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let text = ">a\nACGTTG\n>a\nACGTAA\n>b\nACG\n>c\n";
    let said = errors(text, &["--tree", &tree]);
    assert_eq!(said.lines().count(), 2, "{said}");
    says(&said, &["warning: several sequences have the name a,"]);
    says(
        &said,
        &[
            "warning: 2 of 4 sequences are shorter than a tuple of 4 letters, and their sketches are zero: b, c",
        ],
    );
    assert_eq!(errors(text, &["--quiet", "--tree", &tree]), "");
    // Names matter to a tree alone, zeros to every result.
    assert_eq!(errors(text, &[]).lines().count(), 1);
}

/// C(9, 4) = 126 is more than twice as many as C(7, 4) = 35, but not than C(8, 4) = 70. A sequence
/// without tuples does not count.
#[test]
fn distances_of_lengths() {
    let folder = Folder::new();
    let distances = folder.argument("distances.tsv");
    let errors = |text: &str, options: &[&str]| {
        let input = folder.file("input.fa", text);
        let output = PROGRAM.run(&[&["--distances", &distances, &input], options].concat());
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let different = ">a\nACGTTGC\n>b\nACGTAACCG\n";
    let said = errors(different, &[]);
    assert_eq!(said.lines().count(), 1, "{said}");
    says(
        &said,
        &[
            "warning: sequences of 7 and of 9 letters",
            "--normalize divides",
        ],
    );
    for options in [
        &["--normalize"][..],
        &["--windows", "6:1", "--mean"],
        &["--quiet"],
    ] {
        assert_eq!(errors(different, options), "");
    }
    let said = errors(">a\nACGTTGCA\n>b\nACGTAACCG\n>c\nACG\n", &[]);
    says(&said, &["sequences are shorter than a tuple"]);
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn control_characters_are_not_drawn() {
    let folder = Folder::new();
    let text = ">a\u{1b}[31m\nACGTTGCA\n>b\u{1}\nTTGACCA\n>c\nACGTTACC\n";
    let input = folder.file("input.fa", text);
    let plot = folder.argument("plot.svg");
    let printed = PROGRAM.succeed(&["--plot", &plot, &input]);
    let picture = fs::read_to_string(folder.path("plot.svg")).unwrap();
    for text in [&printed, &picture] {
        says(text, &["a\u{fffd}[31m", "b\u{fffd}"]);
        assert!(
            !text.contains(|c: char| c.is_control() && c != '\n'),
            "{text:?}"
        );
    }
    let found = PROGRAM.json(&[&input]);
    assert_eq!(found["first_sketches"][1]["name"], "b\u{1}");
}

#[test]
fn a_picture_needs_neither_a_tree_nor_a_table() {
    let folder = Folder::new();
    let input = folder.file("input.fa", ">a<b\nACGTTGCA\n>O'B\nTTGACCA\n>c\nACGTTGCA\n");
    let plot = folder.argument("plot.svg");
    let printed = PROGRAM.succeed(&["--plot", &plot, &input]);
    assert_eq!(folder.names(), ["input.fa", "plot.svg"]);
    says(&printed, &["tree by neighbour joining"]);
    let picture = fs::read_to_string(folder.path("plot.svg")).unwrap();
    says(&picture, &["a&lt;b", "a clustering with average linkage"]);
    // Without an option that needs distances there are none.
    assert!(!PROGRAM.succeed(&[&input]).contains("L2 distances"));
}

#[test]
fn names_of_trees_are_quoted() {
    let folder = Folder::new();
    let input = folder.file("input.fa", ">O'B;1\nACGTTGCA\n>c:2\nTTGACCA\n");
    let tree = folder.argument("tree.nwk");
    PROGRAM.succeed(&["--tree", &tree, &input]);
    let newick = fs::read_to_string(folder.path("tree.nwk")).unwrap();
    assert!(
        newick.starts_with("('O''B;1':") && newick.contains(",'c:2':"),
        "{newick}"
    );
}

#[test]
fn one_sequence_and_identical_sequences() {
    let folder = Folder::new();
    let (tree, plot) = (folder.argument("tree.nwk"), folder.argument("plot.svg"));
    for (text, expected) in [
        (">one\nACGTTGCA\n", "one;\n"),
        (
            ">a\nACGTTGCA\n>b\nACGTTGCA\n>c\nACGTTGCA\n",
            "(a:0,b:0,c:0);\n",
        ),
    ] {
        let input = folder.file("input.fa", text);
        PROGRAM.succeed(&["--tree", &tree, "--plot", &plot, &input]);
        assert_eq!(
            fs::read_to_string(folder.path("tree.nwk")).unwrap(),
            expected
        );
    }
}

#[test]
fn trees_and_pictures_that_cannot_be_written() {
    PROGRAM.refuse_outputs(["--tree", "--plot"], TURTLES);
    PROGRAM.refuse_outputs(["--out", "--plot"], TURTLES);
    PROGRAM.refuse_outputs(["--plot-tree", "--plot"], TURTLES);
}

/// The tree alone, without a heat map and without a Newick file.
#[test]
fn a_picture_of_the_tree() {
    let folder = Folder::new();
    let (tree, map) = (folder.argument("tree.svg"), folder.argument("map.svg"));
    let options = ["--plot-tree", &tree, "--dim", "16", TURTLES];
    PROGRAM.succeed(&options);
    assert_eq!(folder.names(), ["tree.svg"]);
    let picture = fs::read_to_string(&tree).unwrap();
    says(
        &picture,
        &[
            "Tree of 9 sketches",
            "rooted at its midpoint",
            "Chelonia_mydas_NC_000886.1",
        ],
    );
    // The background alone.
    assert_eq!(picture.matches("<rect").count(), 1);
    // A heat map has the order of the tree then.
    PROGRAM.succeed(&[&options[..], &["--plot", &map]].concat());
    says(
        &fs::read_to_string(&map).unwrap(),
        &["in the order of the tree"],
    );
}
