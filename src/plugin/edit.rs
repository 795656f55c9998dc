//! What each changing verb writes: the fields of a spec, from the Installation as it stands. Pure.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeSet;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::ask::Refused;
use crate::api::Installation;
use crate::api::installation::Trigger;

/// What is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// A merge patch of the spec.
    pub spec: Value,
    /// The fields that it sets, each as the way to it below the spec.
    pub fields: Vec<Vec<String>>,
    /// What that means, in words.
    pub said: String,
}

/// What becomes of a wish.
#[derive(Clone, Debug, PartialEq)]
pub enum Planned {
    /// It takes a change.
    Edit(Edit),
    /// It is so already, as the words say.
    Already(String),
}

/// Stops the operator from acting, or lets it go on.
pub fn suspend(installation: &Installation, suspend: bool) -> Planned {
    let said = match suspend {
        true => "suspended: the operator neither acts nor looks until it is resumed",
        false => "resumed",
    };
    if installation.spec.suspend == suspend {
        return Planned::Already(match suspend {
            true => "is suspended already".to_owned(),
            false => "is not suspended".to_owned(),
        });
    }
    Planned::Edit(Edit {
        spec: json!({"suspend": suspend}),
        fields: vec![way(&["suspend"])],
        said: said.to_owned(),
    })
}

/// Selects everything current again.
pub fn update(installation: &Installation, token: &str) -> Planned {
    trigger(
        "update",
        installation.spec.update.as_ref(),
        token,
        "selects everything current again",
    )
}

/// Rolls out the record that is there again.
pub fn redeploy(installation: &Installation, token: &str) -> Planned {
    let what = "rolls out the current record again, its Jobs included";
    trigger("redeploy", installation.spec.redeploy.as_ref(), token, what)
}

fn trigger(field: &str, before: Option<&Trigger>, token: &str, what: &str) -> Planned {
    if before.is_some_and(|before| before.token == token) {
        return Planned::Already(format!(
            "has this spec.{field}.token already: only another one means something"
        ));
    }
    Planned::Edit(Edit {
        spec: json!({field: {"token": token}}),
        fields: vec![way(&[field, "token"])],
        said: format!("{what} (spec.{field}.token {token})"),
    })
}

/// Raises the generation of the credentials of `parameters` by one, from the larger of spec and status.
///
/// # Errors
/// [`Refused`] for a parameter that is known to have no credential.
pub fn rotate(installation: &Installation, parameters: &[String]) -> Result<Planned, Refused> {
    let status = installation.status.as_ref();
    let used = |parameter: &str| {
        let credentials = status.into_iter().flat_map(|status| &status.credentials);
        let mut of_it = credentials.filter(|credential| credential.parameter == parameter);
        of_it.next().map(|credential| credential.generation)
    };
    let (mut entries, mut fields, mut said) = (json!({}), Vec::new(), Vec::new());
    for parameter in parameters.iter().collect::<BTreeSet<_>>() {
        let asked = installation.spec.credentials.get(parameter);
        let asked = asked.map(|request| i64::from(request.generation));
        let used = used(parameter);
        if used.is_none() && lists_all(installation) {
            return Err(unknown(installation, parameter));
        }
        let now = asked.max(used).unwrap_or_default();
        let next = now + 1;
        entries[parameter] = json!({"generation": next});
        fields.push(way(&["credentials", parameter, "generation"]));
        said.push(format!("{parameter} from generation {now} to {next}"));
    }
    Ok(Planned::Edit(Edit {
        spec: json!({"credentials": entries}),
        fields,
        said: format!("rotates {}", said.join(", ")),
    }))
}

/// Whether status names every credential that there is.
fn lists_all(installation: &Installation) -> bool {
    let totals = installation
        .status
        .as_ref()
        .and_then(|status| status.totals.as_ref());
    totals.is_none_or(|totals| {
        let status = installation.status.as_ref();
        let listed = status.map_or(0, |status| status.credentials.len());
        usize::try_from(totals.credentials).is_ok_and(|total| total <= listed)
    })
}

fn unknown(installation: &Installation, parameter: &str) -> Refused {
    let status = installation.status.as_ref();
    let known = status.into_iter().flat_map(|status| &status.credentials);
    let known: Vec<&str> = known
        .map(|credential| credential.parameter.as_str())
        .collect();
    let name = installation.name_any();
    Refused(match known.is_empty() {
        true => format!("{name} has no generated credential in use: there is nothing to rotate"),
        false => format!(
            "{name} has no generated credential {parameter}: name one of {}",
            known.join(", ")
        ),
    })
}

/// Asks for a new record from the selections of `version`, one of those that are `kept`.
///
/// # Errors
/// [`Refused`] for a version that is not kept.
pub fn rollback(
    installation: &Installation,
    version: u32,
    token: &str,
    kept: &[u64],
) -> Result<Planned, Refused> {
    if !kept.contains(&u64::from(version)) {
        let name = installation.name_any();
        let kept: Vec<String> = kept.iter().map(u64::to_string).collect();
        return Err(Refused(match kept.is_empty() {
            true => format!("{name} has no record yet: there is none to go back to"),
            false => format!(
                "{name} has no record of version {version}: name one of {} (`kubectl installation history {name}` tells what they are)",
                kept.join(", ")
            ),
        }));
    }
    if installation
        .spec
        .rollback
        .as_ref()
        .is_some_and(|before| before.record == version && before.token == token)
    {
        return Ok(Planned::Already(
            "rolls back with this spec.rollback already: only another token means something"
                .to_owned(),
        ));
    }
    Ok(Planned::Edit(Edit {
        spec: json!({"rollback": {"record": version, "token": token}}),
        fields: vec![way(&["rollback", "record"]), way(&["rollback", "token"])],
        said: format!(
            "rolls back to version {version}; credentials stay rotated, and it holds until spec.rollback or the source of the blueprint is another"
        ),
    }))
}

/// A token that says when it was made.
pub fn token(now: Timestamp) -> String {
    now.strftime("%FT%T%.3fZ").to_string()
}

fn way(steps: &[&str]) -> Vec<String> {
    steps.iter().map(|step| (*step).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installation(spec: Value, status: Value) -> Installation {
        let mut all = json!({"metadata": {"name": "wiki"}, "spec": {"blueprint": {}}});
        all["spec"]
            .as_object_mut()
            .expect("a spec")
            .extend(spec.as_object().cloned().expect("fields"));
        all["status"] = status;
        serde_json::from_value(all).expect("an Installation")
    }

    fn used(generation: i64) -> Value {
        json!({"observedGeneration": 1, "credentials":
            [{"parameter": "dbPassword", "identity": "x", "generation": generation}]})
    }

    #[track_caller]
    fn written(planned: &Planned) -> &Value {
        match planned {
            Planned::Edit(edit) => &edit.spec,
            Planned::Already(said) => panic!("{said}"),
        }
    }

    #[test]
    fn a_rotation_goes_on_from_the_larger_of_spec_and_status() {
        let names = ["dbPassword".to_owned()];
        for (spec, status, expected) in [
            (json!({}), used(0), 1),
            (json!({}), used(3), 4),
            (
                json!({"credentials": {"dbPassword": {"generation": 5}}}),
                used(3),
                6,
            ),
            (
                json!({"credentials": {"dbPassword": {"generation": 1}}}),
                used(3),
                4,
            ),
        ] {
            let planned = rotate(&installation(spec, status), &names).expect("planned");
            let expected = json!({"credentials": {"dbPassword": {"generation": expected}}});
            assert_eq!(written(&planned), &expected);
        }
    }

    #[test]
    fn what_has_no_credential_is_not_rotated() {
        let wrong = ["dbPasword".to_owned()];
        let refused = rotate(&installation(json!({}), used(0)), &wrong).expect_err("refused");
        assert_eq!(
            refused.to_string(),
            "wiki has no generated credential dbPasword: name one of dbPassword"
        );
        let new = installation(json!({}), json!({"observedGeneration": -1}));
        let refused = rotate(&new, &wrong).expect_err("refused");
        assert!(
            refused.to_string().contains("nothing to rotate"),
            "{refused}"
        );
        // Status names a hundred at most: what it does not name may be there.
        let mut many = used(0);
        many["totals"] = json!({"diagnostics": 0, "deferred": 0, "nodes": 0, "endpoints": 0, "credentials": 2, "inventory": 0});
        assert!(rotate(&installation(json!({}), many), &wrong).is_ok());
    }

    #[test]
    fn a_wish_that_is_fulfilled_writes_nothing() {
        let suspended = installation(json!({"suspend": true, "update": {"token": "1"}}), used(0));
        assert!(matches!(suspend(&suspended, true), Planned::Already(_)));
        assert_eq!(
            written(&suspend(&suspended, false)),
            &json!({"suspend": false})
        );
        assert!(matches!(update(&suspended, "1"), Planned::Already(_)));
        assert_eq!(
            written(&update(&suspended, "2")),
            &json!({"update": {"token": "2"}})
        );
        assert_eq!(
            written(&redeploy(&suspended, "1")),
            &json!({"redeploy": {"token": "1"}})
        );
    }

    #[test]
    fn only_a_version_that_is_kept_is_rolled_back_to() {
        let wiki = installation(json!({"rollback": {"record": 2, "token": "1"}}), used(0));
        let refused = rollback(&wiki, 1, "1", &[2, 3]).expect_err("refused");
        assert!(
            refused.to_string().contains("name one of 2, 3"),
            "{refused}"
        );
        let already = rollback(&wiki, 2, "1", &[2, 3]).expect("planned");
        assert!(matches!(already, Planned::Already(_)));
        let planned = rollback(&wiki, 3, "1", &[2, 3]).expect("planned");
        assert_eq!(
            written(&planned),
            &json!({"rollback": {"record": 3, "token": "1"}})
        );
    }
}
