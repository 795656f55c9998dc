package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// cleanUp removes everything that a cluster of that layout made, also when it was killed and could
// not do so itself. Without a trace of a cluster it does nothing.
func cleanUp(l layout) error {
	return errors.Join(cleanUpRunning(l), os.RemoveAll(l.root))
}

// cleanUpRunning removes all but the data directory.
func cleanUpRunning(l layout) error {
	return errors.Join(killMarked(l), cleanUpNode())
}

// cleanUpNode removes what a node leaves on the machine, unless another cluster runs one.
func cleanUpNode() error {
	holder, held := nodeLock.holder()
	if held && holder != os.Getpid() {
		return nil
	}
	if !held {
		release, err := nodeLock.acquire()
		if err != nil {
			return nil // another cluster was faster: it has cleaned up
		}
		defer release()
	}
	return errors.Join(removeCgroups(), tearDownNetwork())
}

// markOf is the environment variable that every process of a cluster carries.
func markOf(l layout) string {
	return "INSTALLATION_OPERATOR_CLUSTER=" + l.root
}

// killMarked ends the processes of a cluster whose supervisor is gone. Most have died with it;
// containers always die with the first process of their name space, which takes a moment.
func killMarked(l layout) error {
	s, err := readState(l)
	if err != nil {
		s = clusterState{} // a torn file tells nothing
	}
	for attempt := 0; ; attempt++ {
		left := marked(l)
		dying := processesIn(s.Node.Namespace)
		if len(left)+len(dying) == 0 {
			return nil
		}
		if attempt == 100 {
			return fmt.Errorf("processes of the cluster survive SIGKILL: %v", append(left, dying...))
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func processNamespace(pid int) (string, error) {
	return os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
}

// processesIn lists a process until it is gone for good, long after it has lost its environment.
func processesIn(namespace string) []int {
	if namespace == "" {
		return nil
	}
	var found []int
	for _, pid := range allProcesses() {
		if its, err := processNamespace(pid); err == nil && its == namespace {
			found = append(found, pid)
		}
	}
	return found
}

func allProcesses() []int {
	directories, _ := filepath.Glob("/proc/[0-9]*")
	var pids []int
	for _, directory := range directories {
		if pid, err := strconv.Atoi(filepath.Base(directory)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func marked(l layout) []int {
	var found []int
	for _, pid := range allProcesses() {
		// A process may end between the listing and the reading; then it is not left.
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && pid != os.Getpid() && hasVariable(environment, markOf(l)) {
			found = append(found, pid)
		}
	}
	return found
}

func hasVariable(environment []byte, variable string) bool {
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		if string(entry) == variable {
			return true
		}
	}
	return false
}
