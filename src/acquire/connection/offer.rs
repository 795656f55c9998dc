//! A connection as an object offers it, and the selection that it becomes: of one installation and parameter, following what
//! was selected before. Pure.

use std::collections::BTreeMap;

use super::Request;
use crate::api::connection::{ConnectionCredential, ConnectionView};
use crate::resolution::connection::{Kind, ScopedCredential, Selection, Source, View};
use crate::resolution::secret::Secret;

/// A connection as an object offers it.
pub struct Offer {
    /// The object's kind and name.
    pub called: String,
    /// Its UID.
    pub identity: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// Who provides it.
    pub kind: Kind,
    /// Who pays.
    pub cost_owner: String,
    /// What authenticates its use.
    pub credential: ConnectionCredential,
    /// The namespace of its Secret.
    pub namespace: String,
    /// How it is reached.
    pub views: BTreeMap<String, ConnectionView>,
}

impl Offer {
    /// The selection that this offer is for `request`, with the credential's value. A managed credential is known by the
    /// installation and the parameter that use it, so that no other one shares its identity.
    pub fn select(
        self,
        request: &Request<'_>,
        api_key: Secret<String>,
        version: String,
    ) -> Selection {
        let credential = match self.kind {
            Kind::Managed => format!(
                "{}/{}/{}",
                self.identity, request.installation, request.parameter
            ),
            Kind::User => self.identity.clone(),
        };
        let views = self.views.into_iter().filter_map(|(protocol, view)| {
            let known = view.capabilities.iter().map(|name| name.parse().ok());
            let view = View {
                base_url: view.base_url,
                model: view.model,
                capabilities: known.flatten().collect(),
            };
            Some((protocol.parse().ok()?, view))
        });
        Selection {
            version,
            installation: request.installation.to_owned(),
            parameter: request.parameter.to_owned(),
            source: Source {
                reference: request.from.to_owned(),
                identity: self.identity.clone(),
                version: self.generation.to_string(),
            },
            kind: self.kind,
            cost_owner: self.cost_owner,
            credential: ScopedCredential {
                identity: credential,
                rotation: 0,
                value: api_key,
                permitted_base_urls: self.credential.permitted_base_urls.into_iter().collect(),
            },
            views: views.collect(),
            identity: self.identity,
        }
    }
}

/// Whether selecting `now` in the place of `before` would change what an installation gets.
pub fn differs(before: &Selection, now: &Selection) -> bool {
    let mut same = now.clone();
    same.identity.clone_from(&before.identity);
    same.version.clone_from(&before.version);
    same.source.clone_from(&before.source);
    same.credential
        .identity
        .clone_from(&before.credential.identity);
    same.credential.rotation = before.credential.rotation;
    same != *before
}

/// `found`, as what follows `before`: the same selection keeps its version, and the same credential with another value is
/// the next rotation. Values are compared in memory.
pub(super) fn following(mut found: Selection, before: &Selection) -> Selection {
    if found.credential.identity == before.credential.identity {
        let is_rotated = found.credential.value != before.credential.value;
        found.credential.rotation = before.credential.rotation + u64::from(is_rotated);
    }
    let mut same = found.clone();
    same.version.clone_from(&before.version);
    same.source.version.clone_from(&before.source.version);
    if same == *before { same } else { found }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resolution::connection::Answer;

    fn selection(parameter: &str, api_key: &str, version: &str) -> Selection {
        let offer = Offer {
            called: "ClusterConnection llm".to_owned(),
            identity: "uid".to_owned(),
            generation: 3,
            kind: Kind::Managed,
            cost_owner: "platform".to_owned(),
            credential: serde_json::from_value(json!({
                "secretKeyRef": {"name": "llm", "key": "apiKey"},
                "permittedBaseURLs": ["https://llm.example/v1"],
            }))
            .expect("a credential"),
            namespace: "operator".to_owned(),
            views: serde_json::from_value(json!({"OPENAI_CHAT_COMPLETIONS": {
                "baseURL": "https://llm.example/v1", "model": "m", "capabilities": ["STREAMING"],
            }}))
            .expect("views"),
        };
        let request = Request {
            installation: "i",
            parameter,
            from: "${{ connections.llm.default }}",
            path: "llm.default",
            choice: None,
        };
        offer.select(
            &request,
            Secret::new(api_key.to_owned()),
            version.to_owned(),
        )
    }

    #[test]
    fn evidence_is_read_back_as_it_was_selected() {
        let answer = Answer::Selected {
            persisted: true,
            selection: Box::new(selection("llm", "key", "1")),
        };
        assert_eq!(Answer::read(&answer.evidence()), Ok(answer));
        for answer in [
            Answer::NotAcquired,
            Answer::NotFound,
            Answer::Denied,
            Answer::Incompatible,
        ] {
            assert_eq!(Answer::read(&answer.evidence()), Ok(answer));
        }
    }

    #[test]
    fn a_managed_credential_is_of_one_parameter_alone() {
        let [one, two] = ["one", "two"].map(|name| selection(name, "key", "1"));
        assert_ne!(one.credential.identity, two.credential.identity);
        assert_eq!(one.identity, two.identity);
    }

    #[test]
    fn what_is_still_the_same_keeps_its_version_and_another_value_is_the_next_rotation() {
        let before = selection("llm", "key", "1");
        assert_eq!(following(selection("llm", "key", "2"), &before), before);
        let rotated = following(selection("llm", "other", "2"), &before);
        assert_eq!(
            (rotated.version.as_str(), rotated.credential.rotation),
            ("2", 1)
        );
        // The same answer to a retry.
        assert_eq!(following(selection("llm", "other", "2"), &before), rotated);
        let back = following(selection("llm", "key", "3"), &rotated);
        assert_eq!((back.version.as_str(), back.credential.rotation), ("3", 2));
        assert!(differs(&before, &rotated) && !differs(&before, &selection("llm", "key", "2")));
    }
}
