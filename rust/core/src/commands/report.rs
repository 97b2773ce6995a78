//! What the command line prints for `commands check` and `commands list`, without an editor (R3).

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::limits::FILE;
use super::listing::{self, Listing, Status};
use super::switch::Switch;
use crate::paths::Roots;

/// Text for people, the same as JSON, and whether a script may go on.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub ok: bool,
    pub human: String,
    pub json: Value,
}

/// Checks the declaration of the project in `dir`. `ok` when it is valid and every command can be
/// called; a project that declares nothing is fine.
pub fn check_dir(dir: &Path) -> Result<Report, String> {
    let listing = listing(dir)?;
    let commands = || listing.providers.iter().flat_map(|it| &it.commands);
    let unavailable = commands().filter(|it| !it.available).count();
    let mut human = head(&listing);
    for problem in &listing.problems {
        let place = if problem.pointer.is_empty() { "(whole file)" } else { &problem.pointer };
        line(&mut human, format_args!("  {place}: {}", problem.message));
    }
    let unlisted = listing.problems_total - listing.problems.len();
    if unlisted > 0 {
        line(&mut human, format_args!("  and {unlisted} more"));
    }
    for provider in &listing.providers {
        for command in provider.commands.iter().filter(|it| !it.available) {
            let why = command.unavailable_reason.as_deref().unwrap_or_default();
            line(&mut human, format_args!("  {} {}: {why}", provider.id, command.name));
        }
    }
    let ok = listing.status != Status::Invalid && unavailable == 0;
    Ok(Report { ok, human, json: json(&listing) })
}

/// Lists the commands of the project in `dir`. `ok` unless the declaration is invalid.
pub fn list_dir(dir: &Path) -> Result<Report, String> {
    let listing = listing(dir)?;
    let mut human = head(&listing);
    for provider in &listing.providers {
        line(&mut human, format_args!("\n{} ({})", provider.id, provider.script));
        for command in &provider.commands {
            let mutates = if command.mutates { ", changes files" } else { "" };
            line(&mut human, format_args!("  {}: {}{mutates}", command.name, command.title));
            if let Some(why) = &command.unavailable_reason {
                line(&mut human, format_args!("    cannot be called: {why}"));
            }
        }
    }
    if listing.status == Status::Invalid {
        line(&mut human, format_args!("`godot-mcp commands check` says what is wrong"));
    }
    Ok(Report { ok: listing.status != Status::Invalid, human, json: json(&listing) })
}

fn listing(dir: &Path) -> Result<Listing, String> {
    if !dir.join("project.godot").is_file() {
        return Err(format!("\"{}\" is no Godot project: no project.godot in it", dir.display()));
    }
    // Only `res://` paths are looked at.
    Ok(listing::list(&Roots::new(dir, dir), &Switch::on()))
}

fn head(listing: &Listing) -> String {
    let mut out = String::new();
    match listing.status {
        Status::Absent => line(&mut out, format_args!("no {FILE}: no commands declared")),
        Status::Valid => {
            let providers = listing.providers.len();
            let commands = listing.commands;
            line(
                &mut out,
                format_args!("{FILE} is valid: {providers} providers, {commands} commands"),
            );
        }
        Status::Invalid => {
            let total = listing.problems_total;
            line(&mut out, format_args!("{FILE} is invalid: {total} problems"));
        }
    }
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("strings take all");
}

fn json(listing: &Listing) -> Value {
    serde_json::to_value(listing).expect("a listing is plain data")
}

#[cfg(test)]
mod tests;
