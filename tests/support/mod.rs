//! What integration tests share: a cluster, a namespace each, Installations to apply, operators to run and to kill.
//!
//! ```text
//! let test = TestNamespace::new("first_install").await;
//! let operator = test.operator().await.start();
//! test.create(&installation("wiki").inline("acme-wiki", [("blueprint.yaml", BLUEPRINT)]).build()).await;
//! test.wait_for_condition("wiki", ConditionType::Ready, "True").await;
//! ```

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what the pure rooms do without"
)]
#![allow(dead_code, unused_imports, reason = "no test binary uses all of it")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on says so by panicking"
)]

pub mod artifact;
pub mod audit;
pub mod catalog;
pub mod chaos;
pub mod chat;
pub mod cluster;
pub mod edge;
pub mod fault;
pub mod helm;
pub mod image;
pub mod install;
pub mod installation;
pub mod invariants;
pub mod item;
pub mod kubectl;
pub mod local;
pub mod namespace;
pub mod operator;
pub mod plugin;
pub mod pod;
pub mod principal;
pub mod proxy;
pub mod refusal;
pub mod registry;
pub mod rollout;
pub mod secrecy;
pub mod stock;
pub mod tap;
pub mod town;
pub mod wait;

pub use artifact::Parcel;
pub use cluster::Cluster;
pub use fault::Fault;
pub use installation::installation;
pub use item::Item;
pub use namespace::TestNamespace;
pub use operator::Operator;
pub use principal::Principal;
pub use proxy::{ApiProxy, Moment};
pub use registry::RealRegistry;
pub use stock::{Counts, NOTHING, ONE_INSTALL, Stock};
