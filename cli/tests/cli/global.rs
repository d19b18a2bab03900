//! What is the same in every subcommand: `--quiet`, help, exit codes; and the subcommands about the
//! program itself.

use std::fs;
use std::io::{Write, stderr};
use std::process::{Command, Output};

use gridstride::Device;

use crate::program::{Folder, Program, printed, says};

const NONE: [&str; 0] = [];

const ROOMS: &str = "../examples/data/rooms.csv";

/// Rows of integers.
const ROWS: &str = "tests/golden/inputs/whole.npy";

/// Subcommands without a summary, which have no short run.
const WITHOUT_SUMMARY: [&str; 4] = ["new", "completions", "man", "help"];

/// Returns the subcommands that the program's help lists.
fn subcommands() -> Vec<&'static str> {
    let help: &'static str = Program("--help").succeed(&NONE).leak();
    let list = help.split("\nCommands:\n").nth(1).unwrap();
    let lines = list.split("\n\n").next().unwrap().lines();
    lines
        .map(|line| line.split_whitespace().next().unwrap())
        .collect()
}

/// Returns the subcommands that take a list of devices and a limit of memory.
fn computing() -> Vec<&'static str> {
    let all = subcommands().into_iter().filter(|name| *name != "help");
    let found: Vec<_> = all
        .filter(|name| Program(name).succeed(&["-h"]).contains("--device <"))
        .collect();
    assert!(found.len() >= 7, "{found:?}");
    found
}

/// Subcommands, with arguments of a short run that succeeds.
const RUNS: [&[&str]; 9] = [
    &[
        "tensor-sketch",
        "--dim",
        "8",
        "../examples/data/lambda_phage.fa",
    ],
    &["distances", "--device", "cpu", ROWS],
    &[
        "edit-distance",
        "../examples/data/lambda_phage.fa",
        "../examples/data/lambda_phage.fa",
    ],
    &["box-overlap", "../examples/data/pipes/set1.csv"],
    &["matmul", "--device", "simulator", "--m", "10"],
    &["time-series", "--every", "1d", ROOMS],
    &["vector-add", "--n", "1000", "--device", "cpu"],
    &["devices"],
    &["devices", "--measure"],
];

#[test]
fn quiet_runs_print_nothing() {
    for name in subcommands() {
        let has_run = RUNS.iter().any(|run| run[0] == name);
        let is_without = WITHOUT_SUMMARY.contains(&name);
        assert!(has_run != is_without, "{name} belongs into one list");
    }
    for run in RUNS {
        let quiet = Program(run[0]).succeed(&[&run[1..], &["--quiet"]].concat());
        assert_eq!(quiet, "", "{run:?}");
        let loud = Program(run[0]).succeed(&run[1..]);
        assert!(loud.lines().count() > 2, "{run:?}");
    }
    // The option may be before the subcommand, and errors are printed.
    let output = Program("-q").run(&["time-series", "--every", "1s", "missing.csv"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    says(&errors, &["error: cannot read missing.csv"]);
    for arguments in [
        &["matmul", "--json", "--quiet"][..],
        &["--json", "matmul", "--quiet"],
        &["--quiet", "matmul", "--json"],
    ] {
        let said = "--json cannot be used with --quiet";
        Program(arguments[0]).refuse_options(&arguments[1..], &[said]);
    }
}

#[test]
fn errors_with_json_are_sentences_too() {
    let options = ["--every", "1s", "--json", "missing.csv"];
    Program("time-series").refuse(&options, &["cannot read missing.csv"]);
}

#[test]
fn devices_that_are_not_there_are_referred_to_the_diagnosis() {
    for command in ["matmul", "vector-add"] {
        let parts = [
            "device cuda:1000 cannot be used",
            "; `gridstride devices` shows",
        ];
        Program(command).refuse(&["--device", "cuda:1000"], &parts);
    }
    match Device::cuda(0) {
        Ok(_) => drop(Program("vector-add").succeed(&["--n", "1000", "--device", "gpus"])),
        Err(_) => {
            Program("vector-add").refuse(&["--device", "gpus"], &["device gpus cannot be used"])
        }
    }
}

#[test]
fn every_help_has_groups_examples_and_exit_codes() {
    for command in computing() {
        let help = Program(command).succeed(&["--help"]);
        let example = format!("Examples:\n  gridstride {command}");
        says(
            &help,
            &[
                "\nComputation:\n",
                "\nGlobal options:\n",
                &example,
                "Exit codes:\n  0  ",
            ],
        );
        // Beside the groups there is --help alone.
        let ungrouped = help.split("\nOptions:\n").nth(1).unwrap();
        let ungrouped = ungrouped.split("\n\n").next().unwrap();
        assert_eq!(ungrouped.matches("--").count(), 1, "{ungrouped}");
        // Options of the examples exist.
        let examples = help.split("Examples:\n").nth(1).unwrap();
        let examples = examples.split("\n\n").next().unwrap();
        for option in examples
            .split_whitespace()
            .filter(|word| word.starts_with("--"))
        {
            let is_there = help.matches(&format!("  {option} ")).count() > 0
                || help.contains(&format!("  {option}\n"));
            assert!(is_there, "{command} {option}");
        }
    }
    Program("--help").succeed(&NONE);
}

#[test]
fn usage_errors_exit_with_2() {
    for (command, arguments) in [
        ("unknown", &[][..]),
        ("matmul", &["--unknown"]),
        ("tensor-sketch", &[]),
        ("completions", &["tcsh"]),
        ("devices", &["cpu"]),
    ] {
        Program(command).refuse_usage(arguments, "--help");
    }
}

/// Runs a checker of another program; says so if that is not installed.
fn checked(program: &str, arguments: &[&str]) -> Option<Output> {
    let output = Command::new(program).args(arguments).output().ok();
    if output.is_none() {
        let said = writeln!(stderr(), "skipped: {program} is not installed");
        said.expect("stderr is open");
    }
    output
}

#[test]
fn completions_are_scripts_of_their_shells() {
    let folder = Folder::new();
    for (shell, start, check) in [
        ("bash", "_gridstride() {", Some(["bash", "-n"])),
        ("zsh", "#compdef gridstride", Some(["zsh", "-n"])),
        ("fish", "# Print an optspec", Some(["fish", "-n"])),
        ("elvish", "\nuse builtin;", None),
        ("powershell", "\nusing namespace", None),
    ] {
        let script = Program("completions").succeed(&[shell]);
        assert!(script.starts_with(start), "{shell}: {script}");
        says(
            &script,
            &["box-overlap", "time-series", "aggregate", "json"],
        );
        let file = folder.file(shell, script);
        let output = check.and_then(|[program, option]| checked(program, &[option, &file]));
        if let Some(output) = output {
            assert!(
                output.status.success() && output.stderr.is_empty(),
                "{output:?}"
            );
        }
    }
}

#[test]
fn manual_pages_are_roff() {
    let folder = Folder::new();
    let listed = Program("man").succeed(&[folder.argument("pages")]);
    let names: Vec<_> = listed.lines().collect();
    for page in [
        "gridstride.1",
        "gridstride-matmul.1",
        "gridstride-vector-add.1",
        "gridstride-man.1",
    ] {
        assert!(
            names.contains(&&*folder.argument(&format!("pages/{page}"))),
            "{listed}"
        );
    }
    assert!(!listed.contains("help"), "{listed}");
    let main = Program("man").succeed(&NONE);
    assert_eq!(fs::read_to_string(names[0]).unwrap(), main);
    for name in names {
        let text = fs::read_to_string(name).unwrap();
        says(
            &text,
            &[
                ".TH gridstride",
                ".SH NAME",
                ".SH SYNOPSIS",
                ".SH \"EXIT STATUS\"\n0  The work",
            ],
        );
        assert!(
            !text.contains("EXTRA") && !text.contains("Exit codes:"),
            "{text}"
        );
        if let Some(output) = checked("groff", &["-man", "-Kutf8", "-Tutf8", "-ww", name]) {
            let warnings = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success() && warnings.is_empty(), "{warnings}");
            assert!(output.stdout.len() > 500, "{name}");
        }
    }
    says(&main, &[".SH EXAMPLES\ngridstride devices\n.br\n"]);
    let nowhere = folder.file("file", "");
    Program("man").refuse(&[&nowhere], &["cannot write", "file"]);
    let found = Program("man").json(&[folder.argument("pages")]);
    assert_eq!(
        found["files"].as_array().unwrap().len(),
        listed.lines().count()
    );
}

#[test]
fn scripts_and_pages_are_no_objects() {
    let said = "is no summary that --json could print: leave out --json";
    Program("completions").refuse_options(&["bash", "--json"], &["the script of a shell", said]);
    Program("man").refuse_options(&["--json"], &["a manual page", said]);
}

#[test]
fn shells_complete_devices() {
    let script = Program("completions").succeed(&["bash"]);
    for command in computing() {
        // Names of different versions of clap_complete.
        let names_of_parts = ["__", "__subcmd__"]
            .map(|part| format!("gridstride{part}{})\n", command.replace('-', part)));
        let options = names_of_parts
            .iter()
            .find_map(|name| script.split(name).nth(1));
        let device = options.unwrap().split("--device)").nth(1).unwrap();
        let line = device.trim_start().lines().next().unwrap();
        says(line, &["compgen -W \"auto cpu cuda gpus simulator\""]);
        // There are others, such as cuda:1.
        let help = Program(command).succeed(&["--help"]);
        assert!(!help.contains("possible values: auto"), "{command}");
    }
}

#[test]
fn ladders_are_another_program() {
    let said = "Usage: cargo run --release -p gridstride_learn -- matmul";
    Program("ladder").refuse_usage(&[], said);
    Program("ladder").refuse_usage(&["matmul", "--runs", "3"], said);
    Program("ladder").refuse_usage(&["--device", "cpu", "matmul"], said);
    let help = Program("--help").succeed(&NONE);
    let script = Program("completions").succeed(&["bash"]);
    assert!(!help.contains("ladder") && !script.contains("ladder"));
}

#[test]
fn limits_of_memory_are_positive() {
    for command in computing() {
        Program(command).refuse_usage(&["--memory", "0"], "0 is not in 1..");
    }
}

/// What a column is read as is no option, and no other option is suggested for it.
#[test]
fn roles_of_columns_are_no_options() {
    for (command, role) in [
        ("time-series", "series"),
        ("time-series", "timestamp"),
        ("time-series", "value"),
        ("box-overlap", "minX"),
        ("box-overlap", "maxZ"),
        ("box-overlap", "id"),
    ] {
        let option = format!("--{role}");
        let hint = format!("'--columns {role}=NAME' reads the column NAME as {role}");
        for arguments in [&[&*option, "room", "a.csv"][..], &["a.csv", &option]] {
            let output = Program(command).run(arguments);
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{said}");
            says(&said, &[&*option, &hint]);
            assert!(!said.contains("--seed"), "{said}");
        }
    }
}

/// A value that begins with a minus is one, also where it is wrong.
#[test]
fn negative_numbers_are_values() {
    for (line, said) in [
        (
            &["matmul", "--seed", "-1"][..],
            "invalid value '-1' for '--seed <SEED>'",
        ),
        (&["matmul", "--repeat", "0"], "0 is not in 1.."),
        (
            &["tensor-sketch", "--dim", "-3", "a.fa"],
            "invalid value '-3' for '--dim <DIM>'",
        ),
        (
            &["time-series", "--every", "-1s", "a.csv"],
            "not a duration as 200ms",
        ),
    ] {
        Program(line[0]).refuse_usage(&line[1..], said);
    }
}

/// The list on a machine without a GPU, with the machine's own words and numbers left out.
#[test]
fn devices_without_a_gpu() {
    if Device::cuda(0).is_ok() {
        return;
    }
    let said = printed(Program("devices").run(&NONE));
    let (list, problem) = said.split_once("\n\nproblem: ").expect(&said);
    let [cpu, simulator, driver] = list.lines().collect::<Vec<_>>()[..] else {
        panic!("{said}");
    };
    let threads = ["cpu         ", " threads, ", " GiB free"];
    assert!(
        cpu.starts_with(threads[0]) && cpu.ends_with(threads[2]),
        "{cpu}"
    );
    says(cpu, &threads);
    let golden = "simulator   GPU kernels on the CPU, for tests, compute capability 9.0, ";
    assert!(simulator.starts_with(golden), "{simulator}");
    assert!(driver.starts_with("driver      "), "{driver}");
    let lines: Vec<_> = problem.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert_eq!(lines[0], "cuda");
    for (line, start) in lines[1..].iter().zip(["  reason: ", "  remedy: "]) {
        assert!(line.starts_with(start) && line.ends_with('.'), "{line}");
    }
}
