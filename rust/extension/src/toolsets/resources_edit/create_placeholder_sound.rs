use crate::editor::assets;
use crate::tool_prelude::*;

/// Writes a tone of some seconds as WAV, to work with until there is a sound, and imports it.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CreatePlaceholderSound {
    resource_path: ResPath,
    #[serde(default = "duration")]
    #[schemars(range(min = 0.01, max = 10))]
    duration: f64,
    #[serde(default = "frequency")]
    #[schemars(range(min = 20, max = 10000))]
    frequency: f64,
    #[serde(default)]
    wave: Wave,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Wave {
    #[default]
    Sine,
    Square,
    Noise,
}

const RATE: u32 = 22_050;
/// Of full scale: a placeholder is not to startle.
const VOLUME: f64 = 0.3;
/// Seconds in which the sound comes and goes, so it does not click.
const FADE: f64 = 0.005;

fn duration() -> f64 {
    0.2
}

fn frequency() -> f64 {
    440.0
}

impl Tool for CreatePlaceholderSound {
    const NAME: &'static str = "create_placeholder_sound";
    const TOOLSET: &'static str = "resources_edit";

    fn adjust(spec: &mut ToolSpec) {
        spec.writes_disk = true;
    }

    fn examples() -> Vec<Example> {
        let args =
            |path: &str, wave: &str| json!({"resource_path": path, "duration": 0.05, "wave": wave});
        vec![
            Example::answer(
                "Writes and imports a tone.",
                "",
                json!({"created": true, "seconds": 0.05, "type": "AudioStreamWAV"}),
            )
            .args(args("res://hit.wav", "square")),
            Example::refusal("Refuses another kind of file.", "", Code::ValidationError)
                .args(args("res://hit.ogg", "square")),
            Example::refusal("Refuses an unknown wave.", "", Code::ValidationError)
                .args(args("res://hit.wav", "saw")),
        ]
    }
}

impl EditTool for CreatePlaceholderSound {
    const CLASS: SafetyClass = SafetyClass::Mutating;
    const SITE: Site = Site::SafeLane;

    fn plan(self, editor: &Editor) -> Result<Edit, ToolError> {
        let path = editor.res_path(&self.resource_path)?;
        assets::check(&path, ".wav")?;
        let mut edit =
            Edit::of_files(format!("Create {}", path.rsplit('/').next().unwrap_or_default()));
        edit.fact("seconds", self.duration);
        assets::write(&mut edit, &path, wav(self.duration, self.frequency, self.wave));
        Ok(edit)
    }
}

/// 16 bits, mono.
fn wav(duration: f64, frequency: f64, wave: Wave) -> Vec<u8> {
    let count = (duration * f64::from(RATE)).round().max(1.0) as u32;
    let size = count * 2;
    let mut bytes = Vec::with_capacity(size as usize + 44);
    bytes.extend(b"RIFF");
    bytes.extend((size + 36).to_le_bytes());
    bytes.extend(b"WAVEfmt ");
    bytes.extend(16_u32.to_le_bytes());
    for number in [1_u16, 1] {
        bytes.extend(number.to_le_bytes());
    }
    for number in [RATE, RATE * 2] {
        bytes.extend(number.to_le_bytes());
    }
    for number in [2_u16, 16] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(b"data");
    bytes.extend(size.to_le_bytes());
    // The same noise each time, so a preview and a run are equal.
    let mut random = 0x2545_f491_u32;
    for index in 0..count {
        let time = f64::from(index) / f64::from(RATE);
        let phase = (time * frequency).fract();
        let level = match wave {
            Wave::Sine => (phase * std::f64::consts::TAU).sin(),
            Wave::Square if phase < 0.5 => 1.0,
            Wave::Square => -1.0,
            Wave::Noise => {
                random ^= random << 13;
                random ^= random >> 17;
                random ^= random << 5;
                f64::from(random) / f64::from(u32::MAX) * 2.0 - 1.0
            }
        };
        let left = duration - time;
        let fade = (time.min(left) / FADE).clamp(0.0, 1.0);
        let sample = (level * VOLUME * fade * f64::from(i16::MAX)).round() as i16;
        bytes.extend(sample.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sounds_are_as_long_as_their_header_says() {
        for wave in [Wave::Sine, Wave::Square, Wave::Noise] {
            let bytes = wav(0.5, 440.0, wave);
            assert_eq!(bytes.len(), 44 + 11_025 * 2);
            let size = u32::from_le_bytes(bytes[40..44].try_into().expect("four bytes"));
            assert_eq!(size as usize, bytes.len() - 44);
            let samples = bytes[44..].chunks(2).map(|it| i16::from_le_bytes([it[0], it[1]]));
            let loudest = samples.map(i16::unsigned_abs).max().expect("samples");
            assert!((6_000..=10_000).contains(&loudest), "{loudest}");
        }
    }
}
