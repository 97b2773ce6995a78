//! Always on: health, history, errors, reference, switching toolsets.

mod health_check;

use crate::tool::ToolDef;

pub(super) const TOOLS: &[ToolDef] = &[ToolDef::offline::<health_check::HealthCheck>()];
