#!/usr/bin/env bash
# Mutation testing of the contract and of resolution: `./dev mutants [ARGS of cargo-mutants]`; `--assemble DIRECTORY`
# stops once the crate stands there.
#
# The core is taken into a crate of its own, with nothing but what it needs, so that a mutant builds in seconds. That it
# builds at all shows that no client, no runtime and no clock has crept into it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source .ci/steps/common.sh

# The crates of Cargo.toml that the core stands on.
readonly crates='data-encoding|jsonptr|jsonschema|regex|ryu-js|saphyr-parser|schemars|serde|serde-saphyr|serde_json|sha2|strum|tempfile|thiserror|zeroize|proptest'

# assemble DIRECTORY: the core as a crate there, in place of an earlier one; what cargo built there stays.
assemble() {
  local into=$1
  mkdir -p "$into/src/acquire" "$into/tests" "$into/.cargo"
  rm -rf "$into"/src/{document,contract,resolution,conformance} "$into"/{conformance,examples,proptest-regressions}
  cp -R src/{document,contract,resolution,conformance} "$into/src"
  # The runner of corpora reads item directories; it is the one file here that does.
  cp src/acquire/directory.rs "$into/src/acquire"
  cp -R conformance examples clippy.toml "$into"
  cp tests/conformance.rs "$into/tests"
  cp Cargo.lock rust-toolchain.toml "$into"
  # The package without its binary, its other dependencies, and profiles that are for people.
  awk -v crates="^($crates) = " '
    /^\[/ { section = $0 }
    section == "[package]" && !/^default-run/ { print; next }
    section ~ /^\[(dev-)?dependencies\]$/ && ($0 == section || $0 ~ crates || $0 == "") { print }
  ' Cargo.toml >"$into/Cargo.toml"
  cat >>"$into/Cargo.toml" <<'TOML'
[profile.dev]
debug = false

[profile.dev.package."*"]
opt-level = 1

[workspace]
TOML
  cat >"$into/src/lib.rs" <<'RUST'
//! The pure core alone.
#![forbid(unsafe_code)]
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]
pub mod acquire {
    //! What the runner of corpora reads items with.
    pub mod directory;
}
pub mod conformance;
pub mod contract;
pub mod document;
pub mod resolution;
RUST
  cat >"$into/.cargo/config.toml" <<'TOML'
[build]
rustflags = ["-C", "link-arg=-fuse-ld=mold"]
TOML
}

need_cargo
need_program mold mold
directory=$target/mutants
if [[ ${1:-} == --assemble ]]; then
  assemble "${2:?a directory}"
  exit
fi
cargo mutants --version >/dev/null 2>&1 ||
  fail "cargo-mutants is missing: cargo install cargo-mutants --locked"
assemble "$directory"
rooms=(--file 'src/resolution/**' --file 'src/contract/**')
for argument in "$@"; do
  # Given files are another choice, not a further one.
  case $argument in --file* | -f*) rooms=() ;; esac
done
# In place, because the crate is a copy already and what was built of its dependencies stays. Fewer random cases than
# in a test run: a mutant survives few of them, or all. And no backtraces of the tests that are meant to fail.
RUST_BACKTRACE=0 PROPTEST_CASES=64 exec nice -n 15 cargo mutants --in-place --dir "$directory" --output "$target" \
  "${rooms[@]}" --exclude '**/testing.rs' --exclude '**/properties/**' \
  --cargo-arg=--offline --minimum-test-timeout 90 "$@" -- --lib --test conformance
