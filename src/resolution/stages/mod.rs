//! The stages of resolution, in the order of BP-RESOLVE-001, and what they share.

pub(super) mod address;
pub(super) mod allocation;
pub(super) mod connections;
pub(super) mod environment;
pub(super) mod findings;
pub(super) mod parameters;
pub(super) mod values;

use self::findings::Findings;
use super::resolved::Supplied;
use super::secret::Held;
use crate::contract::component::value_schema::{ValueSchema, Violation};
use crate::document::diagnostic::Diagnostic;

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fact {
    /// The value is there.
    Known(Supplied),
    /// Nothing supplies it, and nothing has to.
    Absent,
    /// It is missing or wrong. That has been reported where it entered; whoever depends on it stays silent.
    Withheld,
}

impl Fact {
    /// A value that no variable and no connection stands behind.
    fn unselected(held: Held) -> Self {
        Self::Known(Supplied::unselected(held))
    }

    /// The value, if it is there.
    fn known(&self) -> Option<&Supplied> {
        match self {
            Self::Known(supplied) => Some(supplied),
            Self::Absent | Self::Withheld => None,
        }
    }

    /// The same fact, its value sensitive if it was or if `sensitive`.
    fn or_sensitive(self, sensitive: bool) -> Self {
        match self {
            Self::Known(supplied) => Self::Known(Supplied {
                held: supplied.held.or_sensitive(sensitive),
                ..supplied
            }),
            Self::Absent | Self::Withheld => self,
        }
    }

    /// The same fact if its value, where there is one, satisfies `schema`; else it is withheld and reported.
    fn checked(
        self,
        schema: &ValueSchema,
        findings: &mut Findings,
        refusal: impl FnOnce(Violation) -> Diagnostic,
    ) -> Self {
        let checked = self
            .known()
            .map_or(Ok(()), |supplied| schema.check(supplied.held.expose()));
        match checked {
            Ok(()) => self,
            Err(violation) => {
                findings.report(refusal(violation));
                Self::Withheld
            }
        }
    }
}
