//! A screen that nobody looks at, for editors with a window.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::editor::repository;

/// An X server without hardware. Ended when dropped.
pub struct Display {
    server: Child,
    /// As in `DISPLAY`.
    pub name: String,
}

impl Display {
    /// Starts one, on the first free number. An editor without a window manager fills it.
    pub fn start(width: u32, height: u32) -> Self {
        let found = Command::new(repository().join("scripts/godot.sh"))
            .arg("display")
            .stderr(Stdio::inherit())
            .output()
            .expect("scripts/godot.sh runs");
        assert!(found.status.success(), "no Xvfb");
        let program = String::from_utf8(found.stdout).expect("UTF-8");
        let mut server = Command::new(program.trim())
            .args(["-displayfd", "1", "-nolisten", "tcp", "-screen", "0"])
            .arg(format!("{width}x{height}x24"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb starts");
        // It prints its number once it listens.
        let mut line = String::new();
        let stdout = server.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("Xvfb says its number");
        let number: u32 = line.trim().parse().expect("a number");
        Self { server, name: format!(":{number}") }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // Already ended is fine.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
