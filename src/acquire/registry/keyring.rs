//! Pull secrets: `kubernetes.io/dockerconfigjson`, matched as the kubelet matches them. Prints without what it holds.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use serde::Deserialize;

use crate::resolution::secret::Secret;

/// Credentials for registries, from any number of pull secrets.
#[derive(Clone, Debug, Default)]
pub struct Keyring {
    keys: Vec<Key>,
}

/// The user and password for what lies below a registry's path.
#[derive(Clone, Debug)]
struct Key {
    host: String,
    path: String,
    credentials: Credentials,
}

/// A user and a password. Two are equal when both parts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Credentials {
    pub(super) user: Secret<String>,
    pub(super) password: Secret<String>,
}

#[derive(Deserialize)]
struct DockerConfig {
    auths: BTreeMap<String, Auth>,
}

#[derive(Deserialize)]
struct Auth {
    username: Option<String>,
    password: Option<String>,
    auth: Option<String>,
}

impl Keyring {
    /// Adds every entry of a `.dockerconfigjson`. Says whether it could be read; nothing of it is quoted.
    #[must_use]
    pub fn add(&mut self, docker_config: &[u8]) -> bool {
        let Ok(config) = serde_json::from_slice::<DockerConfig>(docker_config) else {
            return false;
        };
        let keys = config.auths.into_iter().map(|(place, auth)| {
            let (user, password) = auth.pair()?;
            let (host, path) = place_of(&place);
            Some(Key {
                host,
                path,
                credentials: Credentials {
                    user: Secret::new(user),
                    password: Secret::new(password),
                },
            })
        });
        match keys.collect::<Option<Vec<Key>>>() {
            Some(keys) => {
                self.keys.extend(keys);
                true
            }
            None => false,
        }
    }

    /// The credentials for `repository` of `registry`: of those that match, the ones for the longest path.
    pub(super) fn find(&self, registry: &str, repository: &str) -> Option<Credentials> {
        let below = |path: &str| {
            path.is_empty()
                || repository
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.keys
            .iter()
            .filter(|key| is_host(&key.host, registry) && below(&key.path))
            .max_by_key(|key| key.path.len())
            .map(|key| key.credentials.clone())
    }
}

impl Auth {
    fn pair(self) -> Option<(String, String)> {
        match (self.username, self.password, self.auth) {
            (Some(user), Some(password), _) => Some((user, password)),
            (_, _, Some(auth)) => {
                let decoded = String::from_utf8(BASE64.decode(auth.as_bytes()).ok()?).ok()?;
                let (user, password) = decoded.split_once(':')?;
                Some((user.to_owned(), password.to_owned()))
            }
            _ => None,
        }
    }
}

/// Host and path of an entry: `https://`, and the version of the API that old clients wrote, are not part of it.
fn place_of(place: &str) -> (String, String) {
    let place = ["https://", "http://"]
        .iter()
        .find_map(|scheme| place.strip_prefix(scheme))
        .unwrap_or(place);
    let (host, path) = place.split_once('/').unwrap_or((place, ""));
    let path = path.trim_end_matches('/');
    let path = if matches!(path, "v1" | "v2") {
        ""
    } else {
        path
    };
    (host.to_owned(), path.to_owned())
}

/// Whether this is one of the names of Docker Hub.
pub(super) fn is_hub(registry: &str) -> bool {
    matches!(
        registry,
        "docker.io" | "index.docker.io" | "registry-1.docker.io"
    )
}

/// Whether an entry's host, in which `*` stands for one label, is `registry`. Docker Hub has several.
fn is_host(pattern: &str, registry: &str) -> bool {
    if is_hub(pattern) && is_hub(registry) {
        return true;
    }
    let (pattern, registry): (Vec<&str>, Vec<&str>) =
        (pattern.split('.').collect(), registry.split('.').collect());
    pattern.len() == registry.len()
        && pattern
            .iter()
            .zip(&registry)
            .all(|(pattern, label)| *pattern == "*" || pattern == label)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keyring(auths: serde_json::Value) -> Keyring {
        let mut keyring = Keyring::default();
        assert!(keyring.add(json!({"auths": auths}).to_string().as_bytes()));
        keyring
    }

    fn user(found: Option<Credentials>) -> String {
        found.map_or_else(
            || "nobody".to_owned(),
            |credentials| credentials.user.expose().clone(),
        )
    }

    #[test]
    fn the_longest_path_that_leads_to_an_image_decides() {
        let key = |name: &str| json!({"username": name, "password": "p"});
        let keyring = keyring(json!({
            "registry.example": key("all"),
            "https://registry.example/team": key("team"),
            "*.cloud.example": key("any"),
            "https://index.docker.io/v1/": key("hub"),
        }));
        for (registry, repository, expected) in [
            ("registry.example", "other/web", "all"),
            ("registry.example", "team/web", "team"),
            ("registry.example", "team", "team"),
            ("registry.example", "teamwork/web", "all"),
            ("eu.cloud.example", "web", "any"),
            ("a.eu.cloud.example", "web", "nobody"),
            ("registry.example:5000", "web", "nobody"),
            ("docker.io", "library/redis", "hub"),
        ] {
            let found = user(keyring.find(registry, repository));
            assert_eq!(found, expected, "{registry}/{repository}");
        }
    }

    #[test]
    fn a_pull_secret_is_read_in_either_spelling_or_refused_whole() {
        let encoded = BASE64.encode(b"robot:p:w");
        for (auth, expected) in [
            (json!({"username": "u", "password": "p"}), Some(("u", "p"))),
            (json!({"auth": encoded}), Some(("robot", "p:w"))),
            (json!({"auth": "no base64"}), None),
            (json!({"username": "u"}), None),
        ] {
            let mut keyring = Keyring::default();
            let config = json!({"auths": {"r": auth}}).to_string();
            assert_eq!(keyring.add(config.as_bytes()), expected.is_some());
            if let Some((user, password)) = expected {
                let found = keyring.find("r", "x").expect("an entry");
                assert_eq!(found.user.expose(), user);
                assert_eq!(found.password.expose(), password);
            }
        }
    }

    #[test]
    fn a_keyring_prints_no_password() {
        let keyring = keyring(json!({"r": {"username": "somebody", "password": "hunter2"}}));
        let printed = format!("{keyring:?}");
        assert!(!printed.contains("hunter2"), "{printed}");
        assert!(!printed.contains("somebody"), "{printed}");
    }
}
