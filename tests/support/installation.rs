//! Installations to apply, built step by step.

use installation_operator::api::{Installation, InstallationSpec};
use serde_json::{Value, json};

/// An Installation under construction. Fields are set as JSON, so that a test can also say what the types would not.
#[derive(Clone, Debug)]
pub struct Builder {
    name: String,
    spec: Value,
}

/// An Installation named `name`, with nothing in its spec.
pub fn installation(name: &str) -> Builder {
    Builder {
        name: name.to_owned(),
        spec: json!({}),
    }
}

impl Builder {
    /// The blueprint written out: `item` and its files, path and text.
    #[must_use]
    pub fn inline<P: Into<String>, T: Into<String>>(
        self,
        item: &str,
        files: impl IntoIterator<Item = (P, T)>,
    ) -> Self {
        let files: serde_json::Map<String, Value> = files
            .into_iter()
            .map(|(path, text)| (path.into(), Value::String(text.into())))
            .collect();
        self.with(
            "blueprint",
            json!({"inline": {"item": item, "files": files}}),
        )
    }

    /// The blueprint in a ConfigMap, its keys being its paths.
    #[must_use]
    pub fn config_map(self, item: &str, name: &str) -> Self {
        self.with(
            "blueprint",
            json!({"configMap": {"item": item, "name": name}}),
        )
    }

    /// A submitted value.
    #[must_use]
    pub fn parameter(self, name: &str, value: impl Into<Value>) -> Self {
        self.entry("parameters", name, json!({"value": value.into()}))
    }

    /// A submitted value in a Secret, as text.
    #[must_use]
    pub fn parameter_from_secret(self, name: &str, secret: &str, key: &str) -> Self {
        self.entry(
            "parameters",
            name,
            json!({"secretKeyRef": {"name": secret, "key": key}}),
        )
    }

    /// A rotation generation.
    #[must_use]
    pub fn generation(self, parameter: &str, generation: u32) -> Self {
        self.entry("credentials", parameter, json!({"generation": generation}))
    }

    /// `deletionPolicy: Delete`; the default is `Retain`.
    #[must_use]
    pub fn deleting(self) -> Self {
        self.with("deletionPolicy", json!("Delete"))
    }

    /// `suspend: true`.
    #[must_use]
    pub fn suspended(self) -> Self {
        self.with("suspend", json!(true))
    }

    /// An identity other than the name.
    #[must_use]
    pub fn identity(self, identity: &str) -> Self {
        self.with("identity", json!(identity))
    }

    /// Any field of the spec.
    #[must_use]
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.spec[field] = value;
        self
    }

    /// One entry of a map in the spec.
    #[must_use]
    pub fn entry(mut self, field: &str, key: &str, value: Value) -> Self {
        self.spec[field][key] = value;
        self
    }

    /// The whole object as JSON, whether or not the types could say it.
    pub fn json(&self) -> Value {
        json!({
            "apiVersion": "install.musher.dev/v1alpha1",
            "kind": "Installation",
            "metadata": {"name": self.name},
            "spec": self.spec
        })
    }

    /// The whole object.
    pub fn build(&self) -> Installation {
        let spec: InstallationSpec = serde_json::from_value(self.spec.clone()).expect("a spec");
        Installation::new(&self.name, spec)
    }
}
