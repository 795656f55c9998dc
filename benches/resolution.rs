//! How long resolution takes of applications that grow: in nodes, in the length of one chain of values, and in bindings.
//! Its cost has to grow as they do. `./dev bench` runs them; the figures stand in docs/benchmarks.md.

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use installation_operator::contract::contracts::Contracts;
use installation_operator::contract::{Item, Published, validate_item};
use installation_operator::document::result::Profile;
use installation_operator::resolution::context::Context;
use installation_operator::resolution::resolve;
use mimalloc::MiMalloc;

// As the program has it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Nodes of a chain, and of an application that is wide. The last is close to what the 1 MiB of a document hold.
const CHAIN: [usize; 4] = [10, 100, 1_000, 5_000];
const WIDE: [usize; 4] = [10, 100, 1_000, 2_500];
/// Inputs of each node of an application that is wide.
const WIDTH: usize = 10;

/// Makes an application of so many nodes.
type Make = fn(usize) -> Arc<Contracts>;

/// A worker of `inputs` inputs `i0`, `i1` and so on, which hands the first on as `out`.
fn component(inputs: usize) -> String {
    let mut component = String::from(
        "specVersion: v1
kind: COMPONENT
metadata: { revision: 1, description: A worker. }
spec:
  type: WORKER
  workload:
    source: { image: example/worker:1.2.3 }
  contract:
    outputs:
      out: { schema: { type: string }, description: The first input., from: { input: i0 } }
    inputs:
",
    );
    for input in 0..inputs {
        writeln!(
            component,
            "      i{input}: {{ schema: {{ type: string }}, description: A value., target: {{ envVarKey: I{input} }} }}"
        )
        .expect("a string takes every line");
    }
    component
}

/// An application of `nodes` nodes, each with the bindings that `bindings` writes for its number.
fn application(nodes: usize, inputs: usize, bindings: impl Fn(usize) -> String) -> Arc<Contracts> {
    let mut blueprint = String::from(
        "specVersion: v1
kind: BLUEPRINT
metadata: { slug: growing, revision: 1, description: A growing application. }
spec:
  parameters: { title: {} }
  components:
",
    );
    for node in 0..nodes {
        writeln!(
            blueprint,
            "    n{node}: {{ componentRef: ./worker.yaml, compute: {{ profile: general.standard.small }}, bindings: {{ {} }} }}",
            bindings(node)
        )
        .expect("a string takes every line");
    }
    let files = [
        ("blueprint.yaml", blueprint),
        ("worker.yaml", component(inputs)),
    ]
    .map(|(path, text)| (path, text.into_bytes()));
    let item = Item::from_files("growing", files);
    let validation = validate_item(&item, &Published::default(), Profile::Document);
    validation
        .contracts
        .unwrap_or_else(|| panic!("not VALID: {:?}", validation.result))
}

/// One value that passes through every node. The first node by name is the last of the chain, so that all of it has to be
/// walked at once.
fn chain(nodes: usize) -> Arc<Contracts> {
    let last = nodes - 1;
    application(nodes, 1, |node| {
        if node == last {
            "i0: { parameter: title }".to_owned()
        } else {
            format!("i0: {{ node: n{}, output: out }}", node + 1)
        }
    })
}

/// Ten bindings for each node: one of the parameter, the others of the first node's output.
fn wide(nodes: usize) -> Arc<Contracts> {
    application(nodes, WIDTH, |node| {
        let binding = |input| match (node, input) {
            (0, _) | (_, 0) => format!("i{input}: {{ parameter: title }}"),
            _ => format!("i{input}: {{ node: n0, output: out }}"),
        };
        (0..WIDTH).map(binding).collect::<Vec<_>>().join(", ")
    })
}

fn growing(criterion: &mut Criterion) {
    let context =
        br#"{"parameters": {"title": {"value": "The wiki of the house", "sensitive": false}}}"#;
    let context = Context::parse(context).expect("a context");
    let shapes: [(&str, _, usize, Make); 2] =
        [("chain", CHAIN, 1, chain), ("wide", WIDE, WIDTH, wide)];
    for (name, sizes, bindings, make) in shapes {
        let mut group = criterion.benchmark_group(format!("resolve/{name}"));
        for nodes in sizes {
            let contracts = make(nodes);
            let resolution = resolve(&contracts, &context);
            assert!(resolution.resolved.is_some(), "{:?}", resolution.result);
            group.throughput(Throughput::Elements((nodes * bindings) as u64));
            group.bench_function(BenchmarkId::from_parameter(nodes), |bencher| {
                bencher.iter(|| resolve(black_box(&contracts), black_box(&context)));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, growing);
criterion_main!(benches);
