package selftest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A trace is something on this machine that a cluster may have made.
type trace string

// traces lists all of them, so that a test compares what there was before with what is left.
func traces() ([]trace, error) {
	var found []trace
	add := func(kind string, items ...string) {
		for _, item := range items {
			found = append(found, trace(kind+" "+item))
		}
	}
	add("process in a name space", foreignProcesses()...)
	add("link", entries("/sys/class/net")...)
	add("rule", rules("iptables-save")...)
	add("rule", rules("ip6tables-save")...)
	add("cgroup", cgroups()...)
	add("kernel setting", settings()...)
	for _, directory := range []string{
		"/etc/cni", "/opt/containerd", "/run/containerd", "/run/netns", "/tmp/hostpath_pv", "/usr/libexec/kubernetes",
		"/var/lib/cni", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/containers", "/var/log/pods",
	} {
		add("below "+directory+":", entries(directory)...)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(mounts)) {
		add("mount", strings.TrimSpace(line))
	}
	routes, err := os.ReadFile("/proc/net/route")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(routes)) {
		add("route", strings.TrimSpace(line))
	}
	return found, nil
}

// left returns the traces that are there now and were not before.
func left(before, now []trace) []trace {
	var more []trace
	for _, t := range now {
		if !slices.Contains(before, t) {
			more = append(more, t)
		}
	}
	return more
}

// foreignProcesses are those in another process name space than ours, as all of a node's are.
func foreignProcesses() []string {
	own, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return nil
	}
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/ns/pid")
	for _, link := range links {
		if space, err := os.Readlink(link); err == nil && space != own {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "..", "cmdline"))
			found = append(found, fmt.Sprintf("%s %q", link, command))
		}
	}
	return found
}

// marked returns the processes that carry the mark of a cluster with that data directory.
func marked(data string) []int {
	var found []int
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environment, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(environment), "INSTALLATION_OPERATOR_CLUSTER="+data+"\x00") {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/environ", &pid); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

func entries(directory string) []string {
	listed, err := os.ReadDir(directory)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range listed {
		names = append(names, entry.Name())
	}
	return names
}

func rules(command string) []string {
	output, err := exec.Command(command).Output()
	if err != nil {
		return nil // not installed: no rules
	}
	var found []string
	for line := range strings.Lines(string(output)) {
		// Chains of the kernel itself appear with the first use of a table, and counters move.
		if strings.HasPrefix(line, "-A") || strings.HasPrefix(line, ":KUBE") || strings.HasPrefix(line, ":CNI") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func cgroups() []string {
	var found []string
	for _, pattern := range []string{"/sys/fs/cgroup/*", "/sys/fs/cgroup/*/*"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				found = append(found, path)
			}
		}
	}
	return found
}

func settings() []string {
	var found []string
	for _, name := range []string{
		"kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
		"net/ipv4/ip_forward", "net/ipv4/conf/all/route_localnet", "net/ipv6/conf/all/forwarding",
		"vm/overcommit_memory", "vm/panic_on_oom",
	} {
		value, _ := os.ReadFile("/proc/sys/" + name)
		found = append(found, name+" = "+strings.TrimSpace(string(value)))
	}
	return found
}
