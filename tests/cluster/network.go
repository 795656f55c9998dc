package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"

	"installation-operator/tests/cluster/edge"
)

const (
	bridgeName = "local-cluster0"
	// nodeAddress is the node's own, on a bridge that no pod is attached to: the kubelet refuses
	// a loopback address, and not every kernel has dummy devices.
	nodeAddress = "10.215.0.1"
	podSubnet   = "10.214.0.0/24"
)

// nodeLock is held by the one cluster that has a node: addresses, the bridge and the chains of
// kube-proxy exist once on a machine.
var nodeLock = lock{name: "@installation-operator/node"}

// setUpNetwork makes the node's address, and routes by which the machine itself reaches the addresses
// of Services and load balancers even if it has no default route.
func setUpNetwork() error {
	if chainsExist() {
		return errors.New("another Kubernetes node runs on this machine: it has KUBE- chains in iptables")
	}
	attributes := netlink.NewLinkAttrs()
	attributes.Name = bridgeName
	bridge := &netlink.Bridge{LinkAttrs: attributes}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("the bridge %s cannot be made: %w", bridgeName, err)
	}
	// The bridge lives exactly as long as there is something to restore, so it remembers it.
	if err := netlink.LinkSetAlias(bridge, strings.Join(readSysctls(), aliasSeparator)); err != nil {
		return err
	}
	address := &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(nodeAddress), Mask: net.CIDRMask(32, 32)}}
	if err := netlink.AddrAdd(bridge, address); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(bridge); err != nil {
		return err
	}
	// No one is there: kube-proxy turns what goes to these addresses to the pods.
	for _, subnet := range []string{serviceSubnet, edge.BalancerSubnet} {
		_, addresses, err := net.ParseCIDR(subnet)
		if err != nil {
			return err
		}
		if err := netlink.RouteAdd(&netlink.Route{LinkIndex: bridge.Index, Dst: addresses, Src: net.ParseIP(nodeAddress)}); err != nil {
			return err
		}
	}
	return nil
}

// tearDownNetwork undoes setUpNetwork and removes what kube-proxy and the kubelet added. The
// bridge goes last: as long as it is there, there may be more.
func tearDownNetwork() error {
	bridge, err := netlink.LinkByName(bridgeName)
	if errors.As(err, &netlink.LinkNotFoundError{}) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := errors.Join(removeChains("iptables"), removeChains("ip6tables"), restoreSysctls(strings.Split(bridge.Attrs().Alias, aliasSeparator))); err != nil {
		return err
	}
	return netlink.LinkDel(bridge)
}

func chainsExist() bool {
	if _, err := netlink.LinkByName(bridgeName); err == nil {
		return false // they are ours
	}
	rules, err := exec.Command("iptables-save").Output()
	return err == nil && bytes.Contains(rules, []byte("KUBE-"))
}

// removeChains takes every rule and chain of Kubernetes out of one family's tables at once.
func removeChains(family string) error {
	rules, err := exec.Command(family + "-save").Output()
	if err != nil || !bytes.Contains(rules, []byte("KUBE-")) {
		return nil // a machine without the family has no chains in it
	}
	var kept strings.Builder
	for line := range strings.Lines(string(rules)) {
		if !strings.Contains(line, "KUBE-") {
			kept.WriteString(line)
		}
	}
	restore := exec.Command(family+"-restore", "--counters")
	restore.Stdin = strings.NewReader(kept.String())
	if output, err := restore.CombinedOutput(); err != nil {
		return fmt.Errorf("%s-restore: %w: %s", family, err, output)
	}
	return nil
}

// The kernel settings that the kubelet, kube-proxy and the network plugins change.
var sysctls = []string{
	"kernel/keys/root_maxbytes",
	"kernel/keys/root_maxkeys",
	"kernel/panic",
	"kernel/panic_on_oops",
	"net/ipv4/conf/all/route_localnet",
	"net/ipv4/ip_forward",
	"net/ipv6/conf/all/forwarding",
	"vm/overcommit_memory",
	"vm/panic_on_oom",
}

const aliasSeparator = ","

func sysctlPath(name string) string { return filepath.Join("/proc/sys", name) }

// readSysctls returns one value for each setting, empty where the kernel has none.
func readSysctls() []string {
	var values []string
	for _, name := range sysctls {
		value, _ := os.ReadFile(sysctlPath(name))
		values = append(values, strings.TrimSpace(string(value)))
	}
	return values
}

func restoreSysctls(before []string) error {
	if len(before) != len(sysctls) {
		return nil // the bridge was made, but nothing after it
	}
	var failures []error
	for i, now := range readSysctls() {
		if now != before[i] {
			failures = append(failures, os.WriteFile(sysctlPath(sysctls[i]), []byte(before[i]), 0o644))
		}
	}
	return errors.Join(failures...)
}
