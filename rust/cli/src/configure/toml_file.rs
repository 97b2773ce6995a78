//! TOML files, comments and layout kept.

use serde_json::{Map, Value, json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, value as toml_value};

use super::NAME;
use super::entry::OWN_KEYS;

/// The whole file as a value.
pub(super) fn value(text: &str) -> Result<Value, String> {
    let document = parse(text)?;
    Ok(json_of_table(document.as_table()))
}

/// See [`super::json_file::with_entry`].
pub(super) fn with_entry(
    text: &str,
    container: &[&str],
    entry: &Value,
    replace: bool,
) -> Result<String, String> {
    let mut document = parse(text)?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    let mut inline = false;
    for key in container {
        let inner = table.entry(key).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        // What is put into a table that is written as `{ ... }` must be written so too.
        inline |= inner.is_value();
        table = inner.as_table_like_mut().ok_or_else(|| format!("\"{key}\" is not a table"))?;
    }
    let found = table.get_mut(NAME).filter(|_| !replace);
    match found.and_then(Item::as_table_like_mut) {
        Some(found) => {
            for key in OWN_KEYS {
                match entry.get(key) {
                    Some(wanted) if found.get(key).map(json_of_item).as_ref() != Some(wanted) => {
                        found.insert(key, item(wanted));
                    }
                    Some(_) => {}
                    None => drop(found.remove(key)),
                }
            }
        }
        None => {
            let fields = entry.as_object().into_iter().flatten();
            let entry = if inline {
                let fields =
                    fields.filter_map(|(key, it)| Some((key, item(it).into_value().ok()?)));
                toml_value(fields.collect::<InlineTable>())
            } else {
                Item::Table(fields.map(|(key, it)| (key.as_str(), item(it))).collect())
            };
            table.insert(NAME, entry);
        }
    }
    Ok(document.to_string())
}

pub(super) fn without_entry(text: &str, container: &[&str]) -> Result<String, String> {
    let mut document = parse(text)?;
    let mut table: Option<&mut dyn TableLike> = Some(document.as_table_mut());
    for key in container {
        table = table.and_then(|it| it.get_mut(key)).and_then(Item::as_table_like_mut);
    }
    if let Some(table) = table {
        table.remove(NAME);
    }
    Ok(document.to_string())
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|it| it.to_string().trim().replace('\n', " "))
}

fn item(value: &Value) -> Item {
    match value {
        Value::Bool(it) => toml_value(*it),
        Value::Array(items) => {
            toml_value(items.iter().filter_map(Value::as_str).collect::<Array>())
        }
        Value::Object(map) => {
            let fields = map.iter().filter_map(|(key, it)| Some((key, it.as_str()?)));
            toml_value(fields.collect::<InlineTable>())
        }
        other => toml_value(other.as_str().unwrap_or_default()),
    }
}

fn json_of_table(table: &dyn TableLike) -> Value {
    let fields = table.iter().map(|(key, item)| (key.to_owned(), json_of_item(item)));
    Value::Object(fields.collect::<Map<_, _>>())
}

fn json_of_item(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Table(table) => json_of_table(table),
        Item::ArrayOfTables(tables) => tables.iter().map(|it| json_of_table(it)).collect(),
        Item::Value(value) => json_of_value(value),
    }
}

fn json_of_value(value: &toml_edit::Value) -> Value {
    use toml_edit::Value as Toml;
    match value {
        Toml::String(it) => json!(it.value()),
        Toml::Integer(it) => json!(it.value()),
        Toml::Float(it) => json!(it.value()),
        Toml::Boolean(it) => json!(it.value()),
        Toml::Datetime(it) => json!(it.value().to_string()),
        Toml::Array(items) => items.iter().map(json_of_value).collect(),
        Toml::InlineTable(table) => json_of_table(table),
    }
}
