//! Tags that name another digest than they did when they were pinned. Registries give no events, so they are asked, slowly:
//! each Installation's tags once in an interval, which chance makes a little longer. Nothing but the report follows.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use kube::ResourceExt;

use super::failure::Failure;
use super::history::Version;
use super::intent::BlueprintIntent;
use super::shell::Shell;
use crate::acquire::{Findings, Reader};
use crate::api::Installation;
use crate::contract::component::source::{ImageReference, Source};
use crate::resolution::accept::AcceptedRecord;

/// How many tags of one Installation are asked for at once.
const AT_ONCE: usize = 4;

/// When the tags of each Installation are due, and what the last look at them found.
pub struct Lookout {
    interval: Duration,
    looks: Mutex<HashMap<String, Look>>,
}

/// The last look at the tags of one Installation.
#[derive(Clone, Default)]
struct Look {
    /// When the next one is due. `None` before the first.
    due: Option<Instant>,
    /// Reference and pinned digest of those that name another digest now.
    moved: BTreeSet<(String, String)>,
}

/// A tag that something running was pinned by.
struct Tag {
    reference: String,
    pinned: String,
    /// What it is called in status.
    name: String,
    /// Whether it is the blueprint's, and so has a pull secret of its own.
    is_blueprint: bool,
}

impl Lookout {
    /// Looks at the tags of each Installation no more often than every `interval`.
    pub fn new(interval: Duration) -> Self {
        Self {
            interval,
            looks: Mutex::default(),
        }
    }

    fn look(&self, uid: &str) -> Look {
        let looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.get(uid).cloned().unwrap_or_default()
    }

    /// Remembers what a look found, and says when the next one is due.
    fn remember(&self, uid: &str, moved: BTreeSet<(String, String)>) -> Instant {
        let now = Instant::now();
        let jitter = self.interval.mul_f64(rand::random_range(0.0..0.2));
        let due = now + self.interval + jitter;
        let look = Look {
            due: Some(due),
            moved,
        };
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever has not looked for so long is gone.
        let old = self.interval * 4;
        looks.retain(|_, look| look.due.is_some_and(|due| due + old > now));
        looks.insert(uid.to_owned(), look);
        due
    }
}

impl Shell {
    /// Names every tag of the running record that names another digest now, and says how long until the next look. What
    /// has been `selected` in this pass is not looked at at once. A registry that cannot be asked changes nothing.
    ///
    /// # Errors
    /// When the cluster cannot be asked.
    pub async fn moved_tags(
        &self,
        installation: &Installation,
        reader: &Reader,
        current: &(Version, AcceptedRecord),
        selected: bool,
    ) -> Result<(Vec<String>, Option<Duration>), Failure> {
        let tags = tags(current);
        if tags.is_empty() {
            return Ok((Vec::new(), None));
        }
        let uid = installation.uid().unwrap_or_default();
        let Look { due, mut moved } = self.lookout.look(&uid);
        let due = match due {
            Some(due) if due > Instant::now() => due,
            None if selected => self.lookout.remember(&uid, moved.clone()),
            _ => {
                moved = self.look_at(installation, reader, &tags, moved).await?;
                self.lookout.remember(&uid, moved.clone())
            }
        };
        let names = tags.into_iter().filter_map(|tag| {
            let Tag {
                reference,
                pinned,
                name,
                ..
            } = tag;
            moved.contains(&(reference, pinned)).then_some(name)
        });
        let again = due.saturating_duration_since(Instant::now());
        Ok((names.collect(), Some(again.max(Duration::from_secs(1)))))
    }

    /// Which of `tags` name another digest now. Where a registry does not say, what it said `before` holds.
    async fn look_at(
        &self,
        installation: &Installation,
        reader: &Reader,
        tags: &[Tag],
        before: BTreeSet<(String, String)>,
    ) -> Result<BTreeSet<(String, String)>, Failure> {
        let platform = reader.platform(&self.settings.platform).await?;
        // The running record needs none of it: what cannot be acquired now is of no interest.
        let mut ignored = Findings::default();
        let named = installation.spec.image_pull_secrets.iter();
        let named: Vec<String> = named.map(|secret| secret.name.clone()).collect();
        let (of_images, _) = reader.acquire_keyring(&named, &mut ignored).await?;
        let of_blueprint = match &installation.spec.blueprint.oci {
            Some(source) => {
                reader
                    .acquire_artifact_keyring(source, &mut ignored)
                    .await?
            }
            None => Default::default(),
        };
        let images = self.registries.client(&platform.registries, of_images);
        let blueprints = self.registries.client(&platform.registries, of_blueprint);
        let questions: Vec<_> = tags
            .iter()
            .map(|tag| {
                let registries = if tag.is_blueprint {
                    &blueprints
                } else {
                    &images
                };
                async move { (tag, registries.digest(&tag.reference).await) }
            })
            .collect();
        let answers: Vec<_> = stream::iter(questions).buffered(AT_ONCE).collect().await;
        let moved = answers.into_iter().filter_map(|(tag, answer)| {
            let key = (tag.reference.clone(), tag.pinned.clone());
            let is_moved = match answer {
                Ok(digest) => digest != tag.pinned,
                Err(refusal) => {
                    tracing::debug!(%refusal, "a tag was not looked at");
                    before.contains(&key)
                }
            };
            is_moved.then_some(key)
        });
        Ok(moved.collect())
    }
}

/// Every tag that the running record was pinned by: what is named by digest names nothing else, ever.
fn tags((version, accepted): &(Version, AcceptedRecord)) -> Vec<Tag> {
    let is_tag = |reference: &str| ImageReference::parse(reference).digest.is_none();
    let mut tags = Vec::new();
    if let (BlueprintIntent::Oci(source), Some(artifact)) =
        (&version.intent.blueprint, &version.pins.artifact)
        && is_tag(&source.reference)
    {
        tags.push(Tag {
            reference: source.reference.clone(),
            pinned: artifact.digest.clone(),
            name: format!("blueprint in OCI artifact {}", source.reference),
            is_blueprint: true,
        });
    }
    let contracts = accepted.contracts();
    for (node, recorded) in &accepted.record().components {
        let workload = contracts.component(node).spec.workload.as_ref();
        if let Some(Source::Image(reference)) = workload.map(|workload| &workload.source)
            && let Some(pinned) = &recorded.image_digest
            && is_tag(reference)
        {
            tags.push(Tag {
                reference: reference.clone(),
                pinned: pinned.clone(),
                name: format!("image {reference} of node {node}"),
                is_blueprint: false,
            });
        }
    }
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_due_after_the_interval_and_not_much_later() {
        let interval = Duration::from_secs(1000);
        let lookout = Lookout::new(interval);
        assert_eq!(lookout.look("uid").due, None, "the first is due at once");
        for _ in 0..20 {
            let before = Instant::now();
            let due = lookout.remember("uid", BTreeSet::new());
            assert!(due >= before + interval);
            assert!(due <= Instant::now() + interval.mul_f64(1.2));
            assert_eq!(lookout.look("uid").due, Some(due));
        }
    }
}
