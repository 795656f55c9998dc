#!/usr/bin/env bash
# Builds the local cluster once for each state of its sources, outside the clone, and prints the
# path of the binary. Everything else it has to say goes to standard error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

kubernetes=v1.36.3
heartbeat_seconds=15

# What decides the binary: the sources, and the compiler. Tests and prose do not.
sources_digest() {
  {
    go env GOVERSION GOOS GOARCH
    find . -type f ! -name '*_test.go' ! -name '*.md' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
  } | sha256sum | cut -c1-20
}

say() { echo "$*" >&2; }

# Says every few seconds that the build goes on, until it is killed.
heartbeat() {
  local begin=$SECONDS
  while sleep "$heartbeat_seconds"; do
    say "still building the local cluster ($((SECONDS - begin)) s)"
  done
}

# The programs of our images, each in a tree that becomes its layer.
build_images() {
  local into=$1 source program
  for source in images/*/; do
    program=$(basename "$source")
    (cd "$source" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$into/images/$program/$program" .)
  done
}

# The definitions of the Gateway API as its Go module has them: those of the standard channel, and
# the routes that only the experimental channel has.
copy_definitions() {
  local into=$1 channels
  go mod download sigs.k8s.io/gateway-api
  channels=$(go list -m -f '{{.Dir}}' sigs.k8s.io/gateway-api)/config/crd
  mkdir -p "$into"
  grep -l '^kind: CustomResourceDefinition$' "$channels"/standard/*.yaml "$channels"/experimental/*_{tcp,udp}routes.yaml |
    xargs cp --target-directory="$into"
}

build() {
  local into=$1
  local stamps="-X k8s.io/component-base/version.gitVersion=$kubernetes"
  stamps+=" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"
  stamps+=" -X k8s.io/client-go/pkg/version.gitVersion=$kubernetes"
  build_images "$into"
  copy_definitions "$into/definitions"
  go build -trimpath -ldflags "-s -w $stamps" -o "$into/local-cluster" .
}

cache="${XDG_CACHE_HOME:-$HOME/.cache}/installation-operator/bin"
directory="$cache/$(sources_digest)"
if [[ ! -x $directory/local-cluster ]]; then
  mkdir -p "$cache"
  exec 9>"$cache/.lock"
  if ! flock --nonblock 9; then
    say "another build of the local cluster is at work; waiting for it"
    flock 9
  fi
fi
if [[ ! -x $directory/local-cluster ]]; then
  say "building the local cluster once, 5 to 10 minutes on 2 cores; later runs take it from $cache"
  building=$(mktemp -d --tmpdir="$cache")
  heartbeat 9>&- &
  beating=$!
  trap 'kill "$beating" 2>/dev/null || true; rm -rf "$building"' EXIT
  build "$building"
  mv "$building" "$directory"
  say "built the local cluster in $SECONDS s"
fi
# Builds that nobody asked for in a week go: each is 200 MB.
touch "$directory"
find "$cache" -mindepth 1 -maxdepth 1 -type d -mtime +7 -exec rm -rf {} +
echo "$directory/local-cluster"
