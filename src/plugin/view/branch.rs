//! A tree of lines, drawn as `tree` draws directories.

/// A line, and the lines below it.
pub struct Branch {
    text: String,
    below: Vec<Branch>,
}

impl Branch {
    /// A line with nothing below it yet.
    pub fn new(text: String) -> Self {
        Self {
            text,
            below: Vec::new(),
        }
    }

    /// A titled branch, if there is anything below it.
    pub fn with(title: impl Into<String>, below: Vec<Branch>) -> Option<Self> {
        (!below.is_empty()).then(|| Self {
            text: title.into(),
            below,
        })
    }

    /// Adds lines below it.
    pub fn grow(&mut self, branches: impl IntoIterator<Item = Branch>) {
        self.below.extend(branches);
    }

    /// The tree, with lines that lead to each branch.
    pub fn render(&self) -> String {
        let mut text = format!("{}\n", self.text);
        self.render_below("", &mut text);
        text
    }

    fn render_below(&self, indent: &str, text: &mut String) {
        for (number, branch) in self.below.iter().enumerate() {
            let last = number + 1 == self.below.len();
            let (twig, next) = if last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            *text += &format!("{indent}{twig}{}\n", branch.text);
            branch.render_below(&format!("{indent}{next}"), text);
        }
    }
}
