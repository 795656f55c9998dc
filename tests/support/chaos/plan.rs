//! What a run does, from its seed alone: nothing here looks at a cluster, so that the same seed makes the same actions.

use std::fmt;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// What one Installation is meant to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is named after what it sets in the spec")]
pub struct Wish {
    pub is_present: bool,
    pub title: u32,
    /// Its title is too long: an update that fails.
    pub is_broken: bool,
    pub generation: u32,
    pub update: u32,
    pub redeploy: u32,
    pub rollback: Option<(u32, u32)>,
    pub is_suspended: bool,
    pub disposes: bool,
    pub edition: u32,
}

/// What happens next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The user wants something else of Installation `.0`; `.1` says what.
    Wish(usize, &'static str),
    /// Somebody deletes a workload of it.
    LoseWorkload(usize),
    /// Somebody deletes its status.
    LoseStatus(usize),
    /// Another weather between operators and API server; chances are drawn from the seed.
    Weather(Weather, u64),
    /// SIGKILL, and a restart.
    Kill(usize),
    /// SIGKILL, and no restart.
    End(usize),
    /// A replica that had ended starts.
    Start(usize),
}

/// What happens to requests and watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// Nothing.
    Calm,
    /// Some requests fail.
    Errors,
    /// Some requests do not arrive, and some answers.
    Lossy,
    /// The API server wants some requests to come later.
    Busy,
    /// Some writes are in conflict.
    Conflicts,
    /// Every request is late.
    Slow,
    /// The token is refused.
    Expired,
    /// Watches tell nothing.
    Stale,
    /// Watches end.
    Cut,
    /// Watches are too old.
    Gone,
    /// Nothing arrives.
    Partition,
}

const WEATHERS: [Weather; 10] = [
    Weather::Errors,
    Weather::Lossy,
    Weather::Lossy,
    Weather::Busy,
    Weather::Conflicts,
    Weather::Slow,
    Weather::Expired,
    Weather::Stale,
    Weather::Cut,
    Weather::Gone,
];

/// The replicas that take turns.
pub const REPLICAS: usize = 2;
/// The one that acts beside them, at times.
pub const ROGUE: usize = REPLICAS;

/// The actions of a run, without an end.
pub struct Plan {
    chance: StdRng,
    /// What each Installation is meant to be by now.
    pub wishes: Vec<Wish>,
    rogue_runs: bool,
    is_calm: bool,
}

impl Plan {
    /// The plan of `seed` for so many Installations.
    pub fn of(seed: u64, installations: usize) -> Self {
        Self {
            chance: StdRng::seed_from_u64(seed),
            wishes: vec![Wish::default(); installations],
            rogue_runs: false,
            is_calm: true,
        }
    }

    /// Everything as it has to end: present, awake, and what is rolled back let go. Of what is broken, a third stays so.
    pub fn settle(&mut self) {
        for (number, wish) in self.wishes.iter_mut().enumerate() {
            wish.is_broken &= number % 3 == 0;
            wish.is_present = true;
            wish.is_suspended = false;
            wish.rollback = None;
        }
    }

    fn wish(&mut self) -> Action {
        let number = self.chance.random_range(0..self.wishes.len());
        let dice = self.chance.random_range(0..100);
        let record = self.chance.random_range(1..=4);
        let wish = &mut self.wishes[number];
        if !wish.is_present {
            wish.is_present = true;
            return Action::Wish(number, "create");
        }
        let what = match dice {
            0..15 => {
                wish.title += 1;
                "title"
            }
            15..28 => {
                wish.generation += 1;
                "rotate"
            }
            28..36 => {
                wish.update += 1;
                "update"
            }
            36..45 => {
                wish.redeploy += 1;
                "redeploy"
            }
            45..50 => {
                let token = wish.rollback.map_or(0, |(_, token)| token) + 1;
                wish.rollback = Some((record, token));
                "roll back"
            }
            50..58 => {
                wish.rollback = None;
                "leave a rollback"
            }
            58..64 => {
                wish.is_suspended = !wish.is_suspended;
                "suspend or resume"
            }
            64..69 => {
                wish.is_broken = !wish.is_broken;
                "break or mend"
            }
            69..77 => {
                wish.edition += 1;
                "another edition"
            }
            77..84 => {
                wish.is_present = false;
                wish.disposes = false;
                wish.rollback = None;
                // A new apply may know of no rotation.
                wish.generation *= u32::from(dice < 80);
                "delete and retain"
            }
            84..89 => {
                wish.is_present = false;
                wish.disposes = true;
                wish.generation = 0;
                wish.rollback = None;
                "delete with all it has"
            }
            89..96 => return Action::LoseWorkload(number),
            _ => return Action::LoseStatus(number),
        };
        Action::Wish(number, what)
    }
}

impl Iterator for Plan {
    type Item = Action;

    fn next(&mut self) -> Option<Action> {
        let seed = self.chance.random();
        Some(match self.chance.random_range(0..200) {
            0..8 if self.is_calm => {
                self.is_calm = false;
                let all = WEATHERS.len() + 1;
                let which = self.chance.random_range(0..all);
                let weather = WEATHERS.get(which).copied();
                Action::Weather(weather.unwrap_or(Weather::Partition), seed)
            }
            // A bad weather is over sooner than a good one.
            0..20 if !self.is_calm => {
                self.is_calm = true;
                Action::Weather(Weather::Calm, seed)
            }
            20..23 => Action::Kill(self.chance.random_range(0..REPLICAS)),
            23..29 => {
                self.rogue_runs = !self.rogue_runs;
                if self.rogue_runs {
                    Action::Start(ROGUE)
                } else {
                    Action::End(ROGUE)
                }
            }
            _ => self.wish(),
        })
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Wish(number, what) => write!(f, "{}: {what}", name(*number)),
            Self::LoseWorkload(number) => write!(f, "{}: lose a workload", name(*number)),
            Self::LoseStatus(number) => write!(f, "{}: lose status", name(*number)),
            Self::Weather(weather, _) => write!(f, "weather {weather:?}"),
            Self::Kill(replica) => write!(f, "kill and restart operator {replica}"),
            Self::End(replica) => write!(f, "kill operator {replica}"),
            Self::Start(replica) => write!(f, "start operator {replica}"),
        }
    }
}

/// The name of an Installation, and its identity.
pub fn name(number: usize) -> String {
    format!("app-{number}")
}
