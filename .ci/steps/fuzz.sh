#!/usr/bin/env bash
# ./dev fuzz: inputs for the document rules, made under coverage guidance. A crash, a hang or an input that breaks
# tests/fuzz/oracle.rs ends the run and is kept.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source .ci/steps/common.sh

version=0.13.2
root=$cache/cargo-fuzz-$version
work=$target/fuzz
targets=(document item)
minutes=1
# Seconds for one input. The slowest that is known takes a twentieth, instrumented.
hang=10
# Longer inputs are slower and reach nothing more.
longest=16384

main() {
  case ${1:-} in
    '') ;;
    --minutes) minutes=${2:?a number of minutes} ;;
    *) usage_error "fuzz $*" ;;
  esac
  need_cargo
  need_program c++ build-essential
  install_cargo_fuzz
  # No sanitizer: no line here is unsafe, and none is there on the stable toolchain.
  "$root/bin/cargo-fuzz" build --fuzz-dir tests/fuzz --target-dir "$work/build" --sanitizer none >&2
  plant
  local name pids=()
  for name in "${targets[@]}"; do
    fuzz "$name" &
    pids+=($!)
  done
  trap 'kill "${pids[@]}" 2>/dev/null || true' EXIT
  local failed=
  for pid in "${pids[@]}"; do wait "$pid" || failed=yes; done
  for name in "${targets[@]}"; do tell "$name"; done
  [[ -z $failed ]] || fail "inputs that fail are in $work/*/failures: copy them to tests/fuzz/corpus, and mend what they show"
}

install_cargo_fuzz() {
  [[ ! -x $root/bin/cargo-fuzz ]] || return 0
  say "building cargo-fuzz $version once; later runs take it from $cache"
  CARGO_TARGET_DIR=$target/cargo-fuzz cargo install --debug --locked --root "$root" --version "$version" cargo-fuzz
  rm -rf "$target/cargo-fuzz"
}

# The documents of our own corpus and examples, from which inputs are made.
plant() {
  local name file component
  for name in "${targets[@]}"; do mkdir -p "$work/$name"/{corpus,seeds,failures}; done
  find conformance examples -name '*.yaml' -size -16k | while read -r file; do
    cp "$file" "$work/document/seeds/${file//\//-}"
  done
  # As one input: a blueprint, the mark that ends it, and one component.
  find conformance examples -name blueprint.yaml | while read -r file; do
    component=$(find "$(dirname "$file")" -name '*.yaml' ! -name blueprint.yaml | sort | head -n 1)
    [[ -n $component ]] || continue
    { cat "$file"; printf '\n...\n'; cat "$component"; } >"$work/item/seeds/${file//\//-}"
  done
  # The names of fields and their choices, and the marks of YAML.
  # shellcheck disable=SC2016 # a reference is written like this
  { grep -ho '"[A-Za-z0-9]\+"' src/contract/schema/*.json | sort -u
    printf '"%s"\n' '- ' ': ' '{' '}' '[' ']' '|\x0a' '&a' '*a' '<<' '!!str' '---' '${{ self.' '}}' '$${{'; } >"$work/words"
}

fuzz() {
  "$work/build/$(rustc -vV | sed -n 's/^host: //p')/release/$1" "$work/$1/corpus" "tests/fuzz/corpus/$1" "$work/$1/seeds" \
    -max_total_time=$((minutes * 60)) -timeout="$hang" -max_len="$longest" -dict="$work/words" \
    -artifact_prefix="$work/$1/failures/" -print_final_stats=1 >"$work/$1/log" 2>&1
}

tell() {
  say "== $1, $minutes min, the whole log is $work/$1/log"
  grep -E '^(stat::|SUMMARY|ERROR|thread )|panicked|^#.*(DONE|INITED)' "$work/$1/log" >&2 || true
}

main "$@"
