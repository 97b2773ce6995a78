//! The human's own undo history: tokens for our actions, and steps through it.

use std::collections::{HashMap, VecDeque};

use godot::builtin::StringName;
use godot::classes::{EditorInterface, InputMap, PopupMenu, UndoRedo};
use godot::meta::ToGodot;
use godot::obj::{Gd, InstanceId, Singleton};
use godot_mcp_core::{Code, ToolError};
use serde_json::{Map, Value, json};

use super::edit::Acted;
use super::{Editor, scene_keeper};

/// Tokens that are remembered; older actions can still be undone, without a token.
const MAX_TOKENS: usize = 4_096;

/// One recorded action of ours.
struct Recorded {
    history_id: i32,
    version: u64,
    /// Freed by the engine together with the action.
    mark: InstanceId,
    name: String,
    /// Versions of the other histories when it was recorded: what they have on top while the
    /// version is no higher is older than this action.
    others: Vec<(i32, u64)>,
}

impl Recorded {
    fn is_on_top(&self, history: &History) -> bool {
        // The version alone is not enough: undo and another action bring it back.
        self.history_id == history.id
            && history.undo_redo.get_version() == self.version
            && self.mark.lookup_validity()
    }

    /// Another history whose top may be newer than this action.
    fn maybe_newer<'a>(&self, histories: &'a [History]) -> Option<&'a History> {
        histories.iter().find(|it| {
            let version = self.others.iter().find(|(id, _)| *id == it.id).map(|it| it.1);
            it.id != self.history_id
                && it.undo_redo.has_undo()
                && version.is_none_or(|version| it.undo_redo.get_version() > version)
        })
    }

    fn is_newest(&self, histories: &[History]) -> bool {
        self.maybe_newer(histories).is_none()
    }
}

/// Where an edit of ours stands in its history, for the dock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The one that Ctrl+Z would take.
    Newest,
    /// Applied, with something above it, or in the history of another scene.
    Done,
    /// Redo would bring it back.
    Undone,
    /// No history knows it any more.
    Gone,
}

/// What `undo_token`s stand for (S6.6).
#[derive(Default)]
pub(crate) struct UndoTokens {
    /// In the order of their numbers, which have no gaps.
    newest: VecDeque<Recorded>,
    /// Tokens ever given.
    count: usize,
}

impl UndoTokens {
    pub(crate) fn add(
        &mut self,
        history_id: i32,
        version: u64,
        mark: InstanceId,
        name: &str,
    ) -> String {
        if self.newest.len() >= MAX_TOKENS {
            self.newest.pop_front();
        }
        let others = histories()
            .iter()
            .filter(|it| it.id != history_id)
            .map(|it| (it.id, it.undo_redo.get_version()))
            .collect();
        let recorded = Recorded { history_id, version, mark, name: name.to_owned(), others };
        self.newest.push_back(recorded);
        self.count += 1;
        format!("u{}", self.count)
    }

    fn get(&self, token: &str) -> Option<&Recorded> {
        let number: usize = token.strip_prefix('u')?.parse().ok()?;
        let forgotten = self.count - self.newest.len();
        self.newest.get(number.checked_sub(forgotten + 1)?)
    }

    /// Name and standing of the action of a token.
    pub(crate) fn standing(&self, token: &str, list: &[History]) -> Option<(&str, Standing)> {
        let recorded = self.get(token)?;
        let history = list.iter().find(|it| it.id == recorded.history_id);
        let version = history.map(|it| it.undo_redo.get_version());
        let standing = if !recorded.mark.lookup_validity() {
            Standing::Gone
        } else if version.is_some_and(|it| it < recorded.version) {
            Standing::Undone
        } else if version == Some(recorded.version) && recorded.is_newest(list) {
            Standing::Newest
        } else {
            Standing::Done
        };
        Some((&recorded.name, standing))
    }

    /// Our record of the action on top of a history, when it is ours.
    fn on_top(&self, history: &History) -> Option<&Recorded> {
        self.newest.iter().rev().find(|it| it.is_on_top(history))
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
struct Stepped {
    history_id: i32,
    name: String,
}

/// Steps once through the editor's own menu, the way that keeps its stacks consistent. None when
/// there is nothing to step to.
fn step(direction: Direction) -> Result<Option<Stepped>, ToolError> {
    let before: Vec<_> = histories()
        .iter()
        .map(|it| (it.id, it.undo_redo.get_version(), next_name(it, direction)))
        .collect();
    let (mut menu, item) = menu_item(direction)?;
    menu.emit_signal("id_pressed", &[item.to_variant()]);
    // By id: a step may remove or add a history, for example when it closes the scene.
    for (id, version, name) in &before {
        let moved =
            histories().iter().any(|it| it.id == *id && it.undo_redo.get_version() != *version);
        if moved {
            return Ok(Some(Stepped { history_id: *id, name: name.clone().unwrap_or_default() }));
        }
    }
    if before.iter().all(|it| it.2.is_none()) {
        return Ok(None);
    }
    Err(ToolError::new(Code::Busy, "the editor does not step through its history now")
        .hint("it refuses while a mouse button is held; call again later"))
}

/// Steps `count` times or until there is nothing left, and answers what was stepped over. One step a
/// frame: the editor puts parts of a step off until the frame's end, and the next must find them done.
pub(crate) fn walk(editor: &Editor, direction: Direction, count: u32) -> Result<Acted, ToolError> {
    let mut walk = Walk { direction, left: count, names: Vec::new() };
    if walk.step()? {
        return Ok(Acted::Done(report(editor, direction, walk.names)));
    }
    Ok(Acted::Wait(Box::new(move |editor| {
        if scene_keeper::has_deferred() {
            return None;
        }
        match walk.step() {
            Ok(false) => None,
            // What was stepped already must be told, so a fault is no error any more.
            Ok(true) | Err(_) => {
                Some(Ok(report(editor, direction, std::mem::take(&mut walk.names))))
            }
        }
    })))
}

/// Several steps in a row.
struct Walk {
    direction: Direction,
    left: u32,
    names: Vec<String>,
}

impl Walk {
    /// Takes one step. True when the walk has ended.
    fn step(&mut self) -> Result<bool, ToolError> {
        if self.left == 0 {
            return Ok(true);
        }
        let Some(stepped) = step(self.direction)? else { return Ok(true) };
        self.names.push(stepped.name);
        self.left -= 1;
        // With the last step's deferred work still to do, the next call says that it has ended.
        Ok(self.left == 0 && !scene_keeper::has_deferred())
    }
}

/// Undoes exactly the action of a token, which `check_token` accepted in the same job.
pub(crate) fn undo_token(editor: &Editor, token: &str) -> Result<Map<String, Value>, ToolError> {
    let wanted = editor.app().undo_tokens.borrow().get(token).map(|it| it.history_id);
    let Some(stepped) = step(Direction::Undo)? else {
        return Err(changed("there is nothing to undo".to_owned()));
    };
    if wanted == Some(stepped.history_id) {
        return Ok(report(editor, Direction::Undo, vec![stepped.name]));
    }
    // Versions cannot tell an action that replaced an undone one from the one before it. The
    // editor took another action than ours, so it is given back.
    let back = step(Direction::Redo)?;
    let error = changed(format!("the newest action is \"{}\"", stepped.name));
    let restored =
        back.is_some_and(|it| it.history_id == stepped.history_id && it.name == stepped.name);
    Err(if restored { error } else { error.details(json!({"undone": stepped.name})) })
}

fn report(editor: &Editor, direction: Direction, names: Vec<String>) -> Map<String, Value> {
    let mut fields = Map::new();
    let (done, nothing) = match direction {
        Direction::Undo => ("undone", "nothing_to_undo"),
        Direction::Redo => ("redone", "nothing_to_redo"),
    };
    fields.insert("applied".into(), json!(!names.is_empty()));
    fields.insert(done.into(), json!(names.len()));
    fields.insert(nothing.into(), json!(names.is_empty()));
    fields.insert("names".into(), json!(names));
    outlook(editor, direction, &mut |name, value| {
        fields.insert(name.to_owned(), value);
    });
    fields
}

/// Whether there is a next step and which action it takes, as fields of an answer.
pub(crate) fn outlook(editor: &Editor, direction: Direction, add: &mut dyn FnMut(&str, Value)) {
    let (has, would) = match direction {
        Direction::Undo => ("has_undo", "would_undo_next"),
        Direction::Redo => ("has_redo", "would_redo_next"),
    };
    add(has, json!(histories().iter().any(|it| next_name(it, direction).is_some())));
    add(would, next(editor, direction));
}

/// Name of the action that the next step takes, null without one.
///
/// The engine does not tell times of actions. When scene and project both have a candidate and
/// our own records do not settle it, the answer names both.
pub(crate) fn next(editor: &Editor, direction: Direction) -> Value {
    let list = histories();
    let candidates: Vec<_> =
        list.iter().filter_map(|it| Some((it, next_name(it, direction)?))).collect();
    match candidates.as_slice() {
        [] => Value::Null,
        [(_, only)] => json!(only),
        several => {
            let tokens = editor.app().undo_tokens.borrow();
            let newest = several.iter().find(|(history, _)| {
                direction == Direction::Undo
                    && tokens.on_top(history).is_some_and(|it| it.is_newest(&list))
            });
            match newest {
                Some((_, name)) => json!(name),
                None => {
                    let named: Vec<_> =
                        several.iter().map(|(it, name)| format!("{name} ({})", it.label)).collect();
                    json!(named.join(" or "))
                }
            }
        }
    }
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
    Some(undo_redo.get_action_name(index).to_string())
}

/// Refuses a token whose action is not the one that the human's Ctrl+Z would take (S6.6).
pub(crate) fn check_token(editor: &Editor, token: &str) -> Result<(), ToolError> {
    let tokens = editor.app().undo_tokens.borrow();
    let Some(recorded) = tokens.get(token) else {
        return Err(ToolError::not_found(format!("no action has the undo token \"{token}\""))
            .required("undo_token")
            .hint("tokens are in the answers of edits; the newest 4096 of the editor session are known"));
    };
    let list = histories();
    let Some(history) = list.iter().find(|it| it.id == recorded.history_id) else {
        return Err(changed(format!("\"{}\" is in the history of another scene", recorded.name)));
    };
    if !recorded.is_on_top(history) {
        let what = match recorded.mark.lookup_validity() {
            true => "is not the newest action",
            false => "was undone and is gone from the history",
        };
        let on_top = next_name(history, Direction::Undo).unwrap_or_else(|| "nothing".to_owned());
        return Err(changed(format!("\"{}\" {what}; on top is \"{on_top}\"", recorded.name)));
    }
    if let Some(newer) = recorded.maybe_newer(&list) {
        let name = next_name(newer, Direction::Undo).unwrap_or_default();
        return Err(changed(format!(
            "\"{}\" is the newest action of its own history, and \"{name}\" of the {} history may be newer",
            recorded.name, newer.label
        )));
    }
    Ok(())
}

fn changed(message: String) -> ToolError {
    ToolError::new(Code::StateChanged, message)
        .required("undo_token")
        .hint("`list_history` shows what is on top; without a token the newest action is undone")
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
        let in_main_menu =
            menu.get_parent().is_some_and(|it| it.is_class("MenuBar") || it.is_class("MenuButton"));
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
