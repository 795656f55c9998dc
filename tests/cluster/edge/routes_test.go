package edge

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func TestARouteIsAcceptedOrToldWhyNot(t *testing.T) {
	for name, row := range map[string]struct {
		change         func(*view, *gatewayv1.HTTPRoute)
		accepted, refs string
	}{
		"a good one":   {func(*view, *gatewayv1.HTTPRoute) {}, "Accepted", "ResolvedRefs"},
		"no such port": {func(v *view, r *gatewayv1.HTTPRoute) { v.services[0].Spec.Ports[0].Port = 81 }, "Accepted", "BackendNotFound"},
		"no Service":   {func(v *view, r *gatewayv1.HTTPRoute) { v.services = nil }, "Accepted", "BackendNotFound"},
		"a UDP port":   {func(v *view, r *gatewayv1.HTTPRoute) { v.services[0].Spec.Ports[0].Protocol = corev1.ProtocolUDP }, "Accepted", "BackendNotFound"},
		"TLS inside":   {func(v *view, r *gatewayv1.HTTPRoute) { v.services[0].Spec.Ports[0].AppProtocol = pointer("https") }, "Accepted", "UnsupportedProtocol"},
		"another kind": {func(_ *view, r *gatewayv1.HTTPRoute) { backendOf(r).Kind = pointer[gatewayv1.Kind]("Bucket") }, "Accepted", "InvalidKind"},
		"far away":     {func(_ *view, r *gatewayv1.HTTPRoute) { backendOf(r).Namespace = pointer[gatewayv1.Namespace]("else") }, "Accepted", "RefNotPermitted"},
		"no listener": {func(_ *view, r *gatewayv1.HTTPRoute) {
			r.Spec.ParentRefs[0].SectionName = pointer[gatewayv1.SectionName]("tls")
		}, "NoMatchingParent", "ResolvedRefs"},
		"another port":  {func(_ *view, r *gatewayv1.HTTPRoute) { r.Spec.ParentRefs[0].Port = pointer[int32](1) }, "NoMatchingParent", "ResolvedRefs"},
		"the same only": {func(v *view, _ *gatewayv1.HTTPRoute) { allow(v, gatewayv1.NamespacesFromSame, "") }, "NotAllowedByListeners", "ResolvedRefs"},
		"no namespace":  {func(v *view, _ *gatewayv1.HTTPRoute) { allow(v, gatewayv1.NamespacesFromNone, "") }, "NotAllowedByListeners", "ResolvedRefs"},
		"selected":      {func(v *view, _ *gatewayv1.HTTPRoute) { allow(v, gatewayv1.NamespacesFromSelector, "yes") }, "Accepted", "ResolvedRefs"},
		"not selected":  {func(v *view, _ *gatewayv1.HTTPRoute) { allow(v, gatewayv1.NamespacesFromSelector, "no") }, "NotAllowedByListeners", "ResolvedRefs"},
		"GRPCRoute only": {func(v *view, _ *gatewayv1.HTTPRoute) {
			allowed(v).Kinds = []gatewayv1.RouteGroupKind{{Kind: "GRPCRoute"}}
		}, "NotAllowedByListeners", "ResolvedRefs"},
		"another host": {func(v *view, _ *gatewayv1.HTTPRoute) {
			first(v).Hostname = pointer[gatewayv1.Hostname]("*.example.org")
		}, "NoMatchingListenerHostname", "ResolvedRefs"},
		"a fitting host": {func(v *view, _ *gatewayv1.HTTPRoute) { first(v).Hostname = pointer[gatewayv1.Hostname]("*.example") }, "Accepted", "ResolvedRefs"},
		"a filter":       {func(_ *view, r *gatewayv1.HTTPRoute) { r.Spec.Rules[0].Filters = []gatewayv1.HTTPRouteFilter{{}} }, "UnsupportedValue", "ResolvedRefs"},
		"by method": {func(_ *view, r *gatewayv1.HTTPRoute) {
			r.Spec.Rules[0].Matches = []gatewayv1.HTTPRouteMatch{{Method: pointer(gatewayv1.HTTPMethodGet)}}
		}, "UnsupportedValue", "ResolvedRefs"},
	} {
		t.Run(name, func(t *testing.T) {
			v, r := baseView(), newRoute("a.example", "web")
			row.change(&v, r)
			v.httpRoutes = []*gatewayv1.HTTPRoute{r}
			d := decide(v, here)
			parents := d.httpRoutes[0].Status.Parents
			if len(parents) != 1 || parents[0].ControllerName != ControllerName || parents[0].ParentRef.Name != GatewayName {
				t.Fatalf("the parents are %+v", parents)
			}
			accepted := row.accepted == "Accepted"
			wantCondition(t, parents[0].Conditions, "Accepted", accepted, row.accepted, 3)
			wantCondition(t, parents[0].Conditions, "ResolvedRefs", row.refs == "ResolvedRefs", row.refs, 3)
			if served := d.table.find("a.example", "/") != nil; served != accepted {
				t.Errorf("served is %t", served)
			}
		})
	}
}

func TestARouteToNoGatewayOfOursHasNoStatus(t *testing.T) {
	for _, change := range []func(*gatewayv1.ParentReference){
		func(p *gatewayv1.ParentReference) { p.Name = "missing" },
		func(p *gatewayv1.ParentReference) { p.Namespace = nil },
		func(p *gatewayv1.ParentReference) { p.Kind = pointer[gatewayv1.Kind]("Service") },
	} {
		v, r := baseView(), newRoute("a.example", "web")
		change(&r.Spec.ParentRefs[0])
		v.httpRoutes = []*gatewayv1.HTTPRoute{r}
		if parents := decide(v, here).httpRoutes[0].Status.Parents; len(parents) != 0 {
			t.Errorf("the parents are %+v", parents)
		}
	}
}

func TestStatusesOfOthersStayAndOldOnesOfOursGo(t *testing.T) {
	v, r := baseView(), newRoute("a.example", "web")
	r.Status.Parents = []gatewayv1.RouteParentStatus{
		{ControllerName: "another.example/gateway", ParentRef: gatewayv1.ParentReference{Name: "theirs"}},
		{ControllerName: ControllerName, ParentRef: gatewayv1.ParentReference{Name: "no-longer"}},
	}
	v.httpRoutes = []*gatewayv1.HTTPRoute{r}
	var names []gatewayv1.ObjectName
	for _, parent := range decide(v, here).httpRoutes[0].Status.Parents {
		names = append(names, parent.ParentRef.Name)
	}
	if !slices.Equal(names, []gatewayv1.ObjectName{"theirs", GatewayName}) {
		t.Errorf("the parents are %q", names)
	}
}

func TestAMethodOfGRPCIsAPath(t *testing.T) {
	for name, row := range map[string]struct {
		method   *gatewayv1.GRPCMethodMatch
		want     match
		possible bool
	}{
		"none":        {nil, everything, true},
		"a service":   {&gatewayv1.GRPCMethodMatch{Service: pointer("a.B")}, match{path: "/a.B"}, true},
		"one method":  {&gatewayv1.GRPCMethodMatch{Service: pointer("a.B"), Method: pointer("C")}, match{path: "/a.B/C", exact: true}, true},
		"any service": {&gatewayv1.GRPCMethodMatch{Method: pointer("C")}, match{}, false},
	} {
		if got, possible := methodMatch(row.method); got != row.want || possible != row.possible {
			t.Errorf("%s: %+v, %t", name, got, possible)
		}
	}
}

func TestHostsAreWhatListenerAndRouteBothMean(t *testing.T) {
	for _, row := range []struct {
		listener string
		route    []gatewayv1.Hostname
		want     []string
	}{
		{"", nil, []string{""}},
		{"", []gatewayv1.Hostname{"a.example"}, []string{"a.example"}},
		{"a.example", nil, []string{"a.example"}},
		{"*.example", []gatewayv1.Hostname{"a.example", "example", "a.other"}, []string{"a.example"}},
		{"a.b.example", []gatewayv1.Hostname{"*.example"}, []string{"a.b.example"}},
		{"*.example", []gatewayv1.Hostname{"*.b.example"}, []string{"*.b.example"}},
		{"a.example", []gatewayv1.Hostname{"b.example"}, nil},
	} {
		listener := gatewayv1.Hostname(row.listener)
		if got := hostsOf(&listener, row.route); !slices.Equal(got, row.want) {
			t.Errorf("%q and %q mean %q", row.listener, row.route, got)
		}
	}
}

func pointer[T any](value T) *T { return &value }

func first(v *view) *gatewayv1.Listener        { return &v.gateways[0].Spec.Listeners[0] }
func allowed(v *view) *gatewayv1.AllowedRoutes { return first(v).AllowedRoutes }
func backendOf(r *gatewayv1.HTTPRoute) *gatewayv1.BackendRef {
	return &r.Spec.Rules[0].BackendRefs[0].BackendRef
}

func allow(v *view, from gatewayv1.FromNamespaces, label string) {
	allowed(v).Namespaces.From = &from
	if label != "" {
		allowed(v).Namespaces.Selector = labelled("edge", label)
	}
}
