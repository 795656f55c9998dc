package edge

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

var here = Endpoint{Address: "127.0.0.1", Port: 8080}

// baseView has the standing class and Gateway, and a Service "web" in the namespace "shop" with
// nothing behind it.
func baseView() view {
	return view{
		classes: []*gatewayv1.GatewayClass{{
			ObjectMeta: metav1.ObjectMeta{Name: ClassName, Generation: 1},
			Spec:       gatewayv1.GatewayClassSpec{ControllerName: ControllerName},
		}},
		gateways:   []*gatewayv1.Gateway{standingGateway(here)},
		services:   []*corev1.Service{newService("web", corev1.ServicePort{Name: "http", Port: 80})},
		namespaces: []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"edge": "yes"}}}},
	}
}

func newService(name string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"}, Spec: corev1.ServiceSpec{Ports: ports}}
}

// endpoints is what is behind a Service.
func endpoints(service string, port int32, ready bool, addresses ...string) *discoveryv1.EndpointSlice {
	name := "http"
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: service, Namespace: "shop", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		Endpoints:  []discoveryv1.Endpoint{{Addresses: addresses, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports:      []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}
}

// newRoute leads from a host to port 80 of a Service by way of the standing Gateway.
func newRoute(host, service string) *gatewayv1.HTTPRoute {
	return &gatewayv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Name: "route", Namespace: "shop", Generation: 3},
		Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{standingParent()}},
			Hostnames:       []gatewayv1.Hostname{gatewayv1.Hostname(host)},
			Rules:           []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: reference(service, 80)}}}},
		},
	}
}

func newGRPCRoute(host, service string) *gatewayv1.GRPCRoute {
	return &gatewayv1.GRPCRoute{
		ObjectMeta: metav1.ObjectMeta{Name: "route", Namespace: "shop"},
		Spec: gatewayv1.GRPCRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{standingParent()}},
			Hostnames:       []gatewayv1.Hostname{gatewayv1.Hostname(host)},
			Rules:           []gatewayv1.GRPCRouteRule{{BackendRefs: []gatewayv1.GRPCBackendRef{{BackendRef: reference(service, 80)}}}},
		},
	}
}

func standingParent() gatewayv1.ParentReference {
	namespace := gatewayv1.Namespace(GatewayNamespace)
	return gatewayv1.ParentReference{Namespace: &namespace, Name: GatewayName}
}

func reference(service string, port int32) gatewayv1.BackendRef {
	return gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(service), Port: &port}}
}

func newIngress(host, service string) *networkingv1.Ingress {
	class, kind := ClassName, networkingv1.PathTypePrefix
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "ingress", Namespace: "shop"},
		Spec: networkingv1.IngressSpec{
			IngressClassName: &class,
			Rules: []networkingv1.IngressRule{{Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{
					Path: "/", PathType: &kind,
					Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
						Name: service, Port: networkingv1.ServiceBackendPort{Name: "http"},
					}},
				}},
			}}}},
		},
	}
}

// wantCondition compares status and reason, and that it was made for this generation.
func wantCondition(t *testing.T, conditions []metav1.Condition, kind string, holds bool, reason string, generation int64) {
	t.Helper()
	c := meta.FindStatusCondition(conditions, kind)
	if c == nil {
		t.Errorf("there is no condition %s", kind)
		return
	}
	if (c.Status == metav1.ConditionTrue) != holds || c.Reason != reason || c.ObservedGeneration != generation {
		t.Errorf("%s is %s, %s (%q), of generation %d", kind, c.Status, c.Reason, c.Message, c.ObservedGeneration)
	}
}
