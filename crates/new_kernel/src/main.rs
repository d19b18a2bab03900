//! Writes a new kernel crate, as `gridstride new` does, without compiling the program `gridstride`:
//! `cargo run -p gridstride_new_kernel -- NAME`.

#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

use new_kernel::create;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name] = &arguments[..] else {
        eprintln!("error: one argument is needed, the name of the crate, such as `blur`");
        return ExitCode::from(2);
    };
    match create(name, Path::new(name), None) {
        Ok(_) => {
            println!("{name} is written; next: cd {name} && cargo test");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
