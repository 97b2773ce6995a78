use crate::editor::project_settings;
use crate::tool_prelude::*;

/// Names of physics, render, navigation and avoidance layers, by number from 1; unnamed ones are
/// left out.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct GetLayerNames {
    /// Default: all.
    #[serde(default)]
    kind: Option<LayerKind>,
}

/// A kind of layers.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq)]
pub(super) enum LayerKind {
    #[serde(rename = "2d_physics")]
    Physics2d,
    #[serde(rename = "2d_render")]
    Render2d,
    #[serde(rename = "2d_navigation")]
    Navigation2d,
    #[serde(rename = "3d_physics")]
    Physics3d,
    #[serde(rename = "3d_render")]
    Render3d,
    #[serde(rename = "3d_navigation")]
    Navigation3d,
    #[serde(rename = "avoidance")]
    Avoidance,
}

impl LayerKind {
    const ALL: [Self; 7] = [
        Self::Physics2d,
        Self::Render2d,
        Self::Navigation2d,
        Self::Physics3d,
        Self::Render3d,
        Self::Navigation3d,
        Self::Avoidance,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Physics2d => "2d_physics",
            Self::Render2d => "2d_render",
            Self::Navigation2d => "2d_navigation",
            Self::Physics3d => "3d_physics",
            Self::Render3d => "3d_render",
            Self::Navigation3d => "3d_navigation",
            Self::Avoidance => "avoidance",
        }
    }

    pub(super) fn count(self) -> u32 {
        match self {
            Self::Render2d | Self::Render3d => 20,
            _ => 32,
        }
    }

    pub(super) fn setting(self, number: u32) -> String {
        format!("layer_names/{}/layer_{number}", self.name())
    }

    /// Named layers, by number.
    pub(super) fn names(self) -> Map<String, Value> {
        let name = |number| (number, project_settings::text(&self.setting(number)));
        let named = (1..=self.count()).map(name).filter(|it| !it.1.is_empty());
        named.map(|(number, name)| (number.to_string(), json!(name))).collect()
    }
}

impl Tool for GetLayerNames {
    const NAME: &'static str = "get_layer_names";
    const TOOLSET: &'static str = "project";

    fn examples() -> Vec<Example> {
        vec![
            Example::answer("Reads named layers.", "", json!({"2d_physics": {"3": "Coins"}}))
                .after("set_layer_names", json!({"kind": "2d_physics", "names": {"3": "Coins"}}))
                .args(json!({"kind": "2d_physics"})),
        ]
    }
}

impl ReadTool for GetLayerNames {
    fn run(self, _editor: &Editor) -> Result<Outcome, ToolError> {
        let kinds =
            LayerKind::ALL.into_iter().filter(|it| self.kind.is_none_or(|kind| kind == *it));
        let all: Map<String, Value> =
            kinds.map(|it| (it.name().to_owned(), Value::Object(it.names()))).collect();
        Ok(Value::Object(all).into())
    }
}
