//! `Platform`: what the cluster offers to every installation: its public edge, its storage, its placement
//! terms and its network policy.
//!
//! A field that this version does not know is passed over, as everywhere in Kubernetes: an operator that is set back to an older
//! version still reads the Platform. The API server refuses unknown fields where they are written.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr};

use super::names;
use super::placement::PlacementTerms;
use super::pods::PodTerms;

#[allow(
    clippy::duplicated_attributes,
    reason = "columns of one type are no duplicates"
)]
/// What the cluster offers. One object, named `default` unless the operator is told otherwise.
#[derive(CustomResource, KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[kube(
    group = "install.musher.dev",
    version = "v1alpha1",
    kind = "Platform",
    category = "musher",
    derive = "PartialEq",
    printcolumn(
        name = "Cluster Domain",
        type_ = "string",
        json_path = ".spec.clusterDomain"
    ),
    printcolumn(
        name = "Domain",
        type_ = "string",
        json_path = ".spec.edge.domains[0].domain"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
pub struct PlatformSpec {
    /// The DNS domain of the cluster's Services.
    #[serde(default = "cluster_local")]
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
    )]
    pub cluster_domain: String,
    /// How PUBLIC endpoints are reached. Without it they wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge: Option<Edge>,
    /// What storage there is for volumes.
    #[serde(default)]
    pub storage: Storage,
    /// What the placement pins of blueprints mean for cluster nodes.
    #[serde(default)]
    pub placement: PlacementTerms,
    /// Registries that are asked on other terms than any: with TLS by the system's certificate authorities, and at public
    /// addresses only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub registries: Vec<RegistryTerms>,
    /// Whether installations are closed to whatever is not meant to reach them.
    #[serde(default)]
    pub network_policy: NetworkPolicyMode,
    /// What holds for the pods of every installation.
    #[serde(default)]
    pub pods: PodTerms,
}

impl Default for PlatformSpec {
    /// What holds when the cluster has no Platform object.
    fn default() -> Self {
        Self {
            cluster_domain: cluster_local(),
            edge: None,
            storage: Storage::default(),
            placement: PlacementTerms::default(),
            registries: Vec::new(),
            network_policy: NetworkPolicyMode::default(),
            pods: PodTerms::default(),
        }
    }
}

fn cluster_local() -> String {
    "cluster.local".to_owned()
}

/// The public edge.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!(has(self.gateway) && has(self.ingress))")
        .message("HTTP comes through a Gateway or through an Ingress controller: give gateway or ingress, not both"),
    validation = Rule::new("!has(self.domains) || size(self.domains) == 0 || has(self.gateway) || has(self.ingress)")
        .message("domains need something that routes them: give gateway or ingress")
)]
pub struct Edge {
    /// The domains under which endpoints get host names. The first that a namespace may use is its default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub domains: Vec<Domain>,
    /// What clients speak to the edge.
    #[serde(default)]
    pub scheme: Scheme,
    /// The port that clients use, where it is not the scheme's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<u16>,
    /// The Gateway that HTTP, HTTPS, WS and GRPC endpoints are attached to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayReference>,
    /// The Ingress controller that serves them instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<IngressEdge>,
    /// What gives TCP and UDP endpoints an address of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_balancer: Option<LoadBalancer>,
    /// Where the edge's connections to pods come from, for network policies. Left out, it is the Gateway's namespace;
    /// without a Gateway, anywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub sources: Vec<EdgeSource>,
}

/// A domain of the edge and who may use it.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Domain {
    /// For example `apps.example.org`.
    #[schemars(
        length(min = 1, max = 180),
        regex(pattern = names::DNS_NAME)
    )]
    pub domain: String,
    /// The namespaces that may use it; every one when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256), inner(length(min = 1, max = 63)))]
    pub namespaces: Option<Vec<String>>,
}

/// What clients speak to the edge.
#[derive(
    JsonSchema,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    Display,
    IntoStaticStr,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS, which ends at the edge.
    #[default]
    Https,
}

/// The Gateway that routes attach to.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayReference {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// One listener of it; all that admit the route when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub section_name: Option<String>,
}

/// An Ingress controller.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IngressEdge {
    /// The IngressClass.
    #[schemars(length(min = 1, max = 253))]
    pub class_name: String,
    /// Annotations of every Ingress, for the controller and for issuers of certificates.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "texts")]
    pub annotations: BTreeMap<String, String>,
    /// Where the certificates of an `https` edge are.
    #[serde(default)]
    pub certificates: Certificates,
}

/// Where an Ingress controller takes certificates from.
#[derive(
    JsonSchema,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    Display,
    IntoStaticStr,
)]
pub enum Certificates {
    /// The controller has one for the domain.
    #[default]
    Shared,
    /// A Secret beside each Ingress, named after it with `-tls` at the end, as cert-manager fills in.
    PerHost,
}

/// A load balancer for TCP and UDP endpoints.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadBalancer {
    /// The load balancer class; the cluster's default when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub class_name: Option<String>,
    /// Annotations of every Service of type LoadBalancer.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "texts")]
    pub annotations: BTreeMap<String, String>,
}

/// Where connections of the edge come from: pods by labels, or addresses.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.cidr) != has(self.namespaceLabels)")
        .message("a source is pods of namespaces or a range of addresses: give namespaceLabels or cidr")
)]
pub struct EdgeSource {
    /// Labels of the namespaces that the pods are in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "texts")]
    pub namespace_labels: Option<BTreeMap<String, String>>,
    /// Labels of the pods; every pod of those namespaces when left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "texts")]
    pub pod_labels: BTreeMap<String, String>,
    /// A range of addresses, as for a load balancer outside the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub cidr: Option<String>,
}

/// The storage of a cluster.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Storage {
    /// What serves a volume that names no storage class term.
    #[serde(default)]
    pub default: StorageOffer,
    /// What each storage class term of blueprints means here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64, "x-kubernetes-validations" = [{
        "rule": "self.all(term, term.matches('^[a-z0-9][a-z0-9_-]*$') && term.size() <= 64)",
        "message": "a storage class term has lower-case letters, digits, _ and -, at most 64, as blueprints write it"
    }]))]
    pub terms: BTreeMap<String, StorageOffer>,
}

/// Storage on offer.
#[derive(JsonSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StorageOffer {
    /// The StorageClass; the cluster's default one when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub storage_class_name: Option<String>,
    /// The access modes that it serves.
    #[serde(default = "strict_modes")]
    #[schemars(length(min = 1, max = 3))]
    pub access_modes: Vec<AccessMode>,
    /// The IOPS that every volume of it has at least; unknown when left out, which meets no floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub iops: Option<u64>,
}

impl Default for StorageOffer {
    fn default() -> Self {
        Self {
            storage_class_name: None,
            access_modes: strict_modes(),
            iops: None,
        }
    }
}

fn strict_modes() -> Vec<AccessMode> {
    vec![AccessMode::ReadWriteOncePod, AccessMode::ReadWriteMany]
}

/// How a volume may be mounted.
#[derive(
    JsonSchema,
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    Display,
    IntoStaticStr,
)]
pub enum AccessMode {
    /// By one pod, which is what a volume that is not shared asks for.
    ReadWriteOncePod,
    /// By the pods of one node: the nearest thing where the storage does not know pods.
    ReadWriteOnce,
    /// By every pod, which is what a shared volume asks for.
    ReadWriteMany,
}

/// How the operator talks to one registry, or to a host that a registry sends it to. Nodes pull with what their container
/// runtime is configured with.
#[derive(JsonSchema, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistryTerms {
    /// Host, and port where it is not the usual one, as image references write it.
    #[schemars(length(min = 1, max = 253))]
    pub host: String,
    /// Whether it is asked without TLS.
    #[serde(default)]
    pub plain_http: bool,
    /// Certificate authorities in PEM that it is trusted by, beside the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 65536))]
    pub certificate_authority: Option<String>,
    /// Whether it may be at an address that is not public: private, loopback, link-local or otherwise special. Without this
    /// no such address is connected to, whatever name leads there.
    #[serde(default)]
    pub private_network: bool,
    /// The host of its authorization service, where that is another one: pull secrets for the registry are sent there too,
    /// and nowhere else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub authorization_service: Option<String>,
}

/// Whether installations get network policies.
#[derive(
    JsonSchema,
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    Display,
    IntoStaticStr,
)]
pub enum NetworkPolicyMode {
    /// Sibling nodes and the edge reach what they may, and nothing else comes in.
    #[default]
    Enabled,
    /// The operator makes no network policies.
    Disabled,
}

/// Labels or annotations, bounded as everything else.
pub(super) fn texts(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "maxProperties": 32,
        "additionalProperties": {"type": "string", "maxLength": 1024},
        "x-kubernetes-validations": [{
            "rule": "self.all(key, key.size() <= 317)",
            "message": "a key is a name of at most 63 characters, after a DNS name and a slash where it has a prefix"
        }]
    })
}
