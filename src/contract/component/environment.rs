//! Environment variables: constants, and the targets of inputs (component §5.3).

use std::collections::BTreeMap;

use super::Spec;
use crate::contract::findings::Findings;
use crate::document::diagnostic::Code;

/// Every environment variable has one owner (COMP-ENVVAR-002): a constant, or one input; between two inputs the later by
/// name is the one that claims.
pub(super) fn check(spec: &Spec, findings: &mut Findings<'_>) {
    let Some(workload) = &spec.workload else {
        return;
    };
    let mut owners: BTreeMap<&str, String> = workload
        .env_vars
        .keys()
        .map(|key| (key.as_str(), "`workload.envVars`".to_owned()))
        .collect();
    for (name, input) in &spec.contract.inputs {
        let Some(target) = &input.target else {
            continue;
        };
        let key = target.env_var_key.as_str();
        if let Some(owner) = owners.get(key) {
            findings.push(
                Code::ConflictingEnvKey,
                super::input::pointer(name).child("target").child("envVarKey"),
                format!("`{key}` is set by {owner} already; choose another variable, or remove the other claim"),
            );
        } else {
            owners.insert(key, format!("input `{name}`"));
        }
    }
}
