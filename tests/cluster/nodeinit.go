package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

const containerdSocket = "/run/containerd/containerd.sock"

// nodeInit is the first process of the node's own process and mount name spaces. It runs containerd
// and the kubelet, and reaps what they orphan. When it ends, for whatever reason, the kernel ends
// every process of the node and with them every mount and pod network: this is why nothing of a
// node can be left behind. Its arguments are the data directory and the kubelet's flags.
func nodeInit(args []string) int {
	l := layout{root: args[0]}
	if err := prepareNode(l); err != nil {
		return fail(err)
	}
	containerd, err := spawn(l, "containerd", exec.Command("containerd", "--config", l.config("containerd.toml")))
	if err != nil {
		return fail(err)
	}
	if err := waitForContainerd(containerd); err != nil {
		return fail(err)
	}
	kubelet, err := spawn(l, "kubelet", ownVerb("kubelet", args[1:]...))
	if err != nil {
		return fail(err)
	}
	return fail(reapUntilEnd(map[int]string{containerd: "containerd", kubelet: "kubelet"}))
}

func prepareNode(l layout) error {
	// Sandboxes, sockets, caches and links that Kubernetes and containerd put in fixed places.
	if err := hideMachine(l, "/tmp", "/run", "/var/lib", "/var/log"); err != nil {
		return err
	}
	// The machine's own /proc shows the processes of another name space.
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("/proc cannot be mounted: %w", err)
	}
	return nil
}

// spawn starts a child without waiting for it: one loop waits for all.
func spawn(l layout, name string, command *exec.Cmd) (pid int, err error) {
	logFile, err := os.OpenFile(l.log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer logFile.Close()
	command.Dir = l.root
	command.Stdout, command.Stderr = logFile, logFile
	if err := command.Start(); err != nil {
		return 0, fmt.Errorf("%s does not start: %w", name, err)
	}
	return command.Process.Pid, nil
}

func waitForContainerd(pid int) error {
	deadline := time.Now().Add(readyPatience)
	for {
		connection, err := net.Dial("unix", containerdSocket)
		if err == nil {
			return connection.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("containerd does not answer: %w", err)
		}
		if ended, _ := unix.Wait4(pid, nil, unix.WNOHANG, nil); ended == pid {
			return errors.New("containerd ended; see its log")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// reapUntilEnd returns when one of the named processes ends.
func reapUntilEnd(named map[int]string) error {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if name, ours := named[pid]; ours {
			return fmt.Errorf("%s ended (exit code %d, signal %d); see its log", name, status.ExitStatus(), status.Signal())
		}
	}
}
