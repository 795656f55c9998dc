package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const nodeName = "local-node"

// tryNode adds a node to the running control plane. A machine that does not permit one keeps the
// control plane: the reason goes into the state, and only what needs pods has to be skipped.
func (s *supervisor) tryNode(ctx context.Context) error {
	if s.options.controlPlaneOnly {
		s.state.Node = nodeState{Reason: "started with --control-plane-only"}
		return nil
	}
	before := len(s.started)
	err := s.startNode(ctx)
	if err == nil {
		s.state.Node.Available = true
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	progress("no node on this machine, the control plane runs alone: %v", err)
	s.stopFrom(before)
	s.state.Node = nodeState{Reason: err.Error()}
	s.state.Registry = registryState{}
	s.state.Images = map[string]string{}
	return cleanUpNode()
}

func (s *supervisor) startNode(ctx context.Context) error {
	if !isRoot() {
		return errors.New("a node needs root")
	}
	if _, err := nodeLock.acquire(); err != nil {
		return fmt.Errorf("another cluster has the node of this machine: %w", err)
	}
	if err := cleanUpNode(); err != nil {
		return err
	}
	if err := ensureNodePackages(ctx); err != nil {
		return err
	}
	if err := s.startRegistries(ctx); err != nil {
		return err
	}
	if err := s.pushImages(ctx); err != nil {
		return err
	}
	if err := errors.Join(setUpNetwork(), makeCgroups()); err != nil {
		return err
	}
	if err := s.startNodeProcesses(ctx); err != nil {
		return err
	}
	return s.checkNode(ctx)
}

func (s *supervisor) startNodeProcesses(ctx context.Context) error {
	if err := s.writeNodeCredentials(); err != nil {
		return err
	}
	if err := s.startKubelet(ctx); err != nil {
		return err
	}
	if err := s.forwardAPI(ctx); err != nil {
		return err
	}
	if err := s.startProxy(ctx); err != nil {
		return err
	}
	return s.startDNS(ctx)
}

func (s *supervisor) writeNodeCredentials() error {
	serving, err := s.authority.server("kubelet", nodeAddress)
	if err != nil {
		return err
	}
	return errors.Join(
		serving.write(s.layout, "kubelet"),
		s.writeKubeconfigFor("kubelet", "system:node:"+nodeName, "system:nodes"),
		s.writeKubeconfigFor("kube-proxy", "system:kube-proxy"),
		s.writeKubeconfigFor("coredns", dnsUser),
	)
}

// startKubelet starts the node's first process, and with it containerd and the kubelet.
func (s *supervisor) startKubelet(ctx context.Context) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	if err := s.writeKubeletFiles(ports[0]); err != nil {
		return err
	}
	begin := time.Now()
	progress("starting the node: containerd and the kubelet")
	command := ownVerb("node", s.layout.root,
		"--config", s.layout.config("kubelet.yaml"),
		"--kubeconfig", s.layout.kubeconfig("kubelet"),
		"--root-dir", s.layout.path("kubelet"),
		"--hostname-override", nodeName,
		"--node-ip", nodeAddress,
	)
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	p, err := s.start("node", command)
	if err != nil {
		return err
	}
	if err := s.recordNamespace(p); err != nil {
		return err
	}
	if err := s.waitReady(ctx, p, s.nodeIsReady); err != nil {
		return err
	}
	progress("node ready after %s", since(begin))
	return nil
}

// recordNamespace lets whoever cleans up wait until the kernel has ended all of the node.
func (s *supervisor) recordNamespace(p *process) error {
	namespace, err := processNamespace(p.command.Process.Pid)
	if err != nil {
		return err
	}
	s.state.Node.Namespace = namespace
	return s.state.write(s.layout)
}

func (s *supervisor) nodeIsReady(ctx context.Context) error {
	node, err := s.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return errors.New("the node is registered but not ready")
}

func (s *supervisor) writeKubeletFiles(healthPort int) error {
	values := strings.NewReplacer(
		"@ROOT@", s.layout.root,
		"@PAUSE@", s.state.Images["pause"],
		"@SOCKET@", containerdSocket,
		"@PLUGINS@", networkPlugins,
		"@ADDRESS@", nodeAddress,
		"@DOMAIN@", clusterDomain,
		"@CGROUPS@", cgroupRoot,
		"@PODS@", podSubnet,
		"@HEALTH@", strconv.Itoa(healthPort),
	)
	if err := os.MkdirAll(s.layout.config("cni"), 0o700); err != nil {
		return err
	}
	return errors.Join(
		s.writeConfig("containerd.toml", values.Replace(containerdConfig)),
		s.writeConfig("cni/pods.conflist", values.Replace(cniConfig)),
		s.writeConfig("kubelet.yaml", values.Replace(kubeletConfig)),
		// The machine's search domains mean nothing to the cluster's DNS.
		s.writeConfig("resolv.conf", ""),
	)
}

func (s *supervisor) writeConfig(file, text string) error {
	return os.WriteFile(s.layout.config(file), []byte(text), 0o600)
}

func (s *supervisor) startProxy(ctx context.Context) error {
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	values := strings.NewReplacer(
		"@KUBECONFIG@", s.layout.kubeconfig("kube-proxy"),
		"@PODS@", podSubnet,
		"@NODE@", nodeName,
		"@HEALTH@", strconv.Itoa(ports[0]),
		"@METRICS@", strconv.Itoa(ports[1]),
	)
	if err := s.writeConfig("kube-proxy.yaml", values.Replace(proxyConfig)); err != nil {
		return err
	}
	health := fmt.Sprintf("http://%s:%d/healthz", loopback, ports[0])
	return s.startAndAwait(ctx, "kube-proxy", ownVerb("kube-proxy", "--config", s.layout.config("kube-proxy.yaml")), health)
}

// The user that the cluster DNS reads Services as.
const dnsUser = "local-cluster-dns"

func (s *supervisor) startDNS(ctx context.Context) error {
	if err := s.letDNSRead(ctx); err != nil {
		return err
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	ready := fmt.Sprintf("%s:%d", loopback, ports[0])
	values := strings.NewReplacer(
		"@KUBECONFIG@", s.layout.kubeconfig("coredns"),
		"@ADDRESS@", nodeAddress,
		"@DOMAIN@", clusterDomain,
		"@READY@", ready,
	)
	if err := s.writeConfig("Corefile", values.Replace(dnsConfig)); err != nil {
		return err
	}
	return s.startAndAwait(ctx, "coredns", ownVerb("coredns", "-conf", s.layout.config("Corefile")), "http://"+ready+"/ready")
}

func (s *supervisor) letDNSRead(ctx context.Context) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: dnsUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: dnsUser}},
	}
	_, err := s.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	return err
}
