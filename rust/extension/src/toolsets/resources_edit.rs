//! Resource files and autoloads.

mod register_autoload;
mod unregister_autoload;

use crate::editor::project_settings;
use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::edit::<register_autoload::RegisterAutoload>(),
    ToolDef::edit::<unregister_autoload::UnregisterAutoload>(),
];

fn autoload_names() -> Vec<String> {
    let names = project_settings::names();
    names.iter().filter_map(|it| it.strip_prefix("autoload/").map(str::to_owned)).collect()
}
