package main

import (
	"context"
	"os"
	_ "time/tzdata" // CronJobs name time zones, and a bare machine has no database of them

	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind" // the plugins that the configuration names, no others
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // as in the published binaries
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectlcmd "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserverapp "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanagerapp "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxyapp "k8s.io/kubernetes/cmd/kube-proxy/app"
	schedulerapp "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
)

func etcd(args []string) int {
	etcdmain.Main(append([]string{"etcd"}, args...))
	return 0
}

func apiServer(args []string) int {
	return runComponent(apiserverapp.NewAPIServerCommand(), args)
}

// controllerManager expects the data directory before its flags.
func controllerManager(args []string) int {
	if isRoot() {
		if err := hideMachine(layout{root: args[0]}, "/tmp"); err != nil {
			return fail(err)
		}
		if err := openVolumes(); err != nil {
			return fail(err)
		}
	}
	return runComponent(controllermanagerapp.NewControllerManagerCommand(), args[1:])
}

func scheduler(args []string) int {
	return runComponent(schedulerapp.NewSchedulerCommand(), args)
}

func kubelet(args []string) int {
	return runComponent(kubeletapp.NewKubeletCommand(context.Background()), args)
}

func proxy(args []string) int {
	return runComponent(proxyapp.NewProxyCommand(), args)
}

func coredns(args []string) int {
	becomeCommand("coredns", args)
	coremain.Run()
	return 0
}

func runComponent(command *cobra.Command, args []string) int {
	becomeCommand(command.Name(), args)
	return cli.Run(command)
}

// runKubectl is the whole of kubectl, talking to the cluster of that kubeconfig.
func runKubectl(kubeconfig string, args []string) int {
	if err := os.Setenv("KUBECONFIG", kubeconfig); err != nil {
		return fail(err)
	}
	becomeCommand("kubectl", args)
	// CheckErr prints an error as kubectl does and exits with kubectl's code.
	kubectlutil.CheckErr(cli.RunNoErrOutput(kubectlcmd.NewDefaultKubectlCommand()))
	return 0
}

// becomeCommand lets a command see the arguments that its own binary would have had: the
// libraries read them from the process.
func becomeCommand(name string, args []string) {
	os.Args = append([]string{name}, args...)
}
