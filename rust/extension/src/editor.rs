//! What tools know of the editor: the edited scene, paths, values, edits, undo.

pub(crate) mod assets;
pub(crate) mod attachable;
pub(crate) mod branch;
pub(crate) mod connections;
pub(crate) mod edit;
pub(crate) mod file_diff;
pub(crate) mod file_mover;
pub(crate) mod file_search;
pub(crate) mod file_uses;
pub(crate) mod files;
pub(crate) mod game_process;
pub(crate) mod glob;
pub(crate) mod groups;
pub(crate) mod history;
pub(crate) mod inspect;
pub(crate) mod loaded_scripts;
pub(crate) mod log_feed;
pub(crate) mod new_nodes;
pub(crate) mod node_classes;
pub(crate) mod persistence;
pub(crate) mod project_settings;
pub(crate) mod properties;
pub(crate) mod property_edit;
pub(crate) mod quirks;
pub(crate) mod raw_node;
pub(crate) mod references;
pub(crate) mod resource_edit;
pub(crate) mod resource_text;
pub(crate) mod resource_watch;
pub(crate) mod saving;
pub(crate) mod scaffold;
pub(crate) mod scene;
pub(crate) mod scene_files;
pub(crate) mod scene_keeper;
pub(crate) mod scene_save;
pub(crate) mod scene_tabs;
pub(crate) mod scene_tree;
pub(crate) mod script_check;
pub(crate) mod script_files;
pub(crate) mod script_tabs;
pub(crate) mod snapshots;
pub(crate) mod spatial;
pub(crate) mod values;

use std::rc::Rc;
use std::time::Instant;

use godot::classes::{EditorInterface, Object, ResourceUid};
use godot::obj::{Gd, Singleton};
use godot_mcp_core::args::{ResPath, ResourcePath};
use godot_mcp_core::call::{Peer, ProgressSink};
use godot_mcp_core::paths::{Access, Roots};
use godot_mcp_core::{CancelFlag, Code, ToolError};

use crate::app::{App, Shared};
use crate::main_thread::Within;
use scene::Scene;

/// The editor, as one call sees it. Main thread only.
pub(crate) struct Editor {
    app: Rc<App>,
    progress: Option<ProgressSink>,
    caller: Option<Caller>,
}

/// Who waits for a call, as far as tools of the project may know.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) client: String,
    pub(crate) peer: Peer,
    pub(crate) cancel: CancelFlag,
    pub(crate) deadline: Instant,
    pub(crate) dry_run: bool,
    pub(crate) id: u64,
    pub(crate) within: Within,
}

impl Caller {
    /// An extension that calls on its own.
    pub(crate) fn of_extension(class: &str) -> Self {
        Self {
            client: format!("extension {class}"),
            peer: Peer::default(),
            cancel: CancelFlag::default(),
            deadline: Instant::now(),
            dry_run: false,
            id: 0,
            within: Within::from([]),
        }
    }
}

impl Editor {
    pub(crate) fn new(app: &Rc<App>, progress: Option<ProgressSink>) -> Self {
        Self { app: Rc::clone(app), progress, caller: None }
    }

    #[must_use]
    pub(crate) fn for_caller(mut self, caller: Caller) -> Self {
        self.caller = Some(caller);
        self
    }

    pub(crate) fn caller(&self) -> Option<&Caller> {
        self.caller.as_ref()
    }

    pub(crate) fn progress_sink(&self) -> Option<ProgressSink> {
        self.progress.clone()
    }

    pub(crate) fn app_rc(&self) -> Rc<App> {
        Rc::clone(&self.app)
    }

    pub(crate) fn app(&self) -> &App {
        &self.app
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.app.shared
    }

    pub(crate) fn interface(&self) -> Gd<EditorInterface> {
        EditorInterface::singleton()
    }

    pub(crate) fn progress(&self, done: f64, total: Option<f64>, text: &str) {
        if let Some(sink) = &self.progress {
            sink(done, total, text);
        }
    }

    /// The scene in the current tab.
    pub(crate) fn edited_scene(&self) -> Result<Scene, ToolError> {
        match self.interface().get_edited_scene_root() {
            Some(root) => {
                self.app.pump.note_scene_used();
                Ok(Scene::new(root))
            }
            None => Err(ToolError::precondition("active_scene", "no scene is open in the editor")
                .hint("open one with `open_scene`, or make one with `create_scene`")),
        }
    }

    /// Refuses when another scene than the expected one is edited, for example after a tab switch.
    pub(crate) fn expect_scene(&self, expected: &str) -> Result<(), ToolError> {
        let found = self
            .interface()
            .get_edited_scene_root()
            .map(|it| it.get_scene_file_path().to_string())
            .unwrap_or_default();
        if found == expected {
            return Ok(());
        }
        let message = format!("the edited scene is \"{found}\", not \"{expected}\"");
        Err(ToolError::new(Code::StateChanged, message)
            .required("expected_scene")
            .hint("switch to it with `open_scene`, then call again"))
    }

    /// Containment of a `res://` path that came from inside a value.
    pub(crate) fn check_read(&self, path: &str) -> Result<(), ToolError> {
        self.shared().gate.settings().roots.resolve_res(path, Access::Read).map(drop)
    }

    /// As `check_read`, for a path that is written and that the gate has not seen.
    pub(crate) fn check_write(&self, path: &str) -> Result<(), ToolError> {
        self.shared().gate.settings().roots.resolve_res(path, Access::Write).map(drop)
    }

    /// The tidy `res://` path of an argument. Containment was checked by the gate.
    pub(crate) fn res_path(&self, path: &ResPath) -> Result<String, ToolError> {
        Roots::tidy_res(path.as_str())
    }

    /// As `res_path`, with `uid://` looked up.
    pub(crate) fn resource_path(&self, path: &ResourcePath) -> Result<String, ToolError> {
        let text = path.as_str();
        if !text.starts_with("uid://") {
            return Roots::tidy_res(text);
        }
        let uids = ResourceUid::singleton();
        let id = uids.text_to_id(text);
        if !uids.has_id(id) {
            return Err(ToolError::not_found(format!("no resource has the uid \"{text}\""))
                .hint("give its res:// path"));
        }
        let path = uids.get_id_path(id).to_string();
        self.check_read(&path)?;
        Ok(path)
    }

    /// The values context for properties of `object` in the edited scene, if there is one.
    pub(crate) fn values<'a>(
        &'a self,
        object: Option<&Gd<Object>>,
        check_path: &'a dyn Fn(&str) -> Result<(), ToolError>,
    ) -> values::Context<'a> {
        values::Context {
            scene_root: self.interface().get_edited_scene_root(),
            object: object.cloned(),
            check_path,
        }
    }
}
