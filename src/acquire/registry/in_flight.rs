//! Questions that are being asked just now: whoever asks the same one, with the same credentials on the same terms, waits
//! for the same answer. Answers are not kept.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::FutureExt as _;
use futures::future::{BoxFuture, WeakShared};

use super::Access;

/// Questions of one kind, with answers of type `T`.
pub(super) struct InFlight<T: Clone>(Mutex<Questions<T>>);

/// By reference; each with what else it is the same by.
type Questions<T> = HashMap<String, Vec<(Access, Asked<T>)>>;
type Asked<T> = WeakShared<BoxFuture<'static, T>>;

impl<T: Clone> Default for InFlight<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone + Send + Sync + 'static> InFlight<T> {
    /// The answer to the question of `access`, for which `ask` asks unless somebody does so already. It goes on for as long
    /// as anybody waits.
    pub(super) async fn join(
        &self,
        access: &Access,
        ask: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let answer = {
            let mut questions = self.pending();
            let same = questions.entry(access.reference.clone()).or_default();
            let asked = same.iter().find(|(other, _)| other == access);
            match asked.and_then(|(_, asked)| asked.upgrade()) {
                Some(asked) => asked,
                None => {
                    let asked = ask.boxed().shared();
                    same.extend(asked.downgrade().map(|asked| (access.clone(), asked)));
                    asked
                }
            }
        };
        let answered = answer.await;
        drop(self.pending());
        answered
    }

    /// The questions that nobody has answered yet: of an answered one nothing is kept, its credentials least of all.
    fn pending(&self) -> MutexGuard<'_, Questions<T>> {
        let mut questions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        questions.retain(|_, same| {
            let is_pending =
                |asked: &Asked<T>| asked.upgrade().is_some_and(|asked| asked.peek().is_none());
            same.retain(|(_, asked)| is_pending(asked));
            !same.is_empty()
        });
        questions
    }
}
