#!/usr/bin/env bash
# ./dev chaos: tests/chaos.rs, for longer and with more Installations than CI has time for.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source .ci/steps/common.sh

minutes=10
installations=50
# Another one each time, as long as none is given.
seed=$(((RANDOM << 15) | RANDOM))

main() {
  while [[ $# -gt 0 ]]; do
    case $1 in
      --minutes) minutes=${2:?a number of minutes} ;;
      --installations) installations=${2:?a number of Installations} ;;
      --seed) seed=${2:?a seed} ;;
      *) usage_error "chaos $*" ;;
    esac
    shift 2
  done
  need_cargo
  use_cluster
  trap stop_cluster_if_started EXIT
  local again="./dev chaos --minutes $minutes --installations $installations --seed $seed"
  say "seed $seed; for the same actions again: $again"
  CHAOS_SEED=$seed CHAOS_INSTALLATIONS=$installations CHAOS_SECONDS=$((60 * minutes)) \
    cargo test --locked --test chaos -- --nocapture --exact \
    whatever_happens_all_invariants_hold_and_everything_converges ||
    fail "the actions are above; again: $again"
}

main "$@"
