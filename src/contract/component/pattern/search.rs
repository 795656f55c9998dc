//! Whether a pattern occurs in a text.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use super::{Atom, Pattern, Repeated, Set};

/// A word of positions that may match at once; a pattern is as many of them as it needs.
const WORD: usize = u64::BITS as usize;

/// A run of atoms without the quantified one: what it consumes, and where its anchors tie it.
struct Run<'a> {
    sets: Vec<&'a Set>,
    /// It begins where the text does.
    at_start: bool,
    /// It ends where the text does.
    at_end: bool,
}

impl<'a> Run<'a> {
    /// Nothing for a run that matches nowhere, because an anchor stands behind or before what it would have to cut off.
    fn of(atoms: &'a [Atom]) -> Option<Self> {
        let mut run = Self {
            sets: Vec::new(),
            at_start: false,
            at_end: false,
        };
        for atom in atoms {
            match atom {
                Atom::Start if run.sets.is_empty() => run.at_start = true,
                Atom::End => run.at_end = true,
                Atom::Set(set) if !run.at_end => run.sets.push(set),
                Atom::Start | Atom::Set(_) => return None,
            }
        }
        Some(run)
    }

    /// Whether the run matches from one of `starts` on.
    fn is_within(&self, text: &[char], starts: RangeInclusive<usize>) -> bool {
        let (mut first, mut last) = starts.into_inner();
        let Some(latest) = text.len().checked_sub(self.sets.len()) else {
            return false;
        };
        last = last.min(latest);
        if self.at_start {
            last = 0;
        }
        if self.at_end {
            first = first.max(latest);
        }
        first <= last && self.is_somewhere(&text[first..last + self.sets.len()])
    }

    /// The shift-and method: bit `i` says that the sets up to `i` match the characters up to here.
    fn is_somewhere(&self, text: &[char]) -> bool {
        let words = self.sets.len().div_ceil(WORD);
        let Some(end) = self.sets.len().checked_sub(1) else {
            return true;
        };
        let mut masks: HashMap<char, Vec<u64>> = HashMap::new();
        let mut matched = vec![0_u64; words];
        for c in text {
            let mask = masks.entry(*c).or_insert_with(|| self.mask(*c, words));
            let mut carry = 1;
            for (word, mask) in matched.iter_mut().zip(mask.iter()) {
                let next = *word >> (WORD - 1);
                *word = ((*word << 1) | carry) & mask;
                carry = next;
            }
            if matched[end / WORD] >> (end % WORD) & 1 == 1 {
                return true;
            }
        }
        false
    }

    /// The sets that hold `c`.
    fn mask(&self, c: char, words: usize) -> Vec<u64> {
        let mut mask = vec![0; words];
        for (at, set) in self.sets.iter().enumerate() {
            mask[at / WORD] |= u64::from(set.holds(c)) << (at % WORD);
        }
        mask
    }
}

impl Pattern {
    /// Whether the pattern occurs in `text`.
    pub fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        match self.repeated {
            None => Run::of(&self.atoms).is_some_and(|run| run.is_within(&text, 0..=text.len())),
            Some(repeated) => self.matches_repeated(&text, repeated).unwrap_or(false),
        }
    }

    /// Anchored at the start, so that only the number of repetitions is open.
    fn matches_repeated(&self, text: &[char], repeated: Repeated) -> Option<bool> {
        let Repeated { atom, least, most } = repeated;
        let before = Run::of(&self.atoms[..atom])?;
        let after = Run::of(&self.atoms[atom + 1..])?;
        let Atom::Set(set) = &self.atoms[atom] else {
            return None;
        };
        if !before.is_within(text, 0..=0) {
            return None;
        }
        let start = before.sets.len();
        let run = text[start..].iter().take_while(|c| set.holds(**c)).count();
        let run = most.map_or(run, |most| run.min(most));
        (least <= run).then(|| after.is_within(text, start + least..=start + run))
    }
}
