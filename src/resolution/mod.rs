//! Resolution: contracts and context in, a whole resolution or nothing out; snapshots, records and their acceptance.
//!
//! [`resolve`] is the steps of BP-RESOLVE-001 in their order, a file of `stages` each. Every stage works on what the
//! earlier ones could establish, reports everything that is wrong with its own part, and stays silent about what was
//! reported before. Nothing here does I/O, reads a clock or makes randomness.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod accept;
pub mod connection;
pub mod context;
pub mod credential;
#[cfg(test)]
mod leaks;
#[cfg(test)]
mod properties;
pub mod record;
pub mod resolved;
pub mod secret;
pub mod snapshot;
mod stages;
#[cfg(test)]
mod testing;
mod wire;

pub use self::stages::address::derive as address;
pub use self::wire::Malformed;

use self::context::Context;
use self::resolved::Resolved;
use self::stages::findings::Findings;
use self::stages::{allocation, connections, environment, parameters, values};
use crate::contract::contracts::Contracts;
use crate::document::diagnostic::Phase;
use crate::document::result::{Profile, Status, ValidationResult};

/// What became of a resolution.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// Status, diagnostics and deferred obligations of the resolution phase.
    pub result: ValidationResult,
    /// Every effective value: present exactly when the result is VALID and no value was withheld from the context.
    pub resolved: Option<Resolved>,
}

/// Resolves `contracts` with what an installation supplies (BP-RESOLVE-001).
///
/// The same arguments give an equal resolution. All stages run, so that one pass says everything that is wrong and
/// everything that is missing; a value that is wrong or missing is reported once, where it enters, and whatever
/// depends on it adds nothing. Values are released only when nothing at all was reported, here or by whoever withheld a
/// value.
///
/// Takes a number of steps linear in nodes and bindings, whatever the length of a chain of values, and no stack that grows
/// with one. Only what an allocation tells is looked up in ordered maps.
pub fn resolve(contracts: &Contracts, context: &Context) -> Resolution {
    let mut findings = Findings::default();
    let parameters = parameters::obtain(contracts, context, &mut findings);
    let addresses = allocation::check(contracts, context, &mut findings);
    let connections = connections::view(contracts, context, &mut findings);
    let values = values::evaluate(
        contracts,
        &parameters,
        &addresses,
        &connections,
        &mut findings,
    );
    let environment = environment::encode(contracts, &values.inputs, &mut findings);

    let (diagnostics, deferred) = findings.conclude();
    let result = ValidationResult::new(Profile::Document, Phase::Resolution, diagnostics, deferred);
    let is_whole = result.status == Status::Valid && context.withheld.is_empty();
    let resolved = is_whole.then(|| Resolved {
        inputs: values.inputs,
        outputs: values.outputs,
        environment,
    });
    Resolution { result, resolved }
}
