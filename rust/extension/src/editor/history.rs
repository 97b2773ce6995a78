//! The human's own undo history: tokens for our actions, and steps through it.

use std::collections::HashMap;

use godot::builtin::StringName;
use godot::classes::{EditorInterface, InputMap, PopupMenu, UndoRedo};
use godot::obj::{Gd, InstanceId, Singleton};
use godot_mcp_core::{Code, ToolError};

use super::Editor;

/// Tokens that are remembered; older actions can still be undone, without a token.
const MAX_TOKENS: usize = 1_000;

/// One recorded action of ours.
struct Recorded {
    history_id: i32,
    version: u64,
    /// Freed by the engine together with the action.
    mark: InstanceId,
    name: String,
}

/// What `undo_token`s stand for (S6.6).
#[derive(Default)]
pub(crate) struct UndoTokens {
    tokens: HashMap<String, Recorded>,
    count: u64,
}

impl UndoTokens {
    pub(crate) fn add(&mut self, history_id: i32, version: u64, mark: InstanceId, name: &str) -> String {
        if self.tokens.len() >= MAX_TOKENS {
            self.tokens.retain(|_, it| it.mark.lookup_validity());
        }
        self.count += 1;
        let token = format!("u{}", self.count);
        let recorded = Recorded { history_id, version, mark, name: name.to_owned() };
        self.tokens.insert(token.clone(), recorded);
        token
    }
}

/// Which way a step goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Undo,
    Redo,
}

impl Direction {
    fn input_action(self) -> &'static str {
        match self {
            Self::Undo => "ui_undo",
            Self::Redo => "ui_redo",
        }
    }
}

/// A history that the human's Ctrl+Z reaches now.
pub(crate) struct History {
    pub(crate) id: i32,
    pub(crate) label: &'static str,
    pub(crate) undo_redo: Gd<UndoRedo>,
}

/// The edited scene's history, when there is one, and the global one.
pub(crate) fn histories() -> Vec<History> {
    let editor = EditorInterface::singleton();
    let Some(manager) = editor.get_editor_undo_redo() else { return Vec::new() };
    let mut list = Vec::new();
    let mut add = |id, label| {
        if let Some(undo_redo) = manager.get_history_undo_redo(id) {
            list.push(History { id, label, undo_redo });
        }
    };
    if let Some(root) = editor.get_edited_scene_root() {
        add(manager.get_object_history_id(&root), "scene");
    }
    add(0, "global");
    list
}

/// What one step did.
pub(crate) struct Stepped {
    pub(crate) name: String,
    pub(crate) history: &'static str,
}

/// Steps once through the editor's own menu, the way that keeps its stacks consistent. None when
/// there is nothing to step to.
pub(crate) fn step(direction: Direction) -> Result<Option<Stepped>, ToolError> {
    let before: Vec<(u64, String)> = histories().iter().map(|it| state(it, direction)).collect();
    let (mut menu, id) = menu_item(direction)?;
    menu.emit_signal("id_pressed", &[godot::meta::ToGodot::to_variant(&id)]);
    for (history, (version, name)) in histories().iter().zip(before) {
        if history.undo_redo.get_version() != version {
            return Ok(Some(Stepped { name, history: history.label }));
        }
    }
    Ok(None)
}

fn state(history: &History, direction: Direction) -> (u64, String) {
    (history.undo_redo.get_version(), next_name(history, direction).unwrap_or_default())
}

/// Name of the action that a step in this history would take.
pub(crate) fn next_name(history: &History, direction: Direction) -> Option<String> {
    let undo_redo = &history.undo_redo;
    let current = undo_redo.get_current_action();
    let index = match direction {
        Direction::Undo if undo_redo.has_undo() => current,
        Direction::Redo if undo_redo.has_redo() => current + 1,
        _ => return None,
    };
    Some(undo_redo.clone().get_action_name(index).to_string())
}

/// Refuses a token whose action is not the newest one in its history (S6.6).
pub(crate) fn check_token(editor: &Editor, token: &str) -> Result<(), ToolError> {
    let tokens = editor.app().undo_tokens.borrow();
    let changed = |message: String| {
        ToolError::new(Code::StateChanged, message)
            .required("undo_token")
            .hint("`list_history` shows what is on top; without a token the newest action is undone")
    };
    let Some(recorded) = tokens.tokens.get(token) else {
        return Err(ToolError::not_found(format!("no action has the undo token \"{token}\""))
            .required("undo_token")
            .hint("tokens are in the answers of edits and end with the editor session"));
    };
    let list = histories();
    let Some(history) = list.iter().find(|it| it.id == recorded.history_id) else {
        return Err(changed(format!("\"{}\" is in the history of another scene", recorded.name)));
    };
    let on_top = next_name(history, Direction::Undo).unwrap_or_else(|| "nothing".to_owned());
    let alive = recorded.mark.lookup_validity();
    if !alive || history.undo_redo.get_version() != recorded.version {
        return Err(changed(format!("\"{}\" is not the newest action; on top is \"{on_top}\"", recorded.name)));
    }
    // The menu steps the newest action of scene and global history. Ours is on top of its own
    // history, but a newer one may be on top of the other.
    Ok(())
}

/// The item of the editor's main menu whose shortcut is the one for undo or redo.
///
/// Labels are localized, so the shortcut decides. The search is cached by the caller's thread.
fn menu_item(direction: Direction) -> Result<(Gd<PopupMenu>, i64), ToolError> {
    thread_local! {
        static FOUND: std::cell::RefCell<HashMap<&'static str, (InstanceId, i64)>> = std::cell::RefCell::default();
    }
    let action = direction.input_action();
    let cached = FOUND.with(|it| it.borrow().get(action).copied());
    if let Some((menu, id)) = cached
        && let Ok(menu) = Gd::<PopupMenu>::try_from_instance_id(menu)
    {
        return Ok((menu, id));
    }
    let found = find_menu_item(action).ok_or_else(|| {
        ToolError::new(Code::Unsupported, "this editor's menu has no undo and redo")
            .hint("ask the human to press the shortcut")
    })?;
    FOUND.with(|it| it.borrow_mut().insert(action, (found.0.instance_id(), found.1)));
    Ok(found)
}

fn find_menu_item(action: &str) -> Option<(Gd<PopupMenu>, i64)> {
    let events = InputMap::singleton().action_get_events(&StringName::from(action));
    let base = EditorInterface::singleton().get_base_control()?;
    let menus = base.find_children_ex("*").type_("PopupMenu").owned(false).done();
    for menu in menus.iter_shared() {
        let menu = menu.cast::<PopupMenu>();
        let in_main_menu = menu
            .get_parent()
            .is_some_and(|it| it.is_class("MenuBar") || it.is_class("MenuButton"));
        if !in_main_menu {
            continue;
        }
        for index in 0..menu.get_item_count() {
            let Some(shortcut) = menu.get_item_shortcut(index) else { continue };
            if events.iter_shared().any(|it| shortcut.matches_event(&it)) {
                return Some((menu.clone(), i64::from(menu.get_item_id(index))));
            }
        }
    }
    None
}
