//! Whether project commands may be called at all (R87 to R91). The operator decides.

/// The project setting that does the same as the variable.
pub const SETTING: &str = "godot_mcp/commands/enabled";
pub const VARIABLE: &str = "GODOT_MCP_PROJECT_COMMANDS";

/// What the operator said, the strongest first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes<'a> {
    /// Value of the environment variable.
    pub variable: Option<&'a str>,
    /// Value of the project setting. None when the project does not set it.
    pub setting: Option<bool>,
    /// Whether only this machine can reach the listener.
    pub loopback: bool,
}

/// On, or why not (R53).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    pub disabled_reason: Option<String>,
    /// What the operator should know at start (R90).
    pub warning: Option<String>,
}

impl Switch {
    pub fn on() -> Self {
        Self { disabled_reason: None, warning: None }
    }

    pub fn off(reason: impl Into<String>) -> Self {
        Self { disabled_reason: Some(reason.into()), warning: None }
    }

    pub fn is_on(&self) -> bool {
        self.disabled_reason.is_none()
    }
}

/// On by default where only this machine can call, since the code is the project's own and the
/// editor runs its tool scripts anyway (R91); off elsewhere (R87). A value of the variable that is
/// neither yes nor no turns them off: a typo must not open anything.
pub fn decide(wishes: Wishes<'_>) -> Switch {
    let asked = match wishes.variable.map(str::trim).filter(|it| !it.is_empty()) {
        Some(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "on" => Some(true),
            "false" | "0" | "off" => {
                return Switch::off(format!("{VARIABLE} turns project commands off"));
            }
            _ => {
                return Switch::off(format!("{VARIABLE} is {text:?}, neither true nor false"));
            }
        },
        None => wishes.setting,
    };
    match asked {
        Some(false) => Switch::off(format!("the project setting {SETTING} turns them off")),
        Some(true) if !wishes.loopback => Switch {
            warning: Some(
                "other hosts can reach this server, and whoever has its token can run the \
                 project's commands"
                    .to_owned(),
            ),
            ..Switch::on()
        },
        None if !wishes.loopback => Switch::off(format!(
            "they are off where other hosts can reach the server; {VARIABLE}=true turns them on"
        )),
        _ => Switch::on(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wishes(variable: Option<&str>, setting: Option<bool>, loopback: bool) -> Switch {
        decide(Wishes { variable, setting, loopback })
    }

    /// R87, R91.
    #[test]
    fn on_for_this_machine_only() {
        assert_eq!(wishes(None, None, true), Switch::on());
        assert!(!wishes(None, None, false).is_on());
    }

    /// R88.
    #[test]
    fn the_variable_is_stronger_than_the_setting() {
        for text in ["false", "0", "off", "FALSE", " false "] {
            assert!(!wishes(Some(text), Some(true), true).is_on(), "{text}");
        }
        for text in ["true", "1", "on", "True"] {
            assert!(wishes(Some(text), Some(false), true).is_on(), "{text}");
            assert!(wishes(Some(text), None, false).is_on(), "{text}");
        }
        assert!(!wishes(None, Some(false), true).is_on());
        assert!(!wishes(Some(""), Some(false), true).is_on());
    }

    /// R88. A typo closes.
    #[test]
    fn what_is_neither_yes_nor_no_turns_off() {
        let off = wishes(Some("flase"), Some(true), true);
        assert!(off.disabled_reason.expect("off").contains("\"flase\""));
    }

    /// R90: the listener without a token that it speaks of cannot be started here (S9.1).
    #[test]
    fn an_open_address_warns() {
        assert!(wishes(Some("true"), None, false).warning.is_some());
        assert!(wishes(Some("true"), None, true).warning.is_none());
    }
}
