package main

import (
	"bytes"
	"errors"
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
// containers always die with the first process of their name space.
func killMarked(l layout) error {
	for attempt := 0; ; attempt++ {
		left := marked(l)
		if len(left) == 0 {
			return nil
		}
		if attempt == 100 {
			return errors.New("processes of the cluster survive SIGKILL: " + joinInts(left))
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func marked(l layout) []int {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	var found []int
	for _, path := range environments {
		// A process may end between the listing and the reading; then it is not left.
		environment, err := os.ReadFile(path)
		if err != nil || !hasVariable(environment, markOf(l)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && pid != os.Getpid() {
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

func joinInts(numbers []int) string {
	var text []byte
	for _, n := range numbers {
		text = strconv.AppendInt(append(text, ' '), int64(n), 10)
	}
	return string(bytes.TrimSpace(text))
}
