//! The types of an Installation's conditions.

use strum::{AsRefStr, Display, EnumIter};

/// The conditions that every Installation carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, AsRefStr, Display, EnumIter)]
pub enum ConditionType {
    /// The spec last seen is resolved, materialized and serving (kstatus).
    Ready,
    /// Something is still under way or awaited (kstatus).
    Reconciling,
    /// Nothing more will happen until somebody acts (kstatus).
    Stalled,
    /// The spec last seen resolved to a record.
    Resolved,
    /// The current record's objects are applied.
    Materialized,
    /// The running record serves, whatever became of a later update.
    Available,
    /// Something pinned has changed outside.
    UpdateAvailable,
}
