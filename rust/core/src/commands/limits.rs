//! Every bound of project commands, in one place. Tests make both sides of each bound from here.

/// Where a project declares its commands, next to `project.godot` (R5).
pub const FILE: &str = "godot_mcp_commands.json";
/// The only format version (R8).
pub const FORMAT_VERSION: u32 = 1;
/// R6.
pub const FILE_MAX_BYTES: usize = 262_144;
/// R9.
pub const PROVIDERS_MAX: usize = 16;
/// R10, over all providers.
pub const COMMANDS_TOTAL_MAX: usize = 64;
/// R14.
pub const COMMANDS_PER_PROVIDER_MIN: usize = 1;
/// R12 and R16, ids of providers and names of commands.
pub const ID_MAX_CHARS: usize = 64;
/// R13.
pub const SCRIPT_MAX_CHARS: usize = 1_024;
/// R17. At least one.
pub const TITLE_MAX_CHARS: usize = 128;
/// R18. At least one.
pub const DESCRIPTION_MAX_CHARS: usize = 1_024;
/// R19, as compact JSON.
pub const INPUT_SCHEMA_MAX_BYTES: usize = 16_384;

/// R34, as compact JSON.
pub const ARGS_MAX_BYTES: usize = 262_144;
/// R35. The arguments object itself is the first level; scalars add none.
pub const ARGS_MAX_DEPTH: usize = 16;
/// R36, items of one array and entries of one object.
pub const ARGS_MAX_ITEMS: usize = 4_096;
/// R37, values and keys.
pub const ARGS_MAX_STRING_CHARS: usize = 65_536;
/// R38: 2^53.
pub const ARGS_MAX_ABS_INT: u64 = 9_007_199_254_740_992;

/// R61.
pub const DEADLINE_MIN_MS: u64 = 1_000;
pub const DEADLINE_MAX_MS: u64 = 600_000;
pub const DEADLINE_DEFAULT_MS: u64 = 60_000;
/// R77: how long past its deadline a call is still waited for.
pub const DEADLINE_GRACE_MS: u64 = 2_000;

/// R92, in Godot's spelling.
pub const VALUE_LITERAL_MAX_CHARS: usize = 262_144;
/// R93.
pub const ERROR_MAX_CHARS: usize = 4_096;
/// R94, diagnostics and output together (A12).
pub const LOG_ENTRIES_MAX: usize = 200;
/// R95.
pub const CHANGES_LISTED_MAX: usize = 1_000;
/// R96.
pub const COMPARE_MAX_FILES: u64 = 100_000;
pub const COMPARE_MAX_BYTES: u64 = 4_294_967_296;

// The bounds below are this implementation's own; the contract leaves them open.

/// Nesting that the JSON reader follows. Deeper text is an error at its place, not a crash.
pub const JSON_MAX_DEPTH: usize = 127;
/// Problems that a listing spells out; the total is always told. A file cannot hold more than this
/// by accident, and without a bound a hostile one makes an answer of hundreds of megabytes.
pub const PROBLEMS_LISTED_MAX: usize = 1_000;
/// Problems that the refusal of one call spells out.
pub const CALL_PROBLEMS_MAX: usize = 20;
/// Characters of a found value that a message quotes.
pub const QUOTED_MAX_CHARS: usize = 80;
/// `{n}` and `{n,m}` of a pattern count at most this far; `maxLength` bounds longer texts.
pub const PATTERN_REPEAT_MAX: u32 = 1_024;
/// Size of one pattern with its repetitions written out, in `pattern`'s units. It keeps the matcher
/// small, and its time a small multiple of the text's length.
pub const PATTERN_COST_MAX: u64 = 8_192;
/// The same over all patterns of one schema.
pub const SCHEMA_PATTERN_COST_MAX: u64 = 65_536;
/// A provider script (A7).
pub const SCRIPT_MAX_BYTES: u64 = 1_048_576;
/// Scripts that a provider's digest follows through `preload` and `extends` (A15).
pub const BUNDLE_SCRIPTS_MAX: usize = 256;
/// A file whose before-image is kept (B5), and all of them together.
pub const IMAGE_MAX_BYTES: u64 = 8 << 20;
pub const IMAGES_TOTAL_MAX_BYTES: u64 = 256 << 20;
