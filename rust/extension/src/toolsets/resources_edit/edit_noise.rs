use godot::classes::{FastNoiseLite, Resource};
use godot::obj::{Gd, NewGd};

use crate::editor::resource_edit::Draft;
use crate::tool_prelude::*;

/// Sets properties of a FastNoiseLite in a file, or of a noise texture's; makes a new file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct EditNoise {
    resource_path: ResPath,
    /// Such as noise_type, seed, frequency, fractal_octaves.
    properties: Map<String, Value>,
}

impl Tool for EditNoise {
    const NAME: &'static str = "edit_noise";
    const TOOLSET: &'static str = "resources_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
        spec.free_text = true;
    }

    fn examples() -> Vec<Example> {
        let before = ";- res://rock.tres\n[gd_resource type=\"FastNoiseLite\" format=3]\n\n[resource]\nseed = 3";
        let after = "\n;- res://rock.tres\n[resource]\nnoise_type = 2\nseed = 3\nfrequency = 0.5";
        let args = |properties: Value| json!({"resource_path": "res://rock.tres", "properties": properties});
        vec![
            Example::edit("Makes it cellular.", before, after)
                .args(args(json!({"noise_type": "Cellular", "frequency": 0.5}))),
            Example::refusal("Refuses an unknown property.", before, Code::ValidationError)
                .args(args(json!({"frequenzy": 0.5}))),
            Example::refusal("Refuses an unknown type of noise.", before, Code::ValidationError)
                .args(args(json!({"noise_type": "Brown"}))),
        ]
    }
}

impl EditTool for EditNoise {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.res_path(&self.resource_path)?;
        if self.properties.is_empty() {
            return Err(ToolError::invalid("properties", "no property is given")
                .hint("`describe_class` names those of FastNoiseLite"));
        }
        let made = || FastNoiseLite::new_gd().upcast();
        let draft = Draft::open_or(editor, &path, "resource_path", made)?;
        let mut noise: Gd<Resource> =
            draft.part::<FastNoiseLite>("FastNoiseLite", "noise")?.upcast();
        let check = |path: &str| editor.check_read(path);
        let context = values::Context { scene_root: None, object: None, check_path: &check };
        values::fill(&mut noise, &self.properties, "properties", &context)?;
        let mut edit =
            Edit::of_files(format!("Edit noise {}", path.rsplit('/').next().unwrap_or_default()));
        draft.write(&mut edit)?;
        Ok(edit)
    }
}
