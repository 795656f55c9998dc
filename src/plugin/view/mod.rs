//! Objects as text: trees, tables and lists for people. Pure: the time is handed in, and nothing here talks to a cluster.
//! Whatever comes from an object is shown without control characters, which a terminal would obey.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod age;
pub mod branch;
pub mod credential;
pub mod events;
pub mod list;
pub mod nodes;
pub mod purge;
pub mod records;
pub mod style;
pub mod table;
pub mod tree;

/// `text` on one line, without what a terminal would obey.
pub fn plain(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => ' ',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}
