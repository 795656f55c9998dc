//! Organization variables (BP-PARAM-009): a Variable of the namespace, else the ClusterVariable of the path, where the
//! namespace may read it. Identity and version are opaque and follow from no value.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::ListParams;
use kube::{Api, Resource, ResourceExt};

use super::catalog::{Claims, called, listed};
use super::findings::{Document, Findings};
use super::secret::Key;
use super::{Reader, Reading, Unavailable};
use crate::api::installation::SecretKeyReference;
use crate::api::variable::WrittenValue;
use crate::api::{ClusterVariable, Variable as NamespaceVariable};
use crate::contract::blueprint::parameter::Supply;
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::document::pointer::Pointer;
use crate::resolution::context::Variable;
use crate::resolution::secret::Held;

/// What the cluster says of one path, before any Secret is read.
pub enum Offered {
    /// Nothing has this path.
    Absent,
    /// Several objects claim it, by kind and name.
    Contested(Vec<String>),
    /// The namespace may not read it.
    Denied,
    /// One object has it.
    Found(VariableObject),
}

/// The object that a variable comes from.
pub struct VariableObject {
    /// Its kind and name.
    pub called: String,
    /// Its UID.
    pub identity: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// Where its value is.
    pub source: ValueSource,
    /// What its owner says.
    pub sensitive: bool,
}

/// Where the value of a variable is.
pub enum ValueSource {
    /// In the object.
    Written(Option<WrittenValue>),
    /// In a Secret of the namespace named first.
    Secret(String, SecretKeyReference),
}

/// What became of a variable that was asked for.
pub enum Asked {
    /// Its evidence, denial included.
    Answered(Variable),
    /// Nothing has this path.
    Absent,
    /// The Secret behind it is not there; the text says what to do.
    Waiting(String),
    /// It cannot be told what it is; the text says why and what to do.
    Wrong(String),
}

/// The variables of a blueprint, and the parameters that have none although that has been reported.
#[derive(Default)]
pub struct Variables {
    /// By exact dotted path.
    pub variables: BTreeMap<String, Variable>,
    /// Parameters of which resolution says nothing.
    pub withheld: BTreeSet<String>,
}

impl Reader {
    /// Acquires the variable of every parameter of `contracts` that `pinned` does not hold. `before` is what was selected
    /// last: a variable that is still the same keeps its version.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn acquire_variables(
        &self,
        contracts: &Contracts,
        pinned: impl Fn(&str) -> Option<Variable>,
        before: &BTreeMap<String, Variable>,
        findings: &mut Findings,
    ) -> Result<Variables, Unavailable> {
        let mut acquired = Variables::default();
        for (name, path) in paths(contracts) {
            if acquired.variables.contains_key(&path) {
                continue;
            }
            let asked = match pinned(&path) {
                Some(variable) => Asked::Answered(variable),
                None => self.ask_variable(&path).await?,
            };
            match asked {
                Asked::Answered(found) => {
                    let found = keeping_version(found, before.get(&path));
                    acquired.variables.insert(path, found);
                }
                // Resolution itself reports what is absent.
                Asked::Absent => {}
                Asked::Waiting(remedy) => {
                    let missing = format!("variable:{path}");
                    findings.wait(
                        Document::Blueprint,
                        "BP-PARAM-009",
                        from(name),
                        missing,
                        remedy,
                    );
                    acquired.withheld.insert(name.to_owned());
                }
                Asked::Wrong(message) => {
                    findings.wrong(Document::Blueprint, refused(name, message));
                    acquired.withheld.insert(name.to_owned());
                }
            }
        }
        Ok(acquired)
    }

    /// Asks for the variable of `path`, its value included.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn ask_variable(&self, path: &str) -> Result<Asked, Unavailable> {
        let object = match self.offered_variable(path).await? {
            Offered::Absent => return Ok(Asked::Absent),
            Offered::Contested(names) => return Ok(Asked::Wrong(contested(path, &names))),
            Offered::Denied => return Ok(Asked::Answered(denied())),
            Offered::Found(object) => object,
        };
        let generation = object.generation;
        let (value, version) = match object.source {
            ValueSource::Written(value) => (
                Held::new(
                    value.map(|value| value.0).unwrap_or_default(),
                    object.sensitive,
                ),
                generation.to_string(),
            ),
            ValueSource::Secret(namespace, reference) => {
                match self.read_key(&namespace, &reference).await? {
                    Key::Value { value, version } => (value, format!("{generation}-{version}")),
                    Key::Absent(remedy) => {
                        return Ok(Asked::Waiting(format!("{}: {remedy}", object.called)));
                    }
                    Key::Malformed(message) => {
                        return Ok(Asked::Wrong(format!("{}: {message}", object.called)));
                    }
                }
            }
        };
        Ok(Asked::Answered(Variable {
            identity: Some(object.identity),
            version: Some(version),
            value,
            authorized: true,
        }))
    }

    /// Which object the variable of `path` comes from. No Secret is read.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn offered_variable(&self, path: &str) -> Result<Offered, Unavailable> {
        match self.claims_here::<NamespaceVariable>(path).await? {
            Claims::Several(names) => return Ok(Offered::Contested(names)),
            Claims::One(found) => {
                let spec = found.spec.clone();
                let source = source(&self.namespace, spec.value, spec.secret_key_ref);
                return Ok(Offered::Found(object(&found, source, spec.sensitive)));
            }
            Claims::None => {}
        }
        Ok(match self.claims::<ClusterVariable>(path).await? {
            Claims::None => Offered::Absent,
            Claims::Several(names) => Offered::Contested(names),
            Claims::One(found) if !self.may_use(&found).await? => Offered::Denied,
            Claims::One(found) => {
                let spec = found.spec.clone();
                let source = source(&self.operator_namespace, spec.value, spec.secret_key_ref);
                Offered::Found(object(&found, source, spec.sensitive))
            }
        })
    }
}

impl Reader {
    /// Every path that a variable of the namespace or of the cluster has.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn variable_paths(&self) -> Result<BTreeSet<String>, Unavailable> {
        let every = ListParams::default();
        let here = Api::<NamespaceVariable>::namespaced(self.client.clone(), &self.namespace);
        let here = here.list(&every).await.reading(|| "Variables".to_owned())?;
        let cluster = Api::<ClusterVariable>::all(self.client.clone());
        let cluster = cluster.list(&every).await;
        let cluster = cluster.reading(|| "ClusterVariables".to_owned())?;
        let cluster = cluster.items.into_iter().map(|found| found.spec.path);
        let here = here.items.into_iter().map(|found| found.spec.path);
        Ok(here.chain(cluster).collect())
    }
}

/// The variable parameters of a blueprint, each with its path.
pub fn paths(contracts: &Contracts) -> impl Iterator<Item = (&str, String)> {
    let parameters = contracts.blueprint.spec.parameters.iter();
    parameters.filter_map(|(name, parameter)| match parameter.supply() {
        Supply::Variable(path) => Some((name.as_str(), path)),
        _ => None,
    })
}

/// Whether selecting `now` in the place of `before` would change what an installation gets.
pub fn differs(before: &Variable, now: &Variable) -> bool {
    now.authorized
        && (before.value.expose() != now.value.expose()
            || before.value.is_sensitive() != now.value.is_sensitive())
}

/// What a path says that several objects claim.
pub fn contested(path: &str, names: &[String]) -> String {
    format!(
        "{} claim the variable {path}, and which of them holds cannot be told: delete all but one",
        listed(names)
    )
}

/// ERR_INVALID_RESOLUTION_CONTEXT of the variable parameter `name`.
pub fn refused(name: &str, message: String) -> Diagnostic {
    Diagnostic::resolution(
        Stage::Parameters,
        Code::InvalidResolutionContext,
        from(name),
        message,
    )
}

/// The evidence of a variable that may not be read. There is no value in it.
pub fn denied() -> Variable {
    Variable {
        identity: None,
        version: None,
        value: Held::plain(serde_json::Value::Null),
        authorized: false,
    }
}

fn from(parameter: &str) -> Pointer {
    Pointer::of(["spec", "parameters", parameter, "from"])
}

fn source(
    namespace: &str,
    value: Option<WrittenValue>,
    reference: Option<SecretKeyReference>,
) -> ValueSource {
    match reference {
        Some(reference) => ValueSource::Secret(namespace.to_owned(), reference),
        None => ValueSource::Written(value),
    }
}

fn object<K>(found: &K, source: ValueSource, sensitive: bool) -> VariableObject
where
    K: Resource<DynamicType = ()>,
{
    VariableObject {
        called: called(found),
        identity: found.uid().unwrap_or_default(),
        generation: found.meta().generation.unwrap_or_default(),
        source,
        sensitive,
    }
}

/// `found`, under its earlier version where it is the same object with the same value: what else was written of it or of its
/// Secret is no news. Values are compared in memory.
fn keeping_version(mut found: Variable, before: Option<&Variable>) -> Variable {
    if let Some(before) = before
        && found.identity == before.identity
        && !differs(before, &found)
    {
        found.version.clone_from(&before.version);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(identity: &str, version: &str, value: Held) -> Variable {
        Variable {
            identity: Some(identity.to_owned()),
            version: Some(version.to_owned()),
            value,
            authorized: true,
        }
    }

    #[test]
    fn a_version_stays_exactly_as_long_as_object_value_and_sensitivity_do() {
        let before = variable("a", "1", Held::sensitive("eu"));
        for (found, expected) in [
            (variable("a", "2", Held::sensitive("eu")), "1"),
            (variable("a", "2", Held::sensitive("us")), "2"),
            (variable("a", "2", Held::plain("eu")), "2"),
            (variable("b", "2", Held::sensitive("eu")), "2"),
        ] {
            let kept = keeping_version(found, Some(&before));
            assert_eq!(kept.version.as_deref(), Some(expected));
        }
    }

    #[test]
    fn several_claims_are_named_all() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(
            contested("cloud.region", &names),
            "a, b and c claim the variable cloud.region, and which of them holds cannot be told: delete all but one"
        );
    }
}
