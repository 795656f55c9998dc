//! The environment of a node: constants stand in the pod, everything else in one immutable Secret per node and
//! environment version.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, Secret as SecretObject, SecretKeySelector};

use super::metadata::Owner;
use super::pins::Pins;
use crate::api::names;
use crate::resolution::resolved::EnvironmentValue;

/// A Secret with the environment of one node. Prints without its values.
#[derive(Clone)]
pub struct EnvironmentSecret {
    object: SecretObject,
}

impl EnvironmentSecret {
    /// The Secret's name.
    pub fn name(&self) -> &str {
        self.object.metadata.name.as_deref().unwrap_or_default()
    }

    /// The Secret with its values, for the API server.
    pub fn expose(&self) -> &SecretObject {
        &self.object
    }

    /// The Secret with every value replaced by `[redacted]`.
    pub fn redacted(&self) -> SecretObject {
        let redact = |data: &BTreeMap<String, ByteString>| {
            data.keys()
                .map(|key| (key.clone(), "[redacted]".to_owned()))
                .collect::<BTreeMap<_, _>>()
        };
        SecretObject {
            string_data: self.object.data.as_ref().map(redact),
            data: None,
            ..self.object.clone()
        }
    }
}

impl std::fmt::Debug for EnvironmentSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "EnvironmentSecret({})", self.name())
    }
}

/// The Secret of `node`, unless every variable of it is a constant.
pub(super) fn secret(
    node: &str,
    slug: &str,
    environment: &BTreeMap<String, EnvironmentValue>,
    pins: &Pins,
    owner: &Owner,
) -> Option<EnvironmentSecret> {
    let data: BTreeMap<String, ByteString> = environment
        .iter()
        .filter(|(_, value)| !value.constant)
        .map(|(name, value)| {
            (
                name.clone(),
                ByteString(value.text.expose().clone().into_bytes()),
            )
        })
        .collect();
    let name = names::environment(&owner.name, node, pins.environments.get(node).copied()?);
    (!data.is_empty()).then(|| EnvironmentSecret {
        object: SecretObject {
            metadata: owner.metadata(name, node, slug),
            type_: Some("Opaque".to_owned()),
            immutable: Some(true),
            data: Some(data),
            ..SecretObject::default()
        },
    })
}

/// The container's variables, in name order: constants inline, the others by reference to `secret`.
pub(super) fn variables(
    constants: &BTreeMap<String, String>,
    secret: Option<&EnvironmentSecret>,
) -> Vec<EnvVar> {
    let mut variables: BTreeMap<String, EnvVar> = constants
        .iter()
        .map(|(name, text)| {
            (
                name.clone(),
                EnvVar {
                    name: name.clone(),
                    value: Some(verbatim(text)),
                    ..EnvVar::default()
                },
            )
        })
        .collect();
    let keys = secret
        .iter()
        .flat_map(|secret| secret.object.data.iter().flat_map(BTreeMap::keys));
    for key in keys {
        let selector = SecretKeySelector {
            name: secret
                .map(|secret| secret.name().to_owned())
                .unwrap_or_default(),
            key: key.clone(),
            optional: None,
        };
        let source = EnvVarSource {
            secret_key_ref: Some(selector),
            ..EnvVarSource::default()
        };
        variables.insert(
            key.clone(),
            EnvVar {
                name: key.clone(),
                value_from: Some(source),
                ..EnvVar::default()
            },
        );
    }
    variables.into_values().collect()
}

/// `text` so that the kubelet hands it on as written: it would expand `$(NAME)` and reads `$$` as `$`.
pub(super) fn verbatim(text: &str) -> String {
    text.replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dollar_sign_arrives_as_it_was_written() {
        for (written, rendered) in [
            ("plain", "plain"),
            ("$(HOME)", "$$(HOME)"),
            ("$$", "$$$$"),
            ("a $HOME b", "a $$HOME b"),
        ] {
            assert_eq!(verbatim(written), rendered, "{written}");
        }
    }

    #[test]
    fn constants_stand_inline_and_everything_else_is_a_reference() {
        let secret = EnvironmentSecret {
            object: SecretObject {
                metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                    name: Some("wiki-web-env-1".into()),
                    ..Default::default()
                },
                data: Some([("TOKEN".to_owned(), ByteString(b"hunter2".to_vec()))].into()),
                ..SecretObject::default()
            },
        };
        let variables = variables(
            &[("MODE".to_owned(), "fast".to_owned())].into(),
            Some(&secret),
        );
        let shown: Vec<String> = variables
            .iter()
            .map(|variable| match (&variable.value, &variable.value_from) {
                (Some(value), None) => format!("{}={value}", variable.name),
                (None, Some(source)) => {
                    let selector = source
                        .secret_key_ref
                        .as_ref()
                        .expect("a reference to a Secret");
                    format!("{}<-{}/{}", variable.name, selector.name, selector.key)
                }
                _ => panic!("neither a value nor a reference"),
            })
            .collect();
        assert_eq!(shown, ["MODE=fast", "TOKEN<-wiki-web-env-1/TOKEN"]);
        assert_eq!(format!("{secret:?}"), "EnvironmentSecret(wiki-web-env-1)");
        assert_eq!(
            secret.redacted().string_data.expect("keys")["TOKEN"],
            "[redacted]"
        );
        assert_eq!(secret.redacted().data, None);
    }
}
