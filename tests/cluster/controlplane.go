package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	loopback          = "127.0.0.1"
	serviceSubnet     = "10.213.0.0/16"
	kubernetesAddress = "10.213.0.1" // the first of that subnet: the Service "kubernetes"
)

// Every request at the level that counts writes and never holds a body, so no secret value.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: Metadata
`

func (s *supervisor) startControlPlane(ctx context.Context) error {
	if err := s.writeCredentials(); err != nil {
		return err
	}
	etcdURL, err := s.startEtcd(ctx)
	if err != nil {
		return err
	}
	if err := s.startAPIServer(ctx, etcdURL); err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	s.installDefinitions(ctx)
	// Not before the API server is ready: without RBAC's first objects they would be refused.
	if err := s.startControllerManager(ctx); err != nil {
		return err
	}
	if err := s.startScheduler(ctx); err != nil {
		return err
	}
	return s.prepareForWorkloads(ctx)
}

func (s *supervisor) writeCredentials() error {
	cluster, err := newAuthority("local-cluster")
	if err != nil {
		return err
	}
	s.authority = cluster
	// etcd trusts another authority: whoever it lets in is past all of RBAC.
	etcd, err := newAuthority("local-cluster-etcd")
	if err != nil {
		return err
	}
	key, err := serviceAccountKey()
	if err != nil {
		return err
	}
	etcdServer, etcdServerErr := etcd.server("etcd", loopback)
	etcdClient, etcdClientErr := etcd.client("kube-apiserver")
	apiServer, apiServerErr := cluster.server("kube-apiserver", loopback, kubernetesAddress, nodeAddress, "localhost",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc."+clusterDomain)
	toKubelet, toKubeletErr := cluster.client("kube-apiserver", "system:masters")
	return errors.Join(
		etcdServerErr, etcdClientErr, apiServerErr, toKubeletErr,
		os.WriteFile(s.layout.pki("ca.crt"), cluster.pem, 0o600),
		os.WriteFile(s.layout.pki("etcd-ca.crt"), etcd.pem, 0o600),
		os.WriteFile(s.layout.pki("service-account.key"), key, 0o600),
		etcdServer.write(s.layout, "etcd"),
		etcdClient.write(s.layout, "etcd-client"),
		apiServer.write(s.layout, "apiserver"),
		toKubelet.write(s.layout, "apiserver-to-kubelet"),
	)
}

func (s *supervisor) startEtcd(ctx context.Context) (url string, err error) {
	ports, err := freePorts(2)
	if err != nil {
		return "", err
	}
	url, peer := httpsURL(ports[0]), httpsURL(ports[1])
	progress("starting etcd")
	p, err := s.start("etcd", ownVerb("etcd",
		"--name", "local",
		"--data-dir", s.layout.path("etcd"),
		"--listen-client-urls", url,
		"--advertise-client-urls", url,
		"--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer,
		"--initial-cluster", "local="+peer,
		"--client-cert-auth", "--trusted-ca-file", s.layout.pki("etcd-ca.crt"),
		"--cert-file", s.layout.pki("etcd.crt"), "--key-file", s.layout.pki("etcd.key"),
		"--peer-client-cert-auth", "--peer-trusted-ca-file", s.layout.pki("etcd-ca.crt"),
		"--peer-cert-file", s.layout.pki("etcd.crt"), "--peer-key-file", s.layout.pki("etcd.key"),
		// The data does not outlive the machine, so it need not reach the disk.
		"--unsafe-no-fsync",
		"--log-level", "warn",
	))
	if err != nil {
		return "", err
	}
	client, err := httpClient(s.layout.pki("etcd-ca.crt"), s.layout.pki("etcd-client.crt"), s.layout.pki("etcd-client.key"))
	if err != nil {
		return "", err
	}
	return url, s.waitReady(ctx, p, answers(client, url+"/health"))
}

func (s *supervisor) startAPIServer(ctx context.Context, etcdURL string) error {
	policy := s.layout.config("audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return err
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	s.server = httpsURL(ports[0])
	begin := time.Now()
	progress("starting the API server")
	p, err := s.start("kube-apiserver", ownVerb("kube-apiserver",
		"--etcd-servers", etcdURL,
		"--etcd-cafile", s.layout.pki("etcd-ca.crt"),
		"--etcd-certfile", s.layout.pki("etcd-client.crt"),
		"--etcd-keyfile", s.layout.pki("etcd-client.key"),
		"--bind-address", loopback,
		"--advertise-address", loopback,
		"--secure-port", strconv.Itoa(ports[0]),
		"--tls-cert-file", s.layout.pki("apiserver.crt"),
		"--tls-private-key-file", s.layout.pki("apiserver.key"),
		"--client-ca-file", s.layout.pki("ca.crt"),
		"--service-cluster-ip-range", serviceSubnet,
		// The reconciler refuses a loopback address.
		"--endpoint-reconciler-type", "none",
		"--service-account-issuer", "https://kubernetes.default.svc."+clusterDomain,
		"--service-account-key-file", s.layout.pki("service-account.key"),
		"--service-account-signing-key-file", s.layout.pki("service-account.key"),
		"--authorization-mode", "Node,RBAC",
		"--enable-admission-plugins", "NodeRestriction",
		"--audit-policy-file", policy,
		"--audit-log-path", s.layout.auditLog(),
		// Megabytes. Tests count lines in one file: it must not rotate under them.
		"--audit-log-maxsize", "4096",
		"--kubelet-preferred-address-types", "InternalIP",
		"--kubelet-certificate-authority", s.layout.pki("ca.crt"),
		"--kubelet-client-certificate", s.layout.pki("apiserver-to-kubelet.crt"),
		"--kubelet-client-key", s.layout.pki("apiserver-to-kubelet.key"),
	))
	if err != nil {
		return err
	}
	client, err := httpClient(s.layout.pki("ca.crt"), s.layout.pki("apiserver-to-kubelet.crt"), s.layout.pki("apiserver-to-kubelet.key"))
	if err != nil {
		return err
	}
	if err := s.waitReady(ctx, p, answers(client, s.server+"/readyz")); err != nil {
		return err
	}
	progress("API server ready after %s", since(begin))
	return nil
}

// connect writes the kubeconfigs, "admin" for people, and makes the supervisor's own client.
func (s *supervisor) connect() error {
	if err := errors.Join(
		s.writeKubeconfigFor("admin", "local-cluster-admin", "system:masters"),
		s.writeKubeconfigFor("kube-controller-manager", "system:kube-controller-manager"),
		s.writeKubeconfigFor("kube-scheduler", "system:kube-scheduler"),
	); err != nil {
		return err
	}
	config, err := configOf(s.layout.kubeconfig("admin"))
	if err != nil {
		return err
	}
	s.admin = config
	s.client, err = kubernetes.NewForConfig(config)
	return err
}

func (s *supervisor) writeKubeconfigFor(file, user string, groups ...string) error {
	pair, err := s.authority.client(user, groups...)
	if err != nil {
		return err
	}
	return writeKubeconfig(s.layout.kubeconfig(file), s.server, s.authority, pair)
}

func (s *supervisor) startControllerManager(ctx context.Context) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	kubeconfig := s.layout.kubeconfig("kube-controller-manager")
	command := ownVerb("kube-controller-manager", s.layout.root,
		"--kubeconfig", kubeconfig,
		"--authentication-kubeconfig", kubeconfig,
		"--authorization-kubeconfig", kubeconfig,
		"--bind-address", loopback,
		"--secure-port", strconv.Itoa(ports[0]),
		"--leader-elect=false",
		"--use-service-account-credentials",
		"--service-account-private-key-file", s.layout.pki("service-account.key"),
		"--root-ca-file", s.layout.pki("ca.crt"),
		// It makes directories in the machine's /tmp, which only root can hide from it.
		fmt.Sprintf("--enable-hostpath-provisioner=%t", isRoot()),
		"--flex-volume-plugin-dir", s.layout.path("volume-plugins"),
		// A node that a compiler keeps from reporting in time has not failed.
		"--node-monitor-grace-period", "5m",
	)
	if isRoot() {
		command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	}
	return s.startAndAwait(ctx, "kube-controller-manager", command, httpsURL(ports[0])+"/healthz")
}

func (s *supervisor) startScheduler(ctx context.Context) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	kubeconfig := s.layout.kubeconfig("kube-scheduler")
	return s.startAndAwait(ctx, "kube-scheduler", ownVerb("kube-scheduler",
		"--kubeconfig", kubeconfig,
		"--authentication-kubeconfig", kubeconfig,
		"--authorization-kubeconfig", kubeconfig,
		"--bind-address", loopback,
		"--secure-port", strconv.Itoa(ports[0]),
		"--leader-elect=false",
	), httpsURL(ports[0])+"/readyz")
}

// startAndAwait is for processes whose serving certificate is their own secret.
func (s *supervisor) startAndAwait(ctx context.Context, name string, command *exec.Cmd, url string) error {
	progress("starting %s", name)
	p, err := s.start(name, command)
	if err != nil {
		return err
	}
	client := &http.Client{
		Timeout:   2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
	return s.waitReady(ctx, p, answers(client, url))
}

func (s *supervisor) start(name string, command *exec.Cmd) (*process, error) {
	p, err := startProcess(s.layout, name, command)
	if err != nil {
		return nil, err
	}
	s.watch(p)
	return p, nil
}

// prepareForWorkloads makes volumes possible and waits until pods can be created at all.
func (s *supervisor) prepareForWorkloads(ctx context.Context) error {
	if err := createStorageClasses(ctx, s.client); err != nil {
		return err
	}
	return s.waitReady(ctx, s.newest(), func(ctx context.Context) error {
		// Without it the API server refuses every pod of the namespace.
		_, err := s.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// createStorageClasses makes the default one, and one whose volumes grow.
func createStorageClasses(ctx context.Context, client kubernetes.Interface) error {
	return errors.Join(
		createStorageClass(ctx, client, "standard", map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}, false),
		createStorageClass(ctx, client, "expandable", nil, true),
	)
}

func createStorageClass(ctx context.Context, client kubernetes.Interface, name string, annotations map[string]string, expandable bool) error {
	reclaim, binding := corev1.PersistentVolumeReclaimDelete, storagev1.VolumeBindingImmediate
	class := &storagev1.StorageClass{
		ObjectMeta:           metav1.ObjectMeta{Name: name, Annotations: annotations},
		Provisioner:          "kubernetes.io/host-path",
		ReclaimPolicy:        &reclaim,
		VolumeBindingMode:    &binding,
		AllowVolumeExpansion: &expandable,
	}
	_, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
	return err
}
