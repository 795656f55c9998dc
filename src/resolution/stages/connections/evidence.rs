//! What acquisition's evidence has to be before anything is taken from it: whole, durable, and for this parameter of this
//! installation (BP-CONNECTION-002).

use std::collections::BTreeMap;

use super::Selections;
use crate::document::diagnostic::{Code, Stage};
use crate::resolution::connection::{Answer, Kind, Selection};
use crate::resolution::context::Context;
use crate::resolution::stages::address::is_https_url;
use crate::resolution::stages::findings::{self, Findings, Missing};

/// The selection that acquisition made for the parameter `name`, if it made one and its evidence keeps every rule.
pub(super) fn selection(
    name: &str,
    from: &str,
    context: &Context,
    findings: &mut Findings,
) -> Option<Selection> {
    let answer = match context.connections.get(name) {
        None if context.withheld.contains(name) => return None,
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
pub(super) fn refuse_shared_credentials<'a>(
    selections: &mut Selections<'a>,
    findings: &mut Findings,
) {
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
