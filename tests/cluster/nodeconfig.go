package main

// The configuration files of the node's parts. @NAMES@ are filled in by node.go.

const containerdConfig = `version = 2
root = "@ROOT@/containerd"
state = "/run/containerd"
imports = []
# The first would make a directory outside the data directory; the others are other file systems.
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
]

[grpc]
  address = "@SOCKET@"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "@PAUSE@"
  # A machine may lack CAP_SYS_RESOURCE, and then no sandbox could lower its score.
  restrict_oom_score_adj = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "@PLUGINS@"
    conf_dir = "@ROOT@/config/cni"

  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "@ROOT@/config/registries"

  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`

// Each pod has a link of its own to the machine, so that every packet passes its rules: between
// ports of one bridge, answers from a Service address would bypass them.
const cniConfig = `{
  "cniVersion": "0.4.0",
  "name": "pods",
  "plugins": [
    {
      "type": "ptp",
      "ipam": {
        "type": "host-local",
        "dataDir": "/run/cni-addresses",
        "ranges": [[{"subnet": "@PODS@"}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    }
  ]
}
`

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: @ADDRESS@
healthzBindAddress: 127.0.0.1
healthzPort: @HEALTH@
tlsCertFile: @ROOT@/pki/kubelet.crt
tlsPrivateKeyFile: @ROOT@/pki/kubelet.key
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: @ROOT@/pki/ca.crt}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix://@SOCKET@
volumePluginDir: @ROOT@/volume-plugins
podLogsDir: @ROOT@/kubelet/pod-logs
clusterDomain: @DOMAIN@
clusterDNS: ["@ADDRESS@"]
resolvConf: @ROOT@/config/resolv.conf
cgroupDriver: cgroupfs
cgroupRoot: @CGROUPS@
failCgroupV1: false
failSwapOn: false
# Lowering it needs CAP_SYS_RESOURCE.
oomScoreAdj: 0
serializeImagePulls: false
# The machine's disk is not the cluster's to manage.
enforceNodeAllocatable: []
localStorageCapacityIsolation: false
imageGCHighThresholdPercent: 100
evictionHard:
  memory.available: 50Mi
  nodefs.available: 1%
  nodefs.inodesFree: 1%
  imagefs.available: 1%
`

const proxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
hostnameOverride: @NODE@
clientConnection: {kubeconfig: @KUBECONFIG@}
clusterCIDR: @PODS@
detectLocalMode: ClusterCIDR
healthzBindAddress: 127.0.0.1:@HEALTH@
metricsBindAddress: 127.0.0.1:@METRICS@
# Lowering it needs CAP_SYS_RESOURCE.
oomScoreAdj: 0
iptables: {localhostNodePorts: false, minSyncPeriod: 100ms}
# Zero leaves the machine's own settings alone.
conntrack:
  maxPerCore: 0
  min: 0
  tcpEstablishedTimeout: 0s
  tcpCloseWaitTimeout: 0s
  udpTimeout: 0s
  udpStreamTimeout: 0s
`

const dnsConfig = `.:53 {
  bind @ADDRESS@
  errors
  ready @READY@
  kubernetes @DOMAIN@ in-addr.arpa {
    kubeconfig @KUBECONFIG@
  }
}
`
