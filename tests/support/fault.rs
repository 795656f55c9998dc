//! What a proxy can do to a request, and the rules by which it does. A rule counts how often it has struck, so that a test
//! can say that its fault came; one with a probability draws from the proxy's seed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::Method;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

/// What becomes of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The proxy answers with this status; the API server never hears of it.
    Refused(u16),
    /// The same with status 429, and how many seconds to wait.
    Throttled(u32),
    /// The connection ends, and the API server never hears of it.
    Unsent,
    /// The API server has done it, and the connection ends without its answer.
    AnswerLost,
    /// The API server has done it, and the proxy answers with this status.
    Misanswered(u16),
    /// It reaches the API server late.
    Slow(Duration),
}

/// Which requests a fault is for.
#[derive(Clone, Debug)]
pub struct Rule {
    fault: Fault,
    methods: Vec<Method>,
    text: String,
    most: usize,
    chance: f64,
}

impl Fault {
    /// Every request.
    pub fn always(self) -> Rule {
        Rule {
            fault: self,
            methods: Vec::new(),
            text: String::new(),
            most: usize::MAX,
            chance: 1.0,
        }
    }

    /// Requests of `method` whose path, query or body has `text` in it.
    pub fn on(self, method: Method, text: &str) -> Rule {
        Rule {
            methods: vec![method],
            text: text.to_owned(),
            ..self.always()
        }
    }

    /// Requests that write.
    pub fn on_writes(self) -> Rule {
        Rule {
            methods: vec![Method::POST, Method::PUT, Method::PATCH, Method::DELETE],
            ..self.always()
        }
    }
}

impl Rule {
    /// The first `most` of them only.
    #[must_use]
    pub fn times(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Each of them with a probability.
    #[must_use]
    pub fn with_chance(self, chance: f64) -> Self {
        Self { chance, ..self }
    }

    fn concerns(&self, method: &Method, target: &str, body: &[u8]) -> bool {
        let text = self.text.as_bytes();
        let has = |bytes: &[u8]| bytes.windows(text.len()).any(|part| part == text);
        (self.methods.is_empty() || self.methods.contains(method))
            && (text.is_empty() || has(target.as_bytes()) || has(body))
    }
}

/// A rule in force, until it is lifted.
#[derive(Clone)]
pub struct Struck(Arc<InForce>);

struct InForce {
    rule: Rule,
    count: AtomicUsize,
    when: Mutex<Vec<(Instant, String)>>,
}

impl Struck {
    /// How often it has struck.
    pub fn count(&self) -> usize {
        self.0.count.load(Ordering::SeqCst)
    }

    /// What it has struck, as method and target, and when.
    pub fn requests(&self) -> Vec<(Instant, String)> {
        self.0.when.lock().expect("a rule's state").clone()
    }
}

/// The rules in force, the first that concerns a request being the one that holds.
pub struct Faults {
    rules: Vec<Struck>,
    chance: StdRng,
}

impl Faults {
    /// No rules; chances are drawn from `seed`.
    pub fn of(seed: u64) -> Self {
        Self {
            rules: Vec::new(),
            chance: StdRng::seed_from_u64(seed),
        }
    }

    /// Puts a rule in force.
    pub fn inject(&mut self, rule: Rule) -> Struck {
        let struck = Struck(Arc::new(InForce {
            rule,
            count: AtomicUsize::default(),
            when: Mutex::default(),
        }));
        self.rules.push(struck.clone());
        struck
    }

    /// Ends every rule.
    pub fn lift(&mut self) {
        self.rules.clear();
    }

    /// What becomes of this request.
    pub fn choose(&mut self, method: &Method, target: &str, body: &[u8]) -> Option<Fault> {
        let Self { rules, chance } = self;
        let rule = rules.iter().find(|struck| {
            let rule = &struck.0.rule;
            struck.count() < rule.most
                && rule.concerns(method, target, body)
                && chance.random_bool(rule.chance)
        })?;
        rule.0.count.fetch_add(1, Ordering::SeqCst);
        let mut when = rule.0.when.lock().expect("a rule's state");
        when.push((Instant::now(), format!("{method} {target}")));
        Some(rule.0.rule.fault)
    }
}
