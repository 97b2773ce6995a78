//! `godot-mcp`: the command line of Godot MCP.

mod commands;
mod configure;
mod doctor;
mod godot;
mod http;
mod open;
mod project;
mod relay;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::project::Project;

/// Connects AI agents to the Godot editor.
#[derive(Parser)]
#[command(name = "godot-mcp", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Speak MCP over standard input and output, for clients that start a command.
    ///
    /// Stays connected while the editor starts, restarts or moves to another port.
    Relay {
        #[command(flatten)]
        project: ProjectArgs,
        /// Start a headless editor when none runs. It keeps running afterwards.
        #[arg(long)]
        start: bool,
        #[command(flatten)]
        godot: GodotArgs,
    },
    /// Start the editor of a project, and wait until it answers.
    Open {
        #[command(flatten)]
        project: ProjectArgs,
        /// Without a window. The default where there is no display.
        #[arg(long, conflicts_with = "window")]
        headless: bool,
        /// With a window. The default where there is a display.
        #[arg(long)]
        window: bool,
        #[command(flatten)]
        godot: GodotArgs,
        /// Seconds to wait until the editor answers.
        #[arg(long, default_value_t = 120, value_name = "SECONDS")]
        timeout: u64,
    },
    /// Say what is wrong with this machine and project, and how to mend it.
    Doctor {
        #[command(flatten)]
        project: ProjectArgs,
        #[command(flatten)]
        godot: GodotArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Write the entry of this project into the configuration of a client.
    Configure(configure::Configure),
    /// Look at the commands that a project declares, without an editor.
    Commands {
        #[command(subcommand)]
        action: commands::Action,
    },
}

#[derive(Args)]
struct ProjectArgs {
    /// Folder of the Godot project. Without it: the working directory or one above it.
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

#[derive(Args)]
struct GodotArgs {
    /// The Godot editor. Without it: $GODOT, else "godot" or "godot4" on the PATH.
    #[arg(long, value_name = "FILE")]
    godot: Option<PathBuf>,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Relay { project, start, godot } => {
            let options = relay::Options { project: project.project, start, godot: godot.godot };
            relay::run(options).map(|()| true)
        }
        Command::Open { project, headless, window, godot, timeout } => {
            let headless = headless || (!window && !open::has_display());
            let timeout = Duration::from_secs(timeout);
            open(&project, &open::Options { godot: godot.godot, headless, timeout })
        }
        Command::Doctor { project, godot, json } => {
            doctor::run(project.project.as_deref(), godot.godot.as_deref(), json)
        }
        Command::Configure(options) => configure::run(&options),
        Command::Commands { action } => commands::run(&action),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            log(&problem);
            ExitCode::FAILURE
        }
    }
}

fn open(project: &ProjectArgs, options: &open::Options) -> Result<bool, String> {
    let project = Project::find(project.project.as_deref())?;
    let opened = block_on(open::open(&project, options))??;
    let (url, pid) = (&opened.endpoint.url, opened.endpoint.pid);
    if opened.was_running {
        say(&format!("The editor already runs: {url} (process {pid})"));
    } else {
        say(&format!("The editor serves at {url} (process {pid})"));
    }
    if let Some(log) = &opened.log {
        say(&format!("Its log: {}", log.display()));
    }
    Ok(true)
}

fn block_on<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|it| format!("cannot start: {it}"))?.block_on(future))
}

/// A line of the answer. A reader that has gone is no fault.
fn say(text: &str) {
    let _ = writeln!(io::stdout(), "{text}");
}

/// A line for the human beside the answer.
fn log(text: &str) {
    let _ = writeln!(io::stderr(), "godot-mcp: {text}");
}
