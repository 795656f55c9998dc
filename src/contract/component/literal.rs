//! Authored literals against the schema and the sensitivity of what they supply (COMP-VAL-005): a default, an output's
//! value, a template without references.

use serde_json::Value;

use super::value_schema::ValueSchema;
use crate::contract::findings::Findings;
use crate::document::diagnostic::Code;
use crate::document::pointer::Pointer;

/// What a literal supplies.
pub(crate) struct Receiver<'a> {
    /// The schema that the literal has to satisfy.
    pub(crate) schema: &'a ValueSchema,
    /// Whether the receiver is sensitive.
    pub(crate) sensitive: bool,
    /// The receiver as a message names it.
    pub(crate) name: String,
}

impl Receiver<'_> {
    /// Checks `literal`, which stands at `path`. No message ever shows it.
    pub(crate) fn check(&self, literal: &Value, path: &Pointer, findings: &mut Findings<'_>) {
        if self.sensitive {
            findings.push(Code::SecretLiteral, path.clone(), self.secret());
        }
        if let Some(message) = self.unfit(literal) {
            findings.push(Code::ValueConstraint, path.clone(), message);
        }
    }

    /// Why an authored literal may not supply a sensitive receiver.
    pub(crate) fn secret(&self) -> String {
        format!(
            "a literal supplies {}, which is sensitive, so a secret would stand in the document; remove the literal and \
             let a parameter supply the value, or mark the receiver as not sensitive",
            self.name
        )
    }

    /// Why the receiver's schema refuses `value`, if it does.
    pub(crate) fn unfit(&self, value: &Value) -> Option<String> {
        let violation = self.schema.check(value).err()?;
        Some(format!(
            "the value does not satisfy the schema of {}: {violation}; change the value or the schema",
            self.name
        ))
    }
}
