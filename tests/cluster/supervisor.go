package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Compilers and test suites share the two cores of a usual machine with the cluster, so what is
// waited for gets minutes. A healthy start takes seconds.
const readyPatience = 5 * time.Minute

// A supervisor starts the processes of one cluster in order, watches them, and stops them in
// reverse order.
type supervisor struct {
	layout  layout
	options options
	state   clusterState
	// authority signs the certificates of all who talk to the API server, which is at server.
	authority authority
	server    string
	// admin and client are the supervisor's own way to it.
	admin  *rest.Config
	client kubernetes.Interface
	// definitions says how the installation of the Gateway API ended.
	definitions chan error
	started     []*process
	// died receives each process that ended while the cluster should run.
	died chan *process
}

func run(args []string) int {
	o, err := parseOptions("run", args)
	if err != nil {
		return fail(err)
	}
	l, err := layoutOf(o.name)
	if err != nil {
		return fail(err)
	}
	if err := supervise(l, o); err != nil {
		return fail(err)
	}
	return 0
}

// supervise runs a cluster until a signal asks it to stop, or something in it fails. Whatever
// happens, what it made is gone when it returns; after a failure the data directory stays, for
// its logs.
func supervise(l layout, o options) error {
	// Children get a signal when the thread that started them ends: keep one thread for that.
	runtime.LockOSThread()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()

	if _, err := supervisorLock(l).acquire(); err != nil {
		return fmt.Errorf("cluster %s has a supervisor already", l.name)
	}
	if err := cleanUp(l); err != nil {
		return fmt.Errorf("what an earlier run left behind cannot be removed: %w", err)
	}
	if err := errors.Join(l.create(), logProgress(l)); err != nil {
		return err
	}
	s := &supervisor{
		layout: l, options: o, state: initialState(l, o),
		definitions: make(chan error, 1), died: make(chan *process, 16),
	}
	err := s.runUntilDone(ctx)
	if err != nil {
		progress("cluster %s failed: %v", l.name, err)
	}
	s.stopAll()
	switch {
	case err != nil:
		return errors.Join(fmt.Errorf("cluster %s failed, its logs stay in %s", l.name, l.path("logs")), cleanUpRunning(l))
	case o.keepData:
		return cleanUpRunning(l)
	}
	progress("cluster %s is stopped, its data is removed", l.name)
	return cleanUp(l)
}

func initialState(l layout, o options) clusterState {
	return clusterState{
		Name:          l.name,
		PID:           os.Getpid(),
		Kubeconfig:    l.kubeconfig("admin"),
		AuditLog:      l.auditLog(),
		ClusterDomain: clusterDomain,
		Images:        map[string]string{},
		KeepData:      o.keepData,
	}
}

// runUntilDone returns nil when a signal ended the cluster, also while it was still starting.
func (s *supervisor) runUntilDone(ctx context.Context) error {
	if err := s.bringUp(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case p := <-s.died:
			// A node that was given up has left the list before.
			if slices.Contains(s.started, p) {
				return p.death()
			}
		}
	}
}

func (s *supervisor) bringUp(ctx context.Context) error {
	if err := s.state.write(s.layout); err != nil {
		return err
	}
	begin := time.Now()
	if err := s.startControlPlane(ctx); err != nil {
		return err
	}
	if err := s.tryNode(ctx); err != nil {
		return err
	}
	if err := s.startEdge(ctx); err != nil {
		return err
	}
	s.state.Ready = true
	if err := s.state.write(s.layout); err != nil {
		return err
	}
	progress("cluster %s is ready after %s, %s", s.layout.name, since(begin), describeNode(s.state))
	return nil
}

// stopAll ends the processes in reverse order of their start.
func (s *supervisor) stopAll() {
	s.state.Ready = false
	_ = s.state.write(s.layout)
	s.stopFrom(0)
	// Numbers of name spaces are used again.
	s.state.Node.Namespace = ""
	_ = s.state.write(s.layout)
}

// stopFrom ends the processes that were started since there were that many.
func (s *supervisor) stopFrom(count int) {
	for i := len(s.started) - 1; i >= count; i-- {
		p := s.started[i]
		progress("stopping %s", p.name)
		p.stop()
	}
	s.started = s.started[:count]
}

// newest is the process that was started last.
func (s *supervisor) newest() *process { return s.started[len(s.started)-1] }

// waitReady asks a process until it says that it is ready, it dies, or patience ends.
func (s *supervisor) waitReady(ctx context.Context, p *process, ready func(context.Context) error) error {
	deadline := time.Now().Add(readyPatience)
	nextNotice := time.Now().Add(10 * time.Second)
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not ready after %s: %w; the end of %s:\n%s", p.name, readyPatience, err, p.logPath, tail(p.logPath, 15))
		}
		if time.Now().After(nextNotice) {
			progress("still waiting for %s: %v", p.name, err)
			nextNotice = time.Now().Add(10 * time.Second)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.exited:
			return p.death()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (s *supervisor) watch(p *process) {
	s.started = append(s.started, p)
	go func() {
		<-p.exited
		if !p.wanted.Load() {
			s.died <- p
		}
	}()
}

// progressOutput is where progress goes: the terminal, and for a supervisor also its log.
var progressOutput io.Writer = os.Stdout

// progress is what a person sees: one line for each thing that happens.
func progress(format string, args ...any) {
	fmt.Fprintf(progressOutput, format+"\n", args...)
}

// logProgress copies what a person sees into the data directory.
func logProgress(l layout) error {
	file, err := os.OpenFile(l.log("supervisor"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	progressOutput = io.MultiWriter(os.Stdout, file)
	return nil
}

func since(begin time.Time) time.Duration {
	return time.Since(begin).Round(100 * time.Millisecond)
}
