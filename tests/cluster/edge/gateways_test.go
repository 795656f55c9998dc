package edge

import (
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func TestTheStandingGatewayIsProgrammedAndCountsItsRoutes(t *testing.T) {
	v := baseView()
	v.httpRoutes = []*gatewayv1.HTTPRoute{newRoute("a.example", "web"), newRoute("b.example", "missing")}
	d := decide(v, here)
	wantCondition(t, d.classes[0].Status.Conditions, "Accepted", true, "Accepted", 1)
	status := d.gateways[0].Status
	wantCondition(t, status.Conditions, "Accepted", true, "Accepted", 0)
	wantCondition(t, status.Conditions, "Programmed", true, "Programmed", 0)
	if len(status.Addresses) != 1 || status.Addresses[0].Value != here.Address {
		t.Errorf("the addresses are %+v", status.Addresses)
	}
	listener := status.Listeners[0]
	// Attachment does not ask whether backends are there.
	if listener.Name != "http" || listener.AttachedRoutes != 2 || len(listener.SupportedKinds) != 2 {
		t.Errorf("the listener is %+v", listener)
	}
	wantCondition(t, listener.Conditions, "Accepted", true, "Accepted", 0)
	wantCondition(t, listener.Conditions, "ResolvedRefs", true, "ResolvedRefs", 0)
	wantCondition(t, listener.Conditions, "Conflicted", false, "NoConflicts", 0)
}

func TestAListenerThatCannotBeServedIsRefused(t *testing.T) {
	for reason, listener := range map[string]gatewayv1.Listener{
		"UnsupportedProtocol": {Name: "http", Port: here.Port, Protocol: gatewayv1.HTTPSProtocolType},
		"PortUnavailable":     {Name: "http", Port: here.Port + 1, Protocol: gatewayv1.HTTPProtocolType},
	} {
		v := baseView()
		v.gateways[0].Spec.Listeners = []gatewayv1.Listener{listener}
		status := decide(v, here).gateways[0].Status
		wantCondition(t, status.Listeners[0].Conditions, "Accepted", false, reason, 0)
		wantCondition(t, status.Conditions, "Accepted", false, "ListenersNotValid", 0)
		wantCondition(t, status.Conditions, "Programmed", false, "Invalid", 0)
	}
}

func TestAKindThatIsNoRouteOfOursIsNamed(t *testing.T) {
	v := baseView()
	v.gateways[0].Spec.Listeners[0].AllowedRoutes.Kinds = []gatewayv1.RouteGroupKind{{Kind: "TCPRoute"}}
	listener := decide(v, here).gateways[0].Status.Listeners[0]
	wantCondition(t, listener.Conditions, "ResolvedRefs", false, "InvalidRouteKinds", 0)
	if listener.SupportedKinds == nil || len(listener.SupportedKinds) != 0 {
		t.Errorf("the kinds are %+v", listener.SupportedKinds)
	}
}

func TestOtherControllersAreLeftAlone(t *testing.T) {
	v := baseView()
	v.classes[0].Spec.ControllerName = "another.example/gateway"
	v.httpRoutes = []*gatewayv1.HTTPRoute{newRoute("a.example", "web")}
	v.ingresses = append(v.ingresses, newIngress("b.example", "web"))
	*v.ingresses[0].Spec.IngressClassName = "another"
	if d := decide(v, here); len(d.changes) != 0 || len(d.table) != 0 {
		t.Errorf("%d changes, %d entries", len(d.changes), len(d.table))
	}
}

func TestAnIdleClusterIsNotWrittenTo(t *testing.T) {
	v := baseView()
	v.httpRoutes = []*gatewayv1.HTTPRoute{newRoute("a.example", "web")}
	v.grpcRoutes = []*gatewayv1.GRPCRoute{newGRPCRoute("b.example", "web")}
	v.ingresses = append(v.ingresses, newIngress("c.example", "web"))
	d := decide(v, here)
	if len(d.changes) != 5 {
		t.Fatalf("%d changes", len(d.changes))
	}
	v.classes, v.gateways, v.httpRoutes, v.grpcRoutes, v.ingresses = d.classes, d.gateways, d.httpRoutes, d.grpcRoutes, d.ingresses
	if again := decide(v, here); len(again.changes) != 0 {
		t.Errorf("%d changes of what is so already", len(again.changes))
	}
}
