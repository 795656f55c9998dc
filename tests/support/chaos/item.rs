//! The item of a run: a web service, its database with a volume, a job, and one password that all three share.

use crate::support::{Cluster, Item};

const MIGRATE: &str = "\
specVersion: v1
kind: COMPONENT
metadata: { revision: 1, description: Prepares the database. }
spec:
  type: JOB
  workload:
    source: { image: IMAGE }
    command: [exit, '0']
  contract:
    inputs:
      password:
        schema: { type: string }
        required: true
        sensitive: true
        target: { envVarKey: PASSWORD }
        description: The password to log in with.
    outputs: {}
";

/// The item in its first edition.
pub async fn item(cluster: &Cluster) -> Item {
    let item = Item::new(cluster).await;
    let migrate = MIGRATE.replace("IMAGE", &item.image);
    item.edited(
        "blueprint.yaml",
        "componentRef: ./db.yaml\n",
        "componentRef: ./db.yaml\n      volumes: { data: { sizeGiB: 1 } }\n",
    )
    .edited(
        "blueprint.yaml",
        "    db:\n",
        "    migrate:\n      componentRef: ./migrate.yaml\n      compute: { profile: general.standard.small }\n      bindings:\n        password: { parameter: dbPassword }\n    db:\n",
    )
    .edited(
        "db.yaml",
        "      main: { targetPort: 8080, protocol: TCP }\n",
        "      main: { targetPort: 8080, protocol: TCP }\n    volumes:\n      data: { mountPath: /data, minSizeGiB: 1 }\n",
    )
    .with("migrate.yaml", &migrate)
}

/// A later edition of the blueprint.
pub fn edition(item: &Item, edition: u32) -> Item {
    item.clone().edited(
        "blueprint.yaml",
        "description: A web service and its database.",
        &format!("description: A web service and its database, edition {edition}."),
    )
}
