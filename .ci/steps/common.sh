# shellcheck shell=bash
# What the scripts of ./dev share. Sourced, from the top of the clone, under `set -euo pipefail`.

# shellcheck disable=SC2034 # those who source this use them
target=${CARGO_TARGET_DIR:-target}
# shellcheck disable=SC2034
operator=$target/debug/installation-operator
# shellcheck disable=SC2034
plugin=$target/debug/kubectl-installation
cache=${XDG_CACHE_HOME:-$HOME/.cache}/installation-operator

say() { echo "$*" >&2; }

fail() {
  say "error: $*"
  exit 1
}

usage_error() {
  say "error: there is no \`./dev $*\`; ./dev help lists what there is"
  exit 2
}

on_ci() { [[ ${CI:-} == true ]]; }

temporary_directory() {
  mkdir -p "$target/tmp"
  mktemp -d "$target/tmp/dev.XXXXXX"
}

# --- what a machine must have ---

# need_program PROGRAM PACKAGE: installs Debian's package when the program is missing.
need_program() {
  if command -v "$1" >/dev/null; then return; fi
  if [[ $EUID != 0 ]] || ! command -v apt-get >/dev/null; then
    fail "$1 is missing: install it (Debian's package is $2)"
  fi
  say "$1 is missing: installing Debian's package $2"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q >&2
  apt-get install -y -q --no-install-recommends "$2" >&2
}

need_cargo() {
  command -v cargo >/dev/null || fail "cargo is missing: install Rust from https://rustup.rs"
  # Below rustup this fetches the toolchain that rust-toolchain.toml names.
  cargo --version >/dev/null || fail "the toolchain of rust-toolchain.toml is missing: run \`rustup toolchain install\`"
  need_program cc build-essential
}

need_go() {
  command -v go >/dev/null || fail "go is missing: install Go 1.26 or later from https://go.dev/dl"
}

# --- the cluster ---

# Its name while it is ours; empty when KUBECONFIG leads elsewhere.
cluster=${CLUSTER:-default}
cluster_binary=
cluster_started=
# kubectl of the local cluster, or of the machine where the cluster is from elsewhere.
kubectl=()

build_cluster() {
  [[ -n $cluster_binary ]] || cluster_binary=$(tests/cluster/build.sh)
}

# cluster_state FIELD: a text or a truth of the local cluster's state.
cluster_state() {
  "$cluster_binary" status --name "$cluster" --json |
    sed -n -e 's|^ *"'"$1"'": "\(.*\)",\{0,1\}$|\1|p' -e 's|^ *"'"$1"'": \([a-z]*\),\{0,1\}$|\1|p'
}

# Sets KUBECONFIG, unless it is given, to a local cluster, and starts that unless it runs.
use_cluster() {
  need_go
  build_cluster
  if [[ -n ${KUBECONFIG:-} ]]; then
    local state
    state=$(dirname "$(dirname "$KUBECONFIG")")/state.json
    cluster=
    [[ ! -f $state ]] || cluster=$(sed -n 's/^ *"name": "\(.*\)",\{0,1\}$/\1/p' "$state")
    if [[ -n $cluster ]]; then kubectl=("$cluster_binary" kubectl --name "$cluster"); else kubectl=(kubectl); fi
    say "using the cluster of KUBECONFIG, $KUBECONFIG"
    return
  fi
  if ! "$cluster_binary" status --name "$cluster" >/dev/null 2>&1; then
    cluster_started=yes
  fi
  refuse_another_build
  "$cluster_binary" up --name "$cluster" >&2
  kubectl=("$cluster_binary" kubectl --name "$cluster")
  KUBECONFIG=$(cluster_state kubeconfig)
  export KUBECONFIG
}

# A cluster that another build started may have other images and flags than the tests and the demo count on.
refuse_another_build() {
  local pid running
  # Where none runs, `status` says so by failing.
  pid=$({ "$cluster_binary" status --name "$cluster" --json || true; } | sed -n 's/^ *"pid": \([0-9]*\),\{0,1\}$/\1/p')
  running=$(readlink "/proc/${pid:-0}/exe" 2>/dev/null || true)
  [[ -z $running || $running == "$cluster_binary" ]] ||
    fail "cluster $cluster was started by another build of the harness: ./dev cluster down stops it"
}

stop_cluster_if_started() {
  [[ -n $cluster_started ]] || return 0
  cluster_started=
  "$cluster_binary" down --name "$cluster" >&2
}

# Why pods cannot run, where that is known.
lacks_node() {
  [[ -n $cluster && $(cluster_state available) != true ]] || return 1
  cluster_state reason
}

kube() { "${kubectl[@]}" "$@"; }

# --- the operator of a demo ---

# Where a demo on the cluster named $1 keeps its files.
demo_directory() { echo "$target/demo/${1:-given}"; }

# Stops the operator whose files are in $1, if it runs.
stop_operator() {
  local pid
  pid=$(cat "$1/operator.pid" 2>/dev/null) || return 0
  rm -f "$1/operator.pid"
  # The number may be another process's by now.
  [[ $(readlink "/proc/$pid/exe" 2>/dev/null) == *installation-operator* ]] || return 0
  kill "$pid" 2>/dev/null || return 0
  local patience
  for patience in {1..50}; do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.1
  done
  say "the operator does not stop after $patience tries: killing it"
  kill -KILL "$pid" 2>/dev/null || true
}
