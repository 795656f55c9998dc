#!/usr/bin/env bash
# ./dev test: everything that CI checks. Each step is a verb of ./dev, its output goes to a log, the first failure ends
# the run and shows the end of that log.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source .ci/steps/common.sh

logs=$target/test-logs
heartbeat_seconds=15
tail_lines=60
summary=()
building=
beating=

main() {
  [[ $# == 0 ]] || usage_error "test $*"
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  rm -rf "$logs"
  mkdir -p "$logs"
  say "the output of each step is in $logs"
  need_cargo
  need_go
  # Incremental compilation pays for people only.
  if on_ci; then export CARGO_INCREMENTAL=0; fi

  run fmt
  run lint shell
  # The slowest build, and it shares nothing with the others: it fills the time in which they use one core.
  setsid bash -c 'tests/cluster/build.sh && tests/helm/build.sh' >"$logs/cluster-build.log" 2>&1 &
  building=$!
  run lint rust
  run unit
  run conformance
  run generate --check
  run deny
  wait_for_cluster_build
  run chart
  run harness
  start_cluster
  run integration
  demo
}

# run VERB [ARGS]: a step.
run() {
  local name=$* log begin=$SECONDS
  log=$logs/${name// /-}.log
  say "== $name"
  begin_heartbeat "$name" "$log"
  # As a program of its own: in a function behind `if`, a failing command would not end anything.
  if ! ./dev "$@" >"$log" 2>&1; then
    end_heartbeat
    summary+=("$(printf '%-18s %5d s  FAILED' "$name" $((SECONDS - begin)))")
    say "-- the end of $log:"
    tail -n "$tail_lines" "$log" >&2
    exit 1
  fi
  end_heartbeat
  summary+=("$(printf '%-18s %5d s' "$name" $((SECONDS - begin)))")
  say "   ok, $((SECONDS - begin)) s"
}

# Says what a step is at, until it ends.
begin_heartbeat() {
  (
    begun=$SECONDS
    # A shell that waits can be stopped at once; one that runs a program in front cannot.
    while sleep "$heartbeat_seconds" >/dev/null 2>&1 & wait $!; do
      say "   $1, $((SECONDS - begun)) s: $(tail -n 1 "$2" 2>/dev/null | cut -c1-120)"
    done
  ) &
  beating=$!
}

end_heartbeat() {
  [[ -n $beating ]] || return 0
  kill "$beating" 2>/dev/null || true
  wait "$beating" 2>/dev/null || true
  beating=
}

wait_for_cluster_build() {
  local begin=$SECONDS
  say "== cluster build"
  begin_heartbeat "cluster build" "$logs/cluster-build.log"
  if ! wait "$building"; then
    building=
    end_heartbeat
    tail -n "$tail_lines" "$logs/cluster-build.log" >&2
    fail "the local cluster or Helm does not build"
  fi
  building=
  end_heartbeat
  summary+=("$(printf '%-18s %5d s' "cluster build" $((SECONDS - begin)))")
}

# For the steps that follow, which take it from KUBECONFIG.
start_cluster() {
  local begin=$SECONDS
  say "== cluster"
  use_cluster
  summary+=("$(printf '%-18s %5d s' cluster $((SECONDS - begin)))")
}

demo() {
  local reason
  if [[ -z $cluster ]]; then
    say "== demo: left out, its images are not in the cluster of KUBECONFIG"
  elif reason=$(lacks_node); then
    say "== demo: left out, pods do not run here: $reason"
  else
    run demo
  fi
}

clean_up() {
  local code=$?
  trap - EXIT INT TERM HUP
  end_heartbeat
  [[ -z $building ]] || kill -TERM -- "-$building" 2>/dev/null || true
  stop_cluster_if_started || code=1
  say ""
  printf '%s\n' "${summary[@]}" >&2
  if [[ $code == 0 ]]; then say "all of it passed in $SECONDS s"; else say "FAILED after $SECONDS s"; fi
  exit "$code"
}

main "$@"
