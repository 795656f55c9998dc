//! Results for a person: each diagnostic with its source line, a caret and what to do; then a line for each path.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::excerpt::{self, Excerpt};
use super::target::Checked;
use crate::document::diagnostic::{Diagnostic, Location};
use crate::document::result::{Deferred, Status};

pub(super) fn print(checked: &[Checked], out: &mut impl Write) -> io::Result<()> {
    let renderer = Renderer::styled();
    for checked in checked {
        let result = &checked.validation.result;
        let mut diagnostics: Vec<_> = result.diagnostics.iter().collect();
        diagnostics.sort_by_key(|diagnostic| diagnostic.location);
        for diagnostic in diagnostics {
            writeln!(
                out,
                "{}\n",
                renderer.render(&[finding(checked, diagnostic)])
            )?;
        }
        for deferred in &result.deferred {
            writeln!(out, "{}\n", renderer.render(&[missing(checked, deferred)]))?;
        }
    }
    for checked in checked {
        let result = &checked.validation.result;
        writeln!(
            out,
            "{} {}{}",
            result.status,
            checked.path.display(),
            count(checked)
        )?;
    }
    Ok(())
}

fn count(checked: &Checked) -> String {
    let result = &checked.validation.result;
    let several = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    match result.status {
        Status::Valid => String::new(),
        Status::Invalid => format!(": {}", several(result.diagnostics.len(), "error")),
        Status::Incomplete => format!(
            ": {} deferred",
            several(result.deferred.len(), "obligation")
        ),
    }
}

/// A place in a file, with the line to show.
struct Shown {
    path: String,
    location: Option<Location>,
    excerpt: Option<Excerpt>,
}

impl Shown {
    fn of((path, source): (PathBuf, &[u8]), location: Option<Location>, conceal: bool) -> Self {
        Self {
            path: display(&path),
            location,
            excerpt: location.and_then(|location| excerpt::excerpt(source, location, conceal)),
        }
    }

    fn add<'a>(self, group: Group<'a>, label: String) -> Group<'a> {
        let (Some(location), Some(excerpt)) = (self.location, self.excerpt) else {
            return group.element(Origin::path(self.path));
        };
        // The renderer counts columns in what it is shown.
        let label = if excerpt.is_cut {
            format!("in column {} {label}", location.column)
        } else {
            label
        };
        group.element(
            Snippet::<Annotation<'_>>::source(excerpt.line)
                .line_start(location.line)
                .path(self.path)
                .annotation(AnnotationKind::Primary.span(excerpt.mark).label(label)),
        )
    }
}

fn finding(checked: &Checked, diagnostic: &Diagnostic) -> Group<'static> {
    let title = Level::ERROR
        .primary_title(diagnostic.message.clone())
        .id(diagnostic.code.to_string());
    let pointer = match diagnostic.path.as_str() {
        "" => String::new(),
        path => format!("at {path}"),
    };
    let place = Shown::of(
        checked.document(),
        diagnostic.location,
        excerpt::conceals(diagnostic.code),
    );
    let mut group = place.add(Group::with_title(title), pointer);
    let conceal = excerpt::conceals_related(diagnostic);
    for related in &diagnostic.related {
        let label = format!("at {}", related.path);
        group = match (checked.artifact(&related.artifact), related.location) {
            (Some(source), Some(location)) => {
                Shown::of(source, Some(location), conceal).add(group, label)
            }
            _ => group.element(Level::NOTE.message(format!("{} {label}", related.artifact))),
        };
    }
    group
}

fn missing(checked: &Checked, deferred: &Deferred) -> Group<'static> {
    let (path, _) = checked.document();
    let title = Level::WARNING
        .primary_title(format!("not decided: {} is missing", deferred.missing))
        .id(deferred.rule.clone());
    Group::with_title(title)
        .element(Origin::path(display(&path)))
        .element(Level::NOTE.message(format!("at {}", deferred.path)))
}

fn display(path: &Path) -> String {
    path.display().to_string()
}
