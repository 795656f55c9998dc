//! Claims of volumes: created once, grown where a record wants more, never made smaller, never deleted here.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use kube_quantity::ParsedQuantity;
use serde_json::json;

use super::{Applied, entry, guarded, node};
use crate::api::names::{FIELD_MANAGER, IDENTITY_LABEL, NODE_LABEL};
use crate::api::reason::NodeReason;
use crate::controller::failure::{Asked, Failure};
use crate::controller::precious::{self, foreign};
use crate::controller::shell::{Created, Shell};
use crate::materialize::metadata::Owner;

impl Shell {
    /// Makes sure that each claim is there and as large as it is wanted. One of `made` that is gone took its data along:
    /// an empty one in its place would look like health. What keeps one from growing is a note of its
    /// node: the pods run on what there is.
    ///
    /// # Errors
    /// [`Failure::StateLost`] for one that is gone, [`Failure::ForeignObject`] for a claim of nobody's identity or of another one; what writing ends in.
    pub(super) async fn ensure_volumes(
        &self,
        owner: &Owner,
        claims: &[PersistentVolumeClaim],
        made: &BTreeSet<String>,
        applied: &mut Applied,
    ) -> Result<(), Failure> {
        let api = self.api::<PersistentVolumeClaim>(&owner.namespace);
        for wanted in claims {
            let name = wanted.name_any();
            let standing = api
                .get_opt(&name)
                .await
                .asked(|| format!("read PersistentVolumeClaim {name}"))?;
            let found = match standing {
                Some(found) if found.metadata.deletion_timestamp.is_some() => {
                    let note = format!(
                        "waiting for the former PersistentVolumeClaim {name} to go{}",
                        guarded(&found)
                    );
                    applied
                        .notes
                        .insert(node(wanted), (NodeReason::Replacing, note));
                    continue;
                }
                Some(found) => found,
                None if made.contains(&name) => {
                    return Err(Failure::StateLost {
                        object: format!("PersistentVolumeClaim {name}"),
                        needed_by: format!("the data of node {}", node(wanted)),
                    });
                }
                None => match self.create_or_read(&api, wanted).await? {
                    Created::New(made) | Created::Found(made) => made,
                },
            };
            check(&found, wanted)?;
            if size(&found) < size(wanted) {
                let patch = json!({"spec": {"resources": {"requests": requests(wanted)}}});
                let params = PatchParams {
                    field_manager: Some(FIELD_MANAGER.to_owned()),
                    ..PatchParams::default()
                };
                let grown = api
                    .patch(&name, &params, &Patch::Merge(&patch))
                    .await
                    .asked(|| format!("grow PersistentVolumeClaim {name}"));
                match grown {
                    Err(Failure::Refused { message, .. }) => {
                        let note = format!(
                            "PersistentVolumeClaim {name} cannot grow: {message}. Let its StorageClass allow expansion, or ask for the size that it has"
                        );
                        applied
                            .notes
                            .insert(node(wanted), (NodeReason::VolumeCannotGrow, note));
                    }
                    outcome => {
                        outcome?;
                    }
                }
            }
            applied
                .inventory
                .push(entry("v1", "PersistentVolumeClaim", &name));
        }
        Ok(())
    }
}

/// Checks that a claim is this identity's, of the node that wants it.
fn check(found: &PersistentVolumeClaim, wanted: &PersistentVolumeClaim) -> Result<(), Failure> {
    let object = || format!("PersistentVolumeClaim {}", wanted.name_any());
    precious::check_format(&found.metadata, object)?;
    for label in [IDENTITY_LABEL, NODE_LABEL] {
        if precious::label(&found.metadata, label) != precious::label(&wanted.metadata, label) {
            return Err(foreign(object(), format!("its label {label} differs")));
        }
    }
    match &found.metadata.owner_references {
        Some(_) => Err(foreign(object(), "its ownerReferences differ")),
        None => Ok(()),
    }
}

fn requests(claim: &PersistentVolumeClaim) -> serde_json::Value {
    let resources = claim.spec.as_ref().and_then(|spec| spec.resources.as_ref());
    json!(resources.and_then(|resources| resources.requests.as_ref()))
}

/// The size that a claim asks for.
pub fn size(claim: &PersistentVolumeClaim) -> Option<ParsedQuantity> {
    let requests = claim.spec.as_ref()?.resources.as_ref()?.requests.as_ref()?;
    ParsedQuantity::try_from(requests.get("storage")?).ok()
}
