//! `godot-mcp commands`: what a project declares in `godot_mcp_commands.json`. Runs none of it.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use godot_mcp_core::commands::report;

use crate::say;

#[derive(Subcommand)]
pub(crate) enum Action {
    /// Say everything that is wrong with the declaration. Fails when a command cannot be called.
    Check(Options),
    /// List the commands. Fails when the declaration is invalid.
    List(Options),
}

#[derive(Args)]
pub(crate) struct Options {
    /// Folder of the Godot project.
    #[arg(value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(action: &Action) -> Result<bool, String> {
    let (options, report) = match action {
        Action::Check(options) => (options, report::check_dir(&options.dir)?),
        Action::List(options) => (options, report::list_dir(&options.dir)?),
    };
    match options.json {
        true => say(&format!("{:#}", report.json)),
        false => say(report.human.trim_end()),
    }
    Ok(report.ok)
}
