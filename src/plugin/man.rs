//! `man`: the manual pages, made from the same text as `--help`.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, CommandFactory};
use clap_mangen::Man as Page;

use super::Plugin;

/// Write the manual pages into a directory.
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Man {
    /// The directory.
    directory: PathBuf,
}

impl Man {
    /// Runs the verb.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn run(self) -> anyhow::Result<()> {
        let directory = self.directory;
        fs::create_dir_all(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        for (name, text) in pages()? {
            let path = directory.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// Every page by its file's name: one of the program and one of each verb.
///
/// # Errors
/// When a page cannot be rendered, which a test excludes.
pub fn pages() -> anyhow::Result<Vec<(String, String)>> {
    let mut root = Plugin::command().disable_help_subcommand(true);
    root.build();
    let verbs: Vec<clap::Command> = root
        .get_subcommands()
        .filter(|verb| !verb.is_hide_set())
        .cloned()
        .collect();
    let mut pages = Vec::new();
    for command in std::iter::once(root).chain(verbs) {
        // Pages are found by names without blanks.
        let name = command
            .get_display_name()
            .unwrap_or(command.get_name())
            .to_owned();
        let page = Page::new(command.display_name(name.clone())).title(name.clone());
        let mut text = Vec::new();
        page.render(&mut text)?;
        pages.push((format!("{name}.1"), String::from_utf8(text)?));
    }
    Ok(pages)
}
