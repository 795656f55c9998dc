#!/usr/bin/env bash
# Builds Helm once from its published Go module, outside the clone, and prints the path of the program. Everything else it
# has to say goes to standard error.
set -euo pipefail

version=v4.3.2
heartbeat_seconds=15

say() { echo "$*" >&2; }

# Says every few seconds that the build goes on, until it is killed.
heartbeat() {
  local begin=$SECONDS
  while sleep "$heartbeat_seconds"; do
    say "still building Helm ($((SECONDS - begin)) s)"
  done
}

cache="${XDG_CACHE_HOME:-$HOME/.cache}/installation-operator/helm"
helm="$cache/$version/helm"
if [[ ! -x $helm ]]; then
  mkdir -p "$cache"
  exec 9>"$cache/.lock"
  if ! flock --nonblock 9; then
    say "another build of Helm is at work; waiting for it"
    flock 9
  fi
fi
if [[ ! -x $helm ]]; then
  say "building Helm $version once, 2 to 4 minutes on 2 cores; later runs take it from $cache"
  building=$(mktemp -d --tmpdir="$cache")
  heartbeat 9>&- &
  beating=$!
  trap 'kill "$beating" 2>/dev/null || true; rm -rf "$building"' EXIT
  # Not from inside the clone, whose modules are not Helm's.
  (cd "$building" && GOBIN=$building CGO_ENABLED=0 go install -trimpath -ldflags "-s -w" "helm.sh/helm/v4/cmd/helm@$version" 9>&-)
  mv "$building" "$cache/$version"
  say "built Helm in $SECONDS s"
fi
echo "$helm"
