//! Results for a person: each diagnostic with its source line, a caret and what to do; then a line for each path, and one
//! for all of them.

use std::io::{self, Write};

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::excerpt::{self, Excerpt};
use super::target::{Checked, Spot};
use crate::contract::blueprint::node::ITEM_ROOT;
use crate::document::diagnostic::{Diagnostic, Location};
use crate::document::result::{Deferred, Status};
use crate::document::yaml;

/// As many findings of one path as are shown. Nobody reads more, and each may have to be looked up in a long line.
const SHOWN: usize = 100;

pub(super) fn print(checked: &[Checked], out: &mut impl Write) -> io::Result<()> {
    let renderer = Renderer::styled();
    for checked in checked {
        let result = &checked.validation.result;
        let mut diagnostics: Vec<_> = result.diagnostics.iter().collect();
        diagnostics.sort_by_key(|diagnostic| diagnostic.location);
        let wrong = diagnostics
            .into_iter()
            .map(|diagnostic| finding(checked, diagnostic));
        let missing = result
            .deferred
            .iter()
            .map(|deferred| missing(checked, deferred));
        for group in wrong.chain(missing).take(SHOWN) {
            writeln!(out, "{}\n", renderer.render(&[group]))?;
        }
        let more = (result.diagnostics.len() + result.deferred.len()).saturating_sub(SHOWN);
        if more > 0 {
            let path = checked.path.display();
            writeln!(
                out,
                "{more} more in {path} are not shown: mend these first, or use --format json\n"
            )?;
        }
    }
    for checked in checked {
        let status = checked.validation.result.status;
        let path = checked.path.display();
        writeln!(out, "{status} {path}{}", count(checked))?;
    }
    if checked.len() > 1 {
        writeln!(out, "{}", summary(checked))?;
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

/// The last line of a log tells the outcome, however many paths there are.
fn summary(checked: &[Checked]) -> String {
    let counts = [Status::Invalid, Status::Incomplete, Status::Valid].map(|status| {
        let of_it = |checked: &&Checked| checked.validation.result.status == status;
        (checked.iter().filter(of_it).count(), status)
    });
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<_> = counts
        .map(|(count, status)| format!("{count} {status}"))
        .collect();
    format!("{} checked: {}", checked.len(), counts.join(", "))
}

/// A place in a file, with the line to show.
struct Shown {
    path: String,
    location: Option<Location>,
    excerpt: Option<Excerpt>,
    conceal: bool,
}

impl Shown {
    fn of(spot: Spot<'_>, conceal: bool) -> Self {
        let show = |location| {
            if yaml::parse(spot.source).is_ok() {
                excerpt::excerpt(spot.source, location, conceal)
            } else {
                excerpt::syntax(spot.source, location)
            }
        };
        Self {
            path: spot.path.display().to_string(),
            location: spot.location,
            excerpt: spot.location.and_then(show),
            conceal,
        }
    }

    fn add<'a>(self, group: Group<'a>, mut label: String) -> Group<'a> {
        let (Some(location), Some(excerpt)) = (self.location, self.excerpt) else {
            return group.element(Origin::path(self.path));
        };
        // The renderer counts columns in what it is shown.
        if excerpt.is_cut {
            label = format!("in column {} {label}", location.column);
        }
        if self.conceal {
            label.push_str(" (not shown, it may be a secret)");
        }
        group.element(
            Snippet::<Annotation<'_>>::source(excerpt.line)
                .line_start(location.line)
                .path(self.path)
                .annotation(AnnotationKind::Primary.span(excerpt.mark).label(label)),
        )
    }
}

fn finding(checked: &Checked, diagnostic: &Diagnostic) -> Group<'static> {
    let (problem, remedy) = parts(&diagnostic.message);
    let title = Level::ERROR
        .primary_title(problem.to_owned())
        .id(diagnostic.code.to_string());
    let pointer = match diagnostic.path.as_str() {
        "" => String::new(),
        path => format!("at {path}"),
    };
    let spot = checked.spot(&diagnostic.path, diagnostic.location);
    let place = Shown::of(spot, excerpt::conceals(diagnostic.code));
    let mut group = place.add(Group::with_title(title), pointer);
    for related in &diagnostic.related {
        let label = format!("at {}", related.path);
        group = match checked.related(related) {
            Some(spot) => {
                let conceal = excerpt::conceals_related(diagnostic.code, related);
                Shown::of(spot, conceal).add(group, label)
            }
            None => group.element(Level::NOTE.message(format!("{} {label}", related.artifact))),
        };
    }
    match remedy {
        Some(remedy) => group.element(Level::HELP.message(remedy.to_owned())),
        None => group,
    }
}

fn missing(checked: &Checked, deferred: &Deferred) -> Group<'static> {
    let message = not_decided(deferred);
    let (problem, remedy) = parts(&message);
    let title = Level::WARNING
        .primary_title(problem.to_owned())
        .id(deferred.rule.clone());
    let spot = checked.spot(&deferred.path, None);
    let place = Shown::of(spot, false);
    let group = place.add(Group::with_title(title), format!("at {}", deferred.path));
    match remedy {
        Some(remedy) => group.element(Level::HELP.message(remedy.to_owned())),
        None => group,
    }
}

/// What a deferred obligation waits for, and how to provide it.
pub(super) fn not_decided(deferred: &Deferred) -> String {
    match deferred.missing.split_once(':') {
        Some(("contract", contract)) => format!(
            "not decided, the published contract {contract} is not at hand; supply it under `contracts` with --context"
        ),
        _ if deferred.missing == ITEM_ROOT => {
            "not decided, the document stands in no item directory; validate the directory of the item instead"
                .to_owned()
        }
        _ => format!(
            "not decided, it takes {}, which cannot be had offline",
            deferred.missing
        ),
    }
}

/// A message taken apart: what is wrong, and what to do, which begins behind the first semicolon that quotes nothing.
fn parts(message: &str) -> (&str, Option<&str>) {
    let mut quoted = false;
    let end = message.char_indices().find_map(|(at, c)| {
        quoted ^= c == '`';
        (!quoted && message[at..].starts_with("; ")).then_some(at)
    });
    match end {
        Some(end) => (&message[..end], Some(&message[end + 2..])),
        None => (message, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_begins_behind_the_first_semicolon_outside_quotes() {
        for (message, expected) in [
            (
                "it is wrong; mend it; or not",
                ("it is wrong", Some("mend it; or not")),
            ),
            (
                "`a; b` is wrong; mend it",
                ("`a; b` is wrong", Some("mend it")),
            ),
            ("it is missing", ("it is missing", None)),
        ] {
            assert_eq!(parts(message), expected);
        }
    }
}
