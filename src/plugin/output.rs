//! What goes to standard output: text in colours where there is a terminal, or objects as JSON or YAML.

use std::io::{self, IsTerminal, Write};

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::{Value, json};

/// How objects are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
}

/// Asks for objects in the place of text.
#[derive(Clone, Copy, Debug, Args)]
pub struct Output {
    /// Print the objects themselves.
    #[arg(short = 'o', long = "output", value_enum, value_name = "FORMAT")]
    pub format: Option<Format>,
}

/// Prints text for people; colours are for terminals.
///
/// # Errors
/// When nobody reads.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints `text` in the place of what stands on the terminal, or below it where there is none.
///
/// # Errors
/// When nobody reads.
pub fn reprint(text: &str) -> anyhow::Result<()> {
    if io::stdout().is_terminal() {
        print(&format!("\u{1b}[H\u{1b}[2J\u{1b}[3J{text}"))
    } else {
        print(&format!("{text}\n"))
    }
}

impl Format {
    /// Prints `object`, without the book-keeping of field managers.
    ///
    /// # Errors
    /// When nobody reads.
    pub fn print(self, object: &impl Serialize) -> anyhow::Result<()> {
        let mut value = serde_json::to_value(object)?;
        strip(&mut value);
        let text = match self {
            Self::Json => format!("{value:#}\n"),
            Self::Yaml => format!("{}\n", serde_saphyr::to_string(&value)?.trim_end()),
        };
        print(&text)
    }

    /// Prints `objects` as one List.
    ///
    /// # Errors
    /// When nobody reads.
    pub fn print_list(self, objects: &[impl Serialize]) -> anyhow::Result<()> {
        self.print(&json!({"apiVersion": "v1", "kind": "List", "items": objects}))
    }
}

fn strip(value: &mut Value) {
    if let Some(Value::Object(metadata)) = value.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    if let Some(Value::Array(items)) = value.get_mut("items") {
        items.iter_mut().for_each(strip);
    }
}
