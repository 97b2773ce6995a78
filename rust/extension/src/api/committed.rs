//! Undo tokens of the actions that scripts commit while a call runs (X7).
//!
//! A handler may await, so an action can be committed in a later frame, from a signal. Mutations run
//! one at a time, and a call that calls another waits for it; so the newest slot is the one of the
//! call that runs.

use std::cell::{Cell, RefCell};

thread_local! {
    static SLOTS: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Kept {
    id: u64,
    tokens: Vec<String>,
}

/// Collects from when it is made until it is taken or dropped.
#[derive(Debug)]
pub(crate) struct Committed(u64);

impl Committed {
    pub(crate) fn open() -> Self {
        let id = COUNT.get() + 1;
        COUNT.set(id);
        SLOTS.with_borrow_mut(|it| it.push(Kept { id, tokens: Vec::new() }));
        Self(id)
    }

    /// The tokens in the order of the commits. The last one undoes the newest action.
    pub(crate) fn take(self) -> Vec<String> {
        self.remove()
    }

    fn remove(&self) -> Vec<String> {
        SLOTS.with_borrow_mut(|slots| {
            let index = slots.iter().position(|it| it.id == self.0);
            index.map(|it| slots.remove(it).tokens).unwrap_or_default()
        })
    }
}

impl Drop for Committed {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Hands a token to the call that runs. Without one, the human still has the action.
pub(crate) fn add(token: String) {
    SLOTS.with_borrow_mut(|slots| {
        if let Some(slot) = slots.last_mut() {
            slot.tokens.push(token);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_to_the_newest_call() {
        add("nobody's".to_owned());
        let outer = Committed::open();
        add("u1".to_owned());
        let inner = Committed::open();
        add("u2".to_owned());
        assert_eq!(inner.take(), ["u2"]);
        drop(Committed::open());
        add("u3".to_owned());
        assert_eq!(outer.take(), ["u1", "u3"]);
        assert!(SLOTS.with_borrow(Vec::is_empty));
    }
}
