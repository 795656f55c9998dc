//! Optional members of evidence and records, which are left out and never null: one document, one spelling.

use serde::{Deserialize, Deserializer};

/// Reads a member that is there. With `#[serde(default, deserialize_with = "optional::present")]` an absent member is
/// `None`, and a null one is refused unless `T` itself takes null.
///
/// # Errors
/// The deserializer's, when the member is not a `T`.
pub fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
