use godot::builtin::{GString, PackedStringArray, Variant};
use godot::meta::ToGodot;
use godot::obj::{Gd, NewGd as _};

use crate::editor::file_mover::FileMover;
use crate::editor::file_uses::{self, How, Uses};
use crate::editor::{file_search, files, scene_tabs, script_tabs};
use crate::tool_prelude::*;

/// Moves or renames one file, with its `.uid` and `.import`, and rewrites every path to it: closed
/// files on disk, open scenes in memory. The preview lists them. Folders are not moved.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct MoveResourceFile {
    path: ResPath,
    /// With the file name; missing folders are made.
    new_path: ResPath,
}

impl Tool for MoveResourceFile {
    const NAME: &'static str = "move_resource_file";
    const TOOLSET: &'static str = "project";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        let before = r#"
[node name="Main" type="Node2D"]
;- res://old.gd
extends Node
const OTHER = preload("other.gd")
;- res://other.gd
extends Node
;- res://user.gd
extends "res://old.gd"
const OLD = preload("old.gd")
;- res://closed.tscn
[gd_scene load_steps=2 format=3]
[ext_resource type="Script" path="res://old.gd" id="1"]
[node name="Closed" type="Node"]
script = ExtResource("1")"#;
        let after = r#"
[node name="Main" type="Node2D"]
;- res://new/name.gd
extends Node
const OTHER = preload("res://other.gd")
;- res://user.gd
extends "res://new/name.gd"
const OLD = preload("res://new/name.gd")
;- res://closed.tscn
[gd_scene load_steps=2 format=3]
[ext_resource type="Script" path="res://new/name.gd" id="1"]
[node name="Closed" type="Node"]
script = ExtResource("1")"#;
        let args = json!({"path": "res://old.gd", "new_path": "res://new/name.gd"});
        vec![
            Example::edit("Moves a script.", before, after).args(args),
            Example::refusal("Refuses a path that is taken.", before, Code::AlreadyExists)
                .args(json!({"path": "res://old.gd", "new_path": "res://user.gd"})),
            Example::refusal("Refuses a missing file.", before, Code::ResourceNotFound)
                .args(json!({"path": "res://odl.gd", "new_path": "res://new.gd"})),
            Example::refusal("Refuses another kind of file.", before, Code::ValidationError)
                .args(json!({"path": "res://old.gd", "new_path": "res://new.tscn"})),
        ]
    }
}

impl EditTool for MoveResourceFile {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let from = super::movable_file(editor, &self.path)?;
        let to = editor.res_path(&self.new_path)?;
        check_target(&from, &to)?;
        let uses = Uses::of(&from);
        script_tabs::refuse_unsaved([from.as_str()])?;

        let title = format!("Move {from} to {to}");
        let edited = editor.edited_scene().ok();
        let in_edited = |it: &file_uses::FileUse| {
            edited.as_ref().is_some_and(|scene| scene.file() == it.file)
                && matches!(it.how, How::Path { .. } | How::Binary)
        };
        let mut edit = match &edited {
            // The file of the edited scene still has the old path until it is saved.
            Some(scene) if uses.files.iter().any(in_edited) => Edit::in_scene(scene, title),
            _ => Edit::of_files(title),
        };
        edit.fact("path", from.as_str());
        edit.fact("new_path", to.as_str());
        edit.fact("uid", uses.uid.clone());
        edit.fact("references", uses.shown());
        edit.fact("references_total", uses.total());
        let open: Vec<String> = uses
            .files
            .iter()
            .filter(|it| it.open && !matches!(it.how, How::Uid { .. }))
            .map(|it| it.file.clone())
            .collect();
        edit.fact("open_scenes_to_save", open.clone());
        steps(&mut edit, &from, &to, &uses)?;
        let others: Vec<String> = open
            .into_iter()
            .filter(|it| edited.as_ref().is_none_or(|scene| scene.file() != *it))
            .collect();
        if !others.is_empty() {
            let mover = FileMover::new_gd();
            let args = [array(&others)];
            edit.step(
                Step::new(Value::Null)
                    .apply(Op::call(&mover, "mark_unsaved", &args))
                    .revert(Op::call(&mover, "mark_unsaved", &args)),
            );
        }
        edit.verdict(Verdict::yes(to));
        Ok(edit)
    }
}

fn check_target(from: &str, to: &str) -> Result<(), ToolError> {
    let invalid = |message: String, hint: &str| {
        Err(ToolError::invalid("new_path", message).hint(hint.to_owned()))
    };
    if from == to {
        return invalid(format!("the file is at \"{to}\" already"), "give another path");
    }
    if files::absolute(to).exists() {
        return Err(ToolError::new(Code::AlreadyExists, format!("\"{to}\" exists already"))
            .required("new_path")
            .hint("choose a free path, with the file name"));
    }
    let extension = |it: &str| it.rsplit_once('.').map(|it| it.1.to_owned());
    if extension(from.rsplit('/').next().unwrap_or_default())
        != extension(to.rsplit('/').next().unwrap_or_default())
    {
        return invalid(
            format!("\"{to}\" has another extension than \"{from}\""),
            "the extension says what the file is; keep it",
        );
    }
    let hidden = |it: &str| it.starts_with('.') || it.is_empty() || it.trim() != it;
    if to.trim_start_matches("res://").split('/').any(hidden) || file_search::is_sidecar(to) {
        return invalid(
            format!("\"{to}\" would be hidden from the editor"),
            "names must not be empty, nor start with a dot or a space",
        );
    }
    Ok(())
}

fn array(paths: &[String]) -> Variant {
    paths.iter().map(GString::from).collect::<PackedStringArray>().to_variant()
}

/// Undo runs these backwards, so what needs all files in place comes first and last.
fn steps(edit: &mut Edit, from: &str, to: &str, uses: &Uses) -> Result<(), ToolError> {
    let mover = FileMover::new_gd();
    let closed = || uses.files.iter().filter(|it| !it.open);
    let mut texts = Vec::new();
    for it in closed().filter(|it| matches!(it.how, How::Path { .. })) {
        let old = files::bytes(&it.file).unwrap_or_default();
        let text = String::from_utf8_lossy(&old).into_owned();
        if let Some(new) = file_uses::rewritten(&it.file, &text, from, to) {
            texts.push((it.file.clone(), old, new.into_bytes()));
        }
    }
    let binaries: Vec<String> =
        closed().filter(|it| it.how == How::Binary).map(|it| it.file.clone()).collect();
    let own = own_text(from, to);
    let mut refreshed: Vec<String> = texts.iter().map(|it| it.0.clone()).collect();

    let undone = refreshed.iter().cloned().chain(own.is_some().then(|| from.to_owned())).collect();
    let tell = Op::call(
        &mover,
        "tell",
        &[GString::from(from), GString::from(to)].map(|it| it.to_variant()),
    );
    edit.step(Step::new(Value::Null).revert(tell.clone()).revert(Op::Refresh { paths: undone }));
    if !binaries.is_empty() {
        edit.step(Step::new(Value::Null).apply(Op::call(&mover, "hold", &[array(&binaries)])));
    }
    let settings = file_uses::settings_rewritten(from, to);
    edit.around(
        |edit| {
            edit.step(move_step(&mover, from, to));
            if let Some((old, new)) = own {
                edit.replace_file(to, Some(old), Some(new));
                refreshed.push(to.to_owned());
            }
        },
        |edit| {
            for (file, old, new) in texts {
                edit.replace_file(&file, Some(old), Some(new));
            }
            for file in &binaries {
                let args = [GString::from(file).to_variant()];
                edit.step(
                    Step::new(json!({"write": file}))
                        .apply(Op::call(&mover, "save", &args))
                        .answers(&mover, "is_saved", &args, &true.to_variant())
                        .revert(Op::call(&mover, "unsave", &args)),
                );
            }
            if settings.is_empty() { Ok(()) } else { edit.set_settings(&settings) }
        },
    )?;
    edit.step(Step::new(Value::Null).apply(tell).apply(Op::Refresh { paths: refreshed }));
    Ok(())
}

fn move_step(mover: &Gd<FileMover>, from: &str, to: &str) -> Step {
    let (from_arg, to_arg) = (GString::from(from).to_variant(), GString::from(to).to_variant());
    let there = [from_arg.clone(), to_arg.clone()];
    let back = [to_arg.clone(), from_arg];
    Step::new(json!({"move": from, "to": to}))
        .apply(Op::call(mover, "move_file", &there))
        .answers(mover, "is_at", &[to_arg], &true.to_variant())
        .revert(Op::call(mover, "move_file", &back))
}

/// The file's own text when the move changes it: relative paths, and paths to itself.
fn own_text(from: &str, to: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let old = files::bytes(from)?;
    let text = String::from_utf8(old.clone()).ok()?;
    let absolute = file_uses::moved_source(from, &text);
    let base = absolute.as_deref().unwrap_or(&text);
    let open = scene_tabs::root_of(from).is_some();
    let new = match file_uses::names_itself(from) && !open {
        true => file_uses::rewritten(to, base, from, to).or(absolute.clone()),
        false => absolute.clone(),
    }?;
    (new != text).then(|| (old, new.into_bytes()))
}
