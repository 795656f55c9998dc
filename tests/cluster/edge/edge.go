// Package edge is what surrounds a cluster that people run, in one small process: a gateway that
// really passes requests on, the addresses of load balancers, and a storage that grows volumes.
//
// It looks at the whole cluster on every change, decides everything anew from that one view, and
// writes only what differs. The deciding is pure, so that its tests need no cluster.
package edge

import (
	"context"
	"errors"
	"log"
	"net"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayclient "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"
)

const (
	// ControllerName is who GatewayClasses name to be served here.
	ControllerName gatewayv1.GatewayController = "test.musher.dev/gateway"
	// ClassName names the GatewayClass and the IngressClass that are there from the start.
	ClassName = "test"
	// GatewayNamespace and GatewayName name the Gateway that is there from the start.
	GatewayNamespace, GatewayName = "gateway-system", "edge"
	// User is who the edge is for the API server.
	User = "local-cluster-edge"

	ingressController = "test.musher.dev/ingress"
	balancerClass     = "test.musher.dev/lb"
	// A Service waits for its address, and a claim for its growth, while it is "true".
	pendingAnnotation = "test.musher.dev/pending"
)

// An Endpoint is where the gateway listens.
type Endpoint struct {
	Address string
	Port    int32
}

func (e Endpoint) String() string { return net.JoinHostPort(e.Address, strconv.Itoa(int(e.Port))) }

// ParseEndpoint reads what String wrote.
func ParseEndpoint(text string) (Endpoint, error) {
	address, port, err := net.SplitHostPort(text)
	if err != nil {
		return Endpoint{}, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return Endpoint{Address: address, Port: int32(number)}, err
}

type edge struct {
	endpoint Endpoint
	core     kubernetes.Interface
	gateway  gatewayclient.Interface
	proxy    *proxy
}

// Run serves until something fails for good.
func Run(ctx context.Context, config *rest.Config, endpoint Endpoint) error {
	core, coreErr := kubernetes.NewForConfig(config)
	gateway, gatewayErr := gatewayclient.NewForConfig(config)
	if err := errors.Join(coreErr, gatewayErr); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", endpoint.String())
	if err != nil {
		return err
	}
	e := &edge{endpoint: endpoint, core: core, gateway: gateway, proxy: newProxy()}
	failed := make(chan error, 1)
	go func() { failed <- e.proxy.serve(listener) }()
	go e.follow(ctx)
	return <-failed
}

// follow makes a pass after every change of what it watches. Changes come in bursts: it waits a
// moment for the rest of one.
func (e *edge) follow(ctx context.Context) {
	cluster, changed := watch(ctx, e.core, e.gateway)
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		time.Sleep(10 * time.Millisecond)
		if err := e.pass(ctx, cluster.view()); err != nil {
			log.Printf("a pass failed, the next follows in a second: %v", err)
			time.Sleep(time.Second)
			poke(changed)
		}
	}
}

// pass routes first and reports then: what a status promises is true when it is read.
func (e *edge) pass(ctx context.Context, v view) error {
	d := decide(v, e.endpoint)
	e.proxy.route(d.table)
	return e.write(ctx, d)
}

// poke asks for a pass, or finds that one is asked for already.
func poke(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}

// write tells the cluster every decision. Where someone was faster, a change is on its way that
// brings the next pass.
func (e *edge) write(ctx context.Context, d decision) error {
	var failures []error
	for _, change := range d.changes {
		err := change(ctx, e)
		if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			continue
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}
