//! `make verify-audit PROJECT=dir`: checks the audit logs of a project (S9.4). Fails when one does
//! not hold.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

use std::path::PathBuf;
use std::process::ExitCode;

use godot_mcp_core::audit;

fn main() -> ExitCode {
    let Some(project) = std::env::args_os().nth(1) else {
        eprintln!("usage: verify_audit PROJECT");
        return ExitCode::FAILURE;
    };
    let folder = PathBuf::from(project).join(".godot/godot_mcp");
    let logs = audit::logs(&folder).unwrap_or_default();
    let mut holds = !logs.is_empty();
    if logs.is_empty() {
        eprintln!("no audit log in {}", folder.display());
    }
    for log in logs {
        match audit::verify(&log) {
            Ok(report) => {
                println!("{}: {report}", log.display());
                holds &= report.chain.is_ok();
            }
            Err(error) => {
                eprintln!("{}: {error}", log.display());
                holds = false;
            }
        }
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
