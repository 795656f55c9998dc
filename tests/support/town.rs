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

    /// Of the item with one of each, the node `name` alone.
    #[must_use]
    pub fn only(mut self, name: &str) -> Self {
        let is_node = |line: &str| line.starts_with("    ") && !line.starts_with("     ");
        let mut is_kept = true;
        let blueprint = self.files.remove("blueprint.yaml").expect("a blueprint");
        let kept = blueprint.lines().filter(|line| {
            if is_node(line) {
                is_kept = line.trim() == format!("{name}:");
            }
            is_kept
        });
        let kept: Vec<&str> = kept.collect();
        self.files.retain(|path, _| *path == format!("{name}.yaml"));
        self.with("blueprint.yaml", &format!("{}\n", kept.join("\n")))
    }
}
