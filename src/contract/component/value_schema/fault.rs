//! What makes a schema unusable, beyond its shape.

use std::collections::BTreeMap;

use super::ValueSchema;
use crate::contract::component::pattern::Pattern;

/// The outermost schema is at depth 0; none may be deeper than this.
const MAX_DEPTH: usize = 16;

impl ValueSchema {
    /// What makes this no usable schema, however deep it lies (`ERR_INVALID_VALUE_SCHEMA`).
    pub fn fault(&self) -> Option<String> {
        let mut pending = vec![(self, 0)];
        while let Some((schema, depth)) = pending.pop() {
            if depth > MAX_DEPTH {
                return Some(format!(
                    "it nests deeper than {MAX_DEPTH} levels; flatten it"
                ));
            }
            if let Some(pattern) = &schema.pattern
                && let Err(problem) = Pattern::parse(pattern)
            {
                return Some(format!(
                    "its pattern `{pattern}` is outside the pattern profile: {problem}; simplify the pattern"
                ));
            }
            let declared = |name: &String| {
                schema
                    .properties
                    .as_ref()
                    .is_some_and(|properties| properties.contains_key(name))
            };
            if let Some(name) = schema
                .required
                .iter()
                .flatten()
                .find(|name| !declared(name))
            {
                return Some(format!(
                    "`required` names `{name}`, which `properties` does not declare; declare it or drop the name"
                ));
            }
            pending.extend(schema.items.iter().map(|items| (items.as_ref(), depth + 1)));
            pending.extend(
                schema
                    .properties
                    .iter()
                    .flat_map(BTreeMap::values)
                    .map(|inner| (inner, depth + 1)),
            );
        }
        None
    }
}
