#!/usr/bin/env bash
# ./dev deny: what deny.toml says of the dependencies.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source .ci/steps/common.sh

version=0.20.2
advisories=https://github.com/rustsec/advisory-db
root=$cache/cargo-deny-$version

install_cargo_deny() {
  [[ ! -x $root/bin/cargo-deny ]] || return 0
  say "building cargo-deny $version once, some minutes on 2 cores; later runs take it from $cache"
  # Without optimization: it builds in half the time, and runs for a second.
  CARGO_PROFILE_DEV_DEBUG=false CARGO_TARGET_DIR=$target/cargo-deny \
    cargo install --debug --locked --root "$root" --version "$version" cargo-deny
  rm -rf "$target/cargo-deny"
}

advisories_can_be_had() {
  GIT_TERMINAL_PROMPT=0 timeout 20 git ls-remote --quiet "$advisories" HEAD >/dev/null 2>&1
}

need_cargo
install_cargo_deny
checks=(bans licenses sources)
if advisories_can_be_had; then
  checks+=(advisories)
else
  say "advisories are left out: their database at $advisories cannot be reached from here"
fi
"$root/bin/cargo-deny" --locked check "${checks[@]}"
