//! The one shape of a page (X9): `returned`, `total_<unit>` and `has_more` always, a cursor and a hint
//! only when there is more.

use serde_json::{Map, Value, json};

/// Where a page lies in what it is a page of.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// What is counted: `bytes`, `lines`, `entries`.
    pub unit: &'a str,
    pub total: i64,
    pub returned: i64,
    pub has_more: bool,
    /// Name and value of the argument that goes on; none for what has no order to go on in.
    pub next: Option<(&'a str, i64)>,
    /// What to do to see the rest.
    pub hint: &'a str,
}

impl<'a> Page<'a> {
    /// `returned` of `total` from `offset` on.
    pub fn at(offset: i64, returned: i64, unit: &'a str, total: i64, hint: &'a str) -> Self {
        let end = offset.max(0).saturating_add(returned.max(0));
        let has_more = end < total;
        // A cursor that stays where it is would send its reader round for ever.
        let next = (has_more && returned > 0).then_some(("next_offset", end));
        Self { unit, total, returned, has_more, next, hint }
    }

    /// Lines up to `end_line`, which counts from 1.
    pub fn lines(end_line: i64, returned: i64, total: i64, hint: &'a str) -> Self {
        let has_more = end_line.max(0) < total;
        let next =
            (has_more && returned > 0).then_some(("next_start_line", end_line.saturating_add(1)));
        Self { unit: "lines", total, returned, has_more, next, hint }
    }

    /// The fields of an answer.
    pub fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("returned".into(), json!(self.returned));
        fields.insert(format!("total_{}", self.unit), json!(self.total));
        fields.insert("has_more".into(), json!(self.has_more));
        if self.has_more {
            if let Some((name, value)) = self.next {
                fields.insert(name.into(), json!(value));
            }
            if !self.hint.is_empty() {
                fields.insert("hint".into(), json!(self.hint));
            }
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(page: Page<'_>) -> Value {
        Value::Object(page.fields())
    }

    /// X9: three fields always, cursor and hint only when there is more.
    #[test]
    fn has_one_shape() {
        assert_eq!(
            fields(Page::at(10, 5, "entries", 20, "go on")),
            json!({"returned": 5, "total_entries": 20, "has_more": true, "next_offset": 15, "hint": "go on"})
        );
        assert_eq!(
            fields(Page::at(15, 5, "entries", 20, "go on")),
            json!({"returned": 5, "total_entries": 20, "has_more": false})
        );
        assert_eq!(
            fields(Page::lines(20, 20, 50, "go on")),
            json!({"returned": 20, "total_lines": 50, "has_more": true, "next_start_line": 21, "hint": "go on"})
        );
        assert_eq!(
            fields(Page::lines(50, 30, 50, "go on")),
            json!({"returned": 30, "total_lines": 50, "has_more": false})
        );
    }

    /// A reader who follows the cursor always comes to an end.
    #[test]
    fn cursors_move_on() {
        for returned in 0..4 {
            for total in 0..20 {
                let mut offset = 0;
                for step in 0.. {
                    assert!(step <= 20, "{returned} of {total} goes on for ever");
                    let Some((_, next)) = Page::at(offset, returned, "rows", total, "").next else {
                        break;
                    };
                    assert!(next > offset);
                    offset = next;
                }
            }
        }
        // Nothing came, so there is nothing to go on from, and still it is not the end.
        let stuck = Page::at(3, 0, "rows", 9, "narrow the search");
        assert_eq!(
            fields(stuck),
            json!({"returned": 0, "total_rows": 9, "has_more": true, "hint": "narrow the search"})
        );
    }
}
