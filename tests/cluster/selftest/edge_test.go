package selftest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

const provisions = `
apiVersion: v1
kind: Service
metadata: {name: balancer}
spec: {type: LoadBalancer, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: waiting, annotations: {test.musher.dev/pending: "true"}}
spec: {type: LoadBalancer, loadBalancerClass: test.musher.dev/lb, ports: [{port: 80}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: balancer}
spec:
  parentRefs: [{name: edge, namespace: gateway-system}]
  hostnames: [balancer.example]
  rules: [{backendRefs: [{name: balancer, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: missing}
spec:
  parentRefs: [{name: edge, namespace: gateway-system}]
  hostnames: [missing.example]
  rules: [{backendRefs: [{name: missing, port: 80}]}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: balancer}
spec:
  ingressClassName: test
  defaultBackend: {service: {name: balancer, port: {number: 80}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: growing}
spec:
  storageClassName: expandable
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Mi}}
`

const (
	resolved = `.status.parents[0].conditions[?(@.type=="ResolvedRefs")]`
	address  = ".status.loadBalancer.ingress[0].ip"
)

func TestTheEdgeServesAControlPlane(t *testing.T) {
	c := newCluster(t)
	c.do("up", "--control-plane-only")
	for _, kind := range []string{"tcproutes", "udproutes", "tlsroutes", "referencegrants"} {
		c.do("kubectl", "get", kind+".gateway.networking.k8s.io", "-A")
	}
	c.do("kubectl", "wait", "gatewayclass/test", "--for=condition=Accepted", "--timeout=60s")
	c.do("kubectl", "wait", "-n", "gateway-system", "gateway/edge", "--for=condition=Programmed", "--timeout=60s")
	c.apply(provisions)
	c.waitFor("httproute/balancer", resolved+".reason", "ResolvedRefs")
	c.waitFor("grpcroute/missing", resolved+".reason", "BackendNotFound")
	c.waitFor("ingress/balancer", address, "127.0.0.1")
	c.waitFor("service/balancer", address, "10.215.0.2")

	// What was made after it has its status already, so this one was looked at too.
	if given := c.do("kubectl", "get", "service/waiting", "-o", "jsonpath={"+address+"}"); given != "" {
		t.Errorf("the waiting one has %s", given)
	}
	c.do("kubectl", "annotate", "service/waiting", "test.musher.dev/pending-")
	c.waitFor("service/waiting", address, "10.215.0.3")

	c.waitFor("pvc/growing", ".status.capacity.storage", "1Mi")
	c.do("kubectl", "patch", "pvc/growing", "--patch", `{"spec": {"resources": {"requests": {"storage": "5Mi"}}}}`)
	c.waitFor("pvc/growing", ".status.capacity.storage", "5Mi")

	// A route without pods, and a host that only the Ingress for everything knows.
	for _, host := range []string{"balancer.example", "else.example"} {
		c.mustAnswer(host, "/", http.StatusServiceUnavailable)
	}
	c.do("down")
	c.mustHaveLeftNothing()
}

const reachable = `
apiVersion: v1
kind: Service
metadata: {name: balancer}
spec:
  type: LoadBalancer
  selector: {app: work}
  ports:
    - {name: tcp, port: 81, targetPort: 8080}
    - {name: udp, port: 81, targetPort: 8080, protocol: UDP}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: work}
spec:
  parentRefs: [{name: edge, namespace: gateway-system}]
  hostnames: [work.example]
  rules:
    - matches: [{path: {type: PathPrefix, value: /healthz}}]
      backendRefs: [{name: work, port: 80}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: work}
spec:
  ingressClassName: test
  rules:
    - host: ingress.example
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: work, port: {number: 80}}}}]}
`

func TestTheEdgeReachesPods(t *testing.T) {
	c := newCluster(t)
	c.do("up")
	c.needNode()
	c.runWorkload()
	c.apply(reachable)
	c.waitFor("service/balancer", address, "10.215.0.2")
	c.mustAnswer("work.example", "/healthz", http.StatusOK)
	c.mustAnswer("work.example", "/env", http.StatusNotFound)
	c.mustAnswer("ingress.example", "/env", http.StatusOK)
	eventually(t, func() error {
		response, err := http.Get("http://10.215.0.2:81/healthz")
		if err != nil {
			return err
		}
		return response.Body.Close()
	})
	eventually(t, func() error { return echoed("10.215.0.2:81") })
	c.do("down")
	c.mustHaveLeftNothing()
}

// mustAnswer asks the gateway for a host by its name.
func (c cluster) mustAnswer(host, path string, status int) {
	c.t.Helper()
	gateway := c.state().Gateway
	eventually(c.t, func() error {
		request, err := http.NewRequest(http.MethodGet, "http://"+gateway+path, nil)
		if err != nil {
			return err
		}
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != status {
			body, _ := io.ReadAll(response.Body)
			return fmt.Errorf("%s%s answers %s: %s", host, path, response.Status, body)
		}
		return nil
	})
}

// echoed sends a packet and wants it back.
func echoed(address string) error {
	connection, err := net.Dial("udp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := connection.Write([]byte("ping")); err != nil {
		return err
	}
	answer := make([]byte, 16)
	length, err := connection.Read(answer)
	if err == nil && string(answer[:length]) != "ping" {
		return fmt.Errorf("the answer is %q", answer[:length])
	}
	return err
}
