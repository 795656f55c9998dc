//! Generated credentials: one per identity, parameter and generation, created atomically and never made anew.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret as SecretObject;
use zeroize::Zeroizing;

use super::claim::random;
use super::failure::Failure;
use super::history::{Generation, History, key, read_credential};
use super::precious::{self, foreign};
use super::shell::{Created, Shell};
use crate::api::names::{
    self, CREDENTIAL_OF_ANNOTATION, GENERATION_LABEL, GENERATOR_ANNOTATION, PARAMETER_ANNOTATION,
    Precious,
};
use crate::contract::blueprint::parameter::{Encoding, Generator};
use crate::resolution::context::Credential;
use crate::resolution::credential::encode;

impl History {
    /// The newest generation of a parameter's credential that exists.
    pub fn newest(&self, parameter: &str) -> Option<u64> {
        let of = self.credentials.keys().filter(|(of, _)| of == parameter);
        of.map(|(_, generation)| *generation).max()
    }
}

/// A generated parameter and the generation of it that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The parameter.
    pub parameter: String,
    /// The rotation generation.
    pub generation: u64,
    /// How it is made, should it not exist.
    pub generator: Generator,
    /// The generation of another parameter's credential that it takes over, should it not exist.
    pub carried: Option<(String, u64)>,
}

/// Credentials as a resolution context takes them, and which of them were made just now.
#[derive(Default)]
pub struct Ensured {
    /// By parameter.
    pub credentials: BTreeMap<String, Credential>,
    /// The parameters of new ones.
    pub created: Vec<String>,
    /// Those that took over another's, in words.
    pub carried: Vec<String>,
}

impl Shell {
    /// Makes sure that every wanted generation exists. One that a snapshot names is used as it is; one that none names
    /// yet must match in everything, and is created where it does not exist.
    ///
    /// # Errors
    /// [`Failure::ForeignObject`] for one that does not match, and what writing ends in.
    pub async fn ensure_credentials(
        &self,
        namespace: &str,
        identity: &str,
        wanted: &[Wanted],
        history: &mut History,
    ) -> Result<Ensured, Failure> {
        let mut ensured = Ensured::default();
        for wanted in wanted {
            let at = (wanted.parameter.clone(), wanted.generation);
            match history.credentials.get(&at) {
                Some(found) if !history.names(&at) => check(identity, wanted, found)?,
                Some(_) => {}
                None => {
                    let carried = wanted.carried.as_ref();
                    let carried =
                        carried.and_then(|from| Some((&*from.0, history.credentials.get(from)?)));
                    let (generation, new) = self
                        .create_credential(namespace, identity, wanted, carried)
                        .await?;
                    match (new, carried) {
                        (true, Some((former, _))) => ensured
                            .carried
                            .push(format!("{} from {former}", wanted.parameter)),
                        (true, None) => ensured.created.push(wanted.parameter.clone()),
                        (false, _) => {}
                    }
                    history.credentials.insert(at.clone(), generation);
                }
            }
            let credential = Credential {
                identity: reference(namespace, identity, &wanted.parameter),
                rotation: wanted.generation,
                value: history.credentials[&at].value.clone(),
            };
            ensured
                .credentials
                .insert(wanted.parameter.clone(), credential);
        }
        Ok(ensured)
    }

    async fn create_credential(
        &self,
        namespace: &str,
        identity: &str,
        wanted: &Wanted,
        carried: Option<(&str, &Generation)>,
    ) -> Result<(Generation, bool), Failure> {
        let secret = match carried {
            Some((former, generation)) => {
                check(identity, wanted, generation)?;
                let value = generation.value.expose();
                let mut secret = secret(namespace, identity, wanted, value);
                let from = (CREDENTIAL_OF_ANNOTATION.to_owned(), former.to_owned());
                secret
                    .metadata
                    .annotations
                    .get_or_insert_default()
                    .extend([from]);
                secret
            }
            None => {
                let mut bytes = Zeroizing::new(vec![0; wanted.generator.byte_length.into()]);
                random(&mut bytes)?;
                let value = encode(wanted.generator, &bytes);
                secret(namespace, identity, wanted, value.expose())
            }
        };
        let created = self
            .create_or_read(&self.secrets(namespace), &secret)
            .await?;
        let new = matches!(created, Created::New(_));
        let found = created.into_inner();
        let (at, generation) = read_credential(&found, identity)?;
        if at != (wanted.parameter.clone(), wanted.generation) {
            return Err(foreign(
                precious::describe(&found),
                "it is of another parameter or generation",
            ));
        }
        check(identity, wanted, &generation)?;
        Ok((generation, new))
    }
}

/// Checks that `found` was made as `wanted` is.
fn check(identity: &str, wanted: &Wanted, found: &Generation) -> Result<(), Failure> {
    if is_made_as(found, wanted.generator) {
        return Ok(());
    }
    let name = names::credential(identity, &wanted.parameter, wanted.generation);
    Err(foreign(
        format!("Secret {name}"),
        "its format differs from the blueprint's generator",
    ))
}

/// Whether `found` is of the format that `generator` makes.
pub fn is_made_as(found: &Generation, generator: Generator) -> bool {
    found.generator == format(generator)
}

/// The credential's identity as records name it: the same for every generation, and without a secret.
pub fn reference(namespace: &str, identity: &str, parameter: &str) -> String {
    format!("{namespace}/{identity}/{parameter}")
}

fn secret(namespace: &str, identity: &str, wanted: &Wanted, value: &str) -> SecretObject {
    let name = names::credential(identity, &wanted.parameter, wanted.generation);
    let mut metadata = precious::metadata(namespace, identity, name);
    metadata
        .labels
        .get_or_insert_default()
        .insert(GENERATION_LABEL.to_owned(), wanted.generation.to_string());
    metadata.annotations.get_or_insert_default().extend([
        (PARAMETER_ANNOTATION.to_owned(), wanted.parameter.clone()),
        (GENERATOR_ANNOTATION.to_owned(), format(wanted.generator)),
    ]);
    let data = [(key::CREDENTIAL.to_owned(), value.as_bytes().to_vec())].into();
    precious::secret(Precious::Credential, metadata, data, true)
}

/// How a credential was made, for example `HEX/32`.
fn format(generator: Generator) -> String {
    format!("{}/{}", generator.encoding, generator.byte_length)
}

/// Whether `value` is what a generator of this format makes: length and alphabet.
pub fn fits(format: &str, value: &str) -> bool {
    let Some((encoding, bytes)) = format.split_once('/') else {
        return false;
    };
    let Ok(bytes) = bytes.parse::<usize>() else {
        return false;
    };
    let decoder = match encoding {
        name if name == <&str>::from(Encoding::Hex) => &data_encoding::HEXLOWER,
        name if name == <&str>::from(Encoding::Base64) => &data_encoding::BASE64,
        name if name == <&str>::from(Encoding::Base64url) => &data_encoding::BASE64URL_NOPAD,
        _ => return false,
    };
    decoder
        .decode(value.as_bytes())
        .is_ok_and(|decoded| Zeroizing::new(decoded).len() == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_parameter_that_the_contract_allows_has_a_credential() {
        let wanted = Wanted {
            parameter: "p".repeat(64),
            generation: 0,
            generator: Generator {
                byte_length: 16,
                encoding: Encoding::Hex,
            },
            carried: None,
        };
        let secret = secret("ns", &"i".repeat(63), &wanted, &"ab".repeat(16));
        for value in secret
            .metadata
            .labels
            .iter()
            .flat_map(|labels| labels.values())
        {
            assert!(value.len() <= 63, "no label takes {value}");
        }
        let identity = "i".repeat(63);
        let (at, _) = read_credential(&secret, &identity).expect("it reads back");
        assert_eq!(at, (wanted.parameter, 0));
    }

    #[test]
    fn a_value_fits_the_format_it_was_made_in_and_no_other() {
        let generator = |encoding| Generator {
            byte_length: 16,
            encoding,
        };
        for encoding in [Encoding::Hex, Encoding::Base64, Encoding::Base64url] {
            let value = encode(generator(encoding), &[0xfb; 16]);
            assert!(
                fits(&format(generator(encoding)), value.expose()),
                "{encoding}"
            );
            for other in [Encoding::Hex, Encoding::Base64, Encoding::Base64url] {
                let matches = fits(&format(generator(other)), value.expose());
                assert_eq!(matches, other == encoding, "{encoding} as {other}");
            }
        }
        assert!(!fits("HEX/17", &"ab".repeat(16)));
        assert!(!fits("", ""));
    }
}
