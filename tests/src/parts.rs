//! A test of several parts that share one editor. All of them run, and the last line says which failed
//! and why.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

#[derive(Default)]
pub struct Parts {
    failed: Vec<String>,
}

impl Parts {
    #[expect(clippy::print_stdout, reason = "says what took how long")]
    pub fn run(&mut self, name: &str, part: impl FnOnce()) {
        let begun = Instant::now();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(part)) {
            let why = panic.downcast_ref::<String>().map(String::as_str);
            let why = why.or_else(|| panic.downcast_ref::<&str>().copied());
            self.failed.push(format!("{name}: {}", why.unwrap_or("no message")));
        }
        println!("{name}: {:?}", begun.elapsed());
    }

    /// # Panics
    /// When a part has.
    #[track_caller]
    pub fn end(self) {
        assert!(self.failed.is_empty(), "failed:\n{}", self.failed.join("\n"));
    }
}
