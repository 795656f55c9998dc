//! An item with one node of each kind of workload, for tests of what a record becomes: a service with a volume of its own,
//! a job, a job on a schedule, a worker.

use super::{Cluster, Item};

const BLUEPRINT: &str = "\
specVersion: v1
kind: BLUEPRINT
metadata: { slug: acme-wiki, revision: 1, description: One of each. }
spec:
  components:
    store:
      componentRef: ./store.yaml
      compute: { profile: general.standard.small }
      volumes: { data: { sizeGiB: 1 } }
    migrate:
      componentRef: ./migrate.yaml
      compute: { profile: general.standard.small }
    nightly:
      componentRef: ./nightly.yaml
      compute: { profile: general.standard.small }
    clerk:
      componentRef: ./clerk.yaml
      compute: { profile: general.standard.small }
";

const STORE: &str = "\
specVersion: v1
kind: COMPONENT
metadata: { revision: 1, description: Keeps files. }
spec:
  type: SERVICE
  workload:
    source: { image: IMAGE }
    command: [serve]
    endpoints:
      http: { targetPort: 8080, protocol: HTTP }
    health:
      readiness: { http: { endpoint: http, path: /healthz }, initialDelaySeconds: 0, periodSeconds: 1 }
    volumes:
      data: { mountPath: /data, minSizeGiB: 1 }
";

const MIGRATE: &str = "\
specVersion: v1
kind: COMPONENT
metadata: { revision: 1, description: Prepares something. }
spec:
  type: JOB
  workload:
    source: { image: IMAGE }
    command: [exit, '0']
";

const NIGHTLY: &str = "\
specVersion: v1
kind: COMPONENT
metadata: { revision: 1, description: Cleans up. }
spec:
  type: JOB
  workload:
    source: { image: IMAGE }
    command: [exit, '0']
    schedule: { cron: \"*/15\\t0-23/2 1,15 * 1-5\" }
";

const CLERK: &str = "\
specVersion: v1
kind: COMPONENT
metadata: { revision: 1, description: Works in silence. }
spec:
  type: WORKER
  workload:
    source: { image: IMAGE }
    command: [sleep]
";

impl Item {
    /// The item with one of each, with an image that the cluster can run if it can run any.
    pub async fn one_of_each(cluster: &Cluster) -> Self {
        let mut item = Self::new(cluster).await;
        let image = item.image.clone();
        let files = [
            ("blueprint.yaml", BLUEPRINT),
            ("store.yaml", STORE),
            ("migrate.yaml", MIGRATE),
            ("nightly.yaml", NIGHTLY),
            ("clerk.yaml", CLERK),
        ];
        item.files = files
            .map(|(path, text)| (path.to_owned(), text.replace("IMAGE", &image)))
            .into();
        item
    }
}
