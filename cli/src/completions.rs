//! Prints the completions of a shell.
//!
//! ```text
//! gridstride completions bash > ~/.local/share/bash-completion/completions/gridstride
//! ```

use anyhow::Result;
use clap::Command;
use clap_complete::Shell;
use program::report;

/// Prints a script with which a shell completes subcommands, options and their values.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  gridstride completions bash > ~/.local/share/bash-completion/completions/gridstride
  gridstride completions zsh > ~/.zfunc/_gridstride
  gridstride completions fish > ~/.config/fish/completions/gridstride.fish

zsh looks in ~/.zfunc after `fpath+=~/.zfunc` in ~/.zshrc, before `compinit`.")]
pub struct Args {
    /// The shell.
    shell: Shell,
}

/// Runs the subcommand, for a program with these options.
pub fn run(args: &Args, mut command: Command) -> Result<()> {
    report::refuse_json("the script of a shell")?;
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "gridstride", &mut script);
    report::print(&String::from_utf8(script)?)
}
