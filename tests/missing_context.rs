//! `docs/missing-context.md` row by row: each has a test that sees what the page says and heals it as the page says. The
//! rows about the organization's catalog, registries and edges are tried where those are.

#![allow(
    clippy::disallowed_methods,
    reason = "the page and the tests are files"
)]

mod support;

use std::collections::BTreeSet;
use std::path::Path;

use installation_operator::api::{ComputeProfile, Platform};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use support::install::{create, object};
use support::item::{SLUG, TITLE};
use support::{Item, TestNamespace, installation};

/// A row, and the test that tries it.
struct Case {
    /// The row's first cell.
    what: &'static str,
    resolution: &'static str,
    told: &'static str,
    /// The file in `tests/`, and the test in it.
    tried: (&'static str, &'static str),
}

const INCOMPLETE: &str = "INCOMPLETE";
const INVALID: &str = "INVALID";

const fn case(
    what: &'static str,
    resolution: &'static str,
    told: &'static str,
    tried: (&'static str, &'static str),
) -> Case {
    Case {
        what,
        resolution,
        told,
        tried,
    }
}

#[rustfmt::skip]
const CASES: &[Case] = &[
    // Sources.
    case("ConfigMap of the item", INCOMPLETE, "configMap:NAME", ("missing_context", "the_config_map_of_an_item_and_its_keys")),
    case("key of the ConfigMap that a path is mapped to", INCOMPLETE, "configMap:NAME/KEY", ("missing_context", "the_config_map_of_an_item_and_its_keys")),
    // Parameters.
    case("Secret of a parameter", INCOMPLETE, "secret:NAME/KEY", ("missing_context", "the_secret_of_a_parameter_its_key_and_its_format")),
    case("key of the Secret of a parameter", INCOMPLETE, "secret:NAME/KEY", ("missing_context", "the_secret_of_a_parameter_its_key_and_its_format")),
    case("value of a parameter's Secret in the right format", INVALID, "ERR_INVALID_RESOLUTION_CONTEXT", ("missing_context", "the_secret_of_a_parameter_its_key_and_its_format")),
    // The organization's catalog.
    case("published component", INCOMPLETE, "contract:IDENTITY@REVISION", ("published", "a_published_component_is_waited_for_and_not_needed_once_it_was_accepted")),
    case("published component of the right digest", INVALID, "ERR_INVALID_DEPENDENCY", ("published", "a_component_of_another_digest_is_refused")),
    case("one ComponentRevision of an identity and revision", INVALID, "ERR_INVALID_DEPENDENCY", ("published", "a_component_of_another_digest_is_refused")),
    case("variable", INCOMPLETE, "variable:PATH", ("variables", "a_variable_that_is_absent_is_waited_for_and_pinned")),
    case("variable, denied", INVALID, "ERR_VARIABLE_NOT_AUTHORIZED", ("variables", "a_variable_that_is_denied_is_told_apart_and_a_label_of_the_namespace_permits_it")),
    case("one variable of a path", INVALID, "ERR_INVALID_RESOLUTION_CONTEXT", ("variables", "two_objects_that_claim_one_path_are_both_named")),
    case("Secret or key of a variable", INCOMPLETE, "variable:PATH", ("variables", "a_value_from_a_secret_of_the_operators_namespace_stays_secret_and_keeps_its_version")),
    case("connection of the organization", INVALID, "ERR_CONNECTION_NOT_FOUND", ("connections", "a_connection_of_the_organization_is_found_permitted_selected_and_rotated")),
    case("connection, denied", INVALID, "ERR_CONNECTION_DENIED", ("connections", "a_connection_of_the_organization_is_found_permitted_selected_and_rotated")),
    case("connection that can serve", INVALID, "ERR_CONNECTION_INCOMPATIBLE", ("connections", "a_connection_that_cannot_serve_is_told_apart_and_two_of_one_path_are_both_named")),
    case("one connection of a path", INVALID, "ERR_INVALID_RESOLUTION_CONTEXT", ("connections", "a_connection_that_cannot_serve_is_told_apart_and_two_of_one_path_are_both_named")),
    case("Connection that the Installation names", INCOMPLETE, "connection:PARAMETER", ("connections", "a_users_own_connection_takes_the_whole_place_of_the_organizations")),
    case("Secret or key of a connection", INCOMPLETE, "connection:PARAMETER", ("connections", "a_connection_of_the_organization_is_found_permitted_selected_and_rotated")),
    // Builds.
    case("build", INCOMPLETE, "build:NODE", ("missing_context", "a_build")),
    // What the platform offers.
    case("compute profile", INCOMPLETE, "computeProfile:SLUG", ("missing_context", "a_compute_profile")),
    case("placement term of the compute profile", INCOMPLETE, "placement:PIN:TERM", ("placement", "a_pin_waits_for_its_term_and_then_narrows_the_hosts_of_its_node_alone")),
    case("storage class of the Platform", INCOMPLETE, "storageClass:TERM", ("missing_context", "what_a_volume_asks_of_storage")),
    case("IOPS floor", INCOMPLETE, "storageIOPS:FLOOR", ("missing_context", "what_a_volume_asks_of_storage")),
    case("storage that serves a shared volume", INCOMPLETE, "storageAccess:shared", ("missing_context", "what_a_volume_asks_of_storage")),
    case("edge of the Platform", INCOMPLETE, "edge:NODE:ENDPOINT", ("missing_context", "an_edge_for_a_public_endpoint")),
    case("domain that the namespace may use", INCOMPLETE, "domain:NODE:ENDPOINT", ("missing_context", "a_domain_for_the_namespace")),
    case("domain of a chosen host name", INCOMPLETE, "domain:HOSTNAME", ("hostnames", "a_chosen_host_name_is_used_where_the_namespace_may_use_its_domain")),
    case("host name, taken", INCOMPLETE, "hostname:HOSTNAME", ("hostnames", "of_two_installations_in_two_namespaces_one_has_a_host_name")),
    case("address of a TCP or UDP endpoint", INCOMPLETE, "address:NODE:ENDPOINT", ("public_addresses", "an_address_is_awaited_before_anything_runs_and_then_pinned")),
    // Registries.
    case("pull secret", INCOMPLETE, "secret:NAME", ("missing_context", "a_pull_secret")),
    case("image's registry, unauthorized", INCOMPLETE, "imageDigest:NODE:IMAGE", ("images", "a_registry_with_a_password_is_read_with_the_pull_secret_of_the_installation")),
    case("image's registry, unreachable", INCOMPLETE, "imageDigest:NODE:IMAGE", ("images", "a_registry_with_an_authority_of_its_own_is_trusted_where_the_platform_says_so")),
    case("pull secret of an artifact", INCOMPLETE, "secret:NAME", ("artifacts", "a_registry_with_a_password_is_read_with_the_pull_secret_of_the_blueprint")),
    case("artifact's registry, unauthorized", INCOMPLETE, "artifact:REFERENCE", ("artifacts", "a_registry_with_a_password_is_read_with_the_pull_secret_of_the_blueprint")),
    case("artifact's registry, unreachable", INCOMPLETE, "artifact:REFERENCE", ("artifacts", "a_registry_with_tls_is_trusted_by_the_authority_that_the_platform_gives")),
    case("artifact of an item", INVALID, "ERR_INVALID_RESOLUTION_CONTEXT", ("artifacts", "what_the_registry_does_not_have_or_is_no_item_is_wrong_and_not_waited_for")),
    case("image", INVALID, "ERR_INVALID_RESOLUTION_CONTEXT", ("images", "a_tag_that_the_registry_does_not_have_is_wrong_and_not_waited_for")),
];

#[test]
fn every_row_of_the_page_has_a_case_and_every_case_a_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/missing-context.md")).expect("the page");
    let (_, table) = page
        .split_once("| Missing or denied |")
        .expect("the table of cases");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells = line.trim_matches('|').split('|');
            cells.map(|cell| cell.trim().trim_matches('`')).collect()
        })
        .collect();
    let found: Vec<[&str; 3]> = rows.iter().map(|row| [row[0], row[1], row[2]]).collect();
    let expected: Vec<[&str; 3]> = CASES
        .iter()
        .map(|case| [case.what, case.resolution, case.told])
        .collect();
    assert_eq!(
        found, expected,
        "docs/missing-context.md and its cases differ"
    );
    let names: BTreeSet<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(names.len(), rows.len(), "two rows have one name");
    for row in rows {
        assert!(row.len() == 4 && !row[3].is_empty(), "{row:?}");
    }
    for case in CASES {
        let (file, test) = case.tried;
        let text = std::fs::read_to_string(root.join(format!("tests/{file}.rs")));
        let text = text.unwrap_or_else(|error| panic!("tests/{file}.rs: {error}"));
        assert!(
            text.contains(&format!("async fn {test}()")),
            "{}: tests/{file}.rs has no test {test}",
            case.what
        );
        // The kind of what is missing, or the code: the rest of it stands for a name.
        let told = case.told.split_inclusive(':').next().unwrap_or_default();
        let is_elsewhere = ["images", "artifacts"].contains(&file) && case.resolution == INVALID;
        let is_tried = text.contains(told) || is_elsewhere;
        assert!(is_tried, "{}: tests/{file}.rs has no {told}", case.what);
    }
}

#[tokio::test]
async fn the_config_map_of_an_item_and_its_keys() {
    let test = TestNamespace::new("source").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    let source = json!({"configMap": {
        "name": "wiki", "item": SLUG, "paths": {"web.yaml": "components-web.yaml"}
    }});
    let wiki = installation("wiki")
        .with("blueprint", source)
        .parameter("siteTitle", TITLE);
    test.create(&wiki.build()).await;
    test.waits_for("wiki", "configMap:wiki").await;
    let web = item.files["web.yaml"].clone();
    test.create::<ConfigMap>(&item.without("web.yaml").config_map("wiki"))
        .await;
    test.waits_for("wiki", "configMap:wiki/components-web.yaml")
        .await;
    test.write::<ConfigMap>("wiki", json!({"data": {"components-web.yaml": web}}))
        .await;
    test.heals("wiki").await;
}

#[tokio::test]
async fn the_secret_of_a_parameter_its_key_and_its_format() {
    let test = TestNamespace::new("parameter").await;
    let _operator = test.operator().await.start();
    let reference = json!({"secretKeyRef": {"name": "inputs", "key": "title", "format": "JSON"}});
    let wiki = test.item().await.untitled("wiki");
    test.create(&wiki.entry("parameters", "siteTitle", reference).build())
        .await;
    test.waits_for("wiki", "secret:inputs/title").await;
    let other = json!({"metadata": {"name": "inputs"}, "stringData": {"other": "1"}});
    test.create::<Secret>(&object(other)).await;
    test.wait_for("wiki", "the key to be asked for", |seen| {
        let text = serde_json::to_string(&seen.status).ok()?;
        text.contains("has no key title").then_some(())
    })
    .await;
    test.write::<Secret>("inputs", json!({"stringData": {"title": "no JSON"}}))
        .await;
    test.is_refused("wiki", "ERR_INVALID_RESOLUTION_CONTEXT")
        .await;
    test.write::<Secret>("inputs", json!({"stringData": {"title": "\"A title\""}}))
        .await;
    test.heals("wiki").await;
}

#[tokio::test]
async fn a_build() {
    let test = TestNamespace::new("build").await;
    let _operator = test.operator().await.start();
    let item = test.item().await;
    let image = format!("source: {{ image: {} }}", item.image);
    let git = "source: { git: { repositoryURL: 'https://git.example/web.git', ref: { branch: main }, build: { dockerfile: Dockerfile } } }";
    let built = item.clone().edited("web.yaml", &image, git);
    test.create(&built.installation("wiki").build()).await;
    test.waits_for("wiki", "build:web").await;
    let mended = item.installation("wiki").json();
    test.merge("wiki", json!({"spec": mended["spec"]})).await;
    test.wait_until_materialized("wiki").await;
}

#[tokio::test]
async fn a_compute_profile() {
    let test = TestNamespace::new("profile").await;
    let _operator = test.operator().await.start();
    let slug = "storage.premium.xlarge";
    let profiles: Api<ComputeProfile> = Api::all(test.client());
    let _ = profiles.delete(slug, &DeleteParams::default()).await;
    let item = test
        .item()
        .await
        .edited("blueprint.yaml", "general.standard.small", slug);
    test.create(&item.installation("wiki").build()).await;
    test.waits_for("wiki", &format!("computeProfile:{slug}"))
        .await;
    let mut profile = test.of_cluster(
        "ComputeProfile",
        "",
        json!({"currentVersion": "1", "versions": [{"version": "1", "resources": {}}]}),
    );
    profile["metadata"]["name"] = json!(slug);
    create(&profiles, &object(profile)).await;
    test.heals("wiki").await;
}

/// The item whose database has a volume that asks for `asked`.
fn with_volume(item: Item, shared: bool, asked: &str) -> Item {
    let declared = format!(
        "command: [serve]\n    volumes: {{ data: {{ mountPath: /data, minSizeGiB: 1, shared: {shared} }} }}"
    );
    let allocated = format!(
        "password: {{ parameter: dbPassword }}\n      volumes: {{ data: {{ sizeGiB: 1{asked} }} }}"
    );
    item.edited("db.yaml", "command: [serve]", &declared)
        .edited(
            "blueprint.yaml",
            "password: { parameter: dbPassword }\n",
            &format!("{allocated}\n"),
        )
}

#[tokio::test]
async fn what_a_volume_asks_of_storage() {
    let test = TestNamespace::new("storage").await;
    let _operator = test.operator().await.platform(&test.name).start();
    let offered = json!({"accessModes": ["ReadWriteOnce"]});
    test.platform(json!({"storage": {"default": offered}}))
        .await;
    for (name, shared, asked) in [
        ("term", false, ", storageClass: fast"),
        ("iops", false, ", minIOPS: 4000"),
        ("access", true, ""),
    ] {
        let wiki = with_volume(test.item().await, shared, asked).installation(name);
        test.create(&wiki.build()).await;
    }
    test.waits_for("term", "storageClass:fast").await;
    test.waits_for("iops", "storageIOPS:4000").await;
    test.waits_for("access", "storageAccess:shared").await;
    test.write_platform(json!({"storage": {
        "default": {"iops": 5000, "accessModes": ["ReadWriteOnce", "ReadWriteMany"]},
        "terms": {"fast": {"storageClassName": "fast"}}
    }}))
    .await;
    for name in ["term", "iops", "access"] {
        test.heals(name).await;
    }
}

#[tokio::test]
async fn an_edge_for_a_public_endpoint() {
    let test = TestNamespace::new("edge").await;
    let _operator = test.operator().await.platform(&test.name).start();
    let item = test
        .item()
        .await
        .edited(
            "blueprint.yaml",
            "componentRef: ./web.yaml",
            "componentRef: ./web.yaml\n      exposure: { http: PUBLIC }",
        )
        .edited(
            "web.yaml",
            "  contract:\n",
            "    health: { readiness: { http: { endpoint: http, path: / } } }\n  contract:\n",
        );
    test.create(&item.installation("wiki").build()).await;
    test.waits_for("wiki", "edge:web:http").await;
    test.platform(json!({"edge": {
        "domains": [{"domain": "apps.example.org"}],
        "gateway": {"name": "edge", "namespace": "gateway-system"},
    }}))
    .await;
    test.heals("wiki").await;
}

#[tokio::test]
async fn a_domain_for_the_namespace() {
    let test = TestNamespace::new("domain").await;
    let _operator = test.operator().await.platform(&test.name).start();
    let edge = |namespaces: Value| {
        json!({"edge": {
            "domains": [{"domain": "apps.example.org", "namespaces": namespaces}],
            "gateway": {"name": "edge", "namespace": "gateway-system"},
        }})
    };
    test.platform(edge(json!(["another"]))).await;
    let item = test.item().await.public();
    test.create(&item.installation("wiki").build()).await;
    test.waits_for("wiki", "domain:web:http").await;
    test.write_platform(edge(json!(["another", test.name])))
        .await;
    test.heals("wiki").await;
}

#[tokio::test]
async fn a_pull_secret() {
    let test = TestNamespace::new("pull").await;
    let _operator = test.operator().await.start();
    let wiki = test.item().await.installation("wiki");
    test.create(
        &wiki
            .with("imagePullSecrets", json!([{"name": "pull"}]))
            .build(),
    )
    .await;
    test.waits_for("wiki", "secret:pull").await;
    test.pull_secret("pull", "registry.test", "reader", "word")
        .await;
    test.heals("wiki").await;
}

impl TestNamespace {
    /// Changes an object as `kubectl patch --type=merge` does.
    async fn write<K>(&self, name: &str, change: Value)
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + serde::de::DeserializeOwned
            + std::fmt::Debug,
        K::DynamicType: Default,
    {
        let change = Patch::Merge(change);
        let written = self
            .api::<K>()
            .patch(name, &PatchParams::default(), &change)
            .await;
        written.unwrap_or_else(|error| panic!("cannot change {name}: {error}"));
    }

    async fn write_platform(&self, spec: Value) {
        let platforms = Api::<Platform>::all(self.client());
        let change = Patch::Merge(json!({"spec": spec}));
        let written = platforms
            .patch(&self.name, &PatchParams::default(), &change)
            .await;
        written.expect("the Platform is written");
    }
}
