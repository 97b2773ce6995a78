//! What a tool file needs. For tool files only.

pub(crate) use godot_mcp_core::args::{
    ActionName, GroupName, Identifier, NodeName, NodeRef, ResPath, ResourcePath, SettingName,
    UserPath,
};
pub(crate) use godot_mcp_core::call::AnswerFuture;
pub(crate) use godot_mcp_core::schema::AnyValue;
pub(crate) use godot_mcp_core::spec::{TabUse, ToolSpec};
pub(crate) use godot_mcp_core::{
    Answer, Code, Example, Reply, SafetyClass, Site, ToolError, UndoKind, suggest,
};
pub(crate) use schemars::JsonSchema;
pub(crate) use serde::Deserialize;
pub(crate) use serde_json::{Map, Value, json};

pub(crate) use crate::app::Shared;
pub(crate) use crate::editor::Editor;
pub(crate) use crate::editor::branch;
pub(crate) use crate::editor::edit::{Acted, Edit, Op, Step};
pub(crate) use crate::editor::persistence::{self, Reason, Verdict};
pub(crate) use crate::editor::scene::Scene;
pub(crate) use crate::editor::values;
pub(crate) use crate::tool::{
    AsyncTool, EditTool, OfflineTool, Outcome, ReadTool, RuntimeTool, Tool,
};
