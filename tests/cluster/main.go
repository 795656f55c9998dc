// Command local-cluster runs a real Kubernetes on this machine, for tests and for the demo.
//
// One binary holds everything: it is the tool that people call, the supervisor of a cluster, and,
// under hidden verbs, each Kubernetes component, because those keep process-wide registries and
// so need a process each.
package main

import (
	"fmt"
	"os"
)

const usage = `local-cluster runs a real Kubernetes on this machine, on loopback addresses.

  local-cluster up [--name NAME] [--control-plane-only] [--keep-data]
      start the cluster in the background; returns when it is ready
  local-cluster run [--name NAME] [--control-plane-only] [--keep-data]
      the same in the foreground, until SIGTERM or SIGINT
  local-cluster down [--name NAME]
      stop the cluster and remove everything it made
  local-cluster status [--name NAME] [--json]
      say what runs; exits 1 when the cluster is not ready
  local-cluster env [--name NAME]
      print the shell line that points KUBECONFIG at the cluster
  local-cluster push [--name NAME] [--like flux|oras] DIRECTORY REPOSITORY:TAG
      put a directory into the registry as an OCI artifact; prints its reference by digest
  local-cluster kubectl [--name NAME] ARGS...
      kubectl of the cluster's own version, talking to the cluster
`

// A verb returns the exit code of the process.
type verb func(args []string) int

func verbs() map[string]verb {
	return map[string]verb{
		"up":      up,
		"run":     run,
		"down":    down,
		"status":  status,
		"env":     env,
		"kubectl": kubectl,
		"push":    push,

		// What the supervisor starts; no one else calls these.
		"etcd":                    etcd,
		"kube-apiserver":          apiServer,
		"kube-controller-manager": controllerManager,
		"kube-scheduler":          scheduler,
		"edge":                    serveEdge,
		"node":                    nodeInit,
		"kubelet":                 kubelet,
		"kube-proxy":              proxy,
		"coredns":                 coredns,
	}
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	run, known := verbs()[os.Args[1]]
	if !known {
		fmt.Fprintf(os.Stderr, "local-cluster: there is no verb %q\n\n%s", os.Args[1], usage)
		os.Exit(2)
	}
	os.Exit(run(os.Args[2:]))
}

// fail prints an error the way every verb does, and returns the exit code for it.
func fail(err error) int {
	fmt.Fprintf(os.Stderr, "local-cluster: %v\n", err)
	return 1
}
