//! Saves that extensions ask for (X10.1): run where a progress dialog may open, with the checks of
//! `save_scene`, one after the other.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use godot::builtin::VarDictionary;
use godot::global::godot_warn;
use godot_mcp_core::ToolError;
use godot_mcp_core::paths::Roots;
use serde_json::{Map, Value};

use super::failure;
use crate::app::{self, App};
use crate::editor::Editor;
use crate::editor::edit::Acted;
use crate::editor::scene_save::SceneSave;
use crate::main_thread;

/// Results that are kept for `check`; older ones are forgotten, with a warning.
const MAX_DONE: usize = 100;

type Saved = Result<Map<String, Value>, ToolError>;

/// All saves of this session, as the main thread knows them.
#[derive(Default)]
pub(crate) struct Saves(RefCell<State>);

#[derive(Default)]
struct State {
    count: u64,
    /// Invariant: the front one is the only one that runs.
    waiting: VecDeque<Save>,
    done: VecDeque<(String, VarDictionary)>,
}

struct Save {
    id: String,
    path: String,
    /// The editor has saved; what is left is to see that it has.
    settle: Option<Settle>,
}

type Settle = Box<dyn FnMut(&Editor) -> Option<Saved>>;

impl Saves {
    pub(crate) fn is_idle(&self) -> bool {
        self.0.try_borrow().is_ok_and(|it| it.waiting.is_empty())
    }
}

/// The id of a new save.
pub(crate) fn queue(path: &str) -> String {
    let Some(app) = app::current() else { return String::new() };
    let mut state = app.saves.0.borrow_mut();
    state.count += 1;
    let id = format!("save{}", state.count);
    state.waiting.push_back(Save { id: id.clone(), path: path.to_owned(), settle: None });
    id
}

/// `{done: false}`, `{done: false, unknown: true}` or `{done: true, success, result}`.
pub(crate) fn check(id: &str, clear: bool) -> VarDictionary {
    let mut answer = VarDictionary::new();
    let app = app::current();
    let mut state = app.as_ref().map(|it| it.saves.0.borrow_mut());
    let done = state.as_mut().and_then(|state| {
        let index = state.done.iter().position(|it| it.0 == id)?;
        if clear { state.done.remove(index) } else { state.done.get(index).cloned() }
    });
    answer.set("done", done.is_some());
    if let Some((_, result)) = done {
        let success = result.get("success").is_some_and(|it| it.booleanize());
        answer.set("success", success);
        answer.set("result", &result);
    } else if !state.is_some_and(|it| it.waiting.iter().any(|it| it.id == id)) {
        answer.set("unknown", true);
    }
    answer
}

/// Does what can be done now. In the safe lane, while no job runs.
pub(crate) fn work(app: &Rc<App>) {
    while let Some(mut save) = take_next(app) {
        let editor = Editor::new(app, None);
        let saved = match &mut save.settle {
            None => match begin(&editor, &save.path) {
                Ok(Acted::Done(facts)) => Some(Ok(facts)),
                Ok(Acted::Wait(mut settle)) => {
                    let saved = settle(&editor);
                    save.settle = Some(settle);
                    saved
                }
                Err(error) => Some(Err(error)),
            },
            Some(settle) => settle(&editor),
        };
        let mut state = app.saves.0.borrow_mut();
        let Some(saved) = saved else {
            state.waiting.push_front(save);
            return;
        };
        state.done.push_back((save.id, result(saved)));
        if state.done.len() > MAX_DONE
            && let Some((id, _)) = state.done.pop_front()
        {
            godot_warn!("MCP: the result of the save {id} was never asked for with clear = true.");
        }
    }
}

/// The next save, when it may begin or has begun. Nothing is borrowed while it runs.
fn take_next(app: &App) -> Option<Save> {
    let mut state = app.saves.0.borrow_mut();
    let begun = state.waiting.front()?.settle.is_some();
    (begun || !main_thread::is_scanning()).then(|| state.waiting.pop_front()).flatten()
}

fn begin(editor: &Editor, path: &str) -> Result<Acted, ToolError> {
    let wanted = match path {
        "" => None,
        path => {
            editor.check_write(path)?;
            Some(Roots::tidy_res(path)?)
        }
    };
    SceneSave::plan(editor, wanted, false)?.run()
}

/// As `MCPToolkitSuccess.ok` and `MCPToolkitError.fail` make it.
fn result(saved: Saved) -> VarDictionary {
    match saved {
        Ok(facts) => {
            let mut answer = VarDictionary::new();
            answer.set("success", true);
            for (name, value) in facts {
                match value {
                    Value::String(it) => answer.set(name, it),
                    other => answer.set(name, other.as_i64().unwrap_or_default()),
                }
            }
            answer
        }
        Err(error) => failure::dictionary(&error),
    }
}
