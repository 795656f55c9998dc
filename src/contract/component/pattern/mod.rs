//! The pattern profile of value schemas (component §6.3): a sequence of ASCII atoms, at most one of them quantified, and
//! then anchored at the start. Matching takes a few steps for each character of the text, whatever the pattern.

mod parse;
mod search;
#[cfg(test)]
mod tests;

/// A pattern of the profile, ready to match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    atoms: Vec<Atom>,
    /// The one atom that repeats, and how often.
    repeated: Option<Repeated>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Atom {
    Start,
    End,
    Set(Set),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Set {
    negated: bool,
    ranges: Vec<(char, char)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Repeated {
    atom: usize,
    least: usize,
    most: Option<usize>,
}

impl Set {
    fn of(ranges: &[(char, char)], negated: bool) -> Self {
        Self {
            negated,
            ranges: ranges.to_vec(),
        }
    }

    fn holds(&self, c: char) -> bool {
        self.ranges
            .iter()
            .any(|(from, to)| (*from..=*to).contains(&c))
            != self.negated
    }
}
