//! Collects the semantic diagnostics of one document and places them in its source text.

use crate::document::diagnostic::{Code, Diagnostic};
use crate::document::limits;
use crate::document::place::Place;
use crate::document::pointer::Pointer;

/// The diagnostics of one document, as its rules find them.
pub(crate) struct Findings<'a> {
    places: &'a Place,
    found: Vec<Diagnostic>,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(places: &'a Place) -> Self {
        Self {
            places,
            found: Vec::new(),
        }
    }

    /// Adds a semantic diagnostic at `path`.
    pub(crate) fn push(&mut self, code: Code, path: Pointer, message: impl Into<String>) {
        self.add(Diagnostic::semantic(code, path, message));
    }

    /// Whether nothing more is reported. A rule that goes through all nodes stops then.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= limits::DIAGNOSTICS
    }

    /// Adds a diagnostic, with the place of its path.
    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        if self.is_full() {
            return;
        }
        let location = self.places.nearest(&diagnostic.path);
        self.found.push(diagnostic.at(location));
    }

    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.found
    }
}
