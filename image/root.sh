#!/usr/bin/env bash
# root.sh PROGRAM DIRECTORY: lays out the root of the operator's image in an empty directory. The Dockerfile calls it, and so
# do the tests, which have no Docker.
set -euo pipefail

program=$1
root=$2
authorities=/etc/ssl/certs/ca-certificates.crt

mkdir -p "$root"
install -D -m 0755 "$program" "$root/installation-operator"

# Each library at the path where the loader looks for it, and the loader itself.
libraries=$(ldd "$program" | sed -n -e 's|.* => \(/[^ ]*\) .*|\1|p' -e 's|^[[:space:]]*\(/[^ ]*\) .*|\1|p')
for library in $libraries; do
  install -D -m 0755 "$library" "$root$library"
done

install -D -m 0644 "$authorities" "$root$authorities"
# Names of /etc/hosts before those of DNS, as everywhere else; without this file it would be the other way round.
mkdir -p "$root/etc"
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
