//! A run: users who change their minds, operators that are killed, a network that fails, and a witness who forgets nothing.
//! What happens follows from a seed.

mod act;
pub mod item;
pub mod ledger;
pub mod plan;
mod witness;

use std::str::FromStr;
use std::time::Duration;

use installation_operator::api::Installation;
use installation_operator::api::condition::ConditionType;
use tokio::time::Instant;

use self::act::World;
use self::plan::{Action, Plan, name};
use self::witness::Witness;
use super::TestNamespace;
use super::wait::{attempt, condition};

/// How long until everything has settled after the last fault: the pauses between tries have grown meanwhile.
const SETTLING: Duration = Duration::from_secs(420);
/// How long between two actions.
const PAUSE: Duration = Duration::from_millis(250);

/// What a run is made of.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// What its actions follow from.
    pub seed: u64,
    /// How many Installations there are.
    pub installations: usize,
    /// How long it goes on before it settles.
    pub lasts: Duration,
}

impl Run {
    /// This run, apart from what `CHAOS_SEED`, `CHAOS_INSTALLATIONS` and `CHAOS_SECONDS` say otherwise.
    pub fn or_as_given(self) -> Self {
        Self {
            seed: given("CHAOS_SEED", self.seed),
            installations: given("CHAOS_INSTALLATIONS", self.installations),
            lasts: Duration::from_secs(given("CHAOS_SECONDS", self.lasts.as_secs())),
        }
    }

    /// Runs, and fails when an invariant is broken or an Installation does not end as it is meant to.
    pub async fn go(self) {
        let Self {
            seed,
            installations,
            lasts,
        } = self;
        println!("seed {seed}, {installations} Installations, {lasts:?}");
        let test = TestNamespace::new("chaos").await;
        let _rollout = test.pods_run_to_their_end();
        let witness = Witness::of(&test);
        let mut plan = Plan::of(seed, installations);
        let mut world = World::new(&test, &witness).await;
        let begun = Instant::now();
        // Every Installation is there before the weather changes.
        for number in 0..installations {
            plan.wishes[number].is_present = true;
            let action = Action::Wish(number, "create");
            println!("{:8.1} s  {action}", begun.elapsed().as_secs_f32());
            world.act(&action, &plan).await;
        }
        while begun.elapsed() < lasts {
            let action = plan.next().expect("a plan has no end");
            println!("{:8.1} s  {action}", begun.elapsed().as_secs_f32());
            world.act(&action, &plan).await;
            assert_eq!(witness.violations(), Vec::<String>::new(), "seed {seed}");
            tokio::time::sleep(PAUSE).await;
        }
        println!("{:8.1} s  settling", begun.elapsed().as_secs_f32());
        plan.settle();
        world.settle(&plan).await;
        converged(&test, &plan, &mut world).await;
        let seen = witness.summary();
        println!("{:8.1} s  converged: {seen}", begun.elapsed().as_secs_f32());
        let broken = attempt(Duration::from_secs(30), async || {
            // What is outlived goes a moment later.
            test.broken_invariants().await.is_empty().then_some(())
        });
        if broken.await.is_none() {
            let broken = test.broken_invariants().await;
            panic!("seed {seed}: {broken:#?}");
        }
        assert_eq!(witness.violations(), Vec::<String>::new(), "seed {seed}");
    }
}

/// What stands in the environment, or `otherwise`.
fn given<T: FromStr>(variable: &str, otherwise: T) -> T {
    let Ok(text) = std::env::var(variable) else {
        return otherwise;
    };
    text.parse()
        .unwrap_or_else(|_| panic!("{variable}={text} means nothing"))
}

/// Waits until every Installation is what it is meant to be.
async fn converged(test: &TestNamespace, plan: &Plan, world: &mut World<'_>) {
    let all = attempt(SETTLING, async || {
        world.restart_the_ended();
        let left = unsettled(test, plan).await;
        left.is_empty().then_some(())
    });
    if all.await.is_none() {
        let left = unsettled(test, plan).await;
        let first = test.describe(&left[0].0).await;
        panic!("waited {SETTLING:?} for {left:#?}\n{first}");
    }
}

/// Who is not yet what it is meant to be, and how it stands.
async fn unsettled(test: &TestNamespace, plan: &Plan) -> Vec<(String, String)> {
    let standing = test.list::<Installation>().await;
    let mut left = Vec::new();
    for (number, wish) in plan.wishes.iter().enumerate() {
        let name = name(number);
        let found = standing
            .iter()
            .find(|found| found.metadata.name.as_deref() == Some(&name));
        let (of, wanted) = if wish.is_broken {
            (ConditionType::Resolved, ("False", "Invalid"))
        } else {
            (ConditionType::Ready, ("True", "Ready"))
        };
        let is = found.map(|found| condition(found, of)).unwrap_or_default();
        let is_current = found.is_some_and(|found| {
            let observed = found
                .status
                .as_ref()
                .map(|status| status.observed_generation);
            observed == found.metadata.generation
        });
        if !is_current || is != wanted {
            left.push((name, format!("{of}={is:?}, and is to be {wanted:?}")));
        }
    }
    left
}
