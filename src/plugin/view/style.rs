//! Colours, for whoever sees them: the outside strips them where the output is no terminal or `NO_COLOR` is set.

use clap::builder::styling::{AnsiColor, Style};

/// Good news.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// Bad news.
pub const BAD: Style = AnsiColor::Red.on_default();
/// On its way, or not known.
pub const OPEN: Style = AnsiColor::Yellow.on_default();
/// What stands out.
pub const STRONG: Style = Style::new().bold();
/// What does not.
pub const FAINT: Style = Style::new().dimmed();

/// `text` in `style`.
pub fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// How a condition's status reads, where `True` is `good`.
pub fn of_status(status: &str, good: bool) -> Style {
    match (status, good) {
        ("True", true) | ("False", false) => GOOD,
        ("True", false) | ("False", true) => BAD,
        _ => OPEN,
    }
}
