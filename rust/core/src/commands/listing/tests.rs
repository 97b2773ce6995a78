use std::fs;

use serde_json::json;

use super::*;

const FILE_TEXT: &str = r#"{"version":1,"providers":[
 {"id":"levels","script":"res://levels.gd","commands":[
  {"name":"count","title":"Count","description":"D","input_schema":{"type":"object"},"mutates":false},
  {"name":"odd","title":"Odd","description":"D","input_schema":{"type":"object","anyOf":[]},"mutates":true}]},
 {"id":"plain","script":"res://plain.gd","commands":[
  {"name":"a","title":"A","description":"D","input_schema":{"type":"object"},"mutates":false}]},
 {"id":"gone","script":"res://gone.gd","commands":[
  {"name":"a","title":"A","description":"D","input_schema":{"type":"object"},"mutates":false}]}]}"#;

fn project(text: Option<&str>) -> (tempfile::TempDir, Roots) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("levels.gd"), "@tool\n").expect("written");
    fs::write(folder.path().join("plain.gd"), "extends Node\n").expect("written");
    if let Some(text) = text {
        fs::write(folder.path().join(FILE), text).expect("written");
    }
    let roots = Roots::new(folder.path(), folder.path());
    (folder, roots)
}

/// R51, R52: absent.
#[test]
fn no_file_declares_nothing() {
    let (_folder, roots) = project(None);
    let listing = list(&roots, &Switch::on());
    assert_eq!((listing.file, listing.status), ("godot_mcp_commands.json", Status::Absent));
    assert_eq!((listing.sha256, listing.bytes, listing.commands), (None, None, 0));
    assert!(listing.problems.is_empty() && listing.providers.is_empty());
}

/// R50 to R56, R32 and R59.
#[test]
fn a_valid_file_is_listed_with_what_can_be_called() {
    let (_folder, roots) = project(Some(FILE_TEXT));
    let listing = list(&roots, &Switch::on());
    assert_eq!(listing.status, Status::Valid);
    assert_eq!(listing.commands, 4);
    assert_eq!(listing.bytes, Some(FILE_TEXT.len() as u64));
    assert_eq!(listing.sha256, Some(sha256_hex(FILE_TEXT.as_bytes())));
    let levels = &listing.providers[0];
    assert_eq!(levels.script_sha256, Some(sha256_hex(b"@tool\n")));
    assert!(levels.commands[0].available && levels.commands[0].unavailable_reason.is_none());
    let reason = |provider: usize, command: usize| {
        let command = &listing.providers[provider].commands[command];
        assert!(!command.available);
        command.unavailable_reason.clone().expect("a reason")
    };
    assert!(reason(0, 1).contains("/anyOf"));
    assert!(reason(1, 0).contains("@tool"));
    assert!(reason(2, 0).contains("does not exist"));
    assert_eq!(listing.providers[2].script_sha256, None);
}

/// R53, R89.
#[test]
fn switched_off_it_still_lists() {
    let (_folder, roots) = project(Some(FILE_TEXT));
    let listing = list(&roots, &Switch::off("because"));
    assert!(!listing.enabled);
    assert_eq!(listing.disabled_reason.as_deref(), Some("because"));
    let commands = listing.providers.iter().flat_map(|it| &it.commands);
    assert!(commands.clone().count() == 4);
    assert!(commands.into_iter().all(|it| !it.available));
    assert_eq!(listing.providers[0].commands[0].unavailable_reason.as_deref(), Some("because"));
}

/// R22, R23, R57.
#[test]
fn an_invalid_file_lists_its_problems_only() {
    let (_folder, roots) = project(Some(&FILE_TEXT.replace("\"levels\"", "\"Levels\"")));
    let listing = list(&roots, &Switch::on());
    assert_eq!((listing.status, listing.commands), (Status::Invalid, 4));
    assert!(listing.providers.is_empty());
    let value = serde_json::to_value(&listing).expect("plain data");
    assert_eq!(value["problems"][0]["pointer"], json!("/providers/0/id"));
    assert!(value["problems"][0]["message"].is_string());
    assert_eq!(value["problems"][0].as_object().map(serde_json::Map::len), Some(2));
}

/// R24: nothing is cached.
#[test]
fn every_listing_reads_afresh() {
    let (folder, roots) = project(Some(FILE_TEXT));
    assert_eq!(list(&roots, &Switch::on()).status, Status::Valid);
    fs::write(folder.path().join(FILE), "{").expect("written");
    assert_eq!(list(&roots, &Switch::on()).status, Status::Invalid);
    fs::remove_file(folder.path().join(FILE)).expect("removed");
    assert_eq!(list(&roots, &Switch::on()).status, Status::Absent);
}

/// R6 and R52: a file above its bound has a size and a digest too.
#[test]
fn a_file_above_its_bound_is_told() {
    let (folder, roots) = project(None);
    let bytes = vec![b' '; FILE_MAX_BYTES + 1];
    fs::write(folder.path().join(FILE), &bytes).expect("written");
    let listing = list(&roots, &Switch::on());
    assert_eq!(listing.bytes, Some(bytes.len() as u64));
    assert_eq!(listing.sha256, Some(sha256_hex(&bytes)));
    assert_eq!(listing.problems_total, 1);
}

/// A7.
#[cfg(unix)]
#[test]
fn what_is_no_file_of_the_project_is_invalid() {
    let (folder, roots) = project(None);
    let at = folder.path().join(FILE);
    let (outside, _) = project(Some(FILE_TEXT));
    std::os::unix::fs::symlink(outside.path().join(FILE), &at).expect("linked");
    assert_eq!(list(&roots, &Switch::on()).status, Status::Invalid);
    fs::remove_file(&at).expect("removed");
    std::os::unix::fs::symlink("nowhere", &at).expect("linked");
    assert_eq!(list(&roots, &Switch::on()).status, Status::Invalid);
    fs::remove_file(&at).expect("removed");
    fs::create_dir(&at).expect("a folder");
    assert_eq!(list(&roots, &Switch::on()).status, Status::Invalid);
}
