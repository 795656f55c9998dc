//! Values that cannot be printed. Every value that may be secret travels in one of these types from the place where it
//! is read to the place where it is written; there is no `Display` and no `Serialize`, and `Debug` says `[redacted]`.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use zeroize::Zeroize;

/// A secret `T`, wiped when dropped. Reading it takes a visible [`Secret::expose`].
///
/// ```compile_fail
/// let secret = installation_operator::resolution::secret::Secret::new("hunter2".to_owned());
/// println!("{secret}");
/// ```
///
/// ```compile_fail
/// let secret = installation_operator::resolution::secret::Secret::new("hunter2".to_owned());
/// let _ = serde_json::to_string(&secret);
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

/// JSON that may hold secrets. Zeroizing it wipes every string, member names included, and leaves null.
#[derive(Clone, PartialEq)]
pub struct SecretJson(pub Value);

impl fmt::Debug for SecretJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl Zeroize for SecretJson {
    fn zeroize(&mut self) {
        // A worklist, not recursion: how deep the value nests is its author's choice.
        let mut pending = vec![self.0.take()];
        while let Some(value) = pending.pop() {
            match value {
                Value::String(mut text) => text.zeroize(),
                Value::Array(items) => pending.extend(items),
                Value::Object(members) => {
                    for (mut name, value) in members {
                        name.zeroize();
                        pending.push(value);
                    }
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }
}

/// A logical value together with whether it is sensitive. It prints as `[redacted]` either way, because a value's
/// sensitivity may still grow by union (BP-PARAM-002) after it was read.
///
/// ```compile_fail
/// let held = installation_operator::resolution::secret::Held::sensitive("hunter2");
/// println!("{held}");
/// ```
///
/// ```compile_fail
/// let held = installation_operator::resolution::secret::Held::sensitive("hunter2");
/// let _ = serde_json::to_string(&held);
/// ```
///
/// A clone shares the value, so that forwarding it along a chain of a thousand nodes copies nothing; the last clone
/// to go wipes it.
#[derive(Clone, PartialEq)]
pub struct Held {
    value: Arc<Secret<SecretJson>>,
    sensitive: bool,
}

impl Held {
    /// A value whose supplier says whether it is a secret.
    pub fn new(value: impl Into<Value>, sensitive: bool) -> Self {
        Self {
            value: Arc::new(Secret::new(SecretJson(value.into()))),
            sensitive,
        }
    }

    /// A value that is a secret.
    pub fn sensitive(value: impl Into<Value>) -> Self {
        Self::new(value, true)
    }

    /// A value that its supplier does not call secret.
    pub fn plain(value: impl Into<Value>) -> Self {
        Self::new(value, false)
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
        &self.value.expose().0
    }

    /// The value, unless it is a secret.
    pub fn public(&self) -> Option<&Value> {
        (!self.sensitive).then(|| self.expose())
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_held_value_never_prints_whatever_its_sensitivity() {
        for held in [
            Held::sensitive("hunter2"),
            Held::plain(json!({"k": "hunter2"})),
        ] {
            assert_eq!(format!("{held:?} {held:#?}"), "[redacted] [redacted]");
        }
    }

    #[test]
    fn a_secret_prints_that_it_is_there() {
        let json = SecretJson(json!("hunter2"));
        assert_eq!(format!("{json:?}"), "[redacted]");
        assert_eq!(format!("{:?}", Secret::new(json)), "[redacted]");
    }

    #[test]
    fn a_secret_is_wiped_when_it_is_dropped() {
        /// Tells when it is wiped.
        struct Witness<'a>(&'a Cell<bool>);

        impl Zeroize for Witness<'_> {
            fn zeroize(&mut self) {
                self.0.set(true);
            }
        }

        let wiped = Cell::new(false);
        let secret = Secret::new(Witness(&wiped));
        assert!(!wiped.get());
        drop(secret);
        assert!(wiped.get());
    }

    #[test]
    fn sensitivity_grows_and_never_decreases() {
        assert!(Held::sensitive(1).or_sensitive(false).is_sensitive());
        assert!(Held::plain(1).or_sensitive(true).is_sensitive());
        assert!(!Held::plain(1).or_sensitive(false).is_sensitive());
        assert_eq!(Held::sensitive(1).public(), None);
        assert_eq!(Held::plain(1).public(), Some(&json!(1)));
    }

    #[test]
    fn zeroizing_leaves_nothing_of_a_nested_value() {
        let mut value = SecretJson(json!({"a": ["x", {"b": "y"}], "c": 1}));
        value.zeroize();
        assert_eq!(value.0, Value::Null);
    }
}
