// Package selftest tries to make a local cluster leave something behind.
//
// It needs root and the node of this machine, so no other cluster may have it, and the binary:
//
//	LOCAL_CLUSTER=$(./build.sh) go test ./selftest
package selftest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const name = "selftest"

// A cluster is one that a test runs; its traces are compared with those before.
type cluster struct {
	t      *testing.T
	binary string
	data   string
	before []trace
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	binary := os.Getenv("LOCAL_CLUSTER")
	if binary == "" {
		t.Skip("LOCAL_CLUSTER does not name the binary")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	c := cluster{t: t, binary: binary, data: filepath.Join(cache, "installation-operator", "clusters", name)}
	c.do("down")
	if c.before, err = traces(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.do("down") })
	return c
}

// do runs a verb that must succeed.
func (c cluster) do(verb string, args ...string) string {
	c.t.Helper()
	output, err := c.command(verb, args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s: %v\n%s", verb, err, output)
	}
	return string(output)
}

func (c cluster) command(verb string, args ...string) *exec.Cmd {
	return exec.Command(c.binary, append([]string{verb, "--name", name}, args...)...)
}

type state struct {
	PID   int  `json:"pid"`
	Ready bool `json:"ready"`
	Node  struct {
		Available bool   `json:"available"`
		Reason    string `json:"reason"`
	} `json:"node"`
	Gateway  string `json:"gateway"`
	Registry struct {
		PasswordAddress string `json:"passwordAddress"`
		TLSAddress      string `json:"tlsAddress"`
		User            string `json:"user"`
		Password        string `json:"password"`
	} `json:"registry"`
	Images map[string]string `json:"images"`
}

func (c cluster) state() state {
	c.t.Helper()
	var s state
	// It exits 1 when the cluster is not ready; what it prints says so too.
	output, _ := c.command("status", "--json").Output()
	if err := json.Unmarshal(output, &s); err != nil {
		c.t.Fatal(err)
	}
	return s
}

func (c cluster) needNode() {
	c.t.Helper()
	if s := c.state(); !s.Node.Available {
		c.t.Skip("no node: " + s.Node.Reason)
	}
}

const workload = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOncePod]
  resources: {requests: {storage: 1Mi}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: work}
spec:
  selector: {matchLabels: {app: work}}
  template:
    metadata: {labels: {app: work}}
    spec:
      containers:
        - name: work
          image: IMAGE
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
          resources: {limits: {memory: 64Mi}}
          volumeMounts: [{name: data, mountPath: /data}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: Service
metadata: {name: work}
spec: {selector: {app: work}, ports: [{port: 80, targetPort: 8080}]}
`

// runWorkload gives the cluster something to leave behind: containers, mounts, rules, a volume.
func (c cluster) runWorkload() {
	c.t.Helper()
	c.apply(strings.ReplaceAll(workload, "IMAGE", c.state().Images["probe"]))
	c.do("kubectl", "wait", "--for=condition=Available", "deployment/work", "--timeout=180s")
	c.do("kubectl", "exec", "deployment/work", "--", "/probe", "exit", "0")
}

func (c cluster) apply(manifests string) {
	c.t.Helper()
	apply := c.command("kubectl", "apply", "-f", "-")
	apply.Stdin = strings.NewReader(manifests)
	if output, err := apply.CombinedOutput(); err != nil {
		c.t.Fatalf("%v\n%s", err, output)
	}
}

// waitFor waits until a field of an object has one of some values.
func (c cluster) waitFor(object, field string, values ...string) {
	c.t.Helper()
	eventually(c.t, func() error {
		output, err := c.command("kubectl", "get", object, "-o", "jsonpath={"+field+"}").CombinedOutput()
		for _, value := range values {
			if err == nil && string(output) == value {
				return nil
			}
		}
		return fmt.Errorf("%s of %s is %q, wanted %q (%v)", field, object, output, values, err)
	})
}

func eventually(t *testing.T, check func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func (c cluster) mustHaveLeftNothing() {
	c.t.Helper()
	now, err := traces()
	if err != nil {
		c.t.Fatal(err)
	}
	if more := left(c.before, now); len(more) > 0 {
		c.t.Errorf("left behind:\n%v", more)
	}
	if pids := marked(c.data); len(pids) > 0 {
		c.t.Errorf("processes left behind: %v", pids)
	}
	if _, err := os.Stat(c.data); !errors.Is(err, fs.ErrNotExist) {
		c.t.Errorf("the data directory is left behind: %v", err)
	}
}

func TestDownLeavesNothing(t *testing.T) {
	c := newCluster(t)
	c.do("up")
	c.needNode()
	c.runWorkload()
	c.do("down")
	c.mustHaveLeftNothing()
}

func TestAKilledClusterIsReplacedByTheNextUp(t *testing.T) {
	c := newCluster(t)
	c.do("up")
	c.needNode()
	c.runWorkload()
	killed := c.state().PID
	c.killHard()
	if s := c.state(); s.Ready {
		t.Fatal("a killed cluster calls itself ready")
	}
	c.do("up")
	if s := c.state(); !s.Ready || s.PID == killed {
		t.Fatalf("the next up did not start a cluster: %+v", s)
	}
	c.needNode()
	c.runWorkload()
	c.do("down")
	c.mustHaveLeftNothing()
}

func TestAKilledClusterIsRemovedByDown(t *testing.T) {
	for range 3 {
		c := newCluster(t)
		c.do("up")
		c.needNode()
		c.runWorkload()
		c.killHard()
		c.do("down")
		c.mustHaveLeftNothing()
	}
}

// killHard ends the supervisor and some of its children as the kernel would when memory runs out.
func (c cluster) killHard() {
	c.t.Helper()
	victims := marked(c.data)
	rand.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	victims = append(victims[:rand.IntN(len(victims))], c.state().PID)
	for _, pid := range victims {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestAKilledComponentEndsTheCluster(t *testing.T) {
	c := newCluster(t)
	c.do("up", "--control-plane-only")
	supervisor := c.state().PID
	_ = syscall.Kill(marked(c.data)[0], syscall.SIGKILL)
	for deadline := time.Now().Add(time.Minute); syscall.Kill(supervisor, 0) == nil && time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond)
	}
	if s := c.state(); s.Ready {
		t.Fatalf("the cluster calls itself ready: %+v", s)
	}
	log, err := os.ReadFile(filepath.Join(c.data, "logs", "supervisor.log"))
	if err != nil || !strings.Contains(string(log), "ended") {
		t.Fatalf("the log does not say what ended: %v\n%s", err, log)
	}
	c.do("down")
	c.mustHaveLeftNothing()
}

func TestManyCallsOfUpStartOneCluster(t *testing.T) {
	c := newCluster(t)
	var calls sync.WaitGroup
	failures := make(chan error, 4)
	for range 4 {
		calls.Go(func() {
			if output, err := c.command("up", "--control-plane-only").CombinedOutput(); err != nil {
				failures <- fmt.Errorf("%w\n%s", err, output)
			}
		})
	}
	calls.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	first := c.state()
	if output := c.do("up"); !strings.Contains(output, "already running") {
		t.Errorf("up says of a running cluster: %s", output)
	}
	if again := c.state(); !again.Ready || again.PID != first.PID {
		t.Errorf("up replaced a running cluster: %+v", again)
	}
}

func TestASignalWhileStartingLeavesNothing(t *testing.T) {
	for _, after := range []time.Duration{0, 2 * time.Second, 6 * time.Second, 12 * time.Second} {
		c := newCluster(t)
		run := c.command("run")
		output, err := run.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		// Its first line: before, there is nothing to leave and no one to take the signal.
		if _, err := output.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, output) }()
		time.Sleep(after)
		if err := run.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := run.Wait(); err != nil {
			t.Errorf("stopped after %s: %v", after, err)
		}
		c.mustHaveLeftNothing()
	}
}

func TestWithoutContainersTheControlPlaneRunsAlone(t *testing.T) {
	c := newCluster(t)
	// Not below /tmp: the node does not see the machine's.
	broken, err := os.MkdirTemp(filepath.Dir(c.data), "broken-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(broken)
	if err := os.WriteFile(filepath.Join(broken, "containerd"), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	up := c.command("up")
	up.Env = append(os.Environ(), "PATH="+broken+":"+os.Getenv("PATH"))
	if output, err := up.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if s := c.state(); !s.Ready || s.Node.Available || !strings.Contains(s.Node.Reason, "containerd ended") {
		t.Errorf("the state does not say why there is no node: %+v", s)
	}
	c.do("kubectl", "get", "namespaces")
	now, err := traces()
	if err != nil {
		t.Fatal(err)
	}
	if more := left(c.before, now); len(more) > 0 {
		t.Errorf("the failed node left:\n%v", more)
	}
}

func TestKeptDataSurvivesDown(t *testing.T) {
	c := newCluster(t)
	c.do("up", "--control-plane-only", "--keep-data")
	c.do("down")
	if _, err := os.Stat(filepath.Join(c.data, "logs", "audit.log")); err != nil {
		t.Error(err)
	}
	if pids := marked(c.data); len(pids) > 0 {
		t.Errorf("processes left behind: %v", pids)
	}
}
