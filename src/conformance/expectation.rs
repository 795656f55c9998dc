//! What a case declares against what was produced.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::document::canonical;
use crate::document::diagnostic::Diagnostic;

/// Why `produced` does not hold all of `declared`: each has to equal one of them in every property it gives.
pub(super) fn missing_diagnostics(declared: &[Value], produced: &[Diagnostic]) -> Option<String> {
    let produced: Vec<Value> = produced
        .iter()
        .map(|diagnostic| serde_json::to_value(diagnostic).unwrap_or_default())
        .collect();
    let missing: Vec<_> = declared
        .iter()
        .filter(|declared| !produced.iter().any(|produced| includes(produced, declared)))
        .map(canonical::text)
        .collect();
    (!missing.is_empty()).then(|| {
        let produced: Vec<_> = produced.iter().map(canonical::text).collect();
        format!(
            "expected {}, got [{}]",
            missing.join(" and "),
            produced.join(", ")
        )
    })
}

fn includes(produced: &Value, declared: &Value) -> bool {
    declared.as_object().is_some_and(|declared| {
        declared.iter().all(|(property, value)| {
            produced
                .get(property)
                .is_some_and(|produced| canonical::equal(produced, value))
        })
    })
}

/// Why `observation` is not as `expected` says, pointer by pointer.
pub(super) fn unexpected_values(
    expected: &BTreeMap<String, Value>,
    observation: &Value,
) -> Option<String> {
    expected.iter().find_map(|(pointer, value)| {
        let got = observation.pointer(pointer);
        let equal = got.is_some_and(|got| canonical::equal(got, value));
        (!equal).then(|| {
            format!(
                "at `{pointer}` expected {}, got {}",
                canonical::text(value),
                got.map_or_else(|| "nothing".to_owned(), canonical::text)
            )
        })
    })
}
