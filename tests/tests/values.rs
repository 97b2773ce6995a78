//! S10.3 as a property test: for every type of Variant, the read form is accepted as a write form,
//! and what was written reads back the same, is saved the same and is reloaded the same.

use godot_mcp_tests::client::{Client, Era};
use godot_mcp_tests::editor::Launch;
use serde_json::{Value, json};

const SCENE: &str = "res://values/values.tscn";
const ROUNDS: u64 = 40;

#[test]
fn every_type_survives_the_way_round() {
    let editor = Launch::fixture("plain").start();
    let client = Client::connect(&editor, Era::Modern);
    let mut human = editor.human();
    client.ok("open_scene", json!({"scene_path": SCENE}));
    let node = |name: &str, call: &str| {
        format!("return EditorInterface.get_edited_scene_root().get_node(\"{name}\").{call}")
    };
    let names = human.run(&node("From", "names()"));
    let names: Vec<&str> =
        names.as_array().expect("names").iter().filter_map(Value::as_str).collect();
    assert!(names.len() > 40, "{names:?}");
    let first: u64 = std::env::var("SEED").ok().and_then(|it| it.parse().ok()).unwrap_or(1);

    let mut problems = Vec::new();
    for seed in first..first + ROUNDS {
        human.run(&node("From", &format!("randomize_all({seed})")));
        let wanted = human.run(&node("From", "spelled()"));
        for name in &names {
            let read =
                client.ok("get_node_property", json!({"node_path": "From", "property": name}));
            let args = json!({"node_path": "To", "property": name, "value": read["value"]});
            match client.call("set_node_property", args) {
                Err(error) => {
                    problems.push(format!("seed {seed}, {name} = {}: {error}", read["value"]))
                }
                Ok(answer) if answer["clamped"] == true => {
                    problems.push(format!("seed {seed}, {name} = {}: {answer}", read["value"]));
                }
                Ok(_) => {
                    let again = client
                        .ok("get_node_property", json!({"node_path": "To", "property": name}));
                    if again["value"] != read["value"] {
                        problems.push(format!(
                            "seed {seed}, {name}: {} reads back as {}",
                            read["value"], again["value"]
                        ));
                    }
                }
            }
        }
        compare(&mut problems, seed, "written", &wanted, &human.run(&node("To", "spelled()")));
        client.ok("save_scene", json!({}));
        client.ok("reload_scene", json!({"scene_path": SCENE, "confirm": true}));
        compare(&mut problems, seed, "reloaded", &wanted, &human.run(&node("To", "spelled()")));
        if problems.len() > 20 {
            break;
        }
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
    drop((human, client));
    editor.quit();
}

fn compare(problems: &mut Vec<String>, seed: u64, what: &str, wanted: &Value, found: &Value) {
    for (name, wanted) in wanted.as_object().expect("spelled") {
        if found[name] != *wanted {
            problems.push(format!("seed {seed}, {name}, {what}: {wanted} became {}", found[name]));
        }
    }
}
