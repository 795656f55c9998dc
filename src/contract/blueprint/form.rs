//! The install form that a blueprint asks for (blueprint §5.4): which parameters are offered, in which order and with
//! which control.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::assess::Graph;
use super::parameter::{self, Prominence, Recipient, Supply};
use crate::contract::component::value_schema::{ValueSchema, ValueType};
use crate::contract::contracts::Contracts;
use crate::contract::findings::Findings;
use crate::document::canonical;
use crate::document::diagnostic::Code;

/// One field of an install form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// The parameter that it submits, or whose connection it chooses.
    pub name: String,
    /// The authored label.
    pub label: String,
    /// How it is entered.
    pub control: Control,
    /// The authored order; nothing where it is omitted.
    pub order: Option<i64>,
    /// How prominent it is.
    pub prominence: Prominence,
}

/// How a field is entered: the first that fits, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Control {
    /// A choice of one whole connection.
    Connection,
    /// Concealed entry.
    Secret,
    /// A choice of one enum member.
    Enum,
    /// A choice of several item enum members.
    MultiChoice,
    /// On or off.
    Boolean,
    /// Structured JSON editing.
    Json,
    /// Scalar text entry.
    Text,
}

/// The form of a blueprint, in order: ascending `ui.order`, unspecified last, then by name (BP-UI-004). Neither generated
/// nor variable parameters are ever offered. `contracts` may lack components; their inputs are then unknown.
pub fn form(contracts: &Contracts) -> Vec<Field> {
    let graph = Graph::of(contracts);
    let recipients = parameter::recipients(&graph);
    let mut fields: Vec<_> = contracts
        .blueprint
        .spec
        .parameters
        .iter()
        .filter_map(|(name, parameter)| {
            let ui = parameter.ui.as_ref()?;
            let control = match parameter.supply() {
                Supply::Generated(_) | Supply::Variable(_) => return None,
                Supply::Connection(_) => Control::Connection,
                Supply::Submitted { .. } => {
                    control(recipients.get(name.as_str()).map_or(&[], Vec::as_slice))
                }
            };
            Some(Field {
                name: name.clone(),
                label: ui.label.clone(),
                control,
                order: ui.order,
                prominence: ui.prominence,
            })
        })
        .collect();
    // Parameters come by name, and the sort is stable.
    fields.sort_by_key(|field| (field.order.is_none(), field.order));
    fields
}

fn control(recipients: &[Recipient<'_>]) -> Control {
    let Some(first) = recipients.first() else {
        return Control::Text;
    };
    let schema = &first.input.schema;
    if recipients.iter().any(|recipient| recipient.input.sensitive) {
        Control::Secret
    } else if schema.r#enum.is_some() {
        Control::Enum
    } else if item_members(schema).is_some() {
        Control::MultiChoice
    } else {
        match schema.r#type {
            ValueType::Boolean => Control::Boolean,
            ValueType::Array | ValueType::Object => Control::Json,
            _ => Control::Text,
        }
    }
}

/// The enum members of a string array's items.
fn item_members(schema: &ValueSchema) -> Option<&[Value]> {
    schema
        .items
        .as_deref()
        .filter(|items| items.r#type == ValueType::String)
        .and_then(|items| items.r#enum.as_deref())
}

/// Labels are for members that exist (BP-UI-003); checked once a recipient is known.
pub(super) fn check(graph: &Graph<'_>, findings: &mut Findings<'_>) {
    let recipients = parameter::recipients(graph);
    for (name, parameter) in &graph.blueprint.spec.parameters {
        let labels: Option<&BTreeMap<_, _>> = parameter.ui.as_ref().map(|ui| &ui.enum_labels);
        let Some((labels, first)) =
            labels.zip(recipients.get(name.as_str()).and_then(|all| all.first()))
        else {
            continue;
        };
        let members = member_names(&first.input.schema);
        for key in labels.keys().filter(|key| !members.contains(*key)) {
            findings.push(
                Code::UnknownEnumMember,
                parameter::pointer(name).child("ui").child("enumLabels").child(key),
                format!(
                    "`{key}` is no enum member of input `{}` of node `{}`; label a member that its schema lists",
                    first.name, first.node
                ),
            );
        }
    }
}

/// The names by which labels know the members of a schema: the string representations of scalars.
fn member_names(schema: &ValueSchema) -> BTreeSet<String> {
    let own = schema.r#enum.as_deref().into_iter().flatten();
    own.chain(item_members(schema).into_iter().flatten())
        .filter_map(|member| match member {
            Value::String(text) => Some(text.clone()),
            Value::Null | Value::Bool(_) | Value::Number(_) => Some(canonical::text(member)),
            Value::Array(_) | Value::Object(_) => None,
        })
        .collect()
}
