package edge

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// A target is where the requests of one rule go.
type target struct {
	backends []backend
}

// A backend is a port of a Service with what is ready behind it.
type backend struct {
	weight int32
	// http2 says that the pods speak HTTP/2 without TLS, as gRPC does.
	http2 bool
	// missing says that the reference leads nowhere, which is not the same as nothing being ready.
	missing   bool
	addresses []string
}

// choose picks an address, or says which error answers instead.
func (t *target) choose() (address string, http2 bool, status int) {
	var total int32
	for _, b := range t.backends {
		total += b.weight
	}
	if total == 0 {
		return "", false, http.StatusInternalServerError
	}
	point := rand.Int32N(total)
	for _, b := range t.backends {
		if point -= b.weight; point >= 0 {
			continue
		}
		switch {
		case b.missing:
			return "", false, http.StatusInternalServerError
		case len(b.addresses) == 0:
			return "", false, http.StatusServiceUnavailable
		}
		return b.addresses[rand.IntN(len(b.addresses))], b.http2, 0
	}
	return "", false, http.StatusInternalServerError
}

// A resolution says whether the references of a route lead somewhere, or what is wrong with one.
type resolution struct {
	reason  gatewayv1.RouteConditionReason
	message string
}

func (r resolution) ok() bool { return r.reason == gatewayv1.RouteReasonResolvedRefs }

// resolveRules returns a target for each rule.
func (v view) resolveRules(r route) ([]*target, resolution) {
	overall := resolution{reason: gatewayv1.RouteReasonResolvedRefs}
	var targets []*target
	for _, rule := range r.rules {
		t := &target{}
		for _, reference := range rule.backends {
			b, result := v.resolve(reference, r.object.GetNamespace())
			if overall.ok() {
				overall = result
			}
			// A call of gRPC is HTTP/2, whatever the port says.
			b.http2 = b.http2 || r.kind == "GRPCRoute"
			b.weight = 1
			if reference.Weight != nil {
				b.weight = *reference.Weight
			}
			t.backends = append(t.backends, b)
		}
		targets = append(targets, t)
	}
	return targets, overall
}

func (v view) resolve(reference gatewayv1.BackendRef, namespace string) (backend, resolution) {
	nowhere := backend{missing: true}
	switch {
	case reference.Group != nil && *reference.Group != "", reference.Kind != nil && *reference.Kind != "Service":
		return nowhere, resolution{gatewayv1.RouteReasonInvalidKind, "a backend is no Service"}
	case reference.Namespace != nil && string(*reference.Namespace) != namespace:
		return nowhere, resolution{gatewayv1.RouteReasonRefNotPermitted, "the gateway of the local cluster reads no ReferenceGrant"}
	}
	service := v.service(namespace, string(reference.Name))
	if service == nil {
		return nowhere, resolution{gatewayv1.RouteReasonBackendNotFound, fmt.Sprintf("there is no Service %s", reference.Name)}
	}
	for _, port := range service.Spec.Ports {
		if reference.Port == nil || port.Port != *reference.Port || port.Protocol == corev1.ProtocolUDP {
			continue
		}
		b, understood := v.backendOf(service, port)
		if !understood {
			return nowhere, resolution{gatewayv1.RouteReasonUnsupportedProtocol, "TLS to a backend: the port's appProtocol is " + *port.AppProtocol}
		}
		return b, resolution{reason: gatewayv1.RouteReasonResolvedRefs}
	}
	return nowhere, resolution{gatewayv1.RouteReasonBackendNotFound, fmt.Sprintf("Service %s has no such TCP port", reference.Name)}
}

func (v view) service(namespace, name string) *corev1.Service {
	for _, service := range v.services {
		if service.Namespace == namespace && service.Name == name {
			return service
		}
	}
	return nil
}

// backendOf returns false where the pods want to be spoken to in a way that this gateway does not.
func (v view) backendOf(service *corev1.Service, port corev1.ServicePort) (b backend, understood bool) {
	if port.AppProtocol != nil {
		switch *port.AppProtocol {
		case "https", "kubernetes.io/wss":
			return backend{missing: true}, false
		case "kubernetes.io/h2c":
			b.http2 = true
		}
	}
	for _, slice := range v.slices {
		if slice.Namespace != service.Namespace || slice.Labels[discoveryv1.LabelServiceName] != service.Name {
			continue
		}
		for _, p := range slice.Ports {
			if p.Port == nil || p.Name != nil && *p.Name != port.Name {
				continue
			}
			b.addresses = append(b.addresses, readyAddresses(slice, *p.Port)...)
		}
	}
	return b, true
}

func readyAddresses(slice *discoveryv1.EndpointSlice, port int32) []string {
	var ready []string
	for _, endpoint := range slice.Endpoints {
		if endpoint.Conditions.Ready != nil && !*endpoint.Conditions.Ready {
			continue
		}
		for _, address := range endpoint.Addresses {
			ready = append(ready, net.JoinHostPort(address, strconv.Itoa(int(port))))
		}
	}
	return ready
}
