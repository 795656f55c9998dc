//! Values that cannot be printed. Every value that may be secret travels in one of these types from the place where it
//! is read to the place where it is written; there is no `Display` and no `Serialize`, and `Debug` says `[redacted]`.

use std::fmt;

use serde_json::Value;
use zeroize::Zeroize;

/// A secret `T`. Reading it takes a visible [`Secret::expose`].
///
/// ```compile_fail
/// let secret = installation_operator::resolution::secret::Secret::new("hunter2".to_owned());
/// println!("{secret}");
/// ```
///
/// ```
/// let secret = installation_operator::resolution::secret::Secret::new("hunter2".to_owned());
/// assert_eq!(format!("{secret:?}"), "[redacted]");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T: Zeroize>(T);

impl<T: Zeroize> Secret<T> {
    /// Takes `value` into custody.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// The value itself, for the place that persists, compares or materializes it.
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl<T: Zeroize> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// A logical value together with whether it is sensitive. It prints as `[redacted]` either way, because a value's
/// sensitivity may still grow by union (BP-PARAM-002) after it was read.
#[derive(Clone, PartialEq)]
pub struct Held {
    value: Value,
    sensitive: bool,
}

impl Held {
    /// A value that is a secret.
    pub fn sensitive(value: impl Into<Value>) -> Self {
        Self {
            value: value.into(),
            sensitive: true,
        }
    }

    /// A value that its supplier does not call secret.
    pub fn plain(value: impl Into<Value>) -> Self {
        Self {
            value: value.into(),
            sensitive: false,
        }
    }

    /// The same value, sensitive if it was or if `sensitive`. Sensitivity never decreases.
    #[must_use]
    pub fn or_sensitive(mut self, sensitive: bool) -> Self {
        self.sensitive |= sensitive;
        self
    }

    /// Whether the value is a secret.
    pub fn is_sensitive(&self) -> bool {
        self.sensitive
    }

    /// The value itself, for the place that persists, compares, checks or materializes it.
    pub fn expose(&self) -> &Value {
        &self.value
    }

    /// The value, unless it is a secret.
    pub fn public(&self) -> Option<&Value> {
        (!self.sensitive).then_some(&self.value)
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
