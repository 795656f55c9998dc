//! How long validation takes: an item of real size, a document of the largest size, and items that grow, whose cost has to
//! grow as they do. `./dev bench` runs them.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use installation_operator::contract::{Item, Published, validate_document, validate_item};
use installation_operator::document::limits::DOCUMENT_BYTES;
use installation_operator::document::result::{Profile, Status};
use mimalloc::MiMalloc;

// As the program has it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Nodes of one component: real items share few, and a web service that feeds the next is the common kind.
const COMPONENT: &str = "\
specVersion: v1
kind: COMPONENT
metadata: { revision: 1, description: A web service. }
spec:
  type: SERVICE
  workload:
    source: { image: example/web:1.2.3 }
    endpoints:
      web: { targetPort: 8080, protocol: HTTP }
    health:
      readiness: { http: { endpoint: web, path: /healthz } }
    volumes:
      data: { mountPath: /data, minSizeGiB: 1 }
  contract:
    inputs:
      token:
        schema: { type: string, minLength: 16, maxLength: 256 }
        description: What callers show.
        sensitive: true
        target: { envVarKey: TOKEN }
      upstream:
        schema: { type: string }
        description: Where the service asks.
        required: false
        target: { envVarKey: UPSTREAM }
    outputs:
      address:
        schema: { type: string }
        description: Where the service listens.
        from: { endpoint: web, property: privateAddress }
";

/// A chain of `nodes` services.
fn item(nodes: usize) -> Item {
    let mut blueprint = String::from(
        "specVersion: v1
kind: BLUEPRINT
metadata: { slug: chain, revision: 1, description: A chain of services. }
spec:
  parameters:
    token: { generator: { byteLength: 32, encoding: HEX } }
  components:
",
    );
    for node in 0..nodes {
        write!(
            blueprint,
            "    n{node}:
      componentRef: ./components/web.yaml
      compute: {{ profile: general.standard.small }}
      volumes: {{ data: {{ sizeGiB: 10 }} }}
      bindings:
        token: {{ parameter: token }}
"
        )
        .expect("a string takes text");
        if node > 0 {
            let before = node - 1;
            writeln!(
                blueprint,
                "        upstream: {{ node: n{before}, output: address }}"
            )
            .expect("a string takes text");
        }
    }
    Item::from_files(
        "chain",
        [
            ("blueprint.yaml", blueprint.as_bytes()),
            ("components/web.yaml", COMPONENT.as_bytes()),
        ],
    )
}

/// A component of as many inputs as one document holds.
fn largest() -> Vec<u8> {
    let (head, _) = COMPONENT.split_once("    outputs:").expect("outputs");
    let mut text = head.to_owned();
    for input in 0.. {
        let entry = format!(
            "      i{input}: {{ schema: {{ type: string, maxLength: 64 }}, description: One of many., \
             default: none, target: {{ envVarKey: I{input} }} }}\n"
        );
        if text.len() + entry.len() > DOCUMENT_BYTES {
            break;
        }
        text.push_str(&entry);
    }
    text.into_bytes()
}

fn benchmarks(criterion: &mut Criterion) {
    let published = Published::default();
    let mut group = criterion.benchmark_group("item");
    for nodes in [10, 40, 100, 1000] {
        let item = item(nodes);
        let check = || {
            validate_item(&item, &published, Profile::Document)
                .result
                .status
        };
        assert_eq!(check(), Status::Valid, "what is measured is valid");
        group.throughput(Throughput::Elements(nodes as u64));
        group.bench_function(BenchmarkId::from_parameter(nodes), |bencher| {
            bencher.iter(|| black_box(check()));
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("document");
    let component = COMPONENT.as_bytes().to_vec();
    for (name, document) in [("one component", component), ("1 MiB", largest())] {
        let check = || {
            validate_document(None, &document, &published, Profile::Document)
                .result
                .status
        };
        assert_eq!(check(), Status::Valid, "what is measured is valid");
        group.throughput(Throughput::Bytes(document.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| black_box(check())));
    }
    group.finish();
}

criterion_group!(validation, benchmarks);
criterion_main!(validation);
