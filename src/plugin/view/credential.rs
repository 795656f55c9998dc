//! What may be told of a credential: everything but its value.

use k8s_openapi::jiff::Timestamp;
use serde::Serialize;

use super::age::age;
use super::plain;
use super::table::table;

/// One generation of a credential, without its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Told {
    /// The generated parameter.
    pub parameter: String,
    /// The rotation generation.
    pub generation: u64,
    /// The credential's identity, as records name it.
    pub identity: String,
    /// The name of its Secret.
    pub secret: String,
    /// Whether status says that it is in use.
    pub in_use: bool,
    /// When it was made. `None` where its Secret may not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// How it was made, for example `HEX/32`. `None` where its Secret may not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
}

/// A credential as lines, as of `now`.
pub fn lines(told: &Told, now: Timestamp) -> String {
    let unread = || "not told: you may not read its Secret".to_owned();
    let created = told.created.map_or_else(unread, |created| {
        format!("{created} ({} ago)", age(Some(created), now))
    });
    let generation = match told.in_use {
        true => format!("{}, in use", told.generation),
        false => format!("{}, not the one in use", told.generation),
    };
    let rows = [
        ("Generation:", generation),
        ("Identity:", plain(&told.identity)),
        ("Secret:", told.secret.clone()),
        ("Format:", told.format.as_deref().map_or_else(unread, plain)),
        ("Created:", created),
    ];
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, text)| vec![name.to_owned(), text])
        .collect();
    table(&["Parameter:", &plain(&told.parameter)], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_not_be_read_is_said_not_to_be() {
        let told = Told {
            parameter: "dbPassword".to_owned(),
            generation: 1,
            identity: "demo/wiki/dbPassword".to_owned(),
            secret: "credential-wiki".to_owned(),
            in_use: true,
            created: None,
            format: Some("HEX/32".to_owned()),
        };
        let shown = lines(&told, "2026-12-01T10:00:00Z".parse().expect("a time"));
        let expected = "\
Parameter:    dbPassword
Generation:   1, in use
Identity:     demo/wiki/dbPassword
Secret:       credential-wiki
Format:       HEX/32
Created:      not told: you may not read its Secret
";
        similar_asserts::assert_eq!(shown, expected);
    }
}
