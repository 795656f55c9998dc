//! What the organization's catalog gives to a context file: variables, published components and connections, each as
//! evidence, with stand-ins wherever the real value is a secret. No Secret is read.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::stand_in;
use crate::acquire::variable::{self, ValueSource, VariableObject};
use crate::acquire::{Document, Findings, Reader, Unavailable, connection, published};
use crate::api::component_revision;
use crate::api::installation::ConnectionChoice;
use crate::contract::contracts::Contracts;
use crate::resolution::connection::Answer;
use crate::resolution::secret::Secret;

/// The installation that connections of a context file are acquired for: nobody's.
const OFFLINE: &str = "offline";

/// What stands in for the version of a value that has not been read.
const UNREAD: &str = "unread";

/// Members of a context file, and what of them is not the real one.
#[derive(Default)]
pub struct Members {
    /// By name.
    pub members: Map<String, Value>,
    /// Parameters; paths of variables where no item says which parameter takes them.
    pub stand_ins: Vec<String>,
}

impl Reader {
    /// The members `variables`, `connections` and `contracts` of a context file for `contracts`. What is absent is left out,
    /// and `resolve` says so; what a file cannot say goes to `findings`.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn catalog_for(
        &self,
        contracts: &Contracts,
        choices: &BTreeMap<String, ConnectionChoice>,
        findings: &mut Findings,
    ) -> Result<Members, Unavailable> {
        let mut found = Members::default();
        let variables = self.variables_for(contracts, &mut found, findings).await?;
        found.members.insert("variables".to_owned(), variables);
        connection::refuse_unknown(contracts, choices, findings);
        let connections = self
            .connections_for(contracts, choices, &mut found, findings)
            .await?;
        found.members.insert("connections".to_owned(), connections);
        found
            .members
            .insert("contracts".to_owned(), components(contracts));
        Ok(found)
    }

    /// The members `variables` and `contracts` of a context file for every item of the namespace. A path that several
    /// objects claim is left out.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn whole_catalog(&self) -> Result<Members, Unavailable> {
        let mut found = Members::default();
        let mut variables = Map::new();
        for path in self.variable_paths().await? {
            match self.offered_variable(&path).await? {
                variable::Offered::Found(object) => {
                    let (evidence, is_stand_in) = evidence(object, || Some(stand_in::TEXT.into()));
                    if is_stand_in {
                        found.stand_ins.push(path.clone());
                    }
                    variables.extend(evidence.map(|evidence| (path, evidence)));
                }
                variable::Offered::Denied => {
                    variables.insert(path, denied());
                }
                variable::Offered::Absent | variable::Offered::Contested(_) => {}
            }
        }
        let revisions = self.published_revisions().await?.into_iter();
        let contracts = revisions.map(|found| {
            let name = component_revision::named(&found.identity, found.revision);
            let contract = json!({"source": found.document, "digest": found.digest});
            (name, contract)
        });
        let contracts = Value::Object(contracts.collect());
        found
            .members
            .insert("variables".to_owned(), Value::Object(variables));
        found.members.insert("contracts".to_owned(), contracts);
        Ok(found)
    }

    async fn variables_for(
        &self,
        contracts: &Contracts,
        found: &mut Members,
        findings: &mut Findings,
    ) -> Result<Value, Unavailable> {
        let mut variables = Map::new();
        for (parameter, path) in variable::paths(contracts) {
            let object = match self.offered_variable(&path).await? {
                variable::Offered::Absent => continue,
                variable::Offered::Contested(names) => {
                    let message = variable::contested(&path, &names);
                    findings.wrong(Document::Blueprint, variable::refused(parameter, message));
                    continue;
                }
                variable::Offered::Denied => {
                    variables.insert(path, denied());
                    continue;
                }
                variable::Offered::Found(object) => object,
            };
            let stand_in = || stand_in::of_parameter(contracts, parameter);
            let (evidence, is_stand_in) = evidence(object, stand_in);
            if is_stand_in {
                found.stand_ins.push(parameter.to_owned());
            }
            variables.extend(evidence.map(|evidence| (path, evidence)));
        }
        Ok(Value::Object(variables))
    }

    async fn connections_for(
        &self,
        contracts: &Contracts,
        choices: &BTreeMap<String, ConnectionChoice>,
        found: &mut Members,
        findings: &mut Findings,
    ) -> Result<Value, Unavailable> {
        let mut answers = Map::new();
        for (parameter, from, path) in connection::references(contracts) {
            let request = connection::Request {
                installation: OFFLINE,
                parameter,
                from,
                path: &path,
                choice: choices.get(parameter),
            };
            let answer = match self.offered_connection(&request).await? {
                connection::Offered::NotFound => Answer::NotFound,
                connection::Offered::Denied => Answer::Denied,
                connection::Offered::NotThere(_) => Answer::NotAcquired,
                connection::Offered::Contested(names) => {
                    let message = connection::contested(&path, &names);
                    findings.wrong(Document::Blueprint, connection::refused(parameter, message));
                    Answer::NotAcquired
                }
                connection::Offered::Found(offer) => {
                    found.stand_ins.push(parameter.to_owned());
                    let api_key = stand_in::of_api_key(contracts, parameter);
                    let version = format!("{}-{UNREAD}", offer.generation);
                    Answer::Selected {
                        persisted: true,
                        selection: Box::new(offer.select(&request, Secret::new(api_key), version)),
                    }
                }
            };
            answers.insert(parameter.to_owned(), answer.evidence().expose().0.clone());
        }
        Ok(json!({"installation": OFFLINE, "parameters": answers}))
    }
}

/// What a context file says of a variable, and whether its value is not the real one. A value that nothing simple can stand
/// in for is absent, and `resolve` says that it is missing.
fn evidence(
    object: VariableObject,
    stand_in: impl FnOnce() -> Option<Value>,
) -> (Option<Value>, bool) {
    let VariableObject {
        identity,
        generation,
        source,
        sensitive,
        ..
    } = object;
    match source {
        ValueSource::Written(value) if !sensitive => {
            let value = value.map(|value| value.0).unwrap_or_default();
            let evidence = json!({
                "identity": identity, "version": generation.to_string(),
                "value": value, "sensitive": false, "authorized": true,
            });
            (Some(evidence), false)
        }
        ValueSource::Written(_) | ValueSource::Secret(..) => {
            let evidence = stand_in().map(|value| {
                json!({
                    "identity": identity, "version": format!("{generation}-{UNREAD}"),
                    "value": value, "sensitive": true, "authorized": true,
                })
            });
            (evidence, true)
        }
    }
}

fn denied() -> Value {
    json!({"identity": null, "version": null, "value": null, "sensitive": false, "authorized": false})
}

/// The published components that `contracts` stands on.
fn components(contracts: &Contracts) -> Value {
    let references = published::references(contracts);
    let components = references.filter_map(|(node, identity, revision)| {
        let contract = &contracts.components[node];
        let source = std::str::from_utf8(&contract.source).ok()?;
        let component = json!({"source": source, "digest": contract.digest.to_string()});
        Some((component_revision::named(identity, revision), component))
    });
    Value::Object(components.collect())
}
