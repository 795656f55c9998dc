#!/usr/bin/env bash
# ./dev demo: from nothing to a ready Installation on a real Kubernetes, and the proof that it works.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source .ci/steps/common.sh

namespace=demo
operator_namespace='installation-operator'
installation=wiki
patience=240
keep=
directory=
building=

step() { printf '\n== %s\n' "$*"; }

main() {
  case ${1:-} in
    --keep) keep=yes ;;
    '') ;;
    *) usage_error "demo $1" ;;
  esac
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP

  step "Building the operator and the local cluster"
  build_everything
  step "Starting the cluster"
  use_cluster
  require_pods
  directory=$(demo_directory "$cluster")
  mkdir -p "$directory"
  step "Installing definitions, admission policy and roles"
  install_definitions
  step "Starting the operator, as a ServiceAccount with its own ClusterRoles"
  start_operator
  step "Applying examples/: a compute profile, the item in a ConfigMap, the Installation"
  apply_examples
  step "Waiting until it is ready"
  follow
  show
}

# The two builds share nothing, and each has stretches in which it uses one core only.
build_everything() {
  need_cargo
  need_go
  # In a process group of its own, so that all of it can be stopped.
  setsid tests/cluster/build.sh >/dev/null &
  building=$!
  cargo build --locked --bins || fail "the operator does not build"
  if kill -0 "$building" 2>/dev/null; then
    say "the operator is built; waiting for the local cluster's build"
  fi
  wait "$building" || fail "the local cluster does not build"
  building=
}

require_pods() {
  local reason
  if reason=$(lacks_node); then
    fail "the demo needs real pods, and cluster $cluster has no node: $reason"
  fi
}

install_definitions() {
  "$operator" crds >"$directory/crds.yaml"
  kube apply --server-side --force-conflicts --filename "$directory/crds.yaml"
  kube wait --for=condition=Established --timeout=60s crd \
    installations.install.musher.dev resolutionrecords.install.musher.dev \
    computeprofiles.install.musher.dev platforms.install.musher.dev >/dev/null
}

start_operator() {
  stop_operator "$directory"
  create namespace "$operator_namespace"
  create serviceaccount installation-operator --namespace "$operator_namespace"
  local role
  for role in installation-operator installation-operator-catalog; do
    create clusterrolebinding "$role" --clusterrole "$role" \
      --serviceaccount "$operator_namespace:installation-operator"
  done
  write_operator_kubeconfig
  # In a session of its own, so that it outlives this terminal when it is kept.
  KUBECONFIG=$directory/operator.kubeconfig \
    setsid "$operator" controller --operator-namespace "$operator_namespace" >"$directory/operator.log" 2>&1 </dev/null &
  echo $! >"$directory/operator.pid"
  disown
  echo "its log is $directory/operator.log"
}

# Creates an object, or leaves it as it is.
create() {
  kube create "$@" --dry-run=client --output yaml | kube apply --filename -
}

write_operator_kubeconfig() {
  local server authority token
  server=$(admin_config '{.clusters[0].cluster.server}')
  authority=$(admin_config '{.clusters[0].cluster.certificate-authority-data}')
  token=$(kube create token installation-operator --namespace "$operator_namespace" --duration 24h)
  rm -f "$directory/operator.kubeconfig"
  (
    umask 077
    cat >"$directory/operator.kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters:
  - name: demo
    cluster: { server: "$server", certificate-authority-data: "$authority" }
users:
  - name: operator
    user: { token: "$token" }
contexts:
  - name: demo
    context: { cluster: demo, user: operator }
current-context: demo
YAML
  )
}

admin_config() { kube config view --raw --minify --flatten --output "jsonpath=$1"; }

apply_examples() {
  create namespace "$namespace"
  kube apply --filename examples/compute-profile.yaml
  rm -rf "$directory/wiki"
  cp -R examples/wiki "$directory/wiki"
  pin web wiki-web "${WIKI_WEB_IMAGE:-}"
  pin db redis "${REDIS_IMAGE:-}"
  "$operator" validate "$directory/wiki"
  create configmap wiki --namespace "$namespace" \
    --from-file "blueprint.yaml=$directory/wiki/blueprint.yaml" \
    --from-file "components-web.yaml=$directory/wiki/components/web.yaml" \
    --from-file "components-db.yaml=$directory/wiki/components/db.yaml"
  kube apply --namespace "$namespace" --filename examples/installation.yaml
}

# pin COMPONENT IMAGE GIVEN: names the image of a component by digest, as the registry of the cluster has it.
pin() {
  local component=$directory/wiki/components/$1.yaml reference=$3 authored
  [[ -n $reference || -z $cluster ]] || reference=$(cluster_state "$2")
  [[ -n $reference ]] || fail "no image for $1: set WIKI_WEB_IMAGE and REDIS_IMAGE to references by digest"
  authored=$(sed -n 's/^ *image: //p' "$component")
  sed -i "s|^\( *image: \).*|\1$reference|" "$component"
  echo "pinned $authored"
  echo "    to $reference"
}

# One line for each condition and each node.
changes='{{range .status.conditions}}condition|{{.type}}|{{.status}}|{{.reason}}|{{.message}}{{"\n"}}{{end}}'
changes+='{{range .status.nodes}}node|{{.name}}|{{.state}}||{{or .message ""}}{{"\n"}}{{end}}'

# Prints each condition and each node when it changes, until the Installation is ready.
follow() {
  local -A seen=() told=()
  local begin=$SECONDS quiet=$SECONDS updates watching outcome kind name status reason message
  exec {updates}< <(exec "${kubectl[@]}" get installation "$installation" --namespace "$namespace" --watch \
    --output go-template="$changes" 2>"$directory/watch.log")
  watching=$!
  while ((SECONDS - begin < patience)); do
    outcome=0
    IFS='|' read -r -t 1 -u "$updates" kind name status reason message || outcome=$?
    if ((outcome > 128)); then # nothing new within the second
      operator_runs || fail "the operator has ended"
      ((SECONDS - quiet >= 15)) || continue
      printf '%4d s  still waiting\n' $((SECONDS - begin))
      quiet=$SECONDS
      continue
    fi
    ((outcome == 0)) || fail "the Installation cannot be watched any more: $(cat "$directory/watch.log")"
    [[ $kind == condition || $kind == node ]] || continue
    [[ ${seen[$kind$name]:-} != "$status|$reason|$message" ]] || continue
    seen[$kind$name]="$status|$reason|$message"
    quiet=$SECONDS
    # Conditions repeat each other's messages: each is told once.
    printf '%4d s  %-9s %-15s %-11s %-13s %s\n' $((SECONDS - begin)) "$kind" "$name" "$status" "$reason" \
      "${told[_$message]-$message}"
    told[_$message]=
    case $kind/$name/$status in
      condition/Stalled/True) fail "the Installation is stalled" ;;
      condition/Ready/True)
        kill "$watching"
        exec {updates}<&-
        return
        ;;
    esac
  done
  fail "the Installation is not ready after $patience s"
}

operator_runs() { kill -0 "$(cat "$directory/operator.pid")" 2>/dev/null; }

show() {
  step "The Installation"
  kube get installation "$installation" --namespace "$namespace"
  step "Its record"
  kube get resolutionrecords --namespace "$namespace"
  step "Its endpoints"
  kube get installation "$installation" --namespace "$namespace" \
    --output go-template='{{range .status.endpoints}}{{.node}}/{{.endpoint}}  {{.protocol}}  {{.privateAddress}}{{"\n"}}{{end}}'
  step "Its pods"
  kube get pods --namespace "$namespace" --output custom-columns=NAME:.metadata.name,READY:.status.containerStatuses[0].ready,IMAGE:.spec.containers[0].image
  show_environment
  show_page
}

# Runs a program in each container, which lists the variables there. It is told which values are no secret.
show_environment() {
  local pod variables
  for pod in $(kube get pods --namespace "$namespace" --output name); do
    step "What the container of $pod received"
    variables=$(kube get "$pod" --namespace "$namespace" --output jsonpath='{.spec.containers[0].env[*].name}')
    kube exec --namespace "$namespace" "$pod" -- /environment SITE_TITLE REDIS_ADDRESS >"$directory/environment"
    local variable
    for variable in $variables; do
      grep -E "^$variable(=| \(present)" "$directory/environment" || fail "$variable did not reach $pod"
    done
  done
}

show_page() {
  local service address port page
  service=$(kube get services --namespace "$namespace" --selector install.musher.dev/node=web \
    --output jsonpath='{.items[0].metadata.name} {.items[0].spec.clusterIP} {.items[0].spec.ports[0].port}')
  read -r service address port <<<"$service"
  step "The page, from Service $service at http://$address:$port/"
  # A Service answers a moment after its pods are ready.
  local attempt
  for attempt in {1..30}; do
    if page=$(fetch "$service" "$address" "$port") && [[ $page == *"through the database"* ]]; then
      echo "$page"
      return
    fi
    sleep 1
  done
  fail "the page was not served in $attempt attempts; the last answer was: ${page:-none}"
}

# fetch SERVICE ADDRESS PORT: the body of one answer. A fresh machine has no curl.
fetch() {
  if [[ -n $cluster ]]; then
    # shellcheck disable=SC2016 # the other bash expands it
    timeout 5 bash -c 'exec 3<>"/dev/tcp/$1/$2" && printf "GET / HTTP/1.0\r\n\r\n" >&3 && cat <&3' get "$2" "$3" 2>/dev/null |
      sed '1,/^\r*$/d'
  else
    # Service addresses of a cluster elsewhere answer through its API server.
    kube get --raw "/api/v1/namespaces/$namespace/services/$1:$3/proxy/" 2>/dev/null
  fi
}

# On every exit. What was started here ends here, unless it is to be kept.
clean_up() {
  local code=$?
  trap - EXIT INT TERM HUP
  if [[ $code != 0 && $code != 130 ]]; then tell_what_failed; fi
  if [[ $code == 0 && -n $keep ]]; then
    tell_how_to_look_around
    return
  fi
  say ""
  say "== Stopping"
  [[ -z $building ]] || kill -TERM -- "-$building" 2>/dev/null || true
  if [[ -n $directory && -z $cluster_started ]]; then remove_demo; fi
  [[ -z $directory ]] || stop_operator "$directory"
  if [[ -n $cluster_started ]]; then
    stop_cluster_if_started
  elif [[ -n $cluster && -n $directory ]]; then
    say "cluster $cluster ran before and still does"
  fi
  exit "$code"
}

# From a cluster that goes on, while the operator is still there to finish the deletion. Definitions, policy and roles
# stay, because others may use them.
remove_demo() {
  kube delete installation "$installation" --namespace "$namespace" --ignore-not-found --timeout=60s >&2 || true
  kube delete namespace "$namespace" --ignore-not-found --timeout=60s >&2 || true
  stop_operator "$directory"
  kube delete clusterrolebinding installation-operator installation-operator-catalog --ignore-not-found >&2 || true
  kube delete namespace "$operator_namespace" --ignore-not-found --timeout=60s >&2 || true
}

tell_what_failed() {
  [[ -n $directory ]] || return 0
  say ""
  say "== What is known of the failure"
  kube get installation "$installation" --namespace "$namespace" --output yaml 2>/dev/null | sed -n '/^status:/,$p' >&2 || true
  kube get pods,events --namespace "$namespace" >&2 2>/dev/null || true
  if [[ -f $directory/operator.log ]]; then
    say "the end of the operator's log:"
    tail -n 30 "$directory/operator.log" >&2
  fi
}

tell_how_to_look_around() {
  local ours="./dev cluster"
  [[ $cluster == default ]] || ours="CLUSTER=$cluster $ours"
  local ask="$ours kubectl"
  [[ -n $cluster ]] || ask=kubectl
  cat <<TEXT

== All of it keeps running
  $ask get installations,resolutionrecords,pods --namespace $namespace
  $ask describe installation $installation --namespace $namespace
  $ask logs --namespace $namespace --selector install.musher.dev/node=web
  tail -f $directory/operator.log
TEXT
  if [[ -n $cluster ]]; then
    echo "  $ours down        # stops the operator and the cluster"
  else
    echo "  kill $(cat "$directory/operator.pid")        # stops the operator"
  fi
}

main "$@"
