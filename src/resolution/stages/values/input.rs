//! The value of an input: its binding's, or its own default.

use serde_json::Value;

use super::{Evaluation, Place};
use crate::contract::blueprint::binding::Binding;
use crate::document::diagnostic::{Code, Diagnostic, Stage};
use crate::resolution::secret::Held;
use crate::resolution::stages::Fact;
use crate::resolution::stages::findings;

impl<'a> Evaluation<'a> {
    /// The fact of an input whose supplier has been evaluated.
    pub(super) fn input(&mut self, node: &'a str, name: &'a str) -> Fact {
        if let Some(member) = self.members.get(&(node, name)) {
            return member.clone();
        }
        let declared = self.declared_input(node, name);
        let literal = |value: &Value| Fact::unselected(Held::plain(value.clone()));
        let fact = match self.binding(node, name) {
            None => declared.default.as_ref().map_or(Fact::Absent, literal),
            Some(Binding::Value(value)) => literal(value),
            Some(Binding::Output { node, output }) => self.produced(node, output),
            Some(Binding::Parameter(parameter)) => self.parameter(parameter, node, name),
        };
        let contracts = self.contracts;
        fact.checked(&declared.schema, self.findings, |violation| {
            let path = findings::supply(contracts, node, name);
            let binding = findings::authored(contracts, node).bindings.get(name);
            let supplier = match binding {
                Some(Binding::Parameter(parameter)) => format!("parameter `{parameter}` for "),
                _ => String::new(),
            };
            let message = format!(
                "the value of {supplier}input `{name}` of node `{node}` is refused: {violation}; supply one that fits"
            );
            Diagnostic::resolution(Stage::Values, Code::ValueConstraint, path, message)
        })
        .or_sensitive(declared.sensitive)
    }

    /// What another node's output supplies. Which selection stands behind it is that node's own affair.
    fn produced(&self, node: &'a str, output: &'a str) -> Fact {
        match &self.facts[&Place::Output(node, output)] {
            Fact::Known(supplied) => Fact::unselected(supplied.held.clone()),
            Fact::Absent | Fact::Withheld => Fact::Withheld,
        }
    }

    /// What a parameter supplies. A bound input never falls back to its own default (BP-PARAM-003).
    fn parameter(&mut self, parameter: &str, node: &str, input: &str) -> Fact {
        match self.parameters.get(parameter) {
            Some(Fact::Absent) => {
                self.findings.wrong(
                    Stage::Values,
                    Code::MissingParameterValue,
                    findings::binding(node, input),
                    format!("parameter `{parameter}` has no default; submit a value for it"),
                );
                Fact::Withheld
            }
            Some(fact) => fact.clone(),
            None => Fact::Withheld,
        }
    }
}
