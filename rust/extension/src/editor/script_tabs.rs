//! Tabs of the script editor: what the human has there, and keeping them in step with files.

use godot::builtin::PackedInt32Array;
use godot::classes::{CodeEdit, EditorInterface, ScriptEditor};
use godot::meta::ToGodot as _;
use godot::obj::{Gd, Singleton as _};
use godot_mcp_core::{Code, ToolError};

/// `Node.NOTIFICATION_APPLICATION_FOCUS_IN`.
const FOCUS_IN: i32 = 2016;

/// An open script with its text field.
struct Tab {
    path: String,
    text: Gd<CodeEdit>,
}

impl Tab {
    fn is_unsaved(&self) -> bool {
        self.text.get_version() != self.text.get_saved_version()
    }
}

/// The text of a script's tab, when the human has changed it and not saved.
pub(crate) fn unsaved_text(path: &str) -> Option<String> {
    let tab = tabs().into_iter().find(|it| it.path == path && it.is_unsaved())?;
    Some(tab.text.get_text().to_string())
}

/// Refuses to take away what the human has not saved in the script editor, of any of these files.
pub(crate) fn refuse_unsaved<'a>(
    paths: impl IntoIterator<Item = &'a str>,
) -> Result<(), ToolError> {
    let mut paths = paths.into_iter().peekable();
    if paths.peek().is_none() {
        return Ok(());
    }
    let unsaved: Vec<Tab> = tabs().into_iter().filter(Tab::is_unsaved).collect();
    match paths.find(|path| unsaved.iter().any(|it| it.path == *path)) {
        None => Ok(()),
        Some(path) => Err(ToolError::new(
            Code::PreconditionFailed,
            format!("\"{path}\" has unsaved changes in the script editor"),
        )
        .hint("they would be lost; ask the human to save the script or to close its tab, then call again; nothing was changed")),
    }
}

/// Shows what a script's file holds now in its tab, unless the human has unsaved text there.
pub(crate) fn follow(path: &str, text: &str) {
    show(path, text, false);
}

/// Shows a text as the saved one, also in place of unsaved text. The tab's own undo brings that back.
pub(crate) fn replace(path: &str, text: &str) {
    show(path, text, true);
}

fn show(path: &str, text: &str, replace_unsaved: bool) {
    let tabs = tabs();
    let Some(tab) = tabs.iter().find(|it| it.path == path) else { return };
    if tab.is_unsaved() && !replace_unsaved {
        return;
    }
    let mut field = tab.text.clone();
    change(&mut field, &text.replace("\r\n", "\n"));
    field.tag_saved_version();
    let breakpoints = field.get_breakpointed_lines();
    if !tabs.iter().any(Tab::is_unsaved)
        && let Some(mut editor) = script_editor()
    {
        // The editor compares times of files when it gets the focus. Told so now, it takes the new
        // time for read, and does not ask the human later whether to reload.
        editor.call("notification", &[FOCUS_IN.to_variant()]);
    }
    restore_breakpoints(&mut field, &breakpoints);
}

/// Changes only what differs, so that the cursor, breakpoints and folds elsewhere stay.
fn change(field: &mut Gd<CodeEdit>, text: &str) {
    let old: Vec<char> = field.get_text().to_string().chars().collect();
    let new: Vec<char> = text.chars().collect();
    if old == new {
        return;
    }
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - start;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let (from, to) = (place(&old[..start]), place(&old[..old.len() - end]));
    let added: String = new[start..new.len() - end].iter().collect();
    field.begin_complex_operation();
    if from != to {
        field.remove_text(from.0, from.1, to.0, to.1);
    }
    if !added.is_empty() {
        field.insert_text(&added, from.0, from.1);
    }
    field.end_complex_operation();
}

/// Line and column behind a text, both from 0.
fn place(before: &[char]) -> (i32, i32) {
    let lines = before.iter().filter(|it| **it == '\n').count();
    let column = before.iter().rev().take_while(|it| **it != '\n').count();
    (i32::try_from(lines).unwrap_or(0), i32::try_from(column).unwrap_or(0))
}

fn restore_breakpoints(field: &mut Gd<CodeEdit>, lines: &PackedInt32Array) {
    for &line in lines.as_slice() {
        if line < field.get_line_count() && !field.is_line_breakpointed(line) {
            field.set_line_as_breakpoint(line, true);
        }
    }
}

fn script_editor() -> Option<Gd<ScriptEditor>> {
    EditorInterface::singleton().get_script_editor()
}

/// The engine does not tell which tab has which script, but lists both in the same order. Tabs for
/// other text files have another class.
fn tabs() -> Vec<Tab> {
    let Some(editor) = script_editor() else { return Vec::new() };
    let fields = editor
        .get_open_script_editors()
        .iter_shared()
        .filter(|it| it.get_class() == "ScriptTextEditor")
        .filter_map(|it| it.get_base_editor()?.try_cast::<CodeEdit>().ok())
        .collect::<Vec<_>>();
    let scripts = editor.get_open_scripts();
    if scripts.len() != fields.len() {
        return Vec::new();
    }
    scripts
        .iter_shared()
        .zip(fields)
        .map(|(script, text)| Tab { path: script.get_path().to_string(), text })
        .collect()
}
