//! Writes a new crate with a kernel, as `gridstride new` does, without compiling the program `gridstride`:
//! `cargo run -p gridstride_new_kernel -- NAME`.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use new_kernel::create;

const USAGE: &str = "\
Usage: gridstride_new_kernel NAME

Writes a crate with a GPU kernel into the new folder NAME, such as blur: the
module of the kernel and a build script that compiles it, a launch, tests on the
CPU and in the simulator, an example and a benchmark.";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = match &arguments[..] {
        [help] if ["-h", "--help"].contains(&help.as_str()) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [name] if !name.starts_with('-') => name,
        _ => {
            eprintln!("error: one argument is needed, the name of the crate\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match create(name, Path::new(name), None) {
        Ok(created) => {
            println!(
                "{name} depends on the checkout of gridstride in {}",
                created.checkout
            );
            println!("next: cd {name} && cargo test");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
