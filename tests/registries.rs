//! What real registries say of images: with and without a password and TLS, of one image and of an index of several. No
//! cluster.

mod support;

use installation_operator::acquire::registry::keyring::Keyring;
use installation_operator::acquire::registry::{Refusal, Registries};
use serde_json::{Value, json};
use support::registry::{Kind, PASSWORD, USER, lacks_registry};
use support::{Parcel, RealRegistry};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

fn keyring(registry: &RealRegistry, password: &str) -> Keyring {
    let mut keyring = Keyring::default();
    let auths = json!({"auths": {&registry.address: {"username": USER, "password": password}}});
    assert!(keyring.add(auths.to_string().as_bytes()));
    keyring
}

fn entry(digest: &str, size: usize, os: &str, architecture: &str) -> Value {
    json!({
        "mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": digest, "size": size,
        "platform": {"os": os, "architecture": architecture},
    })
}

#[tokio::test]
async fn an_image_is_read_from_every_kind_of_registry() {
    if lacks_registry() {
        return;
    }
    for (password, tls) in [(false, false), (true, false), (true, true)] {
        let registry = RealRegistry::start(Kind { password, tls }).await;
        let digest = registry
            .push("web", "1.0.0", &Parcel::image("1000:2000"))
            .await;
        let registries = Registries::default();
        let terms = [serde_json::from_value(registry.terms()).expect("terms")];
        let reference = format!("{}/web:1.0.0", registry.address);
        let client = registries.client(&terms, keyring(&registry, PASSWORD));
        let facts = client.inspect(&reference).await.expect("an image");
        assert_eq!(facts.digest.as_ref(), Some(&digest));
        assert_eq!(facts.pins.user.as_deref(), Some("1000:2000"));
        assert_eq!(client.digest(&reference).await.as_ref(), Ok(&digest));

        let absent = client.inspect(&format!("{}/web:2", registry.address)).await;
        assert!(matches!(absent, Err(Refusal::Absent { .. })), "{absent:?}");
        if password {
            for keyring in [Keyring::default(), keyring(&registry, "wrong")] {
                let refused = registries.client(&terms, keyring).inspect(&reference).await;
                assert!(
                    matches!(refused, Err(Refusal::Unauthorized { .. })),
                    "{refused:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn an_index_is_pinned_whole_and_its_linux_image_is_read() {
    if lacks_registry() {
        return;
    }
    let registry = RealRegistry::start(Kind::default()).await;
    let registries = Registries::default();
    let terms = [serde_json::from_value(registry.terms()).expect("terms")];
    let client = registries.client(&terms, Keyring::default());
    let mut entries = Vec::new();
    for (os, architecture, user) in [
        ("unknown", "unknown", "3"),
        ("linux", "arm64", "2"),
        ("linux", "amd64", "1"),
    ] {
        let image = Parcel::image(user);
        let size = serde_json::to_vec(&image.manifest()).expect("JSON").len();
        let digest = registry.push("web", user, &image).await;
        entries.push(entry(&digest, size, os, architecture));
    }
    for (tag, media_type, count, expected) in [
        ("all", INDEX, 3, Some("1")),
        ("docker", LIST, 3, Some("1")),
        ("arm", INDEX, 2, Some("2")),
        ("none", INDEX, 1, None),
    ] {
        let manifests = &entries[..count];
        let index = json!({"schemaVersion": 2, "mediaType": media_type, "manifests": manifests});
        let digest = registry.push_manifest("web", tag, &index).await;
        let found = client
            .inspect(&format!("{}/web:{tag}", registry.address))
            .await;
        match (expected, found) {
            (Some(user), Ok(facts)) => {
                assert_eq!(facts.digest, Some(digest));
                assert_eq!(facts.pins.user.as_deref(), Some(user));
            }
            (None, Err(Refusal::Unusable { .. })) => {}
            (_, found) => panic!("{tag}: {found:?}"),
        }
    }
}
