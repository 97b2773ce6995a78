use std::fs;

use super::*;

fn project(text: Option<&str>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("project.godot"), "").expect("written");
    fs::write(folder.path().join("a.gd"), "@tool\n").expect("written");
    if let Some(text) = text {
        fs::write(folder.path().join(FILE), text).expect("written");
    }
    folder
}

const GOOD: &str = r#"{"version":1,"providers":[{"id":"p","script":"res://a.gd","commands":[
 {"name":"c","title":"Does it","description":"D","input_schema":{"type":"object"},"mutates":true}]}]}"#;

/// R3: without an editor.
#[test]
fn reports_say_what_is_there() {
    let folder = project(Some(GOOD));
    let check = check_dir(folder.path()).expect("a project");
    assert!(check.ok && check.human.contains("is valid: 1 providers, 1 commands"));
    let list = list_dir(folder.path()).expect("a project");
    assert!(list.ok && list.human.contains("c: Does it, changes files"));
    assert_eq!(list.json["status"], "valid");
    let none = check_dir(project(None).path()).expect("a project");
    assert!(none.ok && none.human.contains("no commands declared"));
}

#[test]
fn reports_fail_on_what_cannot_be_called() {
    let folder = project(Some(&GOOD.replace("\"p\"", "\"P\"")));
    let check = check_dir(folder.path()).expect("a project");
    assert!(!check.ok && check.human.contains("/providers/0/id: "));
    assert!(!list_dir(folder.path()).expect("a project").ok);
    let folder = project(Some(&GOOD.replace("a.gd", "b.gd")));
    let check = check_dir(folder.path()).expect("a project");
    assert!(!check.ok && check.human.contains("p c: \"res://b.gd\" does not exist"));
    assert!(check_dir(tempfile::tempdir().expect("a folder").path()).is_err());
}
