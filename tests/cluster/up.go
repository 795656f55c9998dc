package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// up starts a cluster in the background and returns when it is ready. It may be called while
// another call is at it: both then wait for the one cluster.
func up(args []string) int {
	o, err := parseOptions("up", args)
	if err != nil {
		return fail(err)
	}
	l, err := layoutOf(o.name)
	if err != nil {
		return fail(err)
	}
	if s, running := runningState(l); running && s.Ready {
		progress("cluster %s is already running (%s)", l.name, describeNode(s))
		return 0
	}
	if err := startAndFollow(l, o); err != nil {
		return fail(err)
	}
	return 0
}

// runningState returns the state only if a living supervisor stands behind it.
func runningState(l layout) (s clusterState, running bool) {
	pid, held := supervisorLock(l).holder()
	if !held {
		return clusterState{}, false
	}
	s, err := readState(l)
	if err != nil || s.PID != pid {
		// It has just started and has not written yet, or is on its way out.
		return clusterState{}, true
	}
	return s, true
}

func describeNode(s clusterState) string {
	if s.Node.Available {
		return "with a node"
	}
	return "control plane alone: " + s.Node.Reason
}

func startAndFollow(l layout, o options) error {
	if _, running := runningState(l); running {
		return followOther(l, o)
	}
	// Nameless: the supervisor makes its data directory, with its log in it, anew.
	output, err := namelessFile()
	if err != nil {
		return err
	}
	defer output.Close()
	supervisor, err := startSupervisor(o, output)
	if err != nil {
		return err
	}
	exited := make(chan struct{})
	go func() {
		_, _ = supervisor.Wait()
		close(exited)
	}()
	err = follow(l, output, exited)
	if _, running := runningState(l); running && errors.Is(err, errEnded) {
		// Another call was faster, and ours stepped back.
		return followOther(l, o)
	}
	return err
}

func namelessFile() (*os.File, error) {
	file, err := os.CreateTemp("", "local-cluster-*.log")
	if err != nil {
		return nil, err
	}
	return file, os.Remove(file.Name())
}

// startSupervisor starts the supervisor in a session of its own, so that it outlives this call
// and the terminal.
func startSupervisor(o options, output *os.File) (*os.Process, error) {
	command := ownVerb("run", o.args()...)
	command.Dir = "/"
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("the supervisor does not start: %w", err)
	}
	return command.Process, nil
}

var errEnded = errors.New("the cluster did not start; what failed stands above")

// follow shows what the supervisor says until the cluster is ready or the supervisor has ended.
func follow(l layout, output *os.File, exited <-chan struct{}) error {
	reader := io.NewSectionReader(output, 0, 1<<40)
	for {
		s, _ := runningState(l)
		_, _ = io.Copy(os.Stdout, reader)
		if s.Ready {
			return nil
		}
		select {
		case <-exited:
			_, _ = io.Copy(os.Stdout, reader)
			return errEnded
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// followOther waits for a cluster that another call started, and starts one itself if that one
// ended.
func followOther(l layout, o options) error {
	progress("cluster %s is being started or stopped by another call; waiting for it", l.name)
	for {
		s, running := runningState(l)
		switch {
		case !running:
			return startAndFollow(l, o)
		case s.Ready:
			progress("cluster %s is ready (%s)", l.name, describeNode(s))
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
}
