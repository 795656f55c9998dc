package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// How long a process may take to stop by itself. What it would still write is thrown away.
const stopPatience = 8 * time.Second

// A process is a child of the supervisor.
type process struct {
	name    string
	logPath string
	command *exec.Cmd
	// exited is closed once the process is gone and reaped.
	exited chan struct{}
	// wanted says that the supervisor ended it.
	wanted atomic.Bool
}

// startProcess starts a child that dies with the calling thread: the caller must have locked its
// goroutine to its thread, and must not return before the cluster ends.
func startProcess(l layout, name string, command *exec.Cmd) (*process, error) {
	logFile, err := os.OpenFile(l.log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer logFile.Close()
	command.Dir = l.root
	command.Stdout, command.Stderr = logFile, logFile
	// The mark by which a later run finds what this one left behind.
	command.Env = append(command.Environ(), markOf(l))
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	// Its own group, so that Ctrl-C in a terminal reaches the supervisor alone.
	command.SysProcAttr.Setpgid = true
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("%s does not start: %w", name, err)
	}
	p := &process{name: name, logPath: l.log(name), command: command, exited: make(chan struct{})}
	go func() {
		// How it ended stands in its log; that it ended is what matters here.
		_ = command.Wait()
		close(p.exited)
	}()
	return p, nil
}

// ownVerb is a command of this same binary. /proc/self/exe stays valid when the file is replaced
// or lies below a path that is hidden from the child.
func ownVerb(verb string, args ...string) *exec.Cmd {
	command := exec.Command("/proc/self/exe", append([]string{verb}, args...)...)
	command.Args[0] = "local-cluster"
	return command
}

// isRoot says whether name spaces can be made, which volumes and the node need.
func isRoot() bool { return os.Geteuid() == 0 }

func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// stop ends the process, by force when asking does not help.
func (p *process) stop() {
	p.wanted.Store(true)
	if !p.alive() {
		return
	}
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(stopPatience):
		_ = p.command.Process.Kill()
		<-p.exited
	}
}

// death is the error for a process that ended though it should not: the end of its log says why.
func (p *process) death() error {
	return fmt.Errorf("%s ended (%s); the end of %s:\n%s", p.name, p.command.ProcessState, p.logPath, tail(p.logPath, 15))
}

func tail(path string, lines int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(string(bytes.TrimSpace(text)), "\n")
	return "    " + strings.Join(all[max(0, len(all)-lines):], "\n    ")
}
