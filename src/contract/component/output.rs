//! Rules of one output: its schema, and the origin that its value comes from (COMP-OUT-002, COMP-REF-001, COMP-EP-004,
//! COMP-TYPE-003).

use serde_json::Value;

use super::endpoint::{self, Property, PropertyName};
use super::literal::Receiver;
use super::value_schema::ValueType;
use super::{Origin, Output, Spec};
use crate::contract::findings::Findings;
use crate::document::diagnostic::Code;
use crate::document::pointer::Pointer;
use crate::document::reference::{Namespace, Reference, Template};

/// The place of output `name` in a component document.
pub(crate) fn pointer(name: &str) -> Pointer {
    Pointer::of(["spec", "contract", "outputs", name])
}

pub(super) fn check(spec: &Spec, findings: &mut Findings<'_>) {
    for (name, output) in &spec.contract.outputs {
        let fault = output.schema.fault();
        if let Some(fault) = &fault {
            findings.push(
                Code::InvalidValueSchema,
                pointer(name).child("schema"),
                format!("the schema of output `{name}` cannot be used: {fault}"),
            );
        }
        Check {
            spec,
            name,
            output,
            usable: fault.is_none(),
        }
        .origin(findings);
    }
}

/// The output as the receiver of a value.
pub(crate) fn receiver<'a>(name: &str, output: &'a Output) -> Receiver<'a> {
    Receiver {
        schema: &output.schema,
        sensitive: output.sensitive,
        name: format!("output `{name}`"),
    }
}

/// The endpoints and properties that an output reads, its template taken apart. Shapes that the rules refuse are left out.
pub(crate) fn addresses(output: &Output) -> Vec<(String, Property)> {
    match &output.from {
        Origin::Endpoint { endpoint, property } => vec![(endpoint.clone(), *property)],
        Origin::Template(text) => Template::parse(text).map_or_else(
            |_| Vec::new(),
            |template| {
                template
                    .references()
                    .filter_map(endpoint::address)
                    .filter_map(|(endpoint, property)| {
                        Some((endpoint.to_owned(), property.parse().ok()?))
                    })
                    .collect()
            },
        ),
        Origin::Value(_) | Origin::Input(_) => Vec::new(),
    }
}

struct Check<'a> {
    spec: &'a Spec,
    name: &'a str,
    output: &'a Output,
    /// Whether values can be held against the schema.
    usable: bool,
}

impl Check<'_> {
    fn origin(&self, findings: &mut Findings<'_>) {
        let from = pointer(self.name).child("from");
        match &self.output.from {
            Origin::Value(value) => self.literal(value, &from.child("value"), findings),
            Origin::Input(input) => self.input(input, &from.child("input"), findings),
            Origin::Endpoint { endpoint, property } => {
                let property_type = if property.is_port() {
                    ValueType::Integer
                } else {
                    ValueType::String
                };
                self.produces(property_type, &format!("`{property}`"), findings);
                self.address(endpoint, &PropertyName::Known(*property), &from, findings);
            }
            Origin::Template(text) => self.template(text, &from.child("template"), findings),
        }
    }

    fn literal(&self, value: &Value, path: &Pointer, findings: &mut Findings<'_>) {
        if self.usable {
            receiver(self.name, self.output).check(value, path, findings);
        }
    }

    fn input(&self, input: &str, path: &Pointer, findings: &mut Findings<'_>) {
        match self.spec.contract.inputs.get(input) {
            None => findings.push(
                Code::UnknownInputReference,
                path.clone(),
                format!("the component has no input `{input}`; name one of its inputs"),
            ),
            Some(source) if !source.schema.r#type.supplies(self.output.schema.r#type) => findings.push(
                Code::ValueConstraint,
                path.clone(),
                format!(
                    "input `{input}` is of type {} and output `{}` of type {}; make the types agree",
                    source.schema.r#type, self.name, self.output.schema.r#type
                ),
            ),
            Some(_) => {}
        }
    }

    /// What an address or a template yields has to fit the declared type.
    fn produces(&self, produced: ValueType, source: &str, findings: &mut Findings<'_>) {
        let declared = self.output.schema.r#type;
        if !produced.supplies(declared) {
            findings.push(
                Code::ValueConstraint,
                pointer(self.name).child("schema"),
                format!(
                    "{source} yields a value of type {produced} and output `{}` declares type {declared}; declare {produced}",
                    self.name
                ),
            );
        }
    }

    fn template(&self, text: &str, path: &Pointer, findings: &mut Findings<'_>) {
        self.produces(ValueType::String, "a template", findings);
        let template = match Template::parse(text) {
            Ok(template) => template,
            Err(malformed) => {
                for reference in malformed {
                    findings.push(
                        Code::MalformedReference,
                        path.clone(),
                        format!(
                            "`{}` begins no well-formed reference; write `${{{{ self.endpoints.NAME.PROPERTY }}}}`, or \
                             `$${{{{` for the text itself",
                            reference.text
                        ),
                    );
                }
                return;
            }
        };
        if let Some(literal) = template.literal() {
            self.literal(&Value::from(literal.as_ref()), path, findings);
        }
        for reference in template.references() {
            self.reference(reference, path, findings);
        }
    }

    fn reference(&self, reference: &Reference, path: &Pointer, findings: &mut Findings<'_>) {
        if let Err(code) = reference.admitted(&[Namespace::OwnComponent]) {
            let message = format!(
                "`{}`: a template reads the component's own endpoints only; write \
                 `${{{{ self.endpoints.NAME.PROPERTY }}}}`",
                reference.text
            );
            findings.push(code, path.clone(), message);
        } else if let Some((endpoint, property)) = endpoint::address(reference) {
            self.address(endpoint, &property.into(), path, findings);
        } else {
            findings.push(
                Code::UnknownEndpoint,
                path.clone(),
                format!(
                    "`{}` names no endpoint; write `${{{{ self.endpoints.NAME.PROPERTY }}}}`",
                    reference.text
                ),
            );
        }
    }

    fn address(
        &self,
        endpoint: &str,
        property: &PropertyName<'_>,
        path: &Pointer,
        findings: &mut Findings<'_>,
    ) {
        for (code, message) in endpoint::faults(self.spec, endpoint, property) {
            findings.push(code, path.clone(), message);
        }
    }
}
