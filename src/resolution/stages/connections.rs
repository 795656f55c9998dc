//! Stage `connections`: one immutable selection for each connection parameter, and the members of it that each
//! requirement's inputs receive (BP-CONNECTION-002). There is no fallback: a selection that cannot serve is an error.

use std::collections::BTreeMap;

use super::Fact;
use super::address::is_https_url;
use super::findings::{self, Findings, Missing};
use crate::contract::blueprint::parameter::Supply;
use crate::contract::component::input;
use crate::contract::component::requirement::ConnectionRequirement;
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::resolution::connection::{Answer, Kind, Selection, View};
use crate::resolution::context::Context;
use crate::resolution::resolved::Supplied;
use crate::resolution::secret::Held;

/// The fact that each input owned by a connection requirement receives, by node and input name.
pub(in crate::resolution) type Members<'a> = BTreeMap<(&'a str, &'a str), Fact>;

/// The selection of each connection parameter; nothing where it is missing or was refused.
type Selections<'a> = BTreeMap<&'a str, Option<Selection>>;

/// Views every connection through each requirement that is bound to it.
///
/// Reports acquisition's own answers, ERR_INVALID_RESOLUTION_CONTEXT for evidence that breaks a rule,
/// ERR_CONNECTION_INCOMPATIBLE and ERR_VALUE_CONSTRAINT for a selection that cannot serve a requirement; defers
/// connections that have not been acquired.
pub(in crate::resolution) fn view<'a>(
    contracts: &'a Contracts,
    context: &Context,
    findings: &mut Findings,
) -> Members<'a> {
    let mut selections = Selections::new();
    for (name, parameter) in &contracts.blueprint.spec.parameters {
        if let (Supply::Connection(_), Some(from)) = (parameter.supply(), &parameter.from) {
            selections.insert(name, selection(name, from, context, findings));
        }
    }
    refuse_shared_credentials(&mut selections, findings);

    let mut members = Members::new();
    for (node, authored) in &contracts.blueprint.spec.components {
        let contract = &contracts.component(node).spec.contract;
        for (name, requirement) in &contract.connection_requirements {
            let place = Place {
                contracts,
                node,
                name,
            };
            let selection = authored
                .connection_bindings
                .get(name)
                .and_then(|binding| selections.get(binding.parameter.as_str()))
                .and_then(Option::as_ref);
            let served = selection.and_then(|selection| {
                let view = suitable(&place, requirement, selection, findings)?;
                Some(received(requirement, selection, view))
            });
            let facts = match served {
                None => requirement
                    .inputs
                    .roles()
                    .map(|(_, input)| (input, Fact::Withheld)),
                Some(received) => received.map(|(input, supplied)| {
                    (input, constrained(&place, input, supplied, findings))
                }),
            };
            members.extend(facts.map(|(input, fact)| ((node.as_str(), input), fact)));
        }
    }
    members
}

/// The selection that acquisition made for the parameter `name`, if it made one and its evidence keeps every rule.
fn selection(
    name: &str,
    from: &str,
    context: &Context,
    findings: &mut Findings,
) -> Option<Selection> {
    let answer = match context.connections.get(name) {
        None => Ok(Answer::NotAcquired),
        Some(evidence) => Answer::read(evidence),
    };
    let (code, message) = match answer {
        Ok(Answer::Selected {
            persisted,
            selection,
        }) => match breach(&selection, persisted, name, from, &context.installation) {
            None => return Some(*selection),
            Some(fault) => (
                Code::InvalidResolutionContext,
                format!("the selection for `{name}` {fault}; acquire the whole connection anew"),
            ),
        },
        Ok(Answer::NotAcquired) => {
            findings.missing(Missing::Connection {
                parameter: name.to_owned(),
            });
            return None;
        }
        Ok(Answer::NotFound) => (
            Code::ConnectionNotFound,
            format!("there is no connection `{from}`; configure it or name another"),
        ),
        Ok(Answer::Denied) => (
            Code::ConnectionDenied,
            format!("this installation may not use `{from}`; ask its owner to permit it"),
        ),
        Ok(Answer::Incompatible) => (
            Code::ConnectionIncompatible,
            format!("`{from}` cannot serve `{name}`; configure a connection that can"),
        ),
        Err(_) => (
            Code::InvalidResolutionContext,
            format!(
                "the evidence for `{name}` lacks a member, or has one of the wrong type or one too many; acquire the whole connection anew"
            ),
        ),
    };
    findings.wrong(Stage::Connections, code, findings::parameter(name), message);
    None
}

/// What is wrong with the evidence of a selection (BP-CONNECTION-002).
fn breach(
    selection: &Selection,
    persisted: bool,
    parameter: &str,
    from: &str,
    installation: &str,
) -> Option<&'static str> {
    let credential = &selection.credential;
    let named = [
        &selection.identity,
        &selection.version,
        &selection.installation,
        &selection.cost_owner,
        &selection.source.identity,
        &selection.source.version,
        &credential.identity,
        credential.value.expose(),
    ];
    let permitted = &credential.permitted_base_urls;
    let mut views = selection.views.values();
    if !persisted {
        Some("has not been persisted")
    } else if named.into_iter().any(String::is_empty) {
        Some("has an empty member")
    } else if selection.installation != installation {
        Some("was acquired for another installation")
    } else if selection.parameter != parameter {
        Some("was acquired for another parameter")
    } else if selection.source.reference != from {
        Some("answers another reference than the parameter's `from`")
    } else if !permitted.iter().all(|url| is_https_url(url)) {
        Some(
            "permits a base URL that is not an absolute HTTPS URL without user information, query and fragment",
        )
    } else if !views.all(|view| permitted.contains(&view.base_url) && !view.model.is_empty()) {
        Some("has a view without a model, or with a base URL that its credential does not permit")
    } else {
        None
    }
}

/// A managed credential serves one connection parameter alone. Identities are compared, never values.
fn refuse_shared_credentials<'a>(selections: &mut Selections<'a>, findings: &mut Findings) {
    let mut users: BTreeMap<&str, Vec<(&'a str, Kind)>> = BTreeMap::new();
    for (name, selection) in selections.iter() {
        if let Some(selection) = selection {
            let user = (*name, selection.kind);
            users
                .entry(&selection.credential.identity)
                .or_default()
                .push(user);
        }
    }
    let is_shared = |users: &Vec<(&'a str, Kind)>| {
        users.len() > 1 && users.iter().any(|(_, kind)| *kind == Kind::Managed)
    };
    let shared: Vec<&str> = users
        .into_values()
        .filter(is_shared)
        .flatten()
        .map(|(name, _)| name)
        .collect();
    for name in shared {
        findings.wrong(
            Stage::Connections,
            Code::InvalidResolutionContext,
            findings::parameter(name),
            format!(
                "the managed credential selected for `{name}` serves another connection parameter too; acquire a credential for each"
            ),
        );
        selections.insert(name, None);
    }
}

/// A connection requirement's place in the blueprint.
struct Place<'a> {
    contracts: &'a Contracts,
    node: &'a str,
    name: &'a str,
}

/// The view that `requirement` asks for, if the selection has one that is able to do everything it asks.
fn suitable<'a>(
    place: &Place<'_>,
    requirement: &ConnectionRequirement,
    selection: &'a Selection,
    findings: &mut Findings,
) -> Option<&'a View> {
    let protocol = requirement.protocol;
    let message = match selection.views.get(&protocol) {
        None => format!(
            "the selected connection has no {protocol} view; select one that speaks this protocol"
        ),
        Some(view) => {
            let lacking: Vec<_> = requirement
                .capabilities
                .iter()
                .filter(|capability| !view.capabilities.contains(capability))
                .map(ToString::to_string)
                .collect();
            if lacking.is_empty() {
                return Some(view);
            }
            format!(
                "the {protocol} view of the selected connection lacks {}; select a connection that has it",
                lacking.join(", ")
            )
        }
    };
    findings.wrong(
        Stage::Connections,
        Code::ConnectionIncompatible,
        findings::connection_binding(place.node, place.name),
        message,
    );
    None
}

/// What the requirement's inputs receive, by input name. The API key is always sensitive.
fn received<'a>(
    requirement: &'a ConnectionRequirement,
    selection: &Selection,
    view: &View,
) -> [(&'a str, Supplied); 3] {
    let inputs = &requirement.inputs;
    [
        (
            &inputs.api_key,
            Held::sensitive(selection.credential.value.expose().as_str()),
        ),
        (&inputs.base_url, Held::plain(view.base_url.as_str())),
        (&inputs.model, Held::plain(view.model.as_str())),
    ]
    .map(|(input, held)| {
        let supplied = Supplied {
            held,
            selected: Some(selection.versioned()),
        };
        (input.as_str(), supplied)
    })
}

/// The member, if it satisfies the input that receives it, with the input's own sensitivity.
fn constrained(
    place: &Place<'_>,
    input: &str,
    supplied: Supplied,
    findings: &mut Findings,
) -> Fact {
    let declared = &place.contracts.component(place.node).spec.contract.inputs[input];
    Fact::Known(supplied)
        .checked(&declared.schema, findings, |violation| {
            let diagnostic = Diagnostic::resolution(
                Stage::Connections,
                Code::ValueConstraint,
                findings::connection_binding(place.node, place.name),
                format!(
                    "what the selected connection supplies to input `{input}` is refused: {violation}; select a connection that fits the input"
                ),
            );
            let authored = findings::authored(place.contracts, place.node);
            diagnostic.related(&authored.component_ref, input::pointer(input))
        })
        .or_sensitive(declared.sensitive)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::resolution::testing::{found, resolved};

    const APP: &str = "
        parameters:
          first: { from: '${{ connections.llm.default }}' }
          second: { from: '${{ connections.llm.other }}' }
        nodes:
          app:
            connectionBindings: { one: { parameter: first }, two: { parameter: second } }
            requirements:
              one:
                protocol: OPENAI_CHAT_COMPLETIONS
                capabilities: [STREAMING]
                inputs: { baseURL: url, apiKey: key, model: model }
              two:
                protocol: ANTHROPIC_MESSAGES
                inputs: { baseURL: url2, apiKey: key2, model: model2 }
            inputs:
              url: { schema: { type: string } }
              key: { schema: { type: string }, sensitive: true }
              model: { schema: { type: string, enum: [model-a] } }
              url2: { schema: { type: string } }
              key2: { schema: { type: string }, sensitive: true }
              model2: { schema: { type: string } }
        ";

    fn selection(name: &str, reference: &str) -> Value {
        let url = format!("https://{name}.example/v1");
        let view = json!({"baseURL": url, "model": "model-a", "capabilities": ["STREAMING"]});
        json!({"status": "SELECTED", "persisted": true, "selection": {
            "identity": format!("connection-{name}"), "version": "1", "installation": "i", "parameter": name,
            "source": {"identity": "policy", "version": "3", "reference": reference},
            "kind": "MANAGED", "costOwner": "org",
            "credential": {"identity": format!("credential-{name}"), "rotation": 0, "value": "s3cret", "permittedBaseURLs": [url]},
            "views": {"OPENAI_CHAT_COMPLETIONS": view, "ANTHROPIC_MESSAGES": view},
        }})
    }

    /// Both connections selected, and `change` made to the answer for `first`.
    fn acquired(change: impl FnOnce(&mut Value)) -> Value {
        let mut first = selection("first", "${{ connections.llm.default }}");
        change(&mut first);
        let second = selection("second", "${{ connections.llm.other }}");
        json!({"connections": {"installation": "i", "parameters": {"first": first, "second": second}}})
    }

    #[test]
    fn a_requirement_receives_the_members_of_its_view() {
        let resolved = resolved(APP, &acquired(|_| ()));
        let inputs = &resolved.inputs["app"];
        for (input, expected, sensitive) in [
            ("url", "https://first.example/v1", false),
            ("key", "s3cret", true),
            ("model", "model-a", false),
            ("url2", "https://second.example/v1", false),
        ] {
            assert_eq!(inputs[input].held.expose(), expected);
            assert_eq!(inputs[input].held.is_sensitive(), sensitive, "{input}");
        }
        let selected = inputs["model"].selected.as_ref().expect("a selection");
        assert_eq!(
            (selected.identity.as_str(), selected.version.as_str()),
            ("connection-first", "1")
        );
    }

    #[test]
    fn acquisitions_own_answers_are_reported_at_the_parameter() {
        for (status, expected) in [
            (
                "NOT_ACQUIRED",
                "deferred BP-CONNECTION-002 /spec/parameters/first connection:first",
            ),
            (
                "NOT_FOUND",
                "connections ERR_CONNECTION_NOT_FOUND /spec/parameters/first",
            ),
            (
                "DENIED",
                "connections ERR_CONNECTION_DENIED /spec/parameters/first",
            ),
            (
                "INCOMPATIBLE",
                "connections ERR_CONNECTION_INCOMPATIBLE /spec/parameters/first",
            ),
            (
                "PERHAPS",
                "connections ERR_INVALID_RESOLUTION_CONTEXT /spec/parameters/first",
            ),
        ] {
            let context = acquired(|answer| *answer = json!({"status": status}));
            assert_eq!(found(APP, &context), [expected], "{status}");
        }
    }

    #[test]
    fn evidence_that_breaks_a_rule_is_refused() {
        let set = |pointer: &'static str, value: Value| {
            (
                pointer,
                Box::new(move |answer: &mut Value| {
                    *answer.pointer_mut(pointer).expect(pointer) = value;
                }) as Box<dyn FnOnce(&mut Value)>,
            )
        };
        let remove = |parent: &'static str, member: &'static str| {
            (
                member,
                Box::new(move |answer: &mut Value| {
                    let parent = answer.pointer_mut(parent).and_then(Value::as_object_mut);
                    parent.expect(member).remove(member).expect(member);
                }) as Box<dyn FnOnce(&mut Value)>,
            )
        };
        for (name, change) in [
            remove("", "persisted"),
            remove("", "selection"),
            remove("/selection", "credential"),
            remove("/selection", "views"),
            remove("/selection", "costOwner"),
            remove("/selection/source", "reference"),
            remove("/selection/credential", "value"),
            remove("/selection/credential", "rotation"),
            remove("/selection/views/OPENAI_CHAT_COMPLETIONS", "model"),
            set("/persisted", json!(false)),
            set("/selection/identity", json!("")),
            set("/selection/version", json!("")),
            set("/selection/installation", json!("another")),
            set("/selection/parameter", json!("second")),
            set(
                "/selection/source/reference",
                json!("${{ connections.llm.other }}"),
            ),
            set("/selection/source/identity", json!("")),
            set("/selection/source/version", json!("")),
            set("/selection/kind", json!("GIFT")),
            set("/selection/costOwner", json!("")),
            set("/selection/credential/identity", json!("")),
            set("/selection/credential/rotation", json!(-1)),
            set("/selection/credential/value", json!("")),
            set("/selection/credential/value", json!(7)),
            set("/selection/credential/permittedBaseURLs", json!([])),
            set(
                "/selection/credential/permittedBaseURLs",
                json!(["https://first.example/v1", "http://x.example"]),
            ),
            set(
                "/selection/views/OPENAI_CHAT_COMPLETIONS/baseURL",
                json!("https://first.example/v1/sub"),
            ),
            set("/selection/views/ANTHROPIC_MESSAGES/model", json!("")),
            set(
                "/selection/views/ANTHROPIC_MESSAGES",
                json!({"baseURL": "https://first.example/v1", "model": "m", "capabilities": [], "more": 1}),
            ),
        ] {
            let context = acquired(change);
            assert_eq!(
                found(APP, &context),
                ["connections ERR_INVALID_RESOLUTION_CONTEXT /spec/parameters/first"],
                "{name}"
            );
        }
    }

    #[test]
    fn a_managed_credential_serves_one_parameter_alone() {
        let share = |kind: &'static str| {
            move |answer: &mut Value| {
                answer["selection"]["credential"]["identity"] = json!("credential-second");
                answer["selection"]["kind"] = json!(kind);
            }
        };
        for kind in ["MANAGED", "USER"] {
            assert_eq!(
                found(APP, &acquired(share(kind))),
                [
                    "connections ERR_INVALID_RESOLUTION_CONTEXT /spec/parameters/first",
                    "connections ERR_INVALID_RESOLUTION_CONTEXT /spec/parameters/second",
                ],
                "{kind}"
            );
        }
        let mut both_own = acquired(share("USER"));
        both_own["connections"]["parameters"]["second"]["selection"]["kind"] = json!("USER");
        assert_eq!(
            found(APP, &both_own),
            Vec::<String>::new(),
            "a user may reuse a credential"
        );
    }

    #[test]
    fn equal_values_under_two_parameters_are_no_conflict() {
        let context = acquired(|answer| {
            let url = json!("https://second.example/v1");
            answer["selection"]["credential"]["permittedBaseURLs"] = json!([url]);
            for protocol in ["OPENAI_CHAT_COMPLETIONS", "ANTHROPIC_MESSAGES"] {
                answer["selection"]["views"][protocol]["baseURL"] = url.clone();
            }
        });
        assert_eq!(found(APP, &context), Vec::<String>::new());
    }

    #[test]
    fn a_selection_that_cannot_serve_a_requirement_is_an_error_there() {
        let binding = "/spec/components/app/connectionBindings/one";
        for (name, change, expected) in [
            (
                "no view",
                (|answer: &mut Value| {
                    answer["selection"]["views"] = json!({});
                }) as fn(&mut Value),
                format!("connections ERR_CONNECTION_INCOMPATIBLE {binding}"),
            ),
            (
                "a capability too few",
                |answer| {
                    answer["selection"]["views"]["OPENAI_CHAT_COMPLETIONS"]["capabilities"] =
                        json!(["TOOL_CALLS"])
                },
                format!("connections ERR_CONNECTION_INCOMPATIBLE {binding}"),
            ),
            (
                "a member that its input refuses",
                |answer| {
                    answer["selection"]["views"]["OPENAI_CHAT_COMPLETIONS"]["model"] =
                        json!("model-b")
                },
                format!(
                    "connections ERR_VALUE_CONSTRAINT {binding} (./app.yaml#/spec/contract/inputs/model)"
                ),
            ),
        ] {
            assert_eq!(found(APP, &acquired(change)), [expected], "{name}");
        }
    }

    #[test]
    fn one_failing_connection_withholds_everything() {
        let mut context = acquired(|_| ());
        context["connections"]["parameters"]["second"] = json!({"status": "DENIED"});
        assert_eq!(
            found(APP, &context),
            ["connections ERR_CONNECTION_DENIED /spec/parameters/second"],
        );
    }
}
