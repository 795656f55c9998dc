//! Every rule by its id: the codes it reports and what it asks for, in our words. Documentation and the coverage of the
//! corpus come from this table. A rule that the specifications state without an id goes by its section.

mod blueprint;
mod component;
mod core;

use crate::document::diagnostic::Code;

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The specification's id, or the section that states it.
    pub id: &'static str,
    /// The codes it reports; none where it only admits, defers or orders.
    pub codes: &'static [Code],
    /// What it asks for.
    pub explanation: &'static str,
}

const fn rule(id: &'static str, codes: &'static [Code], explanation: &'static str) -> Rule {
    Rule {
        id,
        codes,
        explanation,
    }
}

/// The rules that can report `code`.
pub fn reporting(code: Code) -> impl Iterator<Item = &'static Rule> {
    all().filter(move |rule| rule.codes.contains(&code))
}

/// Every rule, in the order of the specifications.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    [core::RULES, component::RULES, blueprint::RULES]
        .into_iter()
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use strum::IntoEnumIterator;

    #[test]
    fn every_code_belongs_to_a_rule_and_no_rule_stands_twice() {
        let ids: BTreeSet<_> = all().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), all().count());
        let orphans: Vec<_> = Code::iter()
            .filter(|code| reporting(*code).next().is_none())
            .collect();
        assert!(orphans.is_empty(), "codes of no rule: {orphans:?}");
    }
}
