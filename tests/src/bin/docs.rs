//! Writes `docs/tools.md` and `docs/tools/*.json` from the registry; `--check` fails on a difference.
#![expect(clippy::print_stdout, reason = "a command line program")]

use std::process::ExitCode;

use godot_mcp_tests::reference;

fn main() -> ExitCode {
    let check = std::env::args().any(|it| it == "--check");
    let stale = reference::write_or_check(check);
    for file in &stale {
        let verb = if check { "stale" } else { "written" };
        println!("{verb}: {file}");
    }
    if check && !stale.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
