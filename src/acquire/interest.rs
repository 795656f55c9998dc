//! What each Installation reads or waits for, by object: so that a change of any of them wakes just those Installations.
//! Noted before the object is read, so that no change falls between the look and the note. Kept in memory: after a start
//! every Installation is looked at, and notes anew.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::Resource;
use kube::runtime::reflector::ObjectRef;

use crate::api::Installation;

/// One object, whether it exists or not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Interest {
    kind: String,
    namespace: Option<String>,
    name: String,
}

impl Interest {
    /// The object of kind `K` that is called `name`; `namespace` is left out for a kind without.
    pub fn of<K: Resource<DynamicType = ()>>(namespace: Option<&str>, name: &str) -> Self {
        Self {
            kind: K::kind(&()).into_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }
    }

    /// The object of `namespace` that a message calls by kind and name.
    pub fn named(kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            namespace: Some(namespace.to_owned()),
            name: name.to_owned(),
        }
    }

    /// Whatever belongs to `identity` in `namespace`.
    pub fn identity(namespace: &str, identity: &str) -> Self {
        Self::named("identity", namespace, identity)
    }
}

/// The interests of all Installations.
#[derive(Clone, Default)]
pub struct Interests(Arc<Mutex<Index>>);

#[derive(Default)]
struct Index {
    /// What each Installation noted, and whether it did so in its pass under way.
    noted: HashMap<ObjectRef<Installation>, HashMap<Interest, bool>>,
    holders: HashMap<Interest, HashSet<ObjectRef<Installation>>>,
}

impl Interests {
    /// The notebook of `holder`'s next pass. What earlier passes noted holds on until [`Notebook::settle`].
    pub fn open(&self, holder: ObjectRef<Installation>) -> Notebook {
        for is_new in self
            .lock()
            .noted
            .entry(holder.clone())
            .or_default()
            .values_mut()
        {
            *is_new = false;
        }
        Notebook {
            index: self.clone(),
            holder,
        }
    }

    /// The Installations that have noted `interest`.
    pub fn holders(&self, interest: &Interest) -> Vec<ObjectRef<Installation>> {
        let index = self.lock();
        let holders = index.holders.get(interest).into_iter().flatten();
        holders.cloned().collect()
    }

    /// Forgets everything of an Installation that is gone.
    pub fn forget(&self, holder: &ObjectRef<Installation>) {
        let mut index = self.lock();
        let noted = index.noted.remove(holder).unwrap_or_default();
        for interest in noted.keys() {
            index.release(interest, holder);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    fn release(&mut self, interest: &Interest, holder: &ObjectRef<Installation>) {
        if let Some(holders) = self.holders.get_mut(interest) {
            holders.remove(holder);
            if holders.is_empty() {
                self.holders.remove(interest);
            }
        }
    }
}

/// Where one pass over an Installation notes what it reads.
#[derive(Clone)]
pub struct Notebook {
    index: Interests,
    holder: ObjectRef<Installation>,
}

impl Notebook {
    /// Notes `interest`. To be done before the object is read.
    pub fn note(&self, interest: Interest) {
        let mut index = self.index.lock();
        let holders = index.holders.entry(interest.clone()).or_default();
        holders.insert(self.holder.clone());
        let noted = index.noted.entry(self.holder.clone()).or_default();
        noted.insert(interest, true);
    }

    /// Drops what this pass did not note. Only for a pass that came to its end: one that failed half-way may not have
    /// come to everything it is interested in.
    pub fn settle(&self) {
        let mut index = self.index.lock();
        let Some(noted) = index.noted.get_mut(&self.holder) else {
            return;
        };
        let dropped: Vec<Interest> = noted
            .extract_if(|_, is_new| !*is_new)
            .map(|(interest, _)| interest)
            .collect();
        for interest in dropped {
            index.release(&interest, &self.holder);
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};

    use super::*;

    fn installation(name: &str) -> ObjectRef<Installation> {
        ObjectRef::new(name).within("ns")
    }

    fn secret(name: &str) -> Interest {
        Interest::of::<Secret>(Some("ns"), name)
    }

    #[test]
    fn an_object_wakes_those_that_noted_it_and_nobody_else() {
        let interests = Interests::default();
        interests.open(installation("wiki")).note(secret("inputs"));
        interests.open(installation("desk")).note(secret("others"));
        assert_eq!(interests.holders(&secret("inputs")), [installation("wiki")]);
        let map = Interest::of::<ConfigMap>(Some("ns"), "inputs");
        assert_eq!(interests.holders(&map), []);
    }

    #[test]
    fn what_a_whole_pass_no_longer_reads_wakes_nobody() {
        let interests = Interests::default();
        interests.open(installation("wiki")).note(secret("before"));
        let next = interests.open(installation("wiki"));
        next.note(secret("after"));
        assert_eq!(interests.holders(&secret("before")), [installation("wiki")]);
        next.settle();
        assert_eq!(interests.holders(&secret("before")), []);
        assert_eq!(interests.holders(&secret("after")), [installation("wiki")]);
    }

    #[test]
    fn an_installation_that_is_gone_is_woken_by_nothing() {
        let interests = Interests::default();
        interests.open(installation("wiki")).note(secret("inputs"));
        interests.forget(&installation("wiki"));
        assert_eq!(interests.holders(&secret("inputs")), []);
    }
}
