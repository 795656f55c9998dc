//! Names, labels, annotations, the finalizer, the field manager and Secret types. All of them are API: a golden test
//! freezes them, because state written under another name would be lost.

use data_encoding::BASE32_NOPAD;
use sha2::{Digest as _, Sha256};
use strum::{AsRefStr, Display, EnumIter};

/// What a DNS name in small letters looks like: labels of at most 63 characters.
pub(super) const DNS_NAME: &str =
    "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$";
/// Guards an Installation until its deletion policy is carried out.
pub const FINALIZER: &str = "install.musher.dev/finalizer";
/// The field manager of every object the operator applies or creates.
pub const FIELD_MANAGER: &str = "installation-operator";
/// Label: the effective identity that a precious object belongs to.
pub const IDENTITY_LABEL: &str = "install.musher.dev/identity";
/// Label of snapshots and records: their version.
pub const VERSION_LABEL: &str = "install.musher.dev/version";
/// Annotation of credentials: the generated parameter, whose name may be longer than a label.
pub const PARAMETER_ANNOTATION: &str = "install.musher.dev/parameter";
/// Label of credentials: the rotation generation.
pub const GENERATION_LABEL: &str = "install.musher.dev/generation";
/// Label of everything that is not precious: the Installation's name.
pub const INSTALLATION_LABEL: &str = "install.musher.dev/installation";
/// Label of a node's objects: the node.
pub const NODE_LABEL: &str = "install.musher.dev/node";
/// Annotation of precious objects: the version of their format, [`FORMAT_VERSION`].
pub const FORMAT_ANNOTATION: &str = "install.musher.dev/format-version";
/// Annotation of credentials: encoding and number of random bytes, for example `HEX/32`.
pub const GENERATOR_ANNOTATION: &str = "install.musher.dev/generator";
/// Annotation of sources: the whole digest of the document.
pub const DIGEST_ANNOTATION: &str = "install.musher.dev/digest";
/// Annotation of records: what became of the Jobs that ran for it.
pub const JOBS_ANNOTATION: &str = "install.musher.dev/jobs";
/// Annotation of records: what differs from the version before, in words.
pub const CHANGES_ANNOTATION: &str = "install.musher.dev/changes";
/// Annotation of records: whether it is the one that counts, [`RecordState`].
pub const STATE_ANNOTATION: &str = "install.musher.dev/state";
/// Annotation of records: the redeploy token last acted on, and how often pods were rolled out again.
pub const ROLLOUT_ANNOTATION: &str = "install.musher.dev/rollout";
/// Annotation of credentials: the parameter whose credential was carried over.
pub const CREDENTIAL_OF_ANNOTATION: &str = "install.musher.dev/credential-of";
/// Annotation of an Installation: `NAMESPACE/IDENTITY` of the claim that it once held, so that a claim that is gone is
/// told from one that never was.
pub const CLAIM_ANNOTATION: &str = "install.musher.dev/claim";
/// Annotation of volume claims: the volume, as its component names it.
pub const VOLUME_ANNOTATION: &str = "install.musher.dev/volume";
/// Annotation of claims of host names: the host name.
pub const HOSTNAME_ANNOTATION: &str = "install.musher.dev/hostname";
/// Label of claims of host names: the namespace of the Installation that has it.
pub const HOLDER_NAMESPACE_LABEL: &str = "install.musher.dev/holder-namespace";
/// Label of claims of host names: the effective identity of the Installation that has it.
pub const HOLDER_IDENTITY_LABEL: &str = "install.musher.dev/holder-identity";
/// Annotation of sources: `index/count` of this chunk.
pub const CHUNK_ANNOTATION: &str = "install.musher.dev/chunk";
/// The format of precious state that this program writes and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// Whether a record is the one that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, AsRefStr, Display)]
pub enum RecordState {
    /// The newest: what runs comes from it.
    Current,
    /// An earlier one, kept to go back to.
    Superseded,
}

/// What a precious object is. The spelling is part of its name and of its Secret type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, AsRefStr, Display, EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub enum Precious {
    /// Names the holder of an identity.
    Claim,
    /// One generation of one generated credential.
    Credential,
    /// The bytes of an accepted document, or a chunk of them.
    Source,
    /// The private selections behind a record.
    Snapshot,
    /// A resolution record.
    Record,
    /// Names the holder of a public host name; in the operator's own namespace.
    Hostname,
}

impl Precious {
    /// The type of the Secret that holds it. Records are no Secrets.
    pub fn secret_type(self) -> String {
        format!("install.musher.dev/{self}")
    }

    /// The name of the object of this kind that belongs to `identity` and is told apart by `parts`: a readable prefix
    /// and 80 bits of SHA-256 over the length-prefixed kind, identity and parts. Holds no secret, fits a DNS label.
    pub fn name(self, identity: &str, parts: &[&str]) -> String {
        let readable = parts
            .iter()
            .fold(format!("{self}-{identity}"), |name, part| name + "-" + part);
        let all: Vec<&str> = [self.as_ref(), identity]
            .into_iter()
            .chain(parts.iter().copied())
            .collect();
        suffixed(&readable, &base32(&all, 16))
    }
}

/// The Lease by which replicas take turns that act on `namespace`, or on all. Operators of different namespaces may live in
/// one, and each acts.
pub fn lease(namespace: Option<&str>) -> String {
    match namespace {
        None => FIELD_MANAGER.to_owned(),
        Some(namespace) => format!("{FIELD_MANAGER}.{namespace}"),
    }
}

/// The claim of `identity`.
pub fn claim(identity: &str) -> String {
    Precious::Claim.name(identity, &[])
}

/// The credential of `parameter` at `generation`.
pub fn credential(identity: &str, parameter: &str, generation: u64) -> String {
    Precious::Credential.name(identity, &[parameter, &generation.to_string()])
}

/// Chunk `index` of the document with `digest` (64 hexadecimal digits).
pub fn source(identity: &str, digest: &str, index: usize) -> String {
    // The digest is in the hash whole; the readable part shows its start, as people abbreviate digests.
    let name = Precious::Source.name(identity, &[digest, &index.to_string()]);
    let hash = &name[name.len() - 16..];
    suffixed(&format!("source-{identity}-{}", &digest[..12]), hash)
}

/// The claim of a public host name: one for the whole cluster, whoever has it.
pub fn hostname_claim(hostname: &str) -> String {
    Precious::Hostname.name(hostname, &[])
}

/// The snapshot of `version`.
pub fn snapshot(identity: &str, version: u64) -> String {
    Precious::Snapshot.name(identity, &[&version.to_string()])
}

/// The record of `version`.
pub fn record(identity: &str, version: u64) -> String {
    Precious::Record.name(identity, &[&version.to_string()])
}

/// The workload of a node and its Service: `INSTALLATION-NODE` and a short hash, beginning with a letter as Services
/// demand. At most 52 characters: Kubernetes adds up to 11 to the name of a StatefulSet or a CronJob and wants to fit the
/// result into a label.
pub fn workload(installation: &str, node: &str) -> String {
    let hash = base32(&["workload", installation, node], 8);
    fitted(&format!("{installation}-{node}"), &hash, 52)
}

/// The Job that runs a JOB node once for the record of `version`; a later rollout of it is `VERSION-COUNT`.
pub fn job(installation: &str, node: &str, version: &str) -> String {
    let hash = base32(&["job", installation, node, version], 8);
    suffixed(&format!("{installation}-{node}-{version}"), &hash)
}

/// What routes a public endpoint of a node: its route, its Ingress or its load balancer's Service.
pub fn route(installation: &str, node: &str, endpoint: &str) -> String {
    let hash = base32(&["route", installation, node, endpoint], 8);
    suffixed(&format!("{installation}-{node}-{endpoint}"), &hash)
}

/// The first label of the host name that a public endpoint gets under a domain: the hash tells apart what reads alike, of
/// another namespace too, because a domain serves them all.
pub fn hostname(namespace: &str, installation: &str, node: &str, endpoint: &str) -> String {
    let hash = base32(&["hostname", namespace, installation, node, endpoint], 8);
    suffixed(&format!("{installation}-{node}-{endpoint}"), &hash)
}

/// The volume claim of a node's volume. Named by identity: whoever takes the identity over finds the data.
pub fn volume(identity: &str, node: &str, volume: &str) -> String {
    let hash = base32(&["volume", identity, node, volume], 16);
    suffixed(&format!("{identity}-{node}-{volume}"), &hash)
}

/// The Secret that holds `version` of a node's environment.
pub fn environment(installation: &str, node: &str, version: u64) -> String {
    let version = version.to_string();
    let hash = base32(&["environment", installation, node, &version], 8);
    suffixed(&format!("{installation}-{node}-env-{version}"), &hash)
}

/// [`fitted`] into a DNS label of 63 characters.
fn suffixed(readable: &str, hash: &str) -> String {
    fitted(readable, hash, 63)
}

/// `readable-hash`, with the readable part made a DNS label and cut so that the whole fits `limit` characters.
fn fitted(readable: &str, hash: &str, limit: usize) -> String {
    let mut name: String = readable
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        name.insert(0, 'x');
    }
    name.truncate(limit - 1 - hash.len());
    format!("{}-{hash}", name.trim_end_matches('-'))
}

/// The first `length` base32 characters (5 bits each) of SHA-256 over length-prefixed parts, so that no two lists of
/// parts share an input.
fn base32(parts: &[&str], length: usize) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    let mut text = BASE32_NOPAD.encode(&hasher.finalize()).to_lowercase();
    text.truncate(length);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frozen: a changed line here loses the state of every installation there is. There is no switch to rewrite it.
    #[test]
    fn names_are_frozen() {
        let digest = "76540f59806e6cc6abd6eb4192b40079cf2ab7af38f600f4b84de4cde6e31a7d";
        let names = [
            claim("wiki"),
            credential("wiki", "dbPassword", 0),
            credential("wiki", "dbPassword", 1),
            source("wiki", digest, 0),
            snapshot("wiki", 1),
            record("wiki", 1),
            workload("wiki", "web"),
            environment("wiki", "web", 1),
            job("wiki", "web", "1"),
            route("wiki", "web", "web"),
            hostname("demo", "wiki", "web", "web"),
            volume("wiki", "web", "data"),
            hostname_claim("wiki.example.org"),
            lease(None),
            lease(Some("demo")),
        ];
        similar_asserts::assert_eq!(names.join("\n"), FROZEN.trim());
    }

    const FROZEN: &str = "
claim-wiki-bvkjn4w3rjqs7nzs
credential-wiki-dbpassword-0-ewteuuqhae3fo2ub
credential-wiki-dbpassword-1-wtqxc4mvt3ngyytm
source-wiki-76540f59806e-s3y53qfkv7zmkhkk
snapshot-wiki-1-p6qgsdoqidxi5rfq
record-wiki-1-7b7tvy5ppvtfqj2y
wiki-web-mdvgzhya
wiki-web-env-1-5gm3ay4n
wiki-web-1-o77kdmc7
wiki-web-web-bhnwpqpt
wiki-web-web-revtbcbj
wiki-web-data-vep27b4dednkg277
hostname-wiki-example-org-djgj7ro5wup6l465
installation-operator
installation-operator.demo
";

    #[test]
    fn labels_annotations_and_types_are_frozen() {
        let texts = [
            FINALIZER,
            FIELD_MANAGER,
            IDENTITY_LABEL,
            VERSION_LABEL,
            PARAMETER_ANNOTATION,
            GENERATION_LABEL,
            INSTALLATION_LABEL,
            NODE_LABEL,
            FORMAT_ANNOTATION,
            GENERATOR_ANNOTATION,
            DIGEST_ANNOTATION,
            CHUNK_ANNOTATION,
            VOLUME_ANNOTATION,
            JOBS_ANNOTATION,
            HOSTNAME_ANNOTATION,
            HOLDER_NAMESPACE_LABEL,
            HOLDER_IDENTITY_LABEL,
            CHANGES_ANNOTATION,
            STATE_ANNOTATION,
            ROLLOUT_ANNOTATION,
            CREDENTIAL_OF_ANNOTATION,
            CLAIM_ANNOTATION,
            RecordState::Current.as_ref(),
            RecordState::Superseded.as_ref(),
            &Precious::Claim.secret_type(),
            &Precious::Credential.secret_type(),
            &Precious::Source.secret_type(),
            &Precious::Snapshot.secret_type(),
            &Precious::Hostname.secret_type(),
        ];
        similar_asserts::assert_eq!(texts.join("\n"), FROZEN_TEXTS.trim());
    }

    const FROZEN_TEXTS: &str = "
install.musher.dev/finalizer
installation-operator
install.musher.dev/identity
install.musher.dev/version
install.musher.dev/parameter
install.musher.dev/generation
install.musher.dev/installation
install.musher.dev/node
install.musher.dev/format-version
install.musher.dev/generator
install.musher.dev/digest
install.musher.dev/chunk
install.musher.dev/volume
install.musher.dev/jobs
install.musher.dev/hostname
install.musher.dev/holder-namespace
install.musher.dev/holder-identity
install.musher.dev/changes
install.musher.dev/state
install.musher.dev/rollout
install.musher.dev/credential-of
install.musher.dev/claim
Current
Superseded
install.musher.dev/claim
install.musher.dev/credential
install.musher.dev/source
install.musher.dev/snapshot
install.musher.dev/hostname
";

    #[test]
    fn every_name_is_a_dns_label_that_begins_with_a_letter() {
        let long = "9".repeat(63);
        for name in [
            claim(&long),
            credential(&long, &"aB".repeat(32), u64::MAX),
            source(&long, &"f".repeat(64), 99),
            workload(&long, &"n".repeat(63)),
            environment(&long, "web", u64::MAX),
            job(&long, "web", "18446744073709551615"),
            route(&long, &long, "web"),
            hostname(&long, &long, &long, "web"),
            volume(&long, &long, "data"),
            hostname_claim(&format!("{long}.{long}.example.org")),
        ] {
            assert!(name.len() <= 63, "{name}");
            assert!(name.starts_with(|c: char| c.is_ascii_lowercase()), "{name}");
            assert!(
                name.chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
                "{name}"
            );
        }
    }

    #[test]
    fn a_workloads_name_leaves_room_for_what_kubernetes_adds() {
        assert_eq!(workload(&"w".repeat(63), "web").len(), 52);
    }

    #[test]
    fn names_that_read_alike_stay_apart() {
        assert_ne!(
            credential("wiki", "dbPassword", 0),
            credential("wiki", "dbpassword", 0)
        );
        assert_ne!(credential("a-b", "c", 0), credential("a", "b-c", 0));
        assert_ne!(workload("a-b", "c"), workload("a", "b-c"));
    }
}
