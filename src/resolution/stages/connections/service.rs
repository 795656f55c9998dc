//! How a selection serves a requirement: the view that it asks for, and the members that its inputs receive.

use crate::contract::component::input;
use crate::contract::component::requirement::ConnectionRequirement;
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::resolution::connection::{Selection, View};
use crate::resolution::resolved::Supplied;
use crate::resolution::secret::Held;
use crate::resolution::stages::Fact;
use crate::resolution::stages::findings::{self, Findings};

/// A connection requirement's place in the blueprint.
pub(super) struct Place<'a> {
    pub(super) contracts: &'a Contracts,
    pub(super) node: &'a str,
    pub(super) name: &'a str,
}

/// The view that `requirement` asks for, if the selection has one that is able to do everything it asks.
pub(super) fn suitable<'a>(
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
pub(super) fn received<'a>(
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
pub(super) fn constrained(
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
