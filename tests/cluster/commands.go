package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"syscall"
	"time"
)

// A supervisor stops each process within seconds; beyond this it is stuck.
const downPatience = 2 * time.Minute

func down(args []string) int {
	l, err := parseName(flag.NewFlagSet("down", flag.ContinueOnError), args)
	if err != nil {
		return fail(err)
	}
	if err := stopCluster(l); err != nil {
		return fail(err)
	}
	return 0
}

func stopCluster(l layout) error {
	if pid, held := supervisorLock(l).holder(); held {
		progress("stopping cluster %s", l.name)
		if err := stopSupervisor(l, pid); err != nil {
			return err
		}
		if s, err := readState(l); err == nil && s.KeepData {
			progress("cluster %s is stopped, its data stays in %s", l.name, l.root)
			return nil
		}
	}
	// Also what a cluster that was killed left behind.
	if err := cleanUp(l); err != nil {
		return err
	}
	progress("cluster %s is down, nothing is left of it", l.name)
	return nil
}

func stopSupervisor(l layout, pid int) error {
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	deadline := time.Now().Add(downPatience)
	for {
		holder, held := supervisorLock(l).holder()
		if !held || holder != pid {
			return nil
		}
		if time.Now().After(deadline) {
			progress("the supervisor does not stop by itself: killing it")
			return syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func status(args []string) int {
	flags := flag.NewFlagSet("status", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "print the state as JSON")
	l, err := parseName(flags, args)
	if err != nil {
		return fail(err)
	}
	s, running := runningState(l)
	if *asJSON {
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return fail(err)
		}
		fmt.Println(string(text))
	} else {
		printStatus(l, s, running)
	}
	if !s.Ready {
		return 1
	}
	return 0
}

func printStatus(l layout, s clusterState, running bool) {
	switch {
	case !running:
		progress("cluster %s is not running", l.name)
	case !s.Ready:
		progress("cluster %s is starting or stopping; see %s", l.name, l.log("supervisor"))
	default:
		progress("cluster %s is ready (%s)", l.name, describeNode(s))
		progress("  supervisor  %d", s.PID)
		progress("  kubeconfig  %s", s.Kubeconfig)
		progress("  audit log   %s", s.AuditLog)
		progress("  gateway     %s", s.Gateway)
		if s.Registry.Address != "" {
			progress("  registry    %s", s.Registry.Address)
		}
	}
}

func env(args []string) int {
	l, err := parseName(flag.NewFlagSet("env", flag.ContinueOnError), args)
	if err != nil {
		return fail(err)
	}
	s, err := readyState(l)
	if err != nil {
		return fail(err)
	}
	fmt.Printf("export KUBECONFIG='%s'\n", s.Kubeconfig)
	return 0
}

// kubectl takes --name only as its first argument: all others are kubectl's own.
func kubectl(args []string) int {
	name := defaultName
	if len(args) >= 2 && args[0] == "--name" {
		name, args = args[1], args[2:]
	}
	l, err := layoutOf(name)
	if err != nil {
		return fail(err)
	}
	s, err := readyState(l)
	if err != nil {
		return fail(err)
	}
	return runKubectl(s.Kubeconfig, args)
}

func readyState(l layout) (clusterState, error) {
	s, _ := runningState(l)
	if !s.Ready {
		return s, fmt.Errorf("cluster %s is not ready: start it with `up --name %s`", l.name, l.name)
	}
	return s, nil
}

// parseName adds --name to the flags of a verb and returns the layout of the cluster it names.
func parseName(flags *flag.FlagSet, args []string) (layout, error) {
	name := flags.String("name", defaultName, "which cluster")
	if err := parse(flags, args); err != nil {
		return layout{}, err
	}
	return layoutOf(*name)
}
