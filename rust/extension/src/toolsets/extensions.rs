//! The tools that the project itself adds: what is loaded, what is wrong, and a look at the disk now.

mod extensions_refresh;
mod extensions_status;
mod extensions_validate;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[
    ToolDef::read::<extensions_status::ExtensionsStatus>(),
    ToolDef::runtime::<extensions_refresh::ExtensionsRefresh>(),
    ToolDef::read::<extensions_validate::ExtensionsValidate>(),
];
